#include "api/rest/config_preview.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <boost/json.hpp>
#include <utility>
#include <vector>

#include "api/rest/unfinished.h"

namespace muster::api {
namespace {

namespace json = boost::json;

template <typename Texts>
json::array texts(const Texts& list) {
  json::array out;
  for (const std::string& text : list) out.emplace_back(text);
  return out;
}

json::array problems_array(const config::Problems& problems) {
  json::array out;
  for (const config::Problem& problem : problems)
    out.push_back(json::object{
        {"line", problem.line},
        {"column", problem.column},
        {"path", problem.path},
        {"message", problem.message},
        {"severity", problem.severity == config::Severity::Error ? "error" : "warning"}});
  return out;
}

/// What a change reaches: queues with all below them, clusters, pools.
class Reach {
 public:
  Reach(const sched::World& world, const config::Diff& diff)
      : world_(world), pools_(diff.pools.begin(), diff.pools.end()) {
    for (const std::string& name : diff.queues) add_queue(world.quota.find(name));
    for (const auto* names : {&diff.clusters_changed, &diff.clusters_removed})
      clusters_.insert(names->begin(), names->end());
  }
  bool is_empty() const { return queues_.empty() && clusters_.empty() && pools_.empty(); }

  bool has(const sched::Job& job) {
    const auto is_reached = [&](sched::QueueId id) { return queues_.contains(id); };
    if (is_reached(job.queue) ||
        std::any_of(job.extra_queues.begin(), job.extra_queues.end(), is_reached))
      return true;
    const Ask& ask = ask_of(job.shape);
    if (ask.is_of_pool) return true;
    return job.active ? clusters_.contains(world_.fleet.cluster(job.active->cluster).spec.name)
                      : ask.is_of_cluster;
  }

 private:
  struct Ask {
    bool is_known = false;
    bool is_of_pool = false;
    bool is_of_cluster = false;  // sent there by name, or by a pool of it
  };

  void add_queue(sched::QueueId id) {
    if (id.is_none() || !queues_.insert(id).second) return;
    for (const sched::QueueId child : world_.quota[id].children) add_queue(child);
  }

  /// Jobs of one shape name the same clusters and pools.
  const Ask& ask_of(sched::ShapeId shape) {
    if (asks_.size() <= shape.index()) asks_.resize(shape.index() + 1);
    Ask& ask = asks_[shape.index()];
    if (ask.is_known) return ask;
    ask.is_known = true;
    const model::Gang& gang = world_.shapes[shape].gang;
    for (const std::string& pin : gang.clusters)
      ask.is_of_cluster = ask.is_of_cluster || clusters_.contains(pin);
    if (!gang.pool.empty()) look_at_pool(gang.pool, ask);
    if (const auto* pools = world_.find_fleet_pool(gang.pool)) {
      for (const std::string& pool : *pools) look_at_pool(pool, ask);
    }
    return ask;
  }
  void look_at_pool(const std::string& name, Ask& ask) const {
    ask.is_of_pool = ask.is_of_pool || pools_.contains(name);
    const sched::PoolId id = world_.find_pool(name);
    if (!id.is_none())
      ask.is_of_cluster = ask.is_of_cluster || clusters_.contains(world_.pool(id).spec.cluster);
  }

  const sched::World& world_;
  std::set<sched::QueueId> queues_;
  std::set<std::string> clusters_;
  std::set<std::string> pools_;
  std::vector<Ask> asks_;  // by shape
};

}  // namespace

Affected affected_by(const sched::World& world, const config::Diff& diff) {
  Affected affected;
  Reach reach(world, diff);
  if (reach.is_empty()) return affected;
  std::set<sched::TextId> users;
  each_unfinished(world, [&](const sched::Job& job) {
    if (!reach.has(job)) return;
    ++affected.jobs;
    users.insert(job.user);
  });
  for (const sched::TextId user : users) affected.users.insert(world.text(user));
  return affected;
}

std::string to_text(const Affected& affected) {
  if (affected.jobs == 0) return "affects no jobs";
  return fmt::format("affects {} {}{}{}", affected.jobs, affected.jobs == 1 ? "job" : "jobs",
                     affected.users.empty() ? "" : " of ", fmt::join(affected.users, ", "));
}

std::string preview_json(const config::Checked& checked, const config::Diff& diff,
                         const Affected& affected, bool applied) {
  return json::serialize(json::object{{"ok", checked.ok()},
                                      {"applied", applied},
                                      {"problems", problems_array(checked.problems)},
                                      {"changes", texts(diff.lines)},
                                      {"restart", texts(diff.restart)},
                                      {"queues", texts(diff.queues)},
                                      {"clusters_added", texts(diff.clusters_added)},
                                      {"clusters_changed", texts(diff.clusters_changed)},
                                      {"clusters_removed", texts(diff.clusters_removed)},
                                      {"jobs_affected", affected.jobs},
                                      {"users_affected", texts(affected.users)}});
}

}  // namespace muster::api
