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
#include "view/state_word.h"

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

json::array nodes_of(const World& world, const Job& job) {
  std::vector<NodeId> nodes;
  if (job.active) {
    for (const PodOn& pod : job.active->pods) nodes.push_back(pod.node);
  }
  return node_names(world, nodes);
}

json::value estimate_value(const std::optional<Estimate>& estimate, Time now) {
  return estimate ? json::value(estimate_object(*estimate, now)) : json::value(nullptr);
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
    constexpr std::array<std::string_view, 4> bounds = {"maximum", "borrow", "held", "kept"};
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
    if (w.lacking == 0) return;
    out["lacking"] = w.lacking;
    out["missing_kind"] = missing_kind(world, w);
  }
  void operator()(const UnknownQueue&) const {}
  void operator()(const FurtherTree& w) const {
    out["queue"] = world.quota[w.queue].name;
    out["tree"] = world.quota.tree_name(w.queue);
  }
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
  void operator()(const CutShort&) const {}
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
    if (row.failed_before) out["failed_before"] = true;
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
  out["nodes"] = nodes_of(world, job);
  if (job.active) {
    out["cluster"] = cluster_value(world, job.active->cluster);
    out["started_ms"] = time_value(job.active->started_at);
  }
  out["verdict"] = row.why ? json::value(why_object(world, *row.why, now)) : json::value(nullptr);
  out["estimate"] = estimate_value(row.estimate, now);
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

json::object limits_object(const World& world, const QueueNode& queue) {
  json::object limits;
  for (std::size_t r = 0; r < queue.limits.size(); ++r) {
    const std::string& name = world.quota.resource_name(ResourceId{static_cast<std::uint16_t>(r)});
    json::object limit = limit_object(queue.limits[r], name);
    if (!limit.empty()) limits[name] = std::move(limit);
  }
  return limits;
}

/// By resource id; zeros are left out.
json::object amounts_object(const World& world, std::span<const std::int64_t> amounts) {
  json::object out;
  for (std::size_t r = 0; r < amounts.size(); ++r) {
    const std::string& name = world.quota.resource_name(ResourceId{static_cast<std::uint16_t>(r)});
    if (amounts[r] != 0) out[name] = quantity(name, amounts[r]);
  }
  return out;
}

/// Summed by priority, so that a queue of a million jobs costs no more than one of ten.
std::int64_t waiting_in(const World& world, QueueId id) {
  std::int64_t waiting = 0;
  for (const auto& [priority, backlog] : world.backlog(id)) waiting += backlog.jobs;
  return waiting;
}

/// Jobs that have nodes, by their queue. Looks at each of them once.
std::map<QueueId, std::int64_t> active_by_queue(const World& world) {
  std::map<QueueId, std::int64_t> counts;
  for (const ClusterId cluster : world.fleet.by_name()) {
    for (const JobSlot slot : world.active_in(cluster)) ++counts[world.job(slot).queue];
  }
  return counts;
}

json::object queue_object(const World& world, QueueId id, const Capacity& capacity,
                          const Policy& policy, Time now, std::int64_t running) {
  const QueueNode& queue = world.quota[id];
  json::object out{{"name", queue.name},
                   {"parent", queue.parent.is_none() ? "" : world.quota[queue.parent].name},
                   {"tree", queue.tree},
                   {"exists", queue.alive},
                   {"weight", queue.weight},
                   {"strategy", strategy_text(queue.strategy)},
                   {"priority_cap", queue.priority_cap},
                   {"limits", limits_object(world, queue)},
                   {"use", amounts_object(world, queue.use)},
                   {"waiting", waiting_in(world, id)},
                   {"running", running}};
  // The largest value stands for weight 0: served last, no share.
  constexpr std::uint64_t share_max = std::uint64_t{1} << 43;
  const std::uint64_t share = std::min(world.quota.share(id, capacity, now, policy), share_max);
  out["share_ppm"] =
      queue.weight == 0 ? json::value(nullptr) : json::value((share * 1'000'000) >> 32);
  return out;
}

std::string_view admission_text(model::Admission admission) {
  switch (admission) {
    case model::Admission::Open:
      return "open";
    case model::Admission::Cordoned:
      return "cordoned";
    case model::Admission::Draining:
      return "draining";
  }
  return "";
}

