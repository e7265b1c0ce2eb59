#include "clusters/kubernetes/workload_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/yaml.h"

namespace muster::clusters {
namespace {

using End = WorkloadSight::End;
using ::testing::HasSubstr;

WorkloadSight sight(const std::string& kind, const std::string& status) {
  const auto read = kube::parse_yaml(
      "{metadata: {name: n, annotations: {muster.dev/job-id: j, muster.dev/makes-pods: 'true'}, "
      "labels: {muster.dev/attempt: '2'}}, status: " +
      status + "}");
  EXPECT_TRUE(read.ok()) << status;
  return workload_sight_of(read->at(0), kind);
}

std::string condition(const std::string& type, const std::string& value = "True") {
  return "{conditions: [{type: " + type + ", status: '" + value + "', reason: R, message: m}]}";
}

TEST(WorkloadSight, EveryKindSaysItsEndInItsOwnWords) {
  const struct {
    const char* kind;
    std::string status;
    End end;
    const char* why;
  } cases[] = {
      {"Job", "{}", End::None, ""},
      {"Job", condition("Complete"), End::Complete, ""},
      {"Job", condition("Complete", "False"), End::None, ""},
      {"Job", condition("Failed"), End::Failed, "R: m"},
      {"JobSet", condition("Completed"), End::Complete, ""},
      {"JobSet", condition("Failed"), End::Failed, "R: m"},
      {"PyTorchJob", condition("Succeeded"), End::Complete, ""},
      {"MPIJob", condition("Failed"), End::Failed, "R: m"},
      {"PyTorchJob", condition("Running"), End::None, ""},
      {"RayJob", "{jobStatus: SUCCEEDED, jobDeploymentStatus: Complete}", End::Complete, ""},
      {"RayJob", "{jobStatus: FAILED, message: bad}", End::Failed, "FAILED: bad"},
      {"RayJob", "{jobDeploymentStatus: Failed}", End::Failed, "Failed"},
      {"RayJob", "{jobStatus: RUNNING}", End::None, ""},
      {"RayJob", "{jobStatus: FAILED, jobDeploymentStatus: Running}", End::Failed, "FAILED"},
      {"RayJob", "{jobStatus: FAILED, jobDeploymentStatus: Running}, spec: {backoffLimit: 1}",
       End::None, ""},
      {"RayJob", "{jobStatus: FAILED, jobDeploymentStatus: Retrying}, spec: {backoffLimit: 1}",
       End::None, ""},
      {"RayJob", "{jobStatus: FAILED, jobDeploymentStatus: Failed}, spec: {backoffLimit: 1}",
       End::Failed, "FAILED"},
      {"RayJob", "{jobStatus: STOPPED, jobDeploymentStatus: Complete}, spec: {backoffLimit: 1}",
       End::Failed, "STOPPED"},
      {"RayJob", "{jobDeploymentStatus: ValidationFailed, message: bad}", End::Failed,
       "ValidationFailed: bad"},
      {"Pod", "{phase: Succeeded}", End::Complete, ""},
      {"Pod", "{phase: Failed, reason: OOM, message: m}", End::Failed, "OOM: m"},
      {"Deployment", condition("Available"), End::None, ""},
      {"Deployment", condition("Progressing", "False"), End::None, "R: m"},
      {"RayCluster", condition("Failed"), End::None, ""},
  };
  for (const auto& c : cases) {
    const WorkloadSight seen = sight(c.kind, c.status);
    EXPECT_EQ(seen.end, c.end) << c.kind << c.status;
    EXPECT_EQ(seen.why, c.why) << c.kind << c.status;
    EXPECT_EQ(seen.job, "j");
    EXPECT_EQ(seen.attempt, 2U);
  }
}

PodSight pod(const std::string& phase, bool is_ready = false) {
  PodSight sight;
  sight.name = "p";
  sight.phase = phase;
  sight.is_ready = is_ready;
  return sight;
}

RootSight root(std::size_t workloads, std::int64_t pods) {
  RootSight sight;
  sight.name = "r";
  sight.workloads = workloads;
  sight.pods = pods;
  sight.least_pods = pods;
  return sight;
}

TEST(WorkloadState, RunsWhenAllPodsAreReady) {
  const auto deployment = sight("Deployment", "{}");
  const auto phase = [&](const std::vector<PodSight>& pods) {
    return workload_state_of(root(1, 2), {deployment}, pods).phase;
  };
  EXPECT_EQ(phase({}), GangPhase::Starting);
  EXPECT_EQ(phase({pod("Running", true), pod("Running")}), GangPhase::Starting);
  EXPECT_EQ(phase({pod("Running", true), pod("Running", true)}), GangPhase::Running);
}

TEST(WorkloadState, EndsWithTheKindsThatHaveAnEnd) {
  const auto server = sight("Deployment", condition("Available"));
  const auto going = sight("Job", "{}");
  const auto done = sight("Job", condition("Complete"));
  const auto bad = sight("JobSet", condition("Failed"));
  const std::vector<PodSight> pods = {pod("Running", true), pod("Running", true)};
  EXPECT_EQ(workload_state_of(root(2, 2), {server, going}, pods).phase, GangPhase::Running);
  const GangState success = workload_state_of(root(2, 2), {server, done}, pods);
  EXPECT_EQ(success.phase, GangPhase::Succeeded);
  EXPECT_FALSE(success.is_ended) << "the server still runs and must be removed first";
  const GangState failure = workload_state_of(root(2, 2), {done, bad}, pods);
  EXPECT_EQ(failure.phase, GangPhase::Failed);
  EXPECT_EQ(failure.reason, "JobSet n: R: m");
  EXPECT_TRUE(workload_state_of(root(1, 1), {done}, {pod("Succeeded")}).is_ended);
}

TEST(WorkloadState, AFailedPodIsTheBusinessOfItsOwnerWhoseWordCounts) {
  PodSight failed = pod("Failed");
  failed.exit_code = 3;
  EXPECT_EQ(
      workload_state_of(root(1, 1), {sight("Job", "{}")}, {failed, pod("Running", true)}).phase,
      GangPhase::Running);
  for (const char* kind : {"JobSet", "PyTorchJob"}) {  // which say nothing while they run
    EXPECT_EQ(
        workload_state_of(root(1, 1), {sight(kind, "{}")}, {failed, pod("Running", true)}).phase,
        GangPhase::Running)
        << kind;
  }
  const GangState state =
      workload_state_of(root(1, 1), {sight("Job", condition("Failed"))}, {failed});
  EXPECT_EQ(state.phase, GangPhase::Failed);
  EXPECT_EQ(state.exit_code, 3);
}

TEST(WorkloadState, OfAKindThatSaysNothingThePodsSpeak) {
  const auto unknown = sight("Own", "{}");
  EXPECT_EQ(
      workload_state_of(root(1, 2), {unknown}, {pod("Succeeded"), pod("Running", true)}).phase,
      GangPhase::Running);
  EXPECT_EQ(workload_state_of(root(1, 2), {unknown}, {pod("Succeeded"), pod("Succeeded")}).phase,
            GangPhase::Succeeded);
  EXPECT_EQ(workload_state_of(root(1, 2), {unknown}, {pod("Failed"), pod("Running", true)}).phase,
            GangPhase::Failed);
}

TEST(WorkloadState, WhatEndsWithItsPodsSucceedsWhenAllOfThemHave) {
  const auto phase = [](std::int64_t pods, const std::vector<WorkloadSight>& workloads,
                        const std::vector<PodSight>& seen) {
    RootSight one = root(workloads.size(), pods);
    one.care.care.starts_when_made = true;
    one.care.care.ends_with_pods = true;
    return workload_state_of(one, workloads, seen).phase;
  };
  const auto job = sight("Job", condition("Complete"));
  const auto deployment = sight("Deployment", condition("Available"));
  EXPECT_EQ(phase(2, {job, deployment}, {pod("Succeeded"), pod("Running", true)}),
            GangPhase::Running)
      << "a Deployment beside it runs on";
  EXPECT_EQ(phase(1, {job}, {pod("Succeeded")}), GangPhase::Succeeded);
  EXPECT_EQ(phase(1, {sight("Job", "{}")}, {pod("Succeeded")}), GangPhase::Running)
      << "it may make more pods, and says when it does not";
  const auto own = sight("Own", condition("Ready"));
  EXPECT_EQ(phase(2, {own}, {pod("Succeeded"), pod("Running", true)}), GangPhase::Running);
  EXPECT_EQ(phase(2, {own}, {pod("Succeeded"), pod("Succeeded")}), GangPhase::Succeeded)
      << "its conditions have no end";
  EXPECT_EQ(phase(2, {own}, {pod("Succeeded"), pod("Succeeded"), pod("Failed")}),
            GangPhase::Running);
}

TEST(WorkloadState, WhatOthersTakeAwayIsADisruption) {
  PodSight evicted = pod("Running", true);
  evicted.is_disrupted = true;
  const auto job = sight("Job", "{}");
  EXPECT_EQ(workload_state_of(root(1, 1), {job}, {evicted}).phase, GangPhase::Disrupted);
  EXPECT_EQ(workload_state_of(root(2, 2), {job}, {pod("Running", true)}).phase, GangPhase::Partial);
  auto deleted = job;
  deleted.is_deleting = true;
  EXPECT_THAT(workload_state_of(root(1, 1), {deleted}, {}).reason,
              HasSubstr("Job n was deleted by somebody else"));
  RootSight leaving = root(1, 1);
  leaving.is_deleting = true;
  EXPECT_THAT(workload_state_of(leaving, {job}, {}).reason, HasSubstr("ConfigMap r was deleted"));
}

// ---- looked after in their own way

WorkloadSight named(const std::string& kind, const std::string& when, const std::string& status,
                    const std::string& more = "") {
  const auto read =
      kube::parse_yaml("{metadata: {name: n, annotations: {muster.dev/complete-when: '" + when +
                       "'" + more + "}}, status: " + status + "}");
  EXPECT_TRUE(read.ok()) << when << status;
  return workload_sight_of(read->at(0), kind);
}

TEST(WorkloadSight, ConditionsThatTheListNamesAreTheOnlyOnesThatCount) {
  const struct {
    const char* kind;
    const char* when;
    std::string status;
    End end;
    bool is_endless;
  } cases[] = {
      {"Job", "Complete", condition("Complete"), End::Complete, false},
      {"Job", "complete", condition("Complete"), End::Complete, false},
      {"Job", " Failed , Complete ", condition("Failed"), End::Complete, false},
      {"Job", "Complete", condition("Failed"), End::None, false},
      {"Job", "Complete", condition("Complete", "False"), End::None, false},
      {"Job", "Compl", condition("Complete"), End::Complete, false},
      {"Job", "Complete,", condition("Failed"), End::None, false},
      {"RayJob", "complete", condition("JobDeploymentComplete"), End::Complete, false},
      {"Job", "JobComplete", condition("Complete"), End::None, false},
      {"Deployment", "Available", condition("Available"), End::Complete, false},
      {"Deployment", "Available", "{}", End::None, false},
      {"Pod", "Ready", "{phase: Failed}", End::None, false},
      {"Job", "", condition("Complete"), End::None, true},
  };
  for (const auto& c : cases) {
    const WorkloadSight seen = named(c.kind, c.when, c.status);
    EXPECT_EQ(seen.end, c.end) << c.kind << c.when << c.status;
    EXPECT_EQ(seen.is_endless, c.is_endless) << c.kind << c.when << c.status;
    EXPECT_TRUE(seen.is_workload) << "also without pods";
    EXPECT_FALSE(seen.is_silent);
  }
}

TEST(WorkloadState, ObjectsWithoutPodsCountWhenTheirListSaysWhenTheyAreDone) {
  const auto job = sight("Job", condition("Complete"));
  const auto claim = named("Claim", "Bound", "{}");
  EXPECT_EQ(workload_state_of(root(2, 1), {job, claim}, {pod("Succeeded")}).phase,
            GangPhase::Running);
  EXPECT_EQ(workload_state_of(root(2, 1), {job, named("Claim", "Bound", condition("Bound"))},
                              {pod("Succeeded")})
                .phase,
            GangPhase::Succeeded);
  EXPECT_EQ(workload_state_of(root(2, 1), {job}, {}).phase, GangPhase::Partial);
}

RootSight cared(const model::ObjectCare& care, std::size_t workloads = 1, std::int64_t pods = 2) {
  RootSight sight = root(workloads, pods);
  sight.care.care = care;
  return sight;
}

TEST(WorkloadState, SoManyPodsAreEnoughAsItsJobSays) {
  const auto job = sight("Job", "{}");
  const std::vector<PodSight> one = {pod("Running", true), pod("Pending")};
  EXPECT_EQ(workload_state_of(cared({}), {job}, one).phase, GangPhase::Starting);
  EXPECT_EQ(workload_state_of(cared({.ready_pods = 1}), {job}, one).phase, GangPhase::Running);
  const GangState made = workload_state_of(cared({.starts_when_made = true}), {job}, {});
  EXPECT_EQ(made.phase, GangPhase::Running);
  EXPECT_FALSE(made.has_enough_pods());
  EXPECT_EQ(made.needed_pods, 2);
  PodSight stuck = pod("Pending");
  stuck.why = "Unschedulable: no node";
  EXPECT_EQ(workload_state_of(cared({.starts_when_made = true}), {job}, {stuck}).reason,
            "pod p: Unschedulable: no node");
}

TEST(WorkloadState, WhereTooFewAreBorneForATimeOnlyPodsThatRunCountReadyOrNot) {
  PodSight leaving = pod("Running", true);
  leaving.is_deleting = true;
  const auto ready = [&](const model::ObjectCare& care) {
    return workload_state_of(cared(care), {sight("Job", "{}")}, {pod("Running"), leaving})
        .ready_pods;
  };
  EXPECT_EQ(ready({}), 1) << "the one that is ready";
  EXPECT_EQ(ready({.ready_pods = 1}), 1) << "the one that stays";
  EXPECT_EQ(workload_state_of(cared({.ready_within = seconds(1)}), {sight("Job", "{}")},
                              {pod("Running"), pod("Running")})
                .phase,
            GangPhase::Running);
}

TEST(WorkloadState, ALostPodIsBorneWhileItsJobSaysForHowLong) {
  PodSight evicted = pod("Failed");
  evicted.is_disrupted = true;
  const auto job = sight("Job", "{}");
  EXPECT_EQ(workload_state_of(cared({}), {job}, {evicted}).phase, GangPhase::Disrupted);
  const GangState borne =
      workload_state_of(cared({.starts_when_made = true, .ready_pods = 2}), {job}, {evicted});
  EXPECT_EQ(borne.phase, GangPhase::Running);
  EXPECT_FALSE(borne.has_enough_pods());
}

TEST(WorkloadState, CompleteObjectsWaitForTheirPodsWhenTheirJobSaysSo) {
  const auto server = named("Deployment", "Available", condition("Available"));
  const std::vector<PodSight> pods = {pod("Running", true), pod("Running", true)};
  EXPECT_EQ(workload_state_of(cared({}), {server}, pods).phase, GangPhase::Succeeded);
  const GangState held = workload_state_of(cared({.waits_for_pods = true}), {server}, pods);
  EXPECT_EQ(held.phase, GangPhase::Running);
  EXPECT_TRUE(held.is_complete);
  EXPECT_FALSE(held.is_ended);
  const GangState over =
      workload_state_of(cared({.waits_for_pods = true}), {server}, {pod("Succeeded")});
  EXPECT_EQ(over.phase, GangPhase::Succeeded);
  EXPECT_TRUE(over.is_ended);
}

TEST(WorkloadState, WhatIsKeptHasEndedWhenAllOfItHas) {
  const auto done = sight("Job", condition("Complete"));
  const auto bad = sight("Job", condition("Failed"));
  EXPECT_FALSE(workload_state_of(cared({}, 2), {done, bad}, {pod("Failed")}).is_ended);
  const model::ObjectCare kept{.keep_ended = true};
  EXPECT_TRUE(workload_state_of(cared(kept, 2), {done, bad}, {pod("Failed")}).is_ended);
  EXPECT_FALSE(workload_state_of(cared(kept, 2), {done, bad}, {pod("Running")}).is_ended);
  EXPECT_FALSE(workload_state_of(cared(kept, 2), {sight("Job", "{}"), bad}, {}).is_ended);
  EXPECT_TRUE(workload_state_of(cared(kept, 2), {done, sight("Deployment", "{}")}, {}).is_ended);
}

TEST(WorkloadState, WhatMakesNoPodsIsMissedWhereItsRootCountsIt) {
  const auto job = sight("Job", "{}");
  WorkloadSight service = sight("Service", "{}");
  service.is_workload = false;
  RootSight counting = cared({.starts_when_made = true, .missing_fails = true});
  EXPECT_EQ(workload_state_of(counting, {job}, {}).phase, GangPhase::Running) << "of an older root";
  counting.others = 1;
  EXPECT_EQ(workload_state_of(counting, {job, service}, {}).phase, GangPhase::Running);
  const GangState missing = workload_state_of(counting, {job}, {});
  EXPECT_EQ(missing.phase, GangPhase::Partial);
  EXPECT_EQ(missing.reason, "1 of its 2 objects are there");
  service.is_deleting = true;
  const GangState going = workload_state_of(counting, {job, service}, {});
  EXPECT_EQ(going.phase, GangPhase::Disrupted);
  EXPECT_TRUE(going.is_missing);
  EXPECT_EQ(going.reason, "Service n was deleted by somebody else");
  const auto done = sight("Job", condition("Complete"));
  EXPECT_EQ(workload_state_of(counting, {done}, {}).phase, GangPhase::Succeeded)
      << "nobody needs it any more";
}

TEST(WorkloadState, WhatFailedStaysForAWhileWhereItsJobSaysSo) {
  const auto bad = sight("Job", condition("Failed"));
  EXPECT_FALSE(stays_when_failed(workload_state_of(cared({.keep_ended = true}), {bad}, {})));
  const model::ObjectCare kept{.keep_ended = true, .keep_failed = hours(1)};
  EXPECT_TRUE(stays_when_failed(workload_state_of(cared(kept), {bad}, {})));
  EXPECT_FALSE(stays_when_failed(workload_state_of(cared(kept), {bad}, {pod("Running")})));
}

TEST(WorkloadState, ARootThatGoesWithItsOwnerIsNoDisruption) {
  RootSight leaving = root(1, 1);
  leaving.is_deleting = true;
  leaving.care.has_owner = true;
  EXPECT_EQ(workload_state_of(leaving, {sight("Job", "{}")}, {}).phase, GangPhase::Withdrawn);
  EXPECT_EQ(workload_state_of(leaving, {}, {}).phase, GangPhase::Withdrawn);
}

TEST(WorkloadState, AJobThatIsItsOwnRootIsTheWholeAttempt) {
  const auto job = [](const std::string& status) {
    JobSight seen;
    seen.own_root =
        std::make_shared<const OwnRootedJob>(OwnRootedJob{root(1, 1), sight("Job", status)});
    return seen;
  };
  PodSight of_it = pod("Running", true);
  of_it.is_own_rooted = true;
  const auto phase = [&](const std::vector<JobSight>& jobs, const std::vector<PodSight>& pods) {
    return own_rooted_state_of(jobs, pods)->phase;
  };
  EXPECT_EQ(phase({job("{}")}, {}), GangPhase::Starting);
  EXPECT_EQ(phase({job("{}")}, {of_it}), GangPhase::Running);
  EXPECT_EQ(phase({job(condition("Complete"))}, {}), GangPhase::Succeeded);
  EXPECT_EQ(phase({}, {of_it}), GangPhase::Partial) << "deleted without its pods";
  EXPECT_TRUE(own_rooted_state_of({}, {of_it})->has_live_pods);
  EXPECT_FALSE(own_rooted_state_of({JobSight{}}, {pod("Running")})) << "of a command";
}

TEST(WorkloadState, AJobThatIsCompleteLacksThePodsThatAreNotSeenYet) {
  const auto done = sight("Job", "{succeeded: 2, conditions: [{type: Complete, status: 'True'}]}");
  EXPECT_TRUE(workload_state_of(root(1, 2), {done}, {pod("Succeeded")}).lacks_pods);
  EXPECT_FALSE(
      workload_state_of(root(1, 2), {done}, {pod("Succeeded"), pod("Succeeded")}).lacks_pods);
}

TEST(WorkloadState, WhatEndedStaysIfItsListWantsThat) {
  GangState ended;
  ended.phase = GangPhase::Failed;
  ended.is_ended = true;
  EXPECT_FALSE(stays_when_ended(ended));
  ended.care.care.keep_ended = true;
  EXPECT_TRUE(stays_when_ended(ended));
  ended.care.care.keep_failed = seconds(1);
  EXPECT_FALSE(stays_when_ended(ended)) << "what failed goes after a while";
  ended.phase = GangPhase::Succeeded;
  EXPECT_TRUE(stays_when_ended(ended));
  ended.is_ended = false;
  EXPECT_FALSE(stays_when_ended(ended));
}

TEST(OverduePods, AreForcedOnlyWhenTheirNodeIsLost) {
  PodSight here = pod("Running");
  here.node = "here";
  here.is_deleting = true;
  here.leaves_by = Time{100'000};
  PodSight lost = here;
  lost.node = "lost";
  PodSight kept = lost;
  kept.is_deleting = false;
  const auto is_lost = [](const std::string& node) { return node == "lost"; };
  const auto at = [&](std::int64_t ms) {
    const OverduePods overdue = overdue_among({here, lost, kept}, is_lost, Time{ms});
    return std::pair(overdue.lost.size(), overdue.stuck.size());
  };
  EXPECT_EQ(at(129'999), std::pair(std::size_t{0}, std::size_t{0})) << "kubelets may be slow";
  EXPECT_EQ(at(130'000), std::pair(std::size_t{1}, std::size_t{1}));
}

TEST(OverduePods, AreForcedWhateverTheirNodeSaysIfTheirJobWantsIt) {
  PodSight stuck = pod("Running");
  stuck.node = "here";
  stuck.is_deleting = true;
  stuck.leaves_by = Time{100'000};
  stuck.forced_at = Time{670'000};
  const auto never = [](const std::string&) { return false; };
  EXPECT_EQ(overdue_among({stuck}, never, Time{669'999}).forced.size(), 0U);
  EXPECT_EQ(overdue_among({stuck}, never, Time{669'999}).stuck.size(), 1U);
  EXPECT_EQ(overdue_among({stuck}, never, Time{670'000}).forced.size(), 1U);
  EXPECT_EQ(overdue_among({stuck}, never, Time{670'000}).stuck.size(), 0U);
  stuck.forced_at = Time{101'000};
  EXPECT_EQ(overdue_among({stuck}, never, Time{101'000}).forced.size(), 1U)
      << "a short time is meant";
}

TEST(WorkloadState, FailedPodsAreCountedAndTheFinalOneSpeaks) {
  PodSight first = pod("Failed");
  first.exit_code = 1;
  PodSight last = first;
  last.name = "q";
  last.exit_code = 7;
  const auto seen = [&](std::vector<int> terminal) {
    const RootSight asked =
        cared({.requeues_failures = true, .terminal_exit_codes = std::move(terminal)});
    return workload_state_of(asked, {sight("Deployment", "{}")}, {first, last, pod("Pending")});
  };
  EXPECT_EQ(seen({}).failed_pods, 2);
  EXPECT_EQ(seen({}).there_pods, 1);
  EXPECT_EQ(seen({}).failed_code, 1);
  EXPECT_EQ(seen({7}).failed_code, 7);
  EXPECT_THAT(seen({7}).failed_why, HasSubstr("pod q"));
}

TEST(WorkloadState, AnObjectThatSomebodyDeletesIsMissing) {
  WorkloadSight going = sight("Job", "{}");
  going.is_deleting = true;
  EXPECT_TRUE(workload_state_of(root(1, 1), {going}, {}).is_missing);
  PodSight evicted = pod("Failed");
  evicted.is_disrupted = true;
  EXPECT_FALSE(workload_state_of(root(1, 1), {sight("Job", "{}")}, {evicted}).is_missing);
}

TEST(WorkloadState, ObjectsThatWereTakenOverAreCountedOneByOne) {
  WorkloadSight taken = sight("Job", "{}");
  taken.adopted_in = "ns";
  const auto seen = [&](const std::vector<WorkloadSight>& all) {
    return workload_state_of(root(2, 2), all, {});
  };
  EXPECT_EQ(seen({sight("Job", "{}"), sight("Deployment", "{}")}).adopted, 0U);
  EXPECT_EQ(seen({taken, sight("Deployment", "{}")}).adopted, 1U);
  EXPECT_EQ(seen({taken, taken}).adopted, 2U);
  EXPECT_EQ(seen({taken, sight("Deployment", "{}")}).adopted_in, "ns");
}

}  // namespace
}  // namespace muster::clusters
