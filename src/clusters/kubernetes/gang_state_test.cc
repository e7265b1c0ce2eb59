#include "clusters/kubernetes/gang_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>

#include "kube/proto_objects.h"
#include "kube/testing/proto_part.h"

namespace muster::clusters {
namespace {

using ::testing::HasSubstr;

// Both are read as a watch tells them.
PodSight watched_pod(const std::string& text) {
  return pod_sight_of(kube::proto_part(boost::json::parse(text), kube::proto_pod));
}
JobSight watched_job(const std::string& text) {
  return job_sight_of(kube::proto_part(boost::json::parse(text), kube::proto_job));
}

PodSight pod(std::string_view status) {
  return watched_pod(
      R"({"metadata":{"name":"p","annotations":{"muster.dev/job-id":"j"},
          "labels":{"muster.dev/attempt":"3"}},"spec":{"nodeName":"n"},"status":)" +
      std::string(status) + "}");
}
JobSight job(std::string_view status, int completions = 1, std::size_t sets = 1) {
  JobSight made =
      watched_job(R"({"metadata":{"name":"J"},"spec":{"completions":)" +
                  std::to_string(completions) + R"(},"status":)" + std::string(status) + "}");
  made.sets = sets;
  return made;
}

const PodSight ready =
    pod(R"({"phase":"Running","conditions":[{"type":"Ready","status":"True"}]})");
const PodSight pending = pod(R"({"phase":"Pending"})");
const PodSight done = pod(R"({"phase":"Succeeded"})");
const PodSight crashed = pod(R"({"phase":"Failed","containerStatuses":[
  {"name":"main","state":{"terminated":{"exitCode":137,"reason":"OOMKilled"}}}]})");
const PodSight evicted = pod(R"({"phase":"Failed","reason":"Evicted","message":"low on disk",
  "conditions":[{"type":"DisruptionTarget","status":"True"}]})");
const JobSight open = job("{}");
const JobSight complete = job(R"({"conditions":[{"type":"Complete","status":"True"}]})");
const JobSight failed = job(R"({"conditions":[
  {"type":"Failed","status":"True","reason":"BackoffLimitExceeded","message":"too often"}]})");

TEST(GangState, IsReadFromLabelsAndStatus) {
  EXPECT_EQ(ready.job, "j");
  EXPECT_EQ(ready.attempt, 3U);
  EXPECT_TRUE(ready.is_ready);
  EXPECT_EQ(crashed.exit_code, 137);
  EXPECT_TRUE(evicted.is_disrupted);
}

TEST(GangState, APodTakesWhatItsContainersAskAndWhatOthersPutIntoIt) {
  const PodSight seen = watched_pod(R"({"metadata":{"name":"p"},"spec":{"nodeName":"n",
    "overhead":{"cpu":"250m"},
    "initContainers":[{"name":"side","restartPolicy":"Always",
      "resources":{"requests":{"cpu":"100m"}}}],
    "containers":[{"name":"a","resources":{"requests":{"cpu":"1","memory":"1Ki"},
      "limits":{"nvidia.com/gpu":"2"}}}]},
    "status":{"phase":"Running","containerStatuses":[
      {"name":"a","allocatedResources":{"cpu":"2"}}]}})");
  EXPECT_EQ(seen.asks, (manifest::Amounts{{"cpu", 2350}, {"memory", 1024}, {"nvidia.com/gpu", 2}}));
  const PodSight whole = watched_pod(R"({"metadata":{"name":"p"},"spec":{
    "resources":{"requests":{"cpu":"3"}},"containers":[{"name":"a"}]},"status":{}})");
  EXPECT_EQ(whole.asks, (manifest::Amounts{{"cpu", 3000}}));
}

/// Its Job was seen before its root, taken for a gang that is whole, and then, with the root seen
/// and that watch of Jobs still behind, for one whose Job somebody deleted.
TEST(GangState, OfAJobInAListIsNotReadWithoutItsRoot) {
  const JobSight listed = watched_job(
      R"({"metadata":{"name":"J","annotations":{"muster.dev/workloads":"1"}},"spec":{}})");
  EXPECT_TRUE(is_of_a_list({listed}, {}));
  PodSight of_list = pending;
  of_list.is_listed = true;
  EXPECT_TRUE(is_of_a_list({open}, {ready, of_list}));
  EXPECT_FALSE(is_of_a_list({open}, {ready}));
  EXPECT_FALSE(is_of_a_list({}, {}));
}