json::object cluster_object(const World& world, ClusterId id, const ClusterNotes& notes) {
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
  json::object by_type;
  for (const auto& [type, g] : gpus)
    by_type[type] = json::object{{"total", g.total}, {"idle", quantity("gpu", g.idle_milli)}};
  json::object labels;
  for (const auto& [key, value] : cluster.spec.labels) labels[key] = value;
  json::object out{{"name", cluster.spec.name},
                   {"health", health_text(cluster.health)},
                   {"health_since_ms", time_value(cluster.health_since)},
                   {"nodes", seen},
                   {"nodes_usable", usable},
                   {"jobs", world.active_in(id).size()},
                   {"gpus", std::move(by_type)},
                   {"labels", std::move(labels)},
                   {"admission", admission_text(cluster.spec.admission)}};
  const auto found = notes.find(cluster.spec.name);
  const ClusterNote note = found == notes.end() ? ClusterNote{} : found->second;
  if (!note.type.empty()) out["type"] = note.type;
  const auto text_or_null = [](const std::string& text) {
    return text.empty() ? json::value(nullptr) : json::value(text);
  };
  out["reason"] = text_or_null(note.problem);
  out["version"] = text_or_null(note.version);
  out["user"] = text_or_null(note.user);
  out["leaving"] = note.is_leaving;
  return out;
}

// ----------------------------------------------------------------------------------------------
// use of a queue

/// A queue and all below it.
std::vector<QueueId> subtree(const World& world, QueueId top) {
  std::vector<QueueId> all = {top};
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::vector<QueueId>& below = world.quota[all[i]].children;
    all.insert(all.end(), below.begin(), below.end());
  }
  return all;
}

struct UserUse {
  int active = 0;
  std::vector<std::int64_t> use;  // by resource id
};

void add(const Job& job, UserUse& user) {
  ++user.active;
  for (const Charge& charge : job.active->charges) {
    if (user.use.size() <= charge.resource.index()) user.use.resize(charge.resource.index() + 1);
    user.use[charge.resource.index()] += charge.amount;
  }
}

// ----------------------------------------------------------------------------------------------
// one job in lines

std::string state_sentence(const World& world, const Job& job, Time now) {
  std::string text = fmt::format("{} is {}", job.id, state_word(job.state));
  if (!job.active) return text;
  text += fmt::format(" in cluster {}", world.fleet.cluster(job.active->cluster).spec.name);
  const Time since =
      job.active->started_at.is_never() ? job.active->placed_at : job.active->started_at;
  if (since <= now) text += fmt::format(" since {}", rough(now - since));
  return text;
}

