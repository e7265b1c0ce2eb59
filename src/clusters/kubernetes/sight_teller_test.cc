#include "clusters/kubernetes/sight_teller.h"

#include <gtest/gtest.h>

namespace muster::clusters {
namespace {

const ports::Attempt a1{"a", 1};

struct Heard : ports::AttemptSights {
  void seen(const ports::AttemptSight& sight) override { all.push_back(sight); }
  std::vector<ports::AttemptSight> all;
};

PodSight pod(const std::string& phase, bool is_deleting = false) {
  PodSight sight;
  sight.phase = phase;
  sight.is_deleting = is_deleting;
  return sight;
}

TEST(SightTeller, PodsThatAreBeingDeletedDoNotCountAsRunning) {
  EXPECT_EQ(pod_counts({pod("Pending"), pod("Running"), pod("Running", true), pod("Succeeded"),
                        pod("Failed"), pod("Failed", true), pod("")}),
            (ports::PodCounts{.pending = 2, .running = 1, .succeeded = 1, .failed = 2}));
}

TEST(SightTeller, TellsOnlyWhatChangedAndOnlyOfThoseWithAHub) {
  Heard heard;
  SightTeller teller("east", &heard);
  GangState state;
  state.phase = GangPhase::Starting;
  state.reason = "pod p: Unschedulable";
  EXPECT_FALSE(teller.follows(a1, state)) << "nobody waits for it";
  state.care.has_hub = true;
  EXPECT_TRUE(teller.follows(a1, state));
  teller.tell(a1, state, {pod("Pending")}, {.is_made = true});
  teller.tell(a1, state, {pod("Pending")}, {.is_made = true});
  ASSERT_EQ(heard.all.size(), 1U);
  EXPECT_EQ(heard.all[0], (ports::AttemptSight{.attempt = a1,
                                               .cluster = "east",
                                               .is_made = true,
                                               .pods = {.pending = 1},
                                               .trouble = "pod p: Unschedulable"}));
  state.phase = GangPhase::Running;
  state.reason.clear();
  state.is_complete = true;
  teller.tell(a1, state, {pod("Running")}, {.is_made = true});
  ASSERT_EQ(heard.all.size(), 2U);
  EXPECT_TRUE(heard.all[1].is_complete);
  EXPECT_EQ(heard.all[1].pods.running, 1);

  teller.tell(a1, std::nullopt, {}, {.is_made = false});  // its root is gone
  ASSERT_EQ(heard.all.size(), 3U);
  EXPECT_FALSE(heard.all[2].is_made);
  EXPECT_TRUE(heard.all[2].is_complete) << "that does not change any more";
}

TEST(SightTeller, WhatIsRemovedSaysWhyAndHowOftenItWasTriedAlsoIfNothingOfItIsLeft) {
  Heard heard;
  SightTeller teller("east", &heard);
  teller.follow(a1);
  teller.tell(a1, std::nullopt, {},
              {.ailment = model::Ailment::FailedPods,
               .requeues = 2,
               .demise = {model::Ailment::FailedPods, true, 3, 0, "pod p: exit code 3"}});
  ASSERT_EQ(heard.all.size(), 1U);
  EXPECT_EQ(heard.all[0], (ports::AttemptSight{.attempt = a1,
                                               .cluster = "east",
                                               .requeues = 2,
                                               .trouble = "pod p: exit code 3",
                                               .ailment = model::Ailment::FailedPods,
                                               .is_removed = true,
                                               .fails = true}));
}

TEST(SightTeller, PodsThatDoNotStartAreToldInPartsAndInTheOrderOfTheirNames) {
  Heard heard;
  SightTeller teller("east", &heard);
  GangState state;
  state.phase = GangPhase::Starting;
  state.reason = "pod b: Unschedulable: no room";
  state.care.has_hub = true;
  PodSight homeless = pod("Pending");
  homeless.name = "b";
  homeless.node.clear();
  homeless.why = "Unschedulable: no room";
  homeless.why_word = 13;
  PodSight bare = homeless;  // nothing but the word
  bare.name = "a";
  bare.node = "n";
  bare.why = "ErrImagePull";
  bare.why_word = 12;
  PodSight ended = bare;  // no word at all
  ended.name = "c";
  ended.why = "exit code 3";
  ended.why_word = 0;
  PodSight going = homeless;
  going.is_deleting = true;
  ASSERT_TRUE(teller.follows(a1, state));
  teller.tell(a1, state, {homeless, bare, going, ended, pod("Running")}, {.is_made = true});
  ASSERT_EQ(heard.all.size(), 1U);
  EXPECT_EQ(heard.all[0].stuck_pods,
            (std::vector<ports::StuckPod>{{"a", true, "ErrImagePull", ""},
                                          {"b", false, "Unschedulable", "no room"},
                                          {"c", true, "", "exit code 3"}}));
  teller.tell(a1, state, std::vector<PodSight>(50, homeless), {.is_made = true});
  EXPECT_EQ(heard.all[1].stuck_pods.size(), 10U) << "the others are like them";
}

TEST(SightTeller, AnAttemptIsFollowedFromItsMakingUntilItIsOver) {
  Heard heard;
  SightTeller teller("east", &heard);
  teller.follow(a1);
  teller.tell(a1, std::nullopt, {}, {.is_made = false});
  EXPECT_EQ(heard.all.size(), 1U);
  teller.forget([](const ports::Attempt&) { return true; });
  teller.tell(a1, std::nullopt, {}, {.is_made = true});
  EXPECT_EQ(heard.all.size(), 1U);
}

}  // namespace
}  // namespace muster::clusters