TEST(GangState, RunsWhenEveryPodOfEverySetIsReady) {
  EXPECT_EQ(gang_state_of({}, {}).phase, GangPhase::Absent);
  EXPECT_EQ(gang_state_of({open}, {}).phase, GangPhase::Starting);
  EXPECT_EQ(gang_state_of({open}, {pending}).phase, GangPhase::Starting);
  EXPECT_EQ(gang_state_of({open}, {ready}).phase, GangPhase::Running);
  EXPECT_EQ(gang_state_of({job("{}", 1, 2)}, {ready}).phase, GangPhase::Partial)
      << "a Job is missing";
  EXPECT_EQ(gang_state_of({}, {ready}).phase, GangPhase::Partial);
  EXPECT_EQ(gang_state_of({job("{}", 2)}, {ready}).phase, GangPhase::Starting);
  EXPECT_EQ(gang_state_of({open, complete}, {ready, done}).phase, GangPhase::Running)
      << "one is done already";
}

TEST(GangState, SucceedsWhenAllJobsAreComplete) {
  JobSight of_two = complete;
  of_two.sets = 2;
  EXPECT_EQ(gang_state_of({complete}, {done}).phase, GangPhase::Succeeded);
  EXPECT_EQ(gang_state_of({complete}, {}).phase, GangPhase::Succeeded) << "pods were collected";
  EXPECT_NE(gang_state_of({of_two}, {done}).phase, GangPhase::Succeeded);
}

TEST(GangState, LacksThePodsThatSucceededAndAreNotSeenYet) {
  const JobSight two =
      job(R"({"succeeded":2,"conditions":[{"type":"Complete","status":"True"}]})", 2);
  EXPECT_TRUE(gang_state_of({two}, {}).lacks_pods);
  EXPECT_TRUE(gang_state_of({two}, {done}).lacks_pods);
  EXPECT_FALSE(gang_state_of({two}, {done, done}).lacks_pods);
}

TEST(GangState, HasEndedWhenAllJobsSaySoAndNoPodLives) {
  EXPECT_TRUE(gang_state_of({complete}, {done}).is_ended);
  EXPECT_TRUE(gang_state_of({failed}, {crashed}).is_ended);
  EXPECT_FALSE(gang_state_of({open}, {crashed}).is_ended) << "the Job could make another pod";
  EXPECT_FALSE(gang_state_of({failed}, {crashed, ready}).is_ended);
  EXPECT_FALSE(gang_state_of({failed, open}, {crashed}).is_ended);
}

TEST(GangState, AFailureNamesThePodAndItsExitCode) {
  const GangState state = gang_state_of({failed, open}, {ready, crashed});
  EXPECT_EQ(state.phase, GangPhase::Failed);
  EXPECT_EQ(state.exit_code, 137);
  EXPECT_EQ(state.reason, "pod p on n: exit code 137, OOMKilled");
  EXPECT_TRUE(state.has_live_pods);
  const GangState gone = gang_state_of({failed}, {});
  EXPECT_EQ(gone.exit_code, 1);
  EXPECT_THAT(gone.reason, HasSubstr("BackoffLimitExceeded"));
}

TEST(GangState, WhatOthersTookAwayIsNoFailureOfTheJob) {
  const GangState state = gang_state_of({failed}, {evicted});
  EXPECT_EQ(state.phase, GangPhase::Disrupted);
  EXPECT_EQ(state.reason, "pod p on n: Evicted: low on disk");
  const PodSight preempted = pod(R"({"phase":"Running","conditions":[{"type":"DisruptionTarget",
    "status":"True","reason":"PreemptionByScheduler","message":"to make room"}]})");
  EXPECT_EQ(gang_state_of({open}, {preempted}).reason,
            "pod p on n: PreemptionByScheduler: to make room");
  JobSight deleting = open;
  deleting.is_deleting = true;
  EXPECT_EQ(gang_state_of({deleting}, {ready}).phase, GangPhase::Disrupted);
}

