#include "store/sqlite/commit_limit.h"

#include <gtest/gtest.h>

#include "base/testing/scratch.h"

namespace muster::store {
namespace {

TEST(CommitLimit, CountsRowsOfWholeCommits) {
  const Scratch scratch;
  const auto limit = measure_commit_limit(scratch.file("limit.db"), 200, 10, milliseconds(50));
  ASSERT_TRUE(limit.ok()) << limit.error().message;
  EXPECT_GT(*limit, 0);
}

TEST(CommitLimit, AFileThatCannotBeMadeIsAnError) {
  EXPECT_FALSE(measure_commit_limit("/nowhere/limit.db", 1, 1, milliseconds(1)).ok());
}

}  // namespace
}  // namespace muster::store
