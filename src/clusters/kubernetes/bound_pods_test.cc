#include "clusters/kubernetes/bound_pods.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace muster::clusters {
namespace {

const ports::Attempt attempt{"j", 1};

PodSight pod(std::uint32_t set, const std::string& node, const std::string& phase = "Running") {
  PodSight sight;
  sight.set = set;
  sight.node = node;
  sight.phase = phase;
  return sight;
}
PodSight going(std::uint32_t set, const std::string& node) {
  PodSight sight = pod(set, node);
  sight.is_deleting = true;
  return sight;
}

/// Planned: two pods of set 0 on n1 and n2, with a GPU each, one of set 1 on n2 without.
class BoundPodsTest : public ::testing::Test {
 protected:
  BoundPodsTest() {
    bound_.expect(attempt,
                  {{0, "n1", "A100", 1, 1000}, {0, "n2", "A100", 1, 1000}, {1, "n2", "", 0, 0}});
  }
  /// "0:n1/A100 ..." of what is told; "": nothing is.
  std::string look(const std::vector<PodSight>& pods, Time now = Time{0}) {
    const auto type_of = [](const std::string& node) -> std::optional<std::string> {
      if (node == "unseen") return std::nullopt;
      return node == "n9" ? "T4" : "A100";
    };
    const auto said = bound_.look(attempt, pods, type_of, now);
    std::string text;
    if (!said) return text;
    for (const model::PodPlace& place : said->pods)
      text +=
          fmt::format("{}{}:{}/{}", text.empty() ? "" : " ", place.set, place.node, place.gpu_type);
    return text;
  }
  BoundPods bound_;
};

TEST_F(BoundPodsTest, NothingIsToldOfPodsThatAreWhereTheyWerePlanned) {
  EXPECT_EQ(look({}), "");
  EXPECT_EQ(look({pod(0, ""), pod(0, "n2"), pod(1, "n2")}), "");
  EXPECT_EQ(look({pod(0, "n2"), pod(0, "n1"), pod(1, "n2")}), "") << "whichever is which";
  EXPECT_TRUE(bound_.due(Time::never() - seconds(1)).empty());
}

TEST_F(BoundPodsTest, TheWholeGangIsToldOnceWhenAllAreBound) {
  EXPECT_EQ(look({pod(0, "n3"), pod(0, ""), pod(1, "n2")}), "");
  const std::vector<PodSight> all = {pod(0, "n3"), pod(0, "n2"), pod(1, "n2")};
  EXPECT_EQ(look(all), "0:n3/A100 0:n2/A100 1:n2/");
  EXPECT_EQ(look(all), "");
}

TEST_F(BoundPodsTest, WhenSomeStayUnboundTheOthersAreToldAfterAWhile) {
  const std::vector<PodSight> some = {pod(0, "n3"), pod(0, ""), pod(1, "")};
  EXPECT_EQ(look(some, Time{1000}), "");
  EXPECT_TRUE(bound_.due(Time{5999}).empty());
  EXPECT_EQ(bound_.due(Time{6000}).size(), 1u);
  EXPECT_EQ(look(some, Time{6000}), "0:n3/A100 0:n2/A100 1:n2/");
  EXPECT_TRUE(bound_.due(Time{60'000}).empty());
  EXPECT_EQ(look({pod(0, "n3"), pod(0, "n4"), pod(1, "n2")}, Time{7000}),
            "0:n3/A100 0:n4/A100 1:n2/");
}

TEST_F(BoundPodsTest, TheTypeIsThatOfTheNodeIfItIsSeen) {
  EXPECT_EQ(look({pod(0, "n9"), pod(0, "unseen"), pod(1, "n9")}), "0:n9/T4 0:unseen/A100 1:n9/");
}

TEST_F(BoundPodsTest, APodThatTookTheOldOnesPlaceCounts) {
  EXPECT_EQ(look({going(0, "n1"), pod(0, "n2"), pod(0, "n4"), pod(1, "n2")}),
            "0:n4/A100 0:n2/A100 1:n2/");
  EXPECT_EQ(look({going(0, "n1"), pod(0, "n2"), pod(0, "n4"), pod(1, "n2")}), "");
}

TEST_F(BoundPodsTest, PodsThatAreNotOfTheGangCountForNothing) {
  PodSight stranger = pod(0, "n7");
  stranger.set.reset();
  EXPECT_EQ(look({stranger, pod(0, "n1"), pod(0, "n2"), pod(0, "n8"), pod(1, "n2")}), "");
}

TEST_F(BoundPodsTest, WhatIsOverIsForgotten) {
  bound_.forget([](const ports::Attempt&) { return true; });
  EXPECT_EQ(look({pod(0, "n3"), pod(0, "n4"), pod(1, "n5")}), "");
}

}  // namespace
}  // namespace muster::clusters