TEST(GangState, APodThatSomebodyDeletesTakesItsGangWithIt) {
  PodSight leaving = ready;
  leaving.is_deleting = true;
  const GangState state = gang_state_of({job("{}", 2)}, {ready, leaving});
  EXPECT_EQ(state.phase, GangPhase::Disrupted);
  EXPECT_EQ(state.reason, "pod p was deleted by somebody else");
  PodSight killed = crashed;  // by the signal of its deletion
  killed.is_deleting = true;
  EXPECT_EQ(gang_state_of({failed}, {killed}).phase, GangPhase::Disrupted);
  EXPECT_EQ(gang_state_of({failed}, {crashed, leaving}).phase, GangPhase::Failed)
      << "the Job deletes the others of a pod that failed";
  EXPECT_EQ(gang_state_of({open}, {ready}, "q").reason, "pod q was deleted by somebody else")
      << "its Job made another, which does not know what the first one knew";
  EXPECT_EQ(gang_state_of({complete}, {done}, "q").phase, GangPhase::Succeeded);
  EXPECT_TRUE(gang_state_of({failed}, {ready}).is_guess) << "which pod it was is not seen yet";
}

TEST(GangState, AJobThatIsOutOfTriesAndLacksAPodLostIt) {
  EXPECT_TRUE(gang_state_of({failed}, {}).is_loss);
  EXPECT_FALSE(gang_state_of({failed}, {ready}).is_loss) << "the pod's end is not seen yet";
  EXPECT_FALSE(gang_state_of({failed}, {crashed}).is_loss);
  const JobSight late =
      job(R"({"conditions":[{"type":"Failed","status":"True","reason":"DeadlineExceeded"}]})");
  EXPECT_TRUE(gang_state_of({late}, {}).is_guess);
  EXPECT_FALSE(gang_state_of({late}, {}).is_loss) << "its Job deleted the pods itself";
  EXPECT_FALSE(gang_state_of({failed, late}, {}).is_loss);
}

TEST(GangState, APodThatCannotStartSaysWhy) {
  const PodSight stuck = pod(R"({"phase":"Pending","containerStatuses":[{"name":"main",
    "state":{"waiting":{"reason":"ImagePullBackOff","message":"no such image"}}}]})");
  const GangState state = gang_state_of({open}, {stuck});
  EXPECT_EQ(state.phase, GangPhase::Starting);
  EXPECT_EQ(state.reason, "pod p on n: ImagePullBackOff: no such image");
  EXPECT_TRUE(state.has_live_pods);
  const PodSight nowhere = pod(R"({"phase":"Pending","conditions":[{"type":"PodScheduled",
    "status":"False","reason":"Unschedulable","message":"0/3 nodes are available"}]})");
  EXPECT_EQ(gang_state_of({open}, {nowhere}).reason,
            "pod p on n: Unschedulable: 0/3 nodes are available");
  EXPECT_EQ(stuck.why.substr(0, stuck.why_word), "ImagePullBackOff");
  EXPECT_EQ(nowhere.why.substr(0, nowhere.why_word), "Unschedulable");
  EXPECT_TRUE(gang_state_of({open}, {nowhere}).is_unplaced);
  EXPECT_FALSE(state.is_unplaced);
}

TEST(PodSight, SaysWhenItIsForcedAwayFromWhenItWasDeleted) {
  const auto forced_at = [](std::string_view more) {
    return watched_pod(R"({"metadata":{"name":"p","annotations":{)" + std::string(more) +
                       R"(},"deletionTimestamp":"1970-01-01T00:01:40Z",
                          "deletionGracePeriodSeconds":30}})")
        .forced_at;
  };
  EXPECT_EQ(forced_at(R"("muster.dev/force-after-ms":"600000")"), Time{670'000});
  EXPECT_EQ(forced_at(R"("muster.dev/force-after-ms":"0")"), Time{70'000});
  EXPECT_TRUE(forced_at("").is_never());
  EXPECT_TRUE(forced_at(R"("muster.dev/force-after-ms":"soon")").is_never());
}

TEST(PodSight, KnowsTheDevicesItsContainersAskFor) {
  const PodSight asks = watched_pod(
      R"({"spec":{"containers":[
            {"resources":{"requests":{"cpu":"1","nvidia.com/gpu":1},"limits":{"nvidia.com/gpu":1}}},
            {"resources":{"limits":{"rdma/hca":"0"}}}],
          "initContainers":[{"resources":{"limits":{"example.com/fpga":"2"}}}]}})");
  EXPECT_THAT(asks.devices, testing::ElementsAre("nvidia.com/gpu", "example.com/fpga"));
}

}  // namespace
}  // namespace muster::clusters
