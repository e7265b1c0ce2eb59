#include "cli/batches.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace muster::cli {

std::vector<std::vector<std::size_t>> cut_batches(std::span<const config::Submission> jobs,
                                                  std::size_t jobs_max) {
  MUSTER_CHECK(jobs_max > 0, "a request of no jobs");
  // The level of a job is how long a chain of dependencies ends in it: a level needs only earlier
  // ones. A file may name jobs that stand further down, so levels are found by walking from those
  // that wait for nothing.
  std::vector<std::size_t> missing(jobs.size());
  std::vector<std::vector<std::size_t>> waiting(jobs.size());
  std::vector<std::size_t> level;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    missing[i] = jobs[i].after.size();
    for (const std::size_t on : jobs[i].after) waiting[on].push_back(i);
    if (missing[i] == 0) level.push_back(i);
  }
  std::vector<std::vector<std::size_t>> batches;
  while (!level.empty()) {
    std::vector<std::size_t> next;
    for (std::size_t begin = 0; begin < level.size(); begin += jobs_max) {
      const std::size_t end = std::min(level.size(), begin + jobs_max);
      batches.emplace_back(level.begin() + static_cast<std::ptrdiff_t>(begin),
                           level.begin() + static_cast<std::ptrdiff_t>(end));
    }
    for (const std::size_t done : level) {
      for (const std::size_t i : waiting[done]) {
        if (--missing[i] == 0) next.push_back(i);
      }
    }
    std::sort(next.begin(), next.end());
    level = std::move(next);
  }
  return batches;
}

}  // namespace muster::cli
