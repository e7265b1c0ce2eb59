#include "config/example_jobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::config {
namespace {

using testing::ElementsAre;

std::vector<std::string> examples(const std::string& clusters) {
  const Checked checked = check("clusters: [" + clusters + "]\n");
  EXPECT_TRUE(checked.ok());
  return example_jobs(checked.config);
}

TEST(ExampleJobs, OfTheDemoPrintHereAndTrainOnSimulatedGpus) {
  EXPECT_THAT(example_jobs(check(std::string(demo_yaml())).config),
              ElementsAre("muster run -- sh -c 'echo hello; exit 3'",
                          "muster submit --name train --gpus 8 --pods 4 -- sleep 60"));
}

TEST(ExampleJobs, AskForNoMoreThanThereIs) {
  EXPECT_EQ(
      examples(
          "{name: s, type: simulated, nodes: [{count: 2, gpu: {T4: 4}}, {name: c, count: 9}]}")[1],
      "muster submit --name train --gpus 4 --pods 2 -- sleep 60");
  EXPECT_EQ(examples("{name: here, type: local, slots: 2}")[1],
            "muster submit --name train --cluster here --pods 2 --gpus 1 -- sh -c 'echo $RANK of "
            "$WORLD_SIZE'");
  EXPECT_EQ(examples("{name: here, type: local, slots: 1}")[1],
            "muster submit --name train --cluster here --gpus 1 -- sh -c 'echo $RANK of "
            "$WORLD_SIZE'");
}

TEST(ExampleJobs, WithoutGpusAskForNone) {
  EXPECT_THAT(examples("{name: here, type: local}"),
              ElementsAre("muster run -- sh -c 'echo hello; exit 3'",
                          "muster submit --name train --cluster here --pods 2 -- sh -c 'echo $RANK "
                          "of $WORLD_SIZE'"));
  EXPECT_EQ(examples("{name: s, type: simulated, nodes: [{count: 2}]}")[1],
            "muster submit --name train -- sh -c 'echo hello'");
}

}  // namespace
}  // namespace muster::config
