#include "view/json.h"

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "model/amount.h"
#include "model/state.h"
#include "view/explain.h"

namespace muster::view {
namespace {

namespace json = boost::json;
using namespace sched;  // NOLINT: this file is about the engine's words

// ----------------------------------------------------------------------------------------------
// small values

json::value time_value(Time t) { return t.is_never() ? json::value(nullptr) : json::value(t.ms); }

json::value job_value(const World& world, JobSlot slot) {
  return slot.is_none() ? json::value(nullptr) : json::value(world.job(slot).id);
}
json::value cluster_value(const World& world, ClusterId id) {
  return id.is_none() ? json::value(nullptr) : json::value(world.fleet.cluster(id).spec.name);
}

std::string quantity(std::string_view resource, std::int64_t amount) {
  const bool milli = resource == "cpu" || resource == "gpu" || resource.starts_with("gpu.");
  return model::quantity_text(amount, milli ? model::Scale::Milli : model::Scale::Whole);
}

/// "no-room" of "no-room 5/8 best=a": lines begin with the name of their kind.
std::string kind_of(const std::string& line) { return line.substr(0, line.find(' ')); }

json::array node_names(const World& world, const std::vector<NodeId>& nodes) {
  std::set<std::string_view> names;
  for (const NodeId id : nodes) names.insert(world.fleet.node(id).spec.name);
  json::array list;
  for (const std::string_view name : names) list.emplace_back(name);
  return list;
}

json::object estimate_object(const Estimate& e, Time now) {
  return {{"low_ms", time_value(e.low)},
          {"expected_ms", time_value(e.expected)},
          {"high_ms", time_value(e.high)},
          {"text", sentence(e, now)}};
}

// ----------------------------------------------------------------------------------------------
// verdicts and counterfactuals: kind, numbers, text

struct WhyFields {
  const World& world;
  json::object& out;
  void operator()(const Infeasible& w) const { fit(w.pods, w.best, w.best_cluster); }
  void operator()(const NoRoom& w) const { fit(w.pods, w.best, w.best_cluster); }
  void operator()(const WouldDelay& w) const {
    out["job"] = job_value(world, w.holder);
    out["reserved_ms"] = time_value(w.reserved_start);
  }
  void operator()(const HasReservation& w) const {
    out["cluster"] = cluster_value(world, w.cluster);
    out["start_ms"] = time_value(w.start);
  }
  void operator()(const Preempting& w) const {
    out["cluster"] = cluster_value(world, w.cluster);
    out["victims"] = w.victims;
  }
  void operator()(const OverQuota& w) const {
    constexpr std::array<std::string_view, 3> bounds = {"maximum", "borrow", "held"};
    const std::string& resource = world.quota.resource_name(w.resource);
    out["queue"] = world.quota[w.queue].name;
    out["resource"] = resource;
    out["asked"] = quantity(resource, w.asked);
    out["room"] = quantity(resource, w.room);
    out["bound"] = bounds[static_cast<std::size_t>(w.bound)];
  }
  void operator()(const BehindFirst& w) const { out["job"] = job_value(world, w.first); }
  void operator()(const NotBefore& w) const { out["start_ms"] = time_value(w.start_after); }
  void operator()(const WaitsFor& w) const { out["job"] = job_value(world, w.dependency); }
  void operator()(const NoCluster& w) const {
    out["excluded"] = w.excluded;
    out["unhealthy"] = w.unhealthy;
  }
  void operator()(const UnknownQueue&) const {}
  void operator()(const OnHold&) const {}
  void operator()(const NotTried&) const {}

