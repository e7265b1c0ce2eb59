#include "api/rest/admin_routes.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "api/rest/answers.h"
#include "api/rest/queue_body.h"
#include "api/rest/unfinished.h"
#include "view/json.h"

namespace muster::api {
namespace {

using sched::Agenda;
using sched::Policy;
using sched::World;

Error no_queue(const std::string& name) {
  return {Fault::NotFound, fmt::format("queue: there is no queue {}", name)};
}

sched::QueueId alive_queue(const World& world, const std::string& name) {
  const sched::QueueId id = world.quota.find(name);
  return id.is_none() || !world.quota[id].alive ? sched::QueueId::none() : id;
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

/// Jobs that have not ended keep their queues; so do queues below.
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
  bool is_named = false;
  each_unfinished(world, [&](const sched::Job& job) {
    const std::vector<sched::QueueId>& more = job.extra_queues;
    is_named = is_named || job.queue == id || std::find(more.begin(), more.end(), id) != more.end();
  });
  if (is_named)
    return Error{Fault::Conflict,
                 "queue: jobs in it are on hold or wait for others or for a time; move or cancel "
                 "them first"};
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

void add_queue_routes(net::Router& router, const AdminParts& parts) {
  add_route(router, "POST", "/queues",
            [&parts](const CallPtr& call) { create_queue(parts, call); });
  add_route(router, "PATCH", "/queues/{queue}",
            [&parts](const CallPtr& call) { edit_queue(parts, call); });
  add_route(router, "DELETE", "/queues/{queue}",
            [&parts](const CallPtr& call) { delete_queue(parts, call); });
}

}  // namespace

void add_admin_routes(net::Router& router, const AdminParts& parts) {
  add_queue_routes(router, parts);
  add_cluster_routes(router, parts);
  add_token_routes(router, parts);
  add_config_routes(router, parts);
}

}  // namespace muster::api
