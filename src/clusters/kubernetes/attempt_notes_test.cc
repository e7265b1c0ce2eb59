#include "clusters/kubernetes/attempt_notes.h"

#include <gtest/gtest.h>

namespace muster::clusters {
namespace {

TEST(AttemptNotes, EachReasonForWhichAnAttemptIsNotMadeIsOneNote) {
  const ports::Attempt attempt{"a", 2};
  const model::PodNote first = not_made_note(attempt, "etcdserver: no space", Time{1});
  EXPECT_EQ(first.job, "a");
  EXPECT_EQ(first.attempt, 2U);
  EXPECT_EQ(first.object, "Attempt 2");
  EXPECT_EQ(first.message,
            "the cluster did not take its objects and is asked again: etcdserver: no space");
  EXPECT_TRUE(first.is_warning);
  EXPECT_EQ(not_made_note(attempt, "etcdserver: no space", Time{9}).key, first.key);
  EXPECT_NE(not_made_note(attempt, "webhook timed out", Time{9}).key, first.key);
}

}  // namespace
}  // namespace muster::clusters