 private:
  void fit(int pods, int best, ClusterId cluster) const {
    out["pods"] = pods;
    out["best"] = best;
    out["cluster"] = cluster_value(world, cluster);
  }
};

json::object why_object(const World& world, const Why& why, Time now) {
  json::object out{{"kind", kind_of(verdict_line(world, why, now))}};
  std::visit(WhyFields{world, out}, why);
  out["text"] = sentence(world, why, now);
  return out;
}

struct ChangeFields {
  const World& world;
  json::object& out;
  void operator()(const FewerPods& c) const {
    out["from"] = c.from;
    out["to"] = c.to;
    out["cluster"] = cluster_value(world, c.cluster);
    out["counts"] = json::array(c.counts.begin(), c.counts.end());
  }
  void operator()(const OtherCluster& c) const {
    constexpr std::array<std::string_view, 3> bars = {"pinned", "excluded", "pool"};
    out["cluster"] = cluster_value(world, c.cluster);
    out["bar"] = bars[static_cast<std::size_t>(c.bar)];
  }
  void operator()(const OtherGpuType& c) const {
    out["gpu_type"] = world.fleet.type_name(c.type);
    out["cluster"] = cluster_value(world, c.cluster);
  }
  void operator()(const HigherPriority& c) const {
    out["priority"] = c.priority;
    out["victims"] = c.victims;
  }
  void operator()(const MoreQuota& c) const {
    constexpr std::array<std::string_view, 3> limits = {"maximum", "borrow", "guaranteed"};
    json::array raises;
    for (const QuotaRaise& raise : c.raises) {
      const std::string& resource = world.quota.resource_name(raise.resource);
      raises.push_back(json::object{{"queue", world.quota[raise.queue].name},
                                    {"resource", resource},
                                    {"limit", limits[static_cast<std::size_t>(raise.bound)]},
                                    {"amount", quantity(resource, raise.amount)}});
    }
    out["raises"] = std::move(raises);
  }
  void operator()(const WhenJobEnds& c) const {
    out["job"] = job_value(world, c.job);
    out["time_ms"] = time_value(c.time);
    out["cluster"] = cluster_value(world, c.cluster);
  }
  void operator()(const ShorterRunLimit& c) const {
    out["run_limit_ms"] = c.limit.ms;
    out["cluster"] = cluster_value(world, c.cluster);
  }
  void operator()(const NodesUnavailable& c) const {
    out["count"] = c.count;
    out["cluster"] = cluster_value(world, c.cluster);
    out["nodes"] = node_names(world, c.nodes);
  }
  void operator()(const ClusterBack& c) const {
    out["cluster"] = cluster_value(world, c.cluster);
    out["health"] = health_text(c.health);
  }
};

json::object change_object(const World& world, const Counterfactual& change, Time now) {
  json::object out{{"kind", kind_of(counterfactual_line(world, change, now))}};
  std::visit(ChangeFields{world, out}, change);
  out["text"] = sentence(world, change, now);
  return out;
}

json::array score_array(const World& world, std::span<const ClusterScore> rows,
                        const ClusterWeights& weights) {
  json::array list;
  for (const ClusterScore& row : rows) {
    json::object parts;
    for (std::size_t p = 0; p < part_count; ++p) {
      const Part part = static_cast<Part>(p);
      parts[to_text(part)] =
          json::object{{"points", row.points[p]}, {"weight", weight_of(part, weights)}};
    }
    json::object out{{"cluster", cluster_value(world, row.cluster)}};
    if (row.type.v != 0 && !row.type.is_none()) out["gpu_type"] = world.fleet.type_name(row.type);
    out["total"] = row.total;
    out["parts"] = std::move(parts);
    list.push_back(std::move(out));
  }
  return list;
}

// ----------------------------------------------------------------------------------------------
// rows

json::object job_object(const World& world, const JobRow& row, Time now) {
  const Job& job = world.job(row.job);
  json::object out{{"id", job.id},
                   {"name", world.text(job.name)},
                   {"user", world.text(job.user)},
                   {"queue", world.quota[job.queue].name},
                   {"state", model::to_text(job.state)},
                   {"priority", job.priority},
                   {"attempt", job.attempt},
                   {"submitted_ms", time_value(job.submitted)},
                   {"pods", world.shapes[job.shape].pods}};
  out["cluster"] = nullptr;
  out["nodes"] = json::array();
  if (job.active) {
    std::vector<NodeId> nodes;
    for (const PodOn& pod : job.active->pods) nodes.push_back(pod.node);
    out["cluster"] = cluster_value(world, job.active->cluster);
    out["nodes"] = node_names(world, nodes);
    out["started_ms"] = time_value(job.active->started_at);
  }
  out["verdict"] = row.why ? json::value(why_object(world, *row.why, now)) : json::value(nullptr);
  out["estimate"] =
      row.estimate ? json::value(estimate_object(*row.estimate, now)) : json::value(nullptr);
  return out;
}

json::object limit_object(const LimitRec& limit, std::string_view resource) {
  json::object out;
  const std::array<std::pair<std::string_view, std::int64_t>, 4> all = {
      {{"guaranteed", limit.guaranteed},
       {"maximum", limit.maximum},
       {"borrow", limit.borrow},
       {"lend", limit.lend}}};
  for (const auto& [name, amount] : all) {
    if (amount != unset) out[name] = quantity(resource, amount);
  }
  return out;
}

std::string_view strategy_text(model::Strategy strategy) {
  switch (strategy) {
    case model::Strategy::Backfill:
      return "backfill";
    case model::Strategy::SkipAhead:
      return "skip_ahead";
    case model::Strategy::Fifo:
      return "fifo";
  }
  return "";
}

json::object queue_object(const World& world, QueueId id, const Capacity& capacity,
                          const Policy& policy, Time now) {
  const QueueNode& queue = world.quota[id];
  json::object limits;
  json::object use;
  for (std::size_t r = 0; r < queue.limits.size(); ++r) {
    const std::string& name = world.quota.resource_name(ResourceId{static_cast<std::uint16_t>(r)});
    json::object limit = limit_object(queue.limits[r], name);
    if (!limit.empty()) limits[name] = std::move(limit);
  }
  for (std::size_t r = 0; r < queue.use.size(); ++r) {
    const std::string& name = world.quota.resource_name(ResourceId{static_cast<std::uint16_t>(r)});
    if (queue.use[r] != 0) use[name] = quantity(name, queue.use[r]);
  }
  std::size_t waiting = 0;
  for (const LineRank& rank : world.lines_of(id)) waiting += world.line(rank.line).jobs.size();
  json::object out{{"name", queue.name},
                   {"parent", queue.parent.is_none() ? "" : world.quota[queue.parent].name},
                   {"tree", queue.tree},
                   {"exists", queue.alive},
                   {"weight", queue.weight},
                   {"strategy", strategy_text(queue.strategy)},
                   {"priority_cap", queue.priority_cap},
                   {"limits", std::move(limits)},
                   {"use", std::move(use)},
                   {"waiting", waiting}};
  // The largest value stands for weight 0: served last, no share.
  constexpr std::uint64_t share_max = std::uint64_t{1} << 43;
  const std::uint64_t share = std::min(world.quota.share(id, capacity, now, policy), share_max);
  out["share_ppm"] =
      queue.weight == 0 ? json::value(nullptr) : json::value((share * 1'000'000) >> 32);
  return out;
}

json::object cluster_object(const World& world, ClusterId id) {
  const Cluster& cluster = world.fleet.cluster(id);
  struct Gpus {
    std::int64_t total = 0;
    std::int64_t idle_milli = 0;
  };
  std::map<std::string, Gpus> gpus;
  int seen = 0;
  int usable = 0;
  for (const NodeId node_id : cluster.nodes) {
    const Node& node = world.fleet.node(node_id);
    if (!node.seen) continue;
    ++seen;
    const bool in_use = world.fleet.usable(node);
    if (in_use) ++usable;
    if (node.spec.gpu_count == 0) continue;
    Gpus& g = gpus[node.spec.gpu_type];
    g.total += node.spec.gpu_count;
    if (!in_use) continue;
    for (int d = 0; d < node.spec.gpu_count; ++d)
      g.idle_milli += node.devices[static_cast<std::size_t>(d)];
  }
  json::object types;
  for (const auto& [type, g] : gpus)
    types[type] = json::object{{"total", g.total}, {"idle", quantity("gpu", g.idle_milli)}};
  return {{"name", cluster.spec.name},
          {"health", health_text(cluster.health)},
          {"health_since_ms", time_value(cluster.health_since)},
          {"nodes", seen},
          {"nodes_usable", usable},
          {"jobs", world.active_in(id).size()},
          {"gpus", std::move(types)}};
}

// ----------------------------------------------------------------------------------------------
// decisions

struct DecisionFields {
  json::object& out;
  void operator()(const model::Placed& d) const {
    json::array pods;
    for (const model::PodPlace& pod : d.pods) {
      json::object place{{"set", pod.set}, {"node", pod.node}};
      if (pod.devices != 0) {
        json::array devices;
        for (int bit = 0; bit < 32; ++bit) {
          if ((pod.devices >> bit) & 1u) devices.emplace_back(bit);
        }
        place["gpu_type"] = pod.gpu_type;
        place["devices"] = std::move(devices);
        place["each"] = quantity("gpu", pod.each);
      }
      pods.push_back(std::move(place));
    }
    put("placed", d.job);
    out["attempt"] = d.attempt;
    out["cluster"] = d.cluster;
    out["pool"] = d.pool;
    out["pods"] = std::move(pods);
  }
  void operator()(const model::Stopped& d) const {
    constexpr std::array<std::string_view, 5> whys = {"priority", "reclaim", "drain", "run-limit",
                                                      "cluster-lost"};
    put("stopped", d.job);
    out["attempt"] = d.attempt;
    out["why"] = whys[static_cast<std::size_t>(d.why)];
    out["beneficiary"] = d.beneficiary;
  }
  void operator()(const model::Reserved& d) const {
    put("reserved", d.job);
    out["cluster"] = d.cluster;
    out["start_ms"] = time_value(d.start);
    out["preempting"] = d.preempting;
    json::array nodes;
    for (const std::string& node : d.nodes) nodes.emplace_back(node);
    out["nodes"] = std::move(nodes);
  }
  void operator()(const model::ReservationDropped& d) const { put("reservation-dropped", d.job); }
  void operator()(const model::GivenUp& d) const {
    constexpr std::array<std::string_view, 3> whys = {"dependency-failed", "deadline-passed",
                                                      "retries-exhausted"};
    put("given-up", d.job);
    out["why"] = whys[static_cast<std::size_t>(d.why)];
  }

