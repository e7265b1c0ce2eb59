#include "api/rest/config_preview.h"

#include <fmt/ranges.h>

#include <boost/json.hpp>
#include <utility>
#include <vector>

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

}  // namespace

Affected affected_by(const sched::World& world, const config::Diff& diff) {
  Affected affected;
  std::set<sched::QueueId> queues;
  for (const std::string& name : diff.queues) {
    const sched::QueueId id = world.quota.find(name);
    if (id.is_none() || !queues.insert(id).second) continue;
    for (const auto& [priority, backlog] : world.backlog(id)) affected.jobs += backlog.jobs;
  }
  std::set<sched::ClusterId> clusters;
  for (const auto* names : {&diff.clusters_changed, &diff.clusters_removed}) {
    for (const std::string& name : *names) clusters.insert(world.fleet.find_cluster(name));
  }
  for (const sched::ClusterId cluster : world.fleet.by_name()) {
    for (const sched::JobSlot slot : world.active_in(cluster)) {
      const sched::Job& job = world.job(slot);
      if (!clusters.contains(cluster) && !queues.contains(job.queue)) continue;
      ++affected.jobs;
      affected.users.insert(world.text(job.user));
    }
  }
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
