#include "api/rest/admin_routes.h"

#include <string_view>
#include <utility>
#include <vector>

#include "api/rest/answers.h"
#include "api/rest/queue_body.h"
#include "api/rest/read_routes.h"
#include "view/json.h"

namespace muster::api {
namespace {

using sched::Agenda;
using sched::Policy;
using sched::World;

Error no_queue(const std::string& name) {
  return {Fault::NotFound, fmt::format("queue: there is no queue {}", name)};
}
Error no_cluster(const std::string& name) {
  return {Fault::NotFound, fmt::format("cluster: there is no cluster {}", name)};
}

sched::QueueId alive_queue(const World& world, const std::string& name) {
  const sched::QueueId id = world.quota.find(name);
  return id.is_none() || !world.quota[id].alive ? sched::QueueId::none() : id;
}
sched::ClusterId joined_cluster(const World& world, const std::string& name) {
  const sched::ClusterId id = world.fleet.find_cluster(name);
  return id.is_none() || !world.fleet.cluster(id).joined ? sched::ClusterId::none() : id;
}

void no_content(const CallPtr& call) { call->responder.send({204, {}, {}}); }

// ----------------------------------------------------------------------------------------------
// queues

/// Answers with the queue as it is now.
void show_queue(const AdminParts& parts, const CallPtr& call, const std::string& name, int status) {
  read(
      parts.reads, call,
      [name](World& world, Agenda&, const Policy& policy, Time now) -> Result<std::string> {
        const sched::QueueId id = world.quota.find(name);
        if (id.is_none()) return no_queue(name);
        return view::queue_json(world, id, world.capacity(policy), policy, now);
      },
      [call, status](const Result<std::string>& queue) {
        if (queue) {
          call->answer(status, *queue);
        } else {
          call->answer(queue.error());
        }
      });
}

void create_queue(const AdminParts& parts, const CallPtr& call) {
  const auto spec = read_queue(call->request.body);
  if (!spec) {
    call->answer(spec.error());
    return;
  }
  change(
      parts.requests, call,
      [call, spec = *spec](const World& world, Time) mutable -> Result<control::Asked> {
        if (!alive_queue(world, spec.name).is_none())
          return Error{Fault::Conflict, fmt::format("name: queue {} exists", spec.name)};
        if (Status placed = place(world, spec); !placed) return placed.error();
        control::Asked asked;
        asked.events.emplace_back(model::QueueSet{spec});
        asked.audit.push_back(audit_row(call->request, "create", "queue/" + spec.name));
        return asked;
      },
      [&parts, call, name = spec->name] { show_queue(parts, call, name, 201); });
}

void edit_queue(const AdminParts& parts, const CallPtr& call) {
  const auto patch = read_queue_patch(call->request.body);
  if (!patch) {
    call->answer(patch.error());
    return;
  }
  std::string name(call->request.param("queue"));
  change(
      parts.requests, call,
      [call, name, patch = *patch](const World& world, Time) -> Result<control::Asked> {
        const sched::QueueId id = alive_queue(world, name);
        if (id.is_none()) return no_queue(name);
        model::QueueSpec spec = spec_of(world, id);
        apply_patch(patch, spec);
        if (Status placed = place(world, spec); !placed) return placed.error();
        control::Asked asked;
        asked.events.emplace_back(model::QueueSet{std::move(spec)});
        asked.audit.push_back(
            audit_row(call->request, "edit", "queue/" + name, call->request.body.substr(0, 1000)));
        return asked;
      },
      [&parts, call, name] { show_queue(parts, call, name, 200); });
}

/// Jobs that wait or run in a queue keep it; so do queues below it.
Status may_remove(const World& world, sched::QueueId id) {
  const sched::QueueNode& queue = world.quota[id];
  for (const sched::QueueId child : queue.children) {
    if (world.quota[child].alive)
      return Error{Fault::Conflict, fmt::format("queue: {} is below it; delete that first",
                                                world.quota[child].name)};
  }
  for (const auto& [priority, backlog] : world.backlog(id)) {
    if (backlog.jobs > 0)
      return Error{Fault::Conflict, "queue: jobs wait in it; move or cancel them first"};
  }
  for (const std::int64_t use : queue.use) {
    if (use != 0)
      return Error{Fault::Conflict, "queue: jobs run in it; wait for them or cancel them first"};
  }
  return Ok{};
}

void delete_queue(const AdminParts& parts, const CallPtr& call) {
  std::string name(call->request.param("queue"));
  change(
      parts.requests, call,
      [call, name](const World& world, Time) -> Result<control::Asked> {
        const sched::QueueId id = alive_queue(world, name);
        if (id.is_none()) return no_queue(name);
        if (Status free = may_remove(world, id); !free) return free.error();
        control::Asked asked;
        asked.events.emplace_back(model::QueueRemoved{name});
        asked.audit.push_back(audit_row(call->request, "delete", "queue/" + name));
        return asked;
      },
      [call] { no_content(call); });
}

// ----------------------------------------------------------------------------------------------
// clusters

void show_cluster(const AdminParts& parts, const CallPtr& call, const std::string& name,
                  int status) {
  read(
      parts.reads, call,
      [name, types = cluster_types(*parts.config().config)](World& world, Agenda&, const Policy&,
                                                            Time) -> Result<std::string> {
        const sched::ClusterId id = joined_cluster(world, name);
        if (id.is_none()) return no_cluster(name);
        return view::cluster_json(world, id, types);
      },
      [call, status](const Result<std::string>& cluster) {
        if (cluster) {
          call->answer(status, *cluster);
        } else {
          call->answer(cluster.error());
        }
      });
}

void allow(const AdminParts& parts, const CallPtr& call, model::Admission admission,
           std::string_view verb) {
  std::string name(call->request.param("cluster"));
  change(
      parts.requests, call,
      [call, name, admission, verb](const World& world, Time) -> Result<control::Asked> {
        const sched::ClusterId id = joined_cluster(world, name);
        if (id.is_none()) return no_cluster(name);
        model::ClusterSpec spec = world.fleet.cluster(id).spec;
        control::Asked asked;
        asked.audit.push_back(audit_row(call->request, std::string(verb), "cluster/" + name));
        if (spec.admission == admission) return asked;
        spec.admission = admission;
        asked.events.emplace_back(model::ClusterSet{std::move(spec)});
        return asked;
      },
      [&parts, call, name] { show_cluster(parts, call, name, 200); });
}

/// Reads an entry of `clusters` by the tables of the configuration.
Result<config::Cluster> read_cluster(const std::string& body) {
  constexpr std::size_t body_bytes_max = std::size_t{256} << 10;
  if (body.size() > body_bytes_max)
    return invalid(fmt::format("the body of a cluster may have {} bytes", body_bytes_max));
  // JSON is YAML; the braces around it make nothing but a list of one of whatever it is.
  const config::Checked checked = config::check(fmt::format("{{\"clusters\": [{}]}}", body));
  for (const config::Problem& problem : checked.problems) {
    if (problem.severity != config::Severity::Error) continue;
    std::string path = problem.path;
    if (path.starts_with("clusters[0].")) path.erase(0, 12);
    return invalid(path.empty() ? problem.message : fmt::format("{}: {}", path, problem.message));
  }
  if (checked.config.clusters.size() != 1) return invalid("the body must be one cluster");
  return checked.config.clusters[0];
}

void join_cluster(const AdminParts& parts, const CallPtr& call) {
  const auto cluster = read_cluster(call->request.body);
  if (!cluster) {
    call->answer(cluster.error());
    return;
  }
  config::Config one;
  one.clusters.push_back(*cluster);
  change(
      parts.requests, call,
      [call, spec = config::cluster_specs(one).at(0)](const World& world,
                                                      Time) -> Result<control::Asked> {
        if (!joined_cluster(world, spec.name).is_none())
          return Error{Fault::Conflict, fmt::format("name: cluster {} is joined", spec.name)};
        control::Asked asked;
        asked.events.emplace_back(model::ClusterSet{spec});
        asked.audit.push_back(audit_row(call->request, "join", "cluster/" + spec.name));
        return asked;
      },
      [&parts, call, cluster = *cluster] {
        on_worker(parts.work, call, [&parts, call, cluster] {
          Status joined = parts.join_cluster(cluster);
          if (joined) show_cluster(parts, call, cluster.name, 201);
          return joined;
        });
      });
}

void leave_cluster(const AdminParts& parts, const CallPtr& call) {
  const auto force = query_bool(call->request, "force", false);
  if (!force) {
    call->answer(force.error());
    return;
  }
  std::string name(call->request.param("cluster"));
  change(
      parts.requests, call,
      [call, name, force = *force](const World& world, Time) -> Result<control::Asked> {
        const sched::ClusterId id = joined_cluster(world, name);
        if (id.is_none()) return no_cluster(name);
        const std::size_t jobs = world.active_in(id).size();
        if (jobs > 0 && !force)
          return Error{Fault::Conflict,
                       fmt::format("cluster: {} jobs are active in {}; drain it first, or use "
                                   "force=true to leave them behind",
                                   jobs, name)};
        control::Asked asked;
        asked.events.emplace_back(model::ClusterLeft{name});
        asked.audit.push_back(
            audit_row(call->request, "leave", "cluster/" + name, force ? "force" : ""));
        return asked;
      },
      [&parts, call, name] {
        on_worker(parts.work, call, [&parts, call, name] {
          Status left = parts.leave_cluster(name);
          if (left) no_content(call);
          return left;
        });
      });
}

void add_queue_routes(net::Router& router, const AdminParts& parts) {
  add_route(router, "POST", "/queues",
            [&parts](const CallPtr& call) { create_queue(parts, call); });
  add_route(router, "PATCH", "/queues/{queue}",
            [&parts](const CallPtr& call) { edit_queue(parts, call); });
  add_route(router, "DELETE", "/queues/{queue}",
            [&parts](const CallPtr& call) { delete_queue(parts, call); });
}

void add_cluster_routes(net::Router& router, const AdminParts& parts) {
  struct Verb {
    std::string_view name;
    model::Admission admission;
  };
  for (const Verb verb :
       {Verb{"cordon", model::Admission::Cordoned}, Verb{"uncordon", model::Admission::Open},
        Verb{"drain", model::Admission::Draining}}) {
    add_route(
        router, "POST", fmt::format("/clusters/{{cluster}}/{}", verb.name),
        [&parts, verb](const CallPtr& call) { allow(parts, call, verb.admission, verb.name); });
  }
  add_route(router, "POST", "/clusters",
            [&parts](const CallPtr& call) { join_cluster(parts, call); });
  add_route(router, "DELETE", "/clusters/{cluster}",
            [&parts](const CallPtr& call) { leave_cluster(parts, call); });
}

}  // namespace

void add_admin_routes(net::Router& router, const AdminParts& parts) {
  add_queue_routes(router, parts);
  add_cluster_routes(router, parts);
  add_token_routes(router, parts);
  add_config_routes(router, parts);
}

void keep_admissions(const World& world, std::vector<model::EventBody>& events) {
  for (model::EventBody& event : events) {
    auto* set = std::get_if<model::ClusterSet>(&event);
    if (set == nullptr) continue;
    const sched::ClusterId id = joined_cluster(world, set->spec.name);
    if (!id.is_none()) set->spec.admission = world.fleet.cluster(id).spec.admission;
  }
}

}  // namespace muster::api