 private:
  void put(std::string_view kind, const std::string& job) const {
    out["kind"] = kind;
    out["job"] = job;
  }
};

}  // namespace

std::string job_json(const World& world, const JobRow& row, Time now) {
  return json::serialize(job_object(world, row, now));
}

std::string jobs_json(const World& world, std::span<const JobRow> rows, Time now) {
  json::array list;
  for (const JobRow& row : rows) list.push_back(job_object(world, row, now));
  return json::serialize(list);
}

std::string queues_json(const World& world, const Capacity& capacity, const Policy& policy,
                        Time now) {
  json::array list;
  for (const QueueId id : world.quota.by_name())
    list.push_back(queue_object(world, id, capacity, policy, now));
  return json::serialize(list);
}

std::string clusters_json(const World& world) {
  json::array list;
  for (const ClusterId id : world.fleet.by_name()) {
    if (world.fleet.cluster(id).joined) list.push_back(cluster_object(world, id));
  }
  return json::serialize(list);
}

std::string decisions_json(std::span<const model::Decision> decisions, Time now) {
  json::array list;
  for (const model::Decision& decision : decisions) {
    json::object out;
    std::visit(DecisionFields{out}, decision);
    out["text"] = sentence(decision, now);
    list.push_back(std::move(out));
  }
  return json::serialize(list);
}

std::string scores_json(const World& world, std::span<const ClusterScore> rows,
                        const ClusterWeights& weights) {
  return json::serialize(score_array(world, rows, weights));
}

std::string counterfactuals_json(const World& world, std::span<const Counterfactual> changes,
                                 Time now) {
  json::array list;
  for (const Counterfactual& change : changes) list.push_back(change_object(world, change, now));
  return json::serialize(list);
}

std::string submit_json(const World& world, const SubmitAnswer& answer,
                        const ClusterWeights& weights, Time now) {
  json::object out{{"starts_now", answer.starts_now}};
  if (answer.starts_now) {
    json::array nodes;
    for (const NodeShare& share : answer.nodes)
      nodes.push_back(
          json::object{{"node", world.fleet.node(share.node).spec.name}, {"pods", share.pods}});
    out["cluster"] = cluster_value(world, answer.cluster);
    out["pool"] = answer.pool.is_none() ? "" : world.pool(answer.pool).spec.name;
    out["nodes"] = std::move(nodes);
    out["scores"] = score_array(world, answer.table, weights);
  } else {
    out["verdict"] = why_object(world, answer.why, now);
    if (answer.ends) out["when"] = change_object(world, *answer.ends, now);
  }
  out["estimate"] = estimate_object(answer.estimate, now);
  out["text"] = sentence(world, answer, now);
  return json::serialize(out);
}

}  // namespace muster::view
