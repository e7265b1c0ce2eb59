#include "sim/record.h"

#include <bit>
#include <set>

namespace muster::sim {

Record::Record(const Workload& workload) : workload_(workload), counts_(workload.jobs.size()) {
  for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
    index_.emplace(workload.jobs[i].spec.id, static_cast<std::uint32_t>(i));
  }
}

std::size_t Record::created(const ports::Action& action, std::uint32_t cluster, Time now) {
  const std::uint32_t job = index_.at(action.attempt.job);
  const model::Gang& gang = workload_.jobs[job].spec.gang;
  Run run;
  run.job = job;
  run.attempt = action.attempt.number;
  run.cluster = cluster;
  run.created = now;
  std::vector<int> pods(gang.sets.size(), 0);
  std::set<std::string> nodes;
  for (const model::PodPlace& place : action.pods) {
    ++pods[place.set];
    nodes.insert(place.node);
    run.gpu_milli += std::popcount(place.devices) * std::int64_t{place.each};
    run.cpu_milli += gang.sets[place.set].pod.requests.cpu.v;
  }
  run.nodes.assign(nodes.begin(), nodes.end());
  for (std::size_t i = 0; i < pods.size(); ++i) {
    if (pods[i] < gang.sets[i].least() || pods[i] > gang.sets[i].count) {
      violate(fmt::format("gang not whole: {} attempt {} has {} pods of set {} instead of {}",
                          action.attempt.job, action.attempt.number, pods[i], gang.sets[i].name,
                          gang.sets[i].count));
    }
  }
  if (++counts_[job].alive > 1 && gang.on_cluster_loss != model::OnClusterLoss::Rerun) {
    violate(fmt::format("runs twice: attempt {} of {} was created while an older one is alive",
                        action.attempt.number, action.attempt.job));
  }
  ++alive_;
  runs_.push_back(std::move(run));
  return runs_.size() - 1;
}

void Record::started(std::size_t run, Time now) { runs_[run].started = now; }

void Record::ended(std::size_t run, End how, Time now) {
  runs_[run].ended = now;
  runs_[run].how = how;
  Counts& counts = counts_[runs_[run].job];
  --counts.alive;
  --alive_;
  if (how == End::Succeeded || how == End::Failed) {
    ++counts.finishes;
    last_finish_ = now;
  }
  if (how == End::Succeeded) ++counts.successes;
}

}  // namespace muster::sim