std::string explanation_text(const World& world, const Explanation& e,
                             const ClusterWeights& weights, Time now) {
  const Job& job = world.job(e.job);
  std::string text = state_sentence(world, job, now);
  if (e.why) text += fmt::format(": {}", sentence(world, *e.why, now));
  if (e.estimate) text += fmt::format("\nexpected to start {}", sentence(*e.estimate, now));
  for (const Counterfactual& change : e.changes)
    text += fmt::format("\n- {}", sentence(world, change, now));
  if (!e.scores.empty())
    text += fmt::format("\nplaced by these points:\n{}", score_table(world, e.scores, weights));
  while (text.ends_with('\n')) text.pop_back();
  return text;
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

std::string live_members_json(const World& world, const JobRow& row, Time now) {
  const std::string object = json::serialize(json::object{
      {"nodes", nodes_of(world, world.job(row.job))},
      {"verdict", row.why ? json::value(why_object(world, *row.why, now)) : json::value(nullptr)},
      {"estimate", estimate_value(row.estimate, now)}});
  return object.substr(1, object.size() - 2);
}

std::string jobs_json(const World& world, std::span<const JobRow> rows, Time now) {
  json::array list;
  for (const JobRow& row : rows) list.push_back(job_object(world, row, now));
  return json::serialize(list);
}

std::string explanation_json(const World& world, const Explanation& explanation,
                             const ClusterWeights& weights, Time now) {
  json::object out;
  out["verdict"] = explanation.why ? json::value(why_object(world, *explanation.why, now))
                                   : json::value(nullptr);
  out["estimate"] = estimate_value(explanation.estimate, now);
  json::array changes;
  for (const Counterfactual& change : explanation.changes)
    changes.push_back(change_object(world, change, now));
  out["changes"] = std::move(changes);
  out["scores"] = score_array(world, explanation.scores, weights);
  out["nodes"] = nodes_of(world, world.job(explanation.job));
  out["text"] = explanation_text(world, explanation, weights, now);
  return json::serialize(out);
}

std::string when_json(const World& world, JobSlot slot, const std::optional<Estimate>& estimate,
                      Time now) {
  const Job& job = world.job(slot);
  return json::serialize(
      json::object{{"job", job.id},
                   {"state", model::to_text(job.state)},
                   {"estimate", estimate_value(estimate, now)},
                   {"text", estimate ? fmt::format("expected to start {}", sentence(*estimate, now))
                                     : state_sentence(world, job, now)}});
}

bool is_gone(const World& world, QueueId queue) {
  return !world.quota[queue].alive && waiting_in(world, queue) == 0 &&
         !active_by_queue(world).contains(queue);
}

std::string queues_json(const World& world, const Capacity& capacity, const Policy& policy,
                        Time now) {
  const std::map<QueueId, std::int64_t> active = active_by_queue(world);
  json::array list;
  for (const QueueId id : world.quota.by_name()) {
    const auto it = active.find(id);
    if (!world.quota[id].alive && it == active.end() && waiting_in(world, id) == 0) continue;
    list.push_back(
        queue_object(world, id, capacity, policy, now, it == active.end() ? 0 : it->second));
  }
  return json::serialize(list);
}

std::string queue_json(const World& world, QueueId queue, const Capacity& capacity,
                       const Policy& policy, Time now) {
  return json::serialize(
      queue_object(world, queue, capacity, policy, now, active_by_queue(world)[queue]));
}

std::string queue_usage_json(const World& world, QueueId queue, const Capacity& capacity) {
  const std::vector<QueueId> all = subtree(world, queue);
  const std::set<QueueId> inside(all.begin(), all.end());
  std::int64_t waiting = 0;
  for (const QueueId id : all) waiting += waiting_in(world, id);
  std::map<model::JobState, std::int64_t> states;
  std::map<std::string_view, UserUse> users;
  for (const ClusterId cluster : world.fleet.by_name()) {
    for (const JobSlot slot : world.active_in(cluster)) {
      const Job& job = world.job(slot);
      if (!inside.contains(job.queue)) continue;
      ++states[job.state];
      add(job, users[world.text(job.user)]);
    }
  }
  json::object jobs{{model::to_text(model::JobState::Waiting), waiting}};
  for (const auto& [state, count] : states) jobs[model::to_text(state)] = count;
  json::array rows;
  for (const auto& [name, user] : users)
    rows.push_back(json::object{
        {"user", name}, {"running", user.active}, {"use", amounts_object(world, user.use)}});
  return json::serialize(json::object{{"name", world.quota[queue].name},
                                      {"limits", limits_object(world, world.quota[queue])},
                                      {"use", amounts_object(world, world.quota[queue].use)},
                                      {"capacity", amounts_object(world, capacity)},
                                      {"jobs", std::move(jobs)},
                                      {"users", std::move(rows)}});
}

std::string cluster_json(const World& world, ClusterId cluster, const ClusterNotes& notes) {
  return json::serialize(cluster_object(world, cluster, notes));
}

std::string clusters_json(const World& world, const ClusterNotes& notes) {
  json::array list;
  for (const ClusterId id : world.fleet.by_name()) {
    if (world.fleet.cluster(id).joined) list.push_back(cluster_object(world, id, notes));
  }
  return json::serialize(list);
}

std::string unreachable_json(const World& world, const ClusterNotes& notes, Time now) {
  json::array list;
  for (const ClusterId id : world.fleet.by_name()) {
    const Cluster& cluster = world.fleet.cluster(id);
    if (!cluster.joined || cluster.health != model::Health::Unreachable) continue;
    const auto note = notes.find(cluster.spec.name);
    list.emplace_back(unreachable_text(cluster.spec.name, now - cluster.health_since,
                                       note == notes.end() ? "" : note->second.problem));
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

std::string quota_answer_json(const World& world, const QuotaAsk& ask, const QuotaAnswer& answer) {
  json::array jobs;
  for (const JobSlot job : answer.first) jobs.push_back(job_value(world, job));
  return json::serialize(json::object{{"count", answer.count},
                                      {"at_least", answer.at_least},
                                      {"jobs", std::move(jobs)},
                                      {"text", sentence(world, ask, answer)}});
}

}  // namespace muster::view
