// What really ran where and when, written down by the simulated clusters themselves. Checks count
// from this and not from Muster's own tables.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/time.h"
#include "ports/cluster.h"
#include "sim/workload.h"

namespace muster::sim {

enum class End { Open, Succeeded, Failed, Removed, Lost };

struct Run {
  std::uint32_t job = 0;  // index in Workload::jobs
  std::uint32_t attempt = 0;
  std::uint32_t cluster = 0;  // index in Workload::clusters
  Time created;
  Time started = Time::never();
  Time ended = Time::never();
  End how = End::Open;
  std::int64_t gpu_milli = 0;
  std::int64_t cpu_milli = 0;
  std::vector<std::string> nodes;  // of gangs, for the picture
};

class Record {
 public:
  explicit Record(const Workload& workload);

  /// The pods of an attempt were made. Checks that the gang is whole and that no other attempt of
  /// the job is alive, unless its owner chose rerun. Returns the number of the run.
  std::size_t created(const ports::Action& action, std::uint32_t cluster, Time now);
  void started(std::size_t run, Time now);
  void ended(std::size_t run, End how, Time now);

  const SimJob& job(const std::string& id) const { return workload_.jobs[index_.at(id)]; }
  /// Attempts of the job that ended by themselves so far.
  int finishes(const std::string& id) const { return counts_[index_.at(id)].finishes; }
  int successes(std::size_t job) const { return counts_[job].successes; }
  const std::vector<Run>& runs() const { return runs_; }
  std::size_t alive() const { return alive_; }
  /// When an attempt last ended by itself.
  Time last_finish() const { return last_finish_; }

  /// The first rule that was broken; empty while none was.
  const std::string& violation() const { return violation_; }
  void violate(std::string what) {
    if (violation_.empty()) violation_ = std::move(what);
  }

 private:
  struct Counts {
    int alive = 0;
    int finishes = 0;
    int successes = 0;
  };
  const Workload& workload_;
  std::map<std::string, std::uint32_t> index_;
  std::vector<Counts> counts_;
  std::vector<Run> runs_;
  std::size_t alive_ = 0;
  Time last_finish_;
  std::string violation_;
};

}  // namespace muster::sim
