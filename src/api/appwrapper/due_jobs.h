// When something is to be done about jobs: at most one time for each. Small, because 100,000 jobs
// may wait: it keeps views of ids, which must stay where they are as long as they are in it.
// In order of time, then of id. Of one thread.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/time.h"

namespace muster::api {

class DueJobs {
 public:
  /// Instead of the time it had; never: it is taken out.
  void set(std::string_view job, Time at) {
    drop(job);
    if (at.is_never()) return;
    times_.emplace(job, at);
    order_.emplace(at, job);
  }
  void drop(std::string_view job) {
    const auto known = times_.find(job);
    if (known == times_.end()) return;
    order_.erase({known->second, known->first});
    times_.erase(known);
  }
  /// Takes out the next one; "": none is due.
  std::string take(Time now) {
    if (order_.empty() || order_.begin()->first > now) return "";
    std::string job(order_.begin()->second);
    drop(job);
    return job;
  }
  Time next() const { return order_.empty() ? Time::never() : order_.begin()->first; }
  std::size_t size() const { return order_.size(); }

 private:
  std::unordered_map<std::string_view, Time> times_;
  std::set<std::pair<Time, std::string_view>> order_;
};

}  // namespace muster::api
