// Clusters: joining, leaving, and what they are allowed.
#include <algorithm>
#include <boost/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "api/rest/admin_routes.h"
#include "api/rest/answers.h"
#include "base/text.h"
#include "view/json.h"

namespace muster::api {
namespace {

namespace json = boost::json;
using sched::Agenda;
using sched::Policy;
using sched::World;

Error no_cluster(const std::string& name) {
  return {Fault::NotFound, fmt::format("cluster: there is no cluster {}", name)};
}

sched::ClusterId joined_cluster(const World& world, const std::string& name) {
  const sched::ClusterId id = world.fleet.find_cluster(name);
  return id.is_none() || !world.fleet.cluster(id).joined ? sched::ClusterId::none() : id;
}

void show_cluster(const AdminParts& parts, const CallPtr& call, const std::string& name,
                  int status) {
  read(
      parts.reads, call,
      [name, notes = parts.notes()](World& world, Agenda&, const Policy&,
                                    Time) -> Result<std::string> {
        const sched::ClusterId id = joined_cluster(world, name);
        if (id.is_none()) return no_cluster(name);
        return view::cluster_json(world, id, notes);
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
  const view::ClusterNotes notes = parts.notes();
  const auto note = notes.find(name);
  if (admission == model::Admission::Open && note != notes.end() && note->second.is_leaving) {
    call->answer(Error{Fault::Conflict, fmt::format("cluster: {} is leaving", name)});
    return;
  }
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

// ----------------------------------------------------------------------------------------------
// joining

/// Reads an entry of `clusters` by the tables of the configuration. A kubeconfig is sent whole: a
/// path would be one of this machine, and its reader whoever sends the request.
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
  const config::Cluster& cluster = checked.config.clusters[0];
  if (cluster.kubeconfig)
    return invalid(
        "kubeconfig: names a file of the server; send the text as kubeconfig_inline, as `muster "
        "cluster join --kubeconfig FILE` does");
  if (cluster.kubeconfig_secret) return invalid("kubeconfig_secret: is for the configuration file");
  if (cluster.in_cluster) return invalid("in_cluster: is for the configuration file");
  return cluster;
}

json::array texts(const std::vector<std::string>& list) {
  return json::array(list.begin(), list.end());
}

std::string check_json(const config::Cluster& cluster, const ClusterCheck& check) {
  const auto text_or_null = [](const std::string& text) {
    return text.empty() ? json::value(nullptr) : json::value(text);
  };
  return json::serialize(json::object{{"name", cluster.name},
                                      {"reachable", check.problem.empty()},
                                      {"reason", text_or_null(check.problem)},
                                      {"version", text_or_null(check.version)},
                                      {"user", text_or_null(check.user)},
                                      {"same_as", text_or_null(check.same_as)},
                                      {"missing", texts(check.missing)},
                                      {"wanted", texts(check.wanted)},
                                      {"rbac", check.rbac}});
}

/// Why it is not joined as it is.
Status may_join(const ClusterCheck& check, bool is_unchecked) {
  if (!check.same_as.empty())
    return Error{Fault::Conflict,
                 fmt::format("cluster: is joined as {} ({})", check.same_as,
                             check.is_same_address ? "which has the same address"
                                                   : "its namespace kube-system has the same UID")};
  if (is_unchecked) return Ok{};
  if (!check.problem.empty())
    return Error{Fault::Conflict, fmt::format("cluster: cannot be reached: {}", check.problem)};
  if (check.missing.empty()) return Ok{};
  return Error{Fault::Conflict,
               fmt::format("cluster: permissions are missing: {}; POST /clusters/check answers "
                           "with the rules to apply",
                           fmt::join(check.missing, ", "))};
}

void put_into_books(const AdminParts& parts, const CallPtr& call, const config::Cluster& cluster) {
  config::Config one;
  one.clusters.push_back(cluster);
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
      [&parts, call, cluster] {
        on_worker(parts.work, call, [&parts, call, cluster] {
          Status joined = parts.join_cluster(cluster);
          if (joined) show_cluster(parts, call, cluster.name, 201);
          return joined;
        });
      });
}

void join_cluster(const AdminParts& parts, const CallPtr& call) {
  const auto is_unchecked = query_bool(call->request, "unchecked", false);
  const auto cluster = read_cluster(call->request.body);
  if (!is_unchecked || !cluster) {
    call->answer(cluster ? is_unchecked.error() : cluster.error());
    return;
  }
  on_worker(parts.work, call,
            [&parts, call, cluster = *cluster, is_unchecked = *is_unchecked]() -> Status {
              if (parts.notes().contains(cluster.name))
                return Error{Fault::Conflict,
                             fmt::format("name: cluster {} is joined", cluster.name)};
              const auto check = parts.check_cluster(cluster, {});
              if (!check) return check.error();
              if (Status may = may_join(*check, is_unchecked); !may) return may;
              put_into_books(parts, call, cluster);
              return Ok{};
            });
}

void check_cluster(const AdminParts& parts, const CallPtr& call) {
  const auto cluster = read_cluster(call->request.body);
  const auto has_objects = query_bool(call->request, "objects", false);
  const Status known = only_query(call->request, {"objects", "kinds"});
  if (!cluster || !has_objects || !known) {
    call->answer(!known ? known.error() : cluster ? has_objects.error() : cluster.error());
    return;
  }
  ClusterUse use{.has_objects = *has_objects};
  for (const std::string_view kind : split(call->request.query_value("kinds"), ',')) {
    if (!kind.empty()) use.kinds.emplace_back(kind);
  }
  on_worker(parts.work, call, [&parts, call, cluster = *cluster, use]() -> Status {
    const auto check = parts.check_cluster(cluster, use);
    if (!check) return check.error();
    call->answer(200, check_json(cluster, *check));
    return Ok{};
  });
}

// ----------------------------------------------------------------------------------------------
// leaving

struct Leave {
  std::string name;
  bool is_forced = false;  // at once, whatever runs there
  bool is_now = false;     // what runs there is moved away
};

/// Ends at once what nothing holds up; `has_left` tells which.
Result<control::Asked> ask_leave(const World& world, const Leave& leave,
                                 const net::Request& request, bool& has_left) {
  const sched::ClusterId id = joined_cluster(world, leave.name);
  if (id.is_none()) return no_cluster(leave.name);
  control::Asked asked;
  asked.audit.push_back(audit_row(request, "leave", "cluster/" + leave.name,
                                  leave.is_forced ? "force"
                                  : leave.is_now  ? "now"
                                                  : ""));
  has_left = leave.is_forced || !has_work(world, id);
  if (has_left) {
    asked.events.emplace_back(model::ClusterLeft{leave.name});
    return asked;
  }
  model::ClusterSpec spec = world.fleet.cluster(id).spec;
  spec.admission = leave.is_now ? model::Admission::Draining : model::Admission::Cordoned;
  asked.events.emplace_back(model::ClusterSet{std::move(spec)});
  return asked;
}

void begin_leave(const AdminParts& parts, const CallPtr& call, const Leave& leave) {
  const auto has_left = std::make_shared<bool>(false);
  change(
      parts.requests, call,
      [call, leave, has_left](const World& world, Time) {
        return ask_leave(world, leave, call->request, *has_left);
      },
      [&parts, call, leave, has_left] {
        on_worker(parts.work, call, [&parts, call, leave, has_left] {
          Status done = *has_left ? parts.leave_cluster(leave.name) : parts.begin_leave(leave.name);
          if (done && *has_left) call->responder.send({204, {}, {}});
          if (done && !*has_left) show_cluster(parts, call, leave.name, 202);
          return done;
        });
      });
}

void leave_cluster(const AdminParts& parts, const CallPtr& call) {
  const auto force = query_bool(call->request, "force", false);
  const auto now = query_bool(call->request, "now", false);
  const Status known = only_query(call->request, {"force", "now"});
  if (!force || !now || !known) {
    call->answer(!known ? known.error() : force ? now.error() : force.error());
    return;
  }
  const Leave leave{std::string(call->request.param("cluster")), *force, *now};
  on_worker(parts.work, call, [&parts, call, leave] {
    Status may = parts.may_leave(leave.name);
    if (may) begin_leave(parts, call, leave);
    return may;
  });
}

}  // namespace

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
  add_route(router, "POST", "/clusters/check",
            [&parts](const CallPtr& call) { check_cluster(parts, call); });
  add_route(router, "POST", "/clusters",
            [&parts](const CallPtr& call) { join_cluster(parts, call); });
  add_route(router, "DELETE", "/clusters/{cluster}",
            [&parts](const CallPtr& call) { leave_cluster(parts, call); });
}

void keep_admissions(const World& world, std::vector<model::EventBody>& events,
                     const view::ClusterNotes& notes) {
  for (model::EventBody& event : events) {
    if (const auto* left = std::get_if<model::ClusterLeft>(&event)) {
      const sched::ClusterId id = joined_cluster(world, left->cluster);
      if (id.is_none()) continue;
      model::ClusterSpec spec = world.fleet.cluster(id).spec;
      if (spec.admission == model::Admission::Open) spec.admission = model::Admission::Cordoned;
      event = model::ClusterSet{std::move(spec)};
    } else if (auto* set = std::get_if<model::ClusterSet>(&event)) {
      const sched::ClusterId id = joined_cluster(world, set->spec.name);
      const auto note = notes.find(set->spec.name);
      const bool comes_back = note != notes.end() && note->second.is_leaving;
      if (!id.is_none() && !comes_back)
        set->spec.admission = world.fleet.cluster(id).spec.admission;
    }
  }
}

bool has_work(const World& world, sched::ClusterId cluster) {
  const auto& orphans = world.orphans();
  return !world.active_in(cluster).empty() ||
         std::any_of(orphans.begin(), orphans.end(),
                     [&](const sched::Orphan& one) { return one.active.cluster == cluster; });
}

}  // namespace muster::api
