#include "cli/batches.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace muster::cli {
namespace {

std::vector<config::Submission> jobs_after(const std::vector<std::vector<std::size_t>>& after) {
  std::vector<config::Submission> jobs(after.size());
  for (std::size_t i = 0; i < after.size(); ++i) jobs[i].after = after[i];
  return jobs;
}

using Cut = std::vector<std::vector<std::size_t>>;

TEST(Batches, jobs_that_wait_for_nothing_are_cut_by_number_only) {
  EXPECT_EQ(cut_batches(jobs_after({{}, {}, {}, {}, {}}), 2), (Cut{{0, 1}, {2, 3}, {4}}));
  EXPECT_EQ(cut_batches({}, 2), Cut{});
}

TEST(Batches, a_job_comes_after_those_it_depends_on) {
  EXPECT_EQ(cut_batches(jobs_after({{}, {0}, {1}}), 10), (Cut{{0}, {1}, {2}}));
  EXPECT_EQ(cut_batches(jobs_after({{1, 2}, {}, {}}), 10), (Cut{{1, 2}, {0}}));
  EXPECT_EQ(cut_batches(jobs_after({{}, {0}, {}, {2, 1}, {0}}), 10), (Cut{{0, 2}, {1, 4}, {3}}));
}

TEST(Batches, every_job_stands_in_exactly_one) {
  std::vector<std::vector<std::size_t>> after(500);
  for (std::size_t i = 1; i < after.size(); ++i) {
    if (i % 3 == 0) after[i] = {i / 2, i - 1};
  }
  std::set<std::size_t> sent;
  for (const auto& batch : cut_batches(jobs_after(after), 7)) {
    EXPECT_LE(batch.size(), 7u);
    for (const std::size_t i : batch)
      EXPECT_TRUE(std::all_of(after[i].begin(), after[i].end(),
                              [&](std::size_t on) { return sent.contains(on); }));
    for (const std::size_t i : batch) EXPECT_TRUE(sent.insert(i).second);
  }
  EXPECT_EQ(sent.size(), after.size());
}

}  // namespace
}  // namespace muster::cli
