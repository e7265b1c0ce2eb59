#include "clusters/kubernetes/extra_use.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ports/memory_inbox.h"

namespace muster::clusters {
namespace {

const ports::Attempt attempt{"j", 1};

PodSight pod(const std::string& node, manifest::Amounts asks,
             const std::string& phase = "Running") {
  PodSight sight;
  sight.node = node;
  sight.phase = phase;
  sight.asks = std::move(asks);
  return sight;
}

/// Planned: a pod of set 0 on n1 and one on n2, of a core and 100 bytes, with a GPU each.
class ExtraUseTest : public ::testing::Test {
 protected:
  ExtraUseTest() { extra_.expect(attempt, {{{1000}, {100}, {{"rdma/hca", 1}}}}); }

  /// "n1 500m 0B 1gpu" of each node that is told; "-n1" if it is nothing any more.
  std::string look(const std::vector<PodSight>& pods) {
    extra_.look(attempt, booked_, pods);
    extra_.tell(changes_);
    return told();
  }
  std::string told() {
    ports::MemoryInbox inbox(100);
    changes_.drain(inbox);
    std::string text;
    for (const model::Event& event : inbox.take(100)) {
      if (!text.empty()) text += ", ";
      if (const auto* gone = std::get_if<model::ForeignPodGone>(&event.body)) {
        text += "-" + gone->uid;
        continue;
      }
      const model::ForeignPod& seen = std::get<model::ForeignPodSeen>(event.body).pod;
      text += fmt::format("{} {}m {}B {}gpu", seen.node, seen.requests.cpu.v,
                          seen.requests.memory.v, seen.gpus);
      for (const auto& [name, amount] : seen.requests.extended)
        text += fmt::format(" {}={}", name, amount);
    }
    return text;
  }

  const manifest::Amounts planned_ = {
      {"cpu", 1000}, {"memory", 100}, {"nvidia.com/gpu", 1}, {"rdma/hca", 1}};
  std::vector<model::PodPlace> booked_ = {{0, "n1", "A100", 1, 1000}, {0, "n2", "A100", 2, 1000}};
  SightChanges changes_;
  ExtraUse extra_{"c", {}};
};

TEST_F(ExtraUseTest, PodsAsPlannedTakeNoMore) {
  EXPECT_EQ(look({pod("n1", planned_), pod("", planned_, "Pending")}), "");
  EXPECT_EQ(look({pod("n1", planned_), pod("n2", planned_)}), "");
  EXPECT_EQ(look({pod("n1", {{"cpu", 10}})}), "") << "less is no more";
}

TEST_F(ExtraUseTest, WhatOthersPutIntoAPodIsTold) {
  manifest::Amounts more = planned_;
  more["cpu"] = 1250;
  more["memory"] = 164;
  more["ephemeral-storage"] = 7;
  EXPECT_EQ(look({pod("n1", more), pod("n2", planned_)}), "n1 250m 64B 0gpu ephemeral-storage=7");
  EXPECT_EQ(look({pod("n1", more), pod("n2", planned_)}), "") << "it was told";
  EXPECT_EQ(look({pod("n1", more, "Succeeded")}), "-muster.dev/extra/n1");
  EXPECT_EQ(look({}), "");
}

TEST_F(ExtraUseTest, PodsThatAreAddedLaterAreTold) {
  EXPECT_EQ(
      look({pod("n1", planned_), pod("n2", planned_), pod("n2", planned_), pod("n3", planned_)}),
      "n2 1000m 100B 1gpu rdma/hca=1, n3 1000m 100B 1gpu rdma/hca=1");
  EXPECT_EQ(look({pod("n1", planned_), pod("n2", planned_)}),
            "-muster.dev/extra/n2, -muster.dev/extra/n3");
}

TEST_F(ExtraUseTest, OfSeveralAttemptsOnANodeTheSumIsTold) {
  const ports::Attempt other{"k", 3};
  extra_.expect(other, {{{0}, {0}, {}}});
  extra_.look(other, {{0, "n1", "", 0, 0}}, {pod("n1", {{"cpu", 300}})});
  EXPECT_EQ(look({pod("n1", planned_), pod("n1", planned_)}), "n1 1300m 100B 1gpu rdma/hca=1");
  extra_.forget([&](const ports::Attempt& one) { return one == attempt; });
  extra_.tell(changes_);
  EXPECT_EQ(told(), "n1 300m 0B 0gpu");
  extra_.tell_everything(changes_);
  EXPECT_EQ(told(), "n1 300m 0B 0gpu") << "a relist says it again";
  extra_.forget([](const ports::Attempt&) { return true; });
  extra_.tell(changes_);
  EXPECT_EQ(told(), "-muster.dev/extra/n1");
}

TEST_F(ExtraUseTest, OfOneWhosePlacesNobodyKnowsNothingIsTold) {
  booked_.clear();
  EXPECT_EQ(look({pod("n1", planned_)}), "");
  extra_.look({"unknown", 1}, {{0, "n1", "", 0, 0}}, {pod("n1", planned_)});
  extra_.tell(changes_);
  EXPECT_EQ(told(), "");
}

}  // namespace
}  // namespace muster::clusters
