#include "api/rest/read_routes.h"

#include <algorithm>
#include <boost/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "api/rest/answers.h"
#include "api/rest/call.h"
#include "config/job_file.h"
#include "config/values.h"
#include "model/amount.h"
#include "sched/plan.h"
#include "sched/whatif.h"
#include "view/fleet_json.h"
#include "view/json.h"

namespace muster::api {
namespace {

namespace json = boost::json;
using sched::Agenda;
using sched::JobSlot;
using sched::Policy;
using sched::World;

constexpr std::size_t whatif_bytes_max = std::size_t{256} << 10;
constexpr std::int64_t nodes_limit_max = 1000;

Error no_job(const std::string& id) {
  return {Fault::NotFound, fmt::format("job: there is no job {}", id)};
}

// ----------------------------------------------------------------------------------------------
// one job

view::Explanation explanation_of(World& world, Agenda& agenda, const Policy& policy, JobSlot slot,
                                 Time now) {
  view::Explanation e;
  e.job = slot;
  const model::JobState state = world.job(slot).state;
  if (state == model::JobState::Held) e.why = sched::verdict(world, agenda, slot, now);
  if (state != model::JobState::Waiting) return e;
  e.why = sched::fresh_verdict(world, agenda, policy, slot, now);
  e.estimate = sched::expected_start(world, agenda, policy, slot, now);
  e.changes = sched::what_if(world, agenda, policy, slot, now);
  return e;
}

/// Of a job that the world has forgotten: it is finished.
constexpr std::string_view nothing_to_explain =
    R"({"verdict":null,"estimate":null,"changes":[],"scores":[],"text":"the job is finished"})";

/// {"job": ..., and the members of `rest`}
std::string with_job(const std::string& job, std::string_view rest) {
  return fmt::format(R"({{"job":{},{})", job, rest.substr(1));
}

void explain(const ReadParts& parts, const CallPtr& call, const std::string& job) {
  std::string id(call->request.param("job"));
  read(
      parts.reads, call,
      [&parts, id](World& world, Agenda& agenda, const Policy& policy,
                   Time now) -> Result<std::string> {
        const JobSlot slot = world.find_job(id);
        if (slot.is_none()) return std::string(nothing_to_explain);
        view::Explanation e = explanation_of(world, agenda, policy, slot, now);
        const std::vector<sched::ClusterScore> scores = parts.scores.of(world, id);
        e.scores = scores;
        return view::explanation_json(world, e, policy.cluster_weights, now);
      },
      [call, job](const Result<std::string>& rest) {
        if (rest) {
          call->answer(200, with_job(job, *rest));
        } else {
          call->answer(rest.error());
        }
      });
}

/// Of a job that the world has forgotten, from its row.
std::string when_finished(const std::string& row) {
  const json::object job = json::parse(row).as_object();
  return json::serialize(json::object{{"job", job.at("id")},
                                      {"state", job.at("state")},
                                      {"estimate", nullptr},
                                      {"text", "the job is finished"}});
}

void when(const ReadParts& parts, const CallPtr& call) {
  std::string id(call->request.param("job"));
  read(
      parts.reads, call,
      [id](World& world, Agenda& agenda, const Policy& policy, Time now) -> Result<std::string> {
        const JobSlot slot = world.find_job(id);
        if (slot.is_none()) return no_job(id);
        std::optional<sched::Estimate> estimate;
        if (world.job(slot).state == model::JobState::Waiting)
          estimate = sched::expected_start(world, agenda, policy, slot, now);
        return view::when_json(world, slot, estimate, now);
      },
      [&parts, call, id](const Result<std::string>& answer) {
        if (answer) return call->answer(200, *answer);
        if (answer.error().fault != Fault::NotFound) return call->answer(answer.error());
        parts.job_json(id, [call, unknown = answer.error()](const Result<std::string>& row) {
          if (row) return call->answer(200, when_finished(*row));
          call->answer(row.error().fault == Fault::NotFound ? unknown : row.error());
        });
      });
}

// ----------------------------------------------------------------------------------------------
// what if

void whatif_job(const ReadParts& parts, const CallPtr& call) {
  if (call->request.body.size() > whatif_bytes_max) {
    call->responder.send(fail(
        call->request, Fail{413, fmt::format("a job to try may have {} bytes", whatif_bytes_max)}));
    return;
  }
  const auto config = parts.config();
  config::JobOptions options;
  options.default_queue = config->defaults.queue;
  options.default_priority = config->defaults.priority;
  options.now = parts.clock();
  options.limits.jobs = 1;
  const config::JobFile file = config::read_job_json(call->request.body, options);
  if (!file.ok() || file.jobs.size() != 1) {
    call->responder.send(file.ok()
                             ? fail(call->request, invalid("jobs: one job is tried at a time"))
                             : fail(call->request, file.problems));
    return;
  }
  model::JobSpec spec = file.jobs[0].spec;
  spec.id = "whatif-" + call->request.id;
  spec.user = user_of(call->request);
  read(parts.reads, call,
       [spec](World& world, Agenda& agenda, const Policy& policy, Time now) -> Result<std::string> {
         const auto answer = sched::what_if_submit(world, agenda, policy, spec, now);
         if (!answer) return answer.error();
         return view::submit_json(world, *answer, policy.cluster_weights, now);
       });
}

Result<std::string> text_member(const json::object& object, std::string_view name,
                                std::optional<std::string> otherwise = std::nullopt) {
  const json::value* value = object.if_contains(name);
  if (value == nullptr) {
    if (otherwise) return *otherwise;
    return invalid(fmt::format("{}: is missing", name));
  }
  if (!value->is_string()) return invalid(fmt::format("{}: must be a text", name));
  return std::string(value->get_string());
}

Result<sched::QuotaAsk> quota_ask_of(const std::string& body) {
  boost::system::error_code bad;
  const json::value parsed = json::parse(body, bad);
  if (bad || !parsed.is_object())
    return invalid("the body must be a JSON object {queue, resource, extra}");
  const json::object& object = parsed.get_object();
  constexpr std::array<std::string_view, 3> known = {"queue", "resource", "extra"};
  for (const auto& member : object) {
    const std::string_view key = member.key();
    if (std::find(known.begin(), known.end(), key) == known.end())
      return invalid(fmt::format("{}: is not known; there are queue, resource and extra", key));
  }
  const auto queue = text_member(object, "queue");
  if (!queue) return queue.error();
  const auto resource = text_member(object, "resource", "gpu");
  if (!resource) return resource.error();
  const auto extra = text_member(object, "extra");
  if (!extra) return extra.error();
  const auto amount = model::parse_quantity(*extra, "extra", config::scale_of(*resource));
  if (!amount) return amount.error();
  return sched::QuotaAsk{*queue, *resource, *amount};
}

void whatif_queue(const ReadParts& parts, const CallPtr& call) {
  const auto ask = quota_ask_of(call->request.body);
  if (!ask) {
    call->answer(ask.error());
    return;
  }
  read(parts.reads, call,
       [ask = *ask](World& world, Agenda& agenda, const Policy& policy,
                    Time now) -> Result<std::string> {
         const auto answer = sched::what_if_quota(world, agenda, policy, ask, now);
         if (!answer) return answer.error();
         return view::quota_answer_json(world, ask, *answer);
       });
}

// ----------------------------------------------------------------------------------------------
// queues and clusters

void list_queues(const ReadParts& parts, const CallPtr& call) {
  read(parts.reads, call,
       [](World& world, Agenda&, const Policy& policy, Time now) -> Result<std::string> {
         return fmt::format(R"({{"queues":{}}})",
                            view::queues_json(world, world.capacity(policy), policy, now));
       });
}

using QueueView = std::function<std::string(World&, sched::QueueId, const Policy&, Time)>;

void one_queue(const ReadParts& parts, const CallPtr& call, const QueueView& show) {
  std::string name(call->request.param("queue"));
  read(parts.reads, call,
       [name, show](World& world, Agenda&, const Policy& policy, Time now) -> Result<std::string> {
         const sched::QueueId id = world.quota.find(name);
         if (id.is_none() || view::is_gone(world, id))
           return Error{Fault::NotFound, fmt::format("queue: there is no queue {}", name)};
         return show(world, id, policy, now);
       });
}

/// A list of the fleet misses, or has only from before, what unreachable clusters have: it says so.
std::string with_warnings(const World& world, const view::ClusterNotes& notes, Time now,
                          const std::string& list) {
  return fmt::format(R"({},"warnings":{}}})", std::string_view(list).substr(0, list.size() - 1),
                     view::unreachable_json(world, notes, now));
}

void list_clusters(const ReadParts& parts, const CallPtr& call) {
  read(parts.reads, call,
       [notes = parts.notes()](World& world, Agenda&, const Policy&,
                               Time now) -> Result<std::string> {
         return with_warnings(
             world, notes, now,
             fmt::format(R"({{"clusters":{}}})", view::clusters_json(world, notes)));
       });
}

void show_cluster(const ReadParts& parts, const CallPtr& call) {
  std::string name(call->request.param("cluster"));
  read(parts.reads, call,
       [name, notes = parts.notes()](World& world, Agenda&, const Policy&,
                                     Time) -> Result<std::string> {
         const sched::ClusterId id = world.fleet.find_cluster(name);
         if (id.is_none() || !world.fleet.cluster(id).joined)
           return Error{Fault::NotFound, fmt::format("cluster: there is no cluster {}", name)};
         return view::cluster_json(world, id, notes);
       });
}

// ----------------------------------------------------------------------------------------------
// nodes and pools

void list_nodes(const ReadParts& parts, const CallPtr& call) {
  const Status known = only_query(call->request, {"cluster", "pool", "limit", "cursor"});
  if (!known) {
    call->answer(known.error());
    return;
  }
  const auto limit = query_int(call->request, "limit", 1, nodes_limit_max, 100);
  if (!limit) {
    call->answer(limit.error());
    return;
  }
  view::NodeAsk ask{.cluster = std::string(call->request.query_value("cluster")),
                    .pool = std::string(call->request.query_value("pool")),
                    .cursor = std::string(call->request.query_value("cursor")),
                    .limit = static_cast<std::size_t>(*limit)};
  read(parts.reads, call,
       [ask, notes = parts.notes()](World& world, Agenda&, const Policy&,
                                    Time now) -> Result<std::string> {
         world.fleet.settle(world.shapes);
         const auto nodes = view::nodes_json(world, ask);
         if (!nodes) return nodes.error();
         return with_warnings(world, notes, now, *nodes);
       });
}

void show_node(const ReadParts& parts, const CallPtr& call) {
  std::string cluster(call->request.param("cluster"));
  std::string node(call->request.param("node"));
  read(parts.reads, call, [cluster, node](World& world, Agenda&, const Policy&, Time) {
    return view::node_json(world, cluster, node);
  });
}

using PoolView = Result<std::string> (*)(const World&, const std::string&);

void one_pool(const ReadParts& parts, const CallPtr& call, PoolView show) {
  std::string name(call->request.param("pool"));
  read(parts.reads, call, [name, show](World& world, Agenda&, const Policy&, Time) {
    world.fleet.settle(world.shapes);
    return show(world, name);
  });
}

/// The engine finds pools by name; their names are those of the configuration.
void list_pools(const ReadParts& parts, const CallPtr& call, std::string_view member,
                std::vector<std::string> names, PoolView show) {
  std::sort(names.begin(), names.end());
  read(parts.reads, call,
       [member, names = std::move(names), show, notes = parts.notes()](
           World& world, Agenda&, const Policy&, Time now) -> Result<std::string> {
         world.fleet.settle(world.shapes);
         std::string list;
         for (const std::string& name : names) {
           const Result<std::string> pool = show(world, name);
           if (pool) list += (list.empty() ? "" : ",") + *pool;
         }
         return with_warnings(world, notes, now, fmt::format(R"({{"{}":[{}]}})", member, list));
       });
}

template <typename Entry>
std::vector<std::string> names_of(const std::vector<Entry>& entries) {
  std::vector<std::string> names;
  for (const Entry& entry : entries) names.push_back(entry.name);
  return names;
}

void add_question_routes(net::Router& router, const ReadParts& parts) {
  add_route(router, "GET", "/jobs/{job}/explain", [&parts](const CallPtr& call) {
    parts.job_json(std::string(call->request.param("job")),
                   [&parts, call](const Result<std::string>& job) {
                     if (job) {
                       explain(parts, call, *job);
                     } else {
                       call->answer(job.error());
                     }
                   });
  });
  add_route(router, "GET", "/jobs/{job}/when",
            [&parts](const CallPtr& call) { when(parts, call); });
  add_route(router, "POST", "/whatif/job",
            [&parts](const CallPtr& call) { whatif_job(parts, call); });
  add_route(router, "POST", "/whatif/queue",
            [&parts](const CallPtr& call) { whatif_queue(parts, call); });
}

void add_fleet_routes(net::Router& router, const ReadParts& parts) {
  add_route(router, "GET", "/clusters",
            [&parts](const CallPtr& call) { list_clusters(parts, call); });
  add_route(router, "GET", "/clusters/{cluster}",
            [&parts](const CallPtr& call) { show_cluster(parts, call); });
  add_route(router, "GET", "/nodes", [&parts](const CallPtr& call) { list_nodes(parts, call); });
  add_route(router, "GET", "/nodes/{cluster}/{node}",
            [&parts](const CallPtr& call) { show_node(parts, call); });
  add_route(router, "GET", "/pools", [&parts](const CallPtr& call) {
    list_pools(parts, call, "pools", names_of(parts.config()->pools), view::pool_json);
  });
  add_route(router, "GET", "/pools/{pool}",
            [&parts](const CallPtr& call) { one_pool(parts, call, view::pool_json); });
  add_route(router, "GET", "/fleet-pools", [&parts](const CallPtr& call) {
    list_pools(parts, call, "fleet_pools", names_of(parts.config()->fleet_pools),
               view::fleet_pool_json);
  });
  add_route(router, "GET", "/fleet-pools/{pool}",
            [&parts](const CallPtr& call) { one_pool(parts, call, view::fleet_pool_json); });
}

}  // namespace

view::ClusterNotes cluster_notes(const config::Config& config) {
  view::ClusterNotes notes;
  for (const config::Cluster& cluster : config.clusters) {
    switch (cluster.type) {
      case config::ClusterType::Local:
        notes[cluster.name].type = "local";
        break;
      case config::ClusterType::Simulated:
        notes[cluster.name].type = "simulated";
        break;
      case config::ClusterType::Kubernetes:
        notes[cluster.name].type = "kubernetes";
        break;
    }
  }
  return notes;
}

void add_read_routes(net::Router& router, const ReadParts& parts) {
  add_question_routes(router, parts);
  add_fleet_routes(router, parts);
  add_route(router, "GET", "/queues", [&parts](const CallPtr& call) { list_queues(parts, call); });
  add_route(router, "GET", "/queues/{queue}", [&parts](const CallPtr& call) {
    one_queue(parts, call, [](World& world, sched::QueueId id, const Policy& policy, Time now) {
      return view::queue_json(world, id, world.capacity(policy), policy, now);
    });
  });
  add_route(router, "GET", "/queues/{queue}/usage", [&parts](const CallPtr& call) {
    one_queue(parts, call, [](World& world, sched::QueueId id, const Policy& policy, Time) {
      return view::queue_usage_json(world, id, world.capacity(policy));
    });
  });
}

}  // namespace muster::api
