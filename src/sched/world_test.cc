#include "sched/world.h"

#include <gtest/gtest.h>

#include <memory>

#include "sched/testing/site.h"

namespace muster::sched {
namespace {

using testing::job_spec;
using testing::node_spec;
using testing::Site;

TEST(World, ACopyStandsByItself) {
  auto site = std::make_unique<Site>();
  site->cluster("c");
  site->queue("q");
  site->node("c", node_spec("n", 2));
  for (const char* id :
       {"short", "one-of-a-name-that-is-kept-elsewhere", "another-name-of-that-kind"})
    site->submit(job_spec(id, "q", 1, 1));
  site->plan();
  site->apply(model::JobCancelled{"another-name-of-that-kind"});
  EXPECT_EQ(check(site->world), "");
  const World copy = site->world;
  const std::uint64_t hash = site->world.hash();
  site.reset();
  EXPECT_EQ(check(copy), "");
  EXPECT_EQ(copy.hash(), hash);
  EXPECT_FALSE(copy.find_job("another-name-of-that-kind").is_none());
}

}  // namespace
}  // namespace muster::sched
