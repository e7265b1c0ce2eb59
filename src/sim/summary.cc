#include "sim/summary.h"

#include <algorithm>

namespace muster::sim {
namespace {

Duration percentile(const std::vector<Duration>& sorted, int percent) {
  if (sorted.empty()) return {};
  const std::size_t at = (sorted.size() - 1) * static_cast<std::size_t>(percent) / 100;
  return sorted[at];
}

}  // namespace

Duration Summary::wait(int percent) const { return percentile(waits, percent); }

std::map<std::string, std::string> top_queues(const Workload& workload) {
  std::map<std::string, std::string> parent;
  for (const auto& queue : workload.queues) parent[queue.name] = queue.parent;
  std::map<std::string, std::string> top;
  for (const auto& queue : workload.queues) {
    std::string name = queue.name;
    while (!parent[name].empty()) name = parent[name];
    top[queue.name] = name;
  }
  return top;
}

Summary outline(const Workload& workload) {
  Summary s;
  s.jobs = workload.jobs.size();
  s.nodes = workload.machines.size();
  std::int64_t gpus = 0;
  std::int64_t cpus = 0;
  for (const Machine& machine : workload.machines) {
    gpus += machine.node.gpu_count * 1000;
    cpus += machine.node.allocatable.cpu.v;
  }
  s.by_gpu = gpus > 0;
  s.capacity_milli = s.by_gpu ? gpus : cpus;
  return s;
}

Summary summarize(const Workload& workload, const Outcome& outcome) {
  Summary s = outline(workload);
  const std::int64_t last = workload.jobs.empty() ? 1 : workload.jobs.back().submit.ms;
  const Time window{std::max<std::int64_t>(1, std::min(last, outcome.end.ms))};
  const auto top = top_queues(workload);
  std::vector<Time> first_start(workload.jobs.size(), Time::never());
  std::map<std::string, double> queue_hours;
  double in_window = 0;
  for (const Run& run : outcome.runs) {
    ++s.attempts;
    if (run.how == End::Removed) ++s.stopped;
    if (run.how == End::Lost) ++s.lost;
    const Time end = std::min(run.ended, outcome.end);
    first_start[run.job] = std::min(first_start[run.job], run.started);
    const auto held = static_cast<double>(amount(run, s.by_gpu));
    const double hours = held * static_cast<double>((end - run.created).ms) / 3.6e9;
    s.hours += hours;
    if (run.how == End::Removed || run.how == End::Lost) s.hours_lost += hours;
    const std::int64_t inside = std::min(end, window).ms - std::min(run.created, window).ms;
    in_window += held * static_cast<double>(inside);
    const auto it = top.find(workload.jobs[run.job].spec.queue);
    if (it != top.end()) queue_hours[it->second] += hours;
  }
  if (s.capacity_milli > 0)
    s.use = in_window / static_cast<double>(s.capacity_milli) / static_cast<double>(window.ms);
  std::map<std::string, std::vector<Duration>> waits;
  std::map<std::string, std::size_t> jobs;
  for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
    const auto it = top.find(workload.jobs[i].spec.queue);
    const std::string queue = it == top.end() ? workload.jobs[i].spec.queue : it->second;
    ++jobs[queue];
    if (first_start[i].is_never()) continue;
    s.waits.push_back(first_start[i] - workload.jobs[i].submit);
    waits[queue].push_back(s.waits.back());
  }
  std::sort(s.waits.begin(), s.waits.end());
  for (const auto& [name, count] : jobs) {
    auto& sorted = waits[name];
    std::sort(sorted.begin(), sorted.end());
    s.queues.push_back(
        {name, count, queue_hours[name], percentile(sorted, 50), percentile(sorted, 90)});
  }
  return s;
}

}  // namespace muster::sim
