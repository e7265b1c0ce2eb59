#include "clusters/local/local_cluster.h"

#include <gmock/gmock.h>
#include <sys/resource.h>

#include "clusters/local/testing/site.h"

namespace muster::clusters {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

const ports::Attempt one{"a", 1};

pid_t pid_in(const std::string& path) {
  EXPECT_TRUE(eventually([&] { return !lines_of(path).empty(); })) << path;
  const auto lines = lines_of(path);
  return lines.empty() ? -1 : std::stoi(lines.front());
}

bool gone(pid_t pid) {
  return eventually([&] { return !is_alive(pid); });
}

// ---- how it ends

TEST(LocalCluster, AProgramThatEndsWellFinishesWithSuccess) {
  Site site;
  site.run(one, Site::shell("exit 0"));
  const auto finished = site.hear<model::Finished>(one);
  EXPECT_TRUE(finished.success);
  EXPECT_EQ(finished.exit_code, 0);
  EXPECT_EQ(finished.reason, "");
}

TEST(LocalCluster, TheExitCodeIsTheProgramsOwn) {
  Site site;
  site.run(one, Site::shell("exit 3"));
  const auto finished = site.hear<model::Finished>(one);
  EXPECT_FALSE(finished.success);
  EXPECT_EQ(finished.exit_code, 3);
  EXPECT_EQ(finished.reason, "workers-0 exited with code 3");
}

TEST(LocalCluster, ASignalIsSaidAsShellsDo) {
  Site site;
  site.run(one, Site::shell("kill -SEGV $$"));
  const auto finished = site.hear<model::Finished>(one);
  EXPECT_FALSE(finished.success);
  EXPECT_EQ(finished.exit_code, 128 + SIGSEGV);
  EXPECT_THAT(finished.reason, HasSubstr("signal 11"));
  const auto state = read_state(site.dir(one));
  ASSERT_TRUE(state);
  ASSERT_EQ(state->pods.size(), 1u);
  EXPECT_EQ(state->pods[0].signal, SIGSEGV);
  EXPECT_GT(state->pods[0].start_ticks, 0);
}

TEST(LocalCluster, AProgramThatDoesNotExistFailsTheJobAndStartsNobody) {
  Site site;
  model::Command command = Site::shell("touch " + site.file("ran"));
  command.sets.push_back({"other", {"no-such-program"}, {}, {}, {}});
  site.payloads.set("a", command);
  ports::Action action = Site::create(one);
  action.pods.push_back({1, "n1", "", 0, 0});
  site.cluster->apply(action);
  const auto finished = site.hear<model::Finished>(one);
  EXPECT_FALSE(finished.success);
  EXPECT_EQ(finished.exit_code, 127);
  EXPECT_EQ(finished.reason, "other-0: no-such-program: no such program");
  EXPECT_FALSE(exists(site.file("ran")));
}

TEST(LocalCluster, AFileThatMayNotBeExecutedIs126) {
  Site site;
  model::Command command = Site::shell("");
  command.argv = {"./script"};
  command.files = {{"script", "#!/bin/sh\n", false}};
  site.run(one, command);
  EXPECT_EQ(site.hear<model::Finished>(one).exit_code, 126);
  command.files = {{"script", "this has no interpreter", true}};
  site.run({"a", 2}, command);
  EXPECT_EQ(site.hear<model::Finished>({"a", 2}).exit_code, 126);
}

TEST(LocalCluster, AJobWithoutCommandFails) {
  Site site;
  site.cluster->apply(Site::create(one));
  EXPECT_THAT(site.hear<model::Finished>(one).reason, HasSubstr("has no command"));
}

TEST(LocalCluster, AWorkingDirectoryThatIsNotThereFailsTheStart) {
  Site site;
  model::Command command = Site::shell("true");
  command.working_dir = site.file("nowhere");
  site.run(one, command);
  EXPECT_THAT(site.hear<model::StartFailed>(one).reason, HasSubstr("working directory"));
}

// ---- gangs

TEST(LocalCluster, TheFirstPodThatFailsEndsTheGang) {
  Site site;
  const std::string script = fmt::format(
      "if [ $RANK = 1 ]; then exit 7; fi; echo $$ > {}.$RANK; exec sleep 1000", site.file("pid"));
  site.run(one, Site::shell(script), 3);
  const auto finished = site.hear<model::Finished>(one);
  EXPECT_FALSE(finished.success);
  EXPECT_EQ(finished.exit_code, 7);
  EXPECT_EQ(finished.reason, "workers-1 exited with code 7");
  const auto state = read_state(site.dir(one));
  ASSERT_TRUE(state);
  for (const PodState& pod : state->pods) EXPECT_FALSE(is_alive(static_cast<pid_t>(pod.pid)));
}

TEST(LocalCluster, AGangSucceedsWhenAllItsPodsDid) {
  Site site;
  // The second waits for the first one's end, which does not end the gang.
  const std::string done = site.file("done");
  site.run(one,
           Site::shell(fmt::format("[ $RANK = 0 ] && touch {0} && exit 0; "
                                   "until [ -e {0} ]; do sleep 0.01; done; echo after",
                                   done)),
           2);
  EXPECT_TRUE(site.hear<model::Finished>(one).success);
  EXPECT_EQ(site.out(one, 1), "after\n");
}

TEST(LocalCluster, AGangWithAPodOnAnotherNodeStartsNobody) {
  Site site;
  site.payloads.set("a", Site::shell("touch " + site.file("ran")));
  ports::Action action = Site::create(one, 2);
  action.pods.push_back({0, "elsewhere", "", 0, 0});
  site.cluster->apply(action);
  EXPECT_EQ(site.hear<model::StartFailed>(one).reason, "there is no node elsewhere in cluster c1");
  EXPECT_FALSE(exists(site.file("ran")));
}

TEST(LocalCluster, AProgramThatTheKernelRefusesEndsTheWholeGang) {
  Site site;
  model::Command command = Site::shell("exec sleep 1000");
  command.sets.push_back({"big", {"true", std::string(4u << 20, 'x')}, {}, {}, {}});
  site.payloads.set("a", command);
  ports::Action action = Site::create(one, 2);
  action.pods.push_back({1, "n1", "", 0, 0});
  site.cluster->apply(action);
  const auto finished = site.hear<model::Finished>(one);
  EXPECT_EQ(finished.exit_code, 126);
  EXPECT_THAT(finished.reason, StartsWith("big-0: cannot execute its program: Argument list too"));
  EXPECT_THAT(marked(fmt::format("MUSTER_POD_DIR={}/", site.dir(one))), IsEmpty());
}

TEST(LocalCluster, PeersOfADistributedProgramFindEachOther) {
  Site site;
  // As torchrun-style programs do: rank 0 listens on MASTER_PORT, the others say who they are.
  model::Command command = Site::shell("");
  command.argv = {"python3", "ring.py"};
  command.files = {{"ring.py", R"py(
import os, socket, time
e = os.environ
rank, world = int(e["RANK"]), int(e["WORLD_SIZE"])
where = (e["MASTER_ADDR"], int(e["MASTER_PORT"]))
assert e["MUSTER_PEERS"].split(",")[0] == "%s:%d" % where
assert len(set(e["MUSTER_PEERS"].split(","))) == world
if rank == 0:
    s = socket.create_server(where)
    heard = sorted(s.accept()[0].makefile().readline().strip() for _ in range(world - 1))
    print("heard", *heard)
else:
    while True:
        try:
            c = socket.create_connection(where)
            break
        except ConnectionRefusedError:
            time.sleep(0.01)
    c.sendall(("%s-%s\n" % (e["MUSTER_POD_SET"], e["MUSTER_POD_INDEX"])).encode())
)py",
                    false}};
  command.sets = {{"head", {}, {}, {}, {}}, {"workers", {}, {}, {}, {}}};
  site.payloads.set("a", command);
  ports::Action action = Site::create(one, 0);
  for (const std::uint32_t set : {1u, 0u, 1u}) action.pods.push_back({set, "n1", "", 0, 0});
  site.cluster->apply(action);
  const auto finished = site.hear<model::Finished>(one);
  EXPECT_TRUE(finished.success) << finished.reason << site.out(one, 0, ports::Stream::Err)
                                << site.out(one, 1, ports::Stream::Err);
  EXPECT_EQ(site.out(one, 0), "heard workers-0 workers-1\n");
}

// ---- what a pod sees

TEST(LocalCluster, APodKnowsItsNamesAndItsSlotsAndNothingOfTheServer) {
  Site site;
  ::setenv("MUSTER_TOKEN", "secret", 1);
  model::Command command = Site::shell(
      "echo $MUSTER_JOB_ID $MUSTER_JOB_NAME $MUSTER_USER $MUSTER_ATTEMPT $MUSTER_POD_SET "
      "$MUSTER_POD_INDEX $RANK $NODE_RANK $LOCAL_RANK $WORLD_SIZE; "
      "echo [$MUSTER_VISIBLE_DEVICES] [$CUDA_VISIBLE_DEVICES] [$MUSTER_TOKEN] $A $B");
  command.environment = {{"A", "job"}, {"B", "job"}, {"CUDA_VISIBLE_DEVICES", "all"}};
  command.sets[0].environment = {{"B", "set"}};
  site.payloads.set("a", command);
  ports::Action action = Site::create({"a", 4}, 0);
  action.pods = {{0, "n1", "local", 0b0001, 1000}, {0, "n1", "local", 0b1010, 1000}};
  site.cluster->apply(action);
  EXPECT_TRUE(site.hear<model::Finished>({"a", 4}).success);
  ::unsetenv("MUSTER_TOKEN");
  EXPECT_EQ(site.out({"a", 4}, 0), "a test ann 4 workers 0 0 0 0 2\n[0] [0] [] job set\n");
  EXPECT_EQ(site.out({"a", 4}, 1), "a test ann 4 workers 1 1 1 0 2\n[1,3] [1,3] [] job set\n");
}

TEST(LocalCluster, EveryPodHasADirectoryOfItsOwnWithTheJobsFiles) {
  Site site;
  model::Command command = Site::shell("");
  command.argv = {"bin/run.sh"};
  command.files = {{"bin/run.sh", "#!/bin/sh\ncat data/x; ls; pwd; touch mine\n", true},
                   {"data/x", "line\\1\nline 2\n", false}};
  site.run(one, command, 2);
  ASSERT_TRUE(site.hear<model::Finished>(one).success);
  for (const std::uint32_t rank : {0u, 1u}) {
    EXPECT_EQ(site.out(one, rank),
              fmt::format("line\\1\nline 2\nbin\ndata\n{}\n", pod_dir(site.dir(one), rank)));
  }
}

TEST(LocalCluster, AGivenWorkingDirectoryIsUsed) {
  Site site;
  model::Command command = Site::shell("pwd; ls $MUSTER_POD_DIR");
  command.working_dir = site.temporary.path();
  command.files = {{"x", "", false}};
  site.run(one, command);
  ASSERT_TRUE(site.hear<model::Finished>(one).success);
  EXPECT_EQ(site.out(one), site.temporary.path() + "\nx\n");
}

TEST(LocalCluster, OutputComesInOrderAndBeforeTheEnd) {
  Site site;
  site.run(one, Site::shell("for i in $(seq 2000); do echo line $i; done; echo problem >&2; "
                            "printf 'no end'"));
  ASSERT_TRUE(site.hear<model::Finished>(one).success);
  std::string expected;
  for (int i = 1; i <= 2000; ++i) expected += fmt::format("line {}\n", i);
  EXPECT_EQ(site.out(one), expected + "no end");
  EXPECT_EQ(site.out(one, 0, ports::Stream::Err), "problem\n");
}

TEST(LocalCluster, OutputIsSeenWhileTheProgramRuns) {
  Site site;
  site.run(one, Site::shell("echo early; exec sleep 1000"));
  EXPECT_TRUE(eventually([&] { return site.out(one) == "early\n"; }));
}

TEST(LocalCluster, OutputThatTheSinkRefusedIsHandedOverLaterOnce) {
  Site site;
  site.logs.refuse(true);
  site.run(one, Site::shell("echo one; echo two"));
  EXPECT_TRUE(site.hear<model::Finished>(one).success);
  EXPECT_EQ(site.out(one), "");
  site.restart();
  site.logs.refuse(false);
  EXPECT_TRUE(eventually([&] { return site.out(one) == "one\ntwo\n"; }));
}

// ---- stopping

TEST(LocalCluster, TheSinkIsToldTheEndOfThePodsOutputAndAskedAgainUntilItTakesIt) {
  Site site;
  const ports::PodOutput pod{one.job, one.number, 0};
  site.run(one, Site::shell("echo out"));
  EXPECT_TRUE(site.hear<model::Finished>(one).success);
  EXPECT_TRUE(site.logs.is_finished(pod));
  const ports::Attempt two{"b", 1};
  site.logs.refuse(true);
  site.run(two, Site::shell("true"));
  site.hear<model::Finished>(two);
  EXPECT_FALSE(site.logs.is_finished({two.job, two.number, 0}));
  site.logs.refuse(false);
  EXPECT_TRUE(eventually([&] { return site.logs.is_finished({two.job, two.number, 0}); }));
}

TEST(LocalCluster, PodsMayOpenAsManyFilesAsTheServerCouldBeforeItTookMore) {
  Site site;
  site.cluster.reset();
  LocalOptions options = site.options();
  options.pod_descriptors = 77;
  auto opened = LocalCluster::open(options, {site.inbox, site.payloads, site.logs});
  ASSERT_TRUE(opened);
  site.payloads.set("a", Site::shell("ulimit -n"));
  (*opened)->apply(Site::create(one));
  EXPECT_TRUE(site.hear<model::Finished>(one).success);
  EXPECT_EQ(site.out(one), "77\n");
}

TEST(LocalCluster, ManyAttemptsAtOnceAllRunWithOneSupervisorMadeAhead) {
  Site site;
  const std::string starts = site.file("starts");
  constexpr std::uint32_t attempts = 40;
  for (std::uint32_t i = 1; i <= attempts; ++i)
    site.run({"a", i}, Site::shell("echo $MUSTER_ATTEMPT >> " + starts));
  ASSERT_TRUE(eventually([&] { return lines_of(starts).size() >= attempts; }));
  ASSERT_TRUE(site.cluster->wait_settled(patience));
  EXPECT_EQ(lines_of(starts).size(), attempts);
}

TEST(LocalCluster, TheDirectoryMadeAheadIsUsedOnceAndGoesWithAServerThatDied) {
  Site site;
  const std::string ahead = site.directory() + "/attempts/.new-blank";
  ASSERT_TRUE(eventually([&] { return exists(ahead); }));
  site.run(one, Site::shell("ls -A .. && ls -A"));
  EXPECT_TRUE(site.hear<model::Finished>(one).success);
  EXPECT_EQ(site.out(one), "0\n0.log\n");
  ASSERT_TRUE(eventually([&] { return exists(ahead); }));
  site.cluster.reset();
  ASSERT_TRUE(write_new(ahead + "/spec", "of a server that died", 0600));
  site.open();
  ASSERT_TRUE(eventually([&] { return exists(ahead) && !exists(ahead + "/spec"); }));
  site.run({"a", 2}, Site::shell("true"));
  EXPECT_TRUE(site.hear<model::Finished>({"a", 2}).success);
}

TEST(LocalCluster, AProgramThatHearsTermMayClearUp) {
  Site site;
  model::Command command = Site::shell(
      "trap 'echo bye; exit 0' TERM; echo up; while :; do sleep "
      "0.01; done");
  command.stop_grace = patience;
  site.run(one, command);
  EXPECT_TRUE(eventually([&] { return site.out(one) == "up\n"; }));
  site.remove(one);
  site.hear<model::Gone>(one);  // and not Finished: it was stopped, whatever it exits with
  EXPECT_EQ(site.out(one), "up\nbye\n");
}

TEST(LocalCluster, AProgramThatIgnoresTermIsKilledAfterTheGrace) {
  Site site;
  site.run(one, Site::shell(fmt::format("trap '' TERM; echo $$ > {}; while :; do sleep 0.01; done",
                                        site.file("pid"))));
  const pid_t pid = pid_in(site.file("pid"));
  site.remove(one);
  site.hear<model::Gone>(one);
  EXPECT_FALSE(is_alive(pid));
  EXPECT_EQ(read_state(site.dir(one))->pods[0].signal, SIGKILL);
}

TEST(LocalCluster, TheGraceIsTheClustersWhereTheJobSaysNone) {
  Site site;
  site.cluster->change(site.options().node, milliseconds(100));
  ASSERT_TRUE(eventually([&] { return !site.inbox.take(10).empty(); })) << "the node again";
  model::Command command = Site::shell(
      fmt::format("trap '' TERM; echo $$ > {}; while :; do sleep 0.01; done", site.file("pid")));
  command.stop_grace.reset();
  site.run(one, command);
  pid_in(site.file("pid"));
  site.remove(one);
  site.hear<model::Gone>(one);
  EXPECT_EQ(read_spec(site.dir(one))->grace, milliseconds(100));
  EXPECT_EQ(read_state(site.dir(one))->pods[0].signal, SIGKILL);
}

TEST(LocalCluster, TheMachineChangesItsSizeWhileItIsOpen) {
  Site site;
  model::NodeSpec node = site.options().node;
  node.gpu_count = 2;
  node.gpu_type = "slot";
  site.cluster->change(node, seconds(1));
  std::vector<model::Event> events;
  ASSERT_TRUE(eventually([&] {
    events = site.inbox.take(10);
    return !events.empty();
  }));
  const auto* seen = std::get_if<model::NodeSeen>(&events[0].body);
  ASSERT_NE(seen, nullptr);
  EXPECT_EQ(seen->node, node);
}

/// A daemon: another session, another parent, TERM ignored.
std::string daemonise(const std::string& pid_file) {
  return fmt::format(
      "setsid sh -c \"trap '' TERM; echo \\$\\$ > {0}.new; mv {0}.new {0}; "
      "while :; do sleep 0.05; done\" </dev/null >/dev/null 2>&1 &",
      pid_file);
}

class LocalClusterWays : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Cgroups, LocalClusterWays, testing::Bool(),
                         [](const auto& param) { return param.param ? "with" : "without"; });

TEST_P(LocalClusterWays, DaemonsOfAPodGoWithIt) {
  Site site(GetParam());
  const std::string file = site.file("daemon");
  site.run(one, Site::shell(fmt::format("{} until [ -e {} ]; do sleep 0.01; done; exec sleep 1000",
                                        daemonise(file), file)));
  const pid_t daemon = pid_in(file);
  EXPECT_TRUE(is_alive(daemon));
  site.remove(one);
  site.hear<model::Gone>(one);
  EXPECT_FALSE(is_alive(daemon));
}

TEST_P(LocalClusterWays, DaemonsAreEndedWhenTheProgramEndsByItself) {
  Site site(GetParam());
  const std::string file = site.file("daemon");
  site.run(one, Site::shell(fmt::format("{} until [ -e {} ]; do sleep 0.01; done; exit 4",
                                        daemonise(file), file)));
  EXPECT_EQ(site.hear<model::Finished>(one).exit_code, 4);
  EXPECT_FALSE(is_alive(pid_in(file)));
}

TEST_P(LocalClusterWays, ASupervisorThatIsKilledTakesItsPodsAlongAndTheJobFails) {
  Site site(GetParam());
  const std::string file = site.file("daemon");
  site.run(one, Site::shell(fmt::format("{} echo $$ > {}; exec sleep 1000", daemonise(file),
                                        site.file("pid"))));
  site.hear<model::Started>(one);
  const pid_t pod = pid_in(site.file("pid"));
  const pid_t daemon = pid_in(file);
  const auto state = read_state(site.dir(one));
  ASSERT_TRUE(state);
  ASSERT_EQ(state->pods[0].pid, pod);
  ::kill(static_cast<pid_t>(state->supervisor_pid), SIGKILL);
  const auto finished = site.hear<model::Finished>(one);
  EXPECT_FALSE(finished.success);
  EXPECT_THAT(finished.reason, HasSubstr("supervisor was killed"));
  EXPECT_FALSE(is_alive(pod));
  EXPECT_FALSE(is_alive(daemon));
}

TEST(LocalCluster, ASupervisorThatIsToldToEndStopsTheGangWhichQueuesAgain) {
  Site site;
  site.run(one, Site::shell("exec sleep 1000"));
  site.hear<model::Started>(one);
  ::kill(static_cast<pid_t>(read_state(site.dir(one))->supervisor_pid), SIGTERM);
  const auto failed = site.hear<model::StartFailed>(one);
  EXPECT_THAT(failed.reason, HasSubstr("told to end"));
  EXPECT_GT(failed.not_before.ms, 0);
}

// ---- restarts

TEST(LocalCluster, ANewServerFindsWhatRunsAndHowItEnds) {
  Site site;
  const std::string go = site.file("go");
  site.run(one, Site::shell(fmt::format("echo $$ > {}; echo before; until [ -e {} ]; do sleep "
                                        "0.01; done; echo after; exit 5",
                                        site.file("pid"), go)));
  site.hear<model::Started>(one);
  const pid_t pid = pid_in(site.file("pid"));
  EXPECT_TRUE(eventually([&] { return site.out(one) == "before\n"; }));
  site.restart();
  EXPECT_TRUE(is_alive(pid));
  site.cluster->relist(std::vector<ports::Expected>{{one, true}});
  site.hear<model::Started>(one);
  std::ofstream(go) << "go";
  EXPECT_EQ(site.hear<model::Finished>(one).exit_code, 5);
  EXPECT_EQ(site.out(one), "before\nafter\n");
}

TEST(LocalCluster, WhatEndedWithoutAServerIsLearnedByTheNext) {
  Site site;
  const std::string go = site.file("go");
  site.run(one,
           Site::shell(fmt::format("until [ -e {} ]; do sleep 0.01; done; echo out; exit 6", go)));
  site.hear<model::Started>(one);
  site.cluster.reset();
  std::ofstream(go) << "go";
  EXPECT_TRUE(eventually([&] {
    const auto state = read_state(site.dir(one));
    return state && state->phase == Phase::Over;
  }));
  site.open();
  site.cluster->relist(std::vector<ports::Expected>{{one, true}});
  EXPECT_EQ(site.hear<model::Finished>(one).exit_code, 6);
  EXPECT_TRUE(eventually([&] { return site.out(one) == "out\n"; }));
}

TEST(LocalCluster, ANewServerRemovesWhatIsNotExpected) {
  Site site;
  site.run(one, Site::shell("echo $$ > " + site.file("pid") + "; exec sleep 1000"));
  const pid_t pid = pid_in(site.file("pid"));
  site.restart();
  site.cluster->relist({});
  site.hear<model::Gone>(one);
  EXPECT_TRUE(gone(pid));
}

TEST(LocalCluster, ADeleteHoldsOverARestart) {
  Site site;
  site.remove(one);
  site.hear<model::Gone>(one);
  site.restart();
  site.run(one, Site::shell("touch " + site.file("ran")));
  site.hear<model::Gone>(one);
  EXPECT_FALSE(exists(site.file("ran")));
}

TEST(LocalCluster, AnAttemptOfAnotherBootIsNotRunAgain) {
  Site site;
  site.cluster.reset();
  site.payloads.set("a", Site::shell("touch " + site.file("ran")));
  auto spec = make_spec(Site::create(one), **site.payloads.of("a"), machine_environment());
  ASSERT_TRUE(spec);
  spec->boot = "another";
  ASSERT_TRUE(make_attempt_dir(site.directory() + "/attempts", *spec));
  site.open();
  site.cluster->apply(Site::create(one));
  EXPECT_EQ(site.hear<model::StartFailed>(one).reason, "the machine was restarted");
  EXPECT_FALSE(exists(site.file("ran")));
}

TEST(LocalCluster, WhatMayHaveRunBeforeTheMachineLostItsPowerIsNotRunAgain) {
  Site site;
  site.cluster.reset();
  // Its directory did not reach the disk; that of the cluster is of another boot.
  std::ofstream(site.directory() + "/boot") << "another";
  site.open();
  site.payloads.set("a", Site::shell("echo $MUSTER_ATTEMPT >> " + site.file("ran")));
  site.cluster->relist(std::vector<ports::Expected>{{one, false}});
  site.cluster->apply(Site::create(one));
  site.hear<model::Gone>(one);
  site.cluster->apply(Site::create({"a", 2}));
  EXPECT_TRUE(site.hear<model::Finished>({"a", 2}).success);
  site.restart();
  site.cluster->relist(std::vector<ports::Expected>{{{"a", 3}, false}});
  site.cluster->apply(Site::create({"a", 3}));
  EXPECT_TRUE(site.hear<model::Finished>({"a", 3}).success);
  EXPECT_THAT(lines_of(site.file("ran")), ElementsAre("2", "3"));
}

TEST(LocalCluster, AnAttemptThatWasMadeButNotBegunIsBegunOnce) {
  Site site;
  site.cluster.reset();
  site.payloads.set("a", Site::shell("echo x >> " + site.file("ran")));
  auto spec = make_spec(Site::create(one), **site.payloads.of("a"), machine_environment());
  ASSERT_TRUE(spec);
  spec->output_most = 1000;
  ASSERT_TRUE(make_attempt_dir(site.directory() + "/attempts", *spec));
  site.open();
  site.cluster->apply(Site::create(one));
  site.cluster->apply(Site::create(one));
  EXPECT_TRUE(site.hear<model::Finished>(one).success);
  EXPECT_THAT(lines_of(site.file("ran")), ElementsAre("x"));
}

// ---- what is expected

model::Placed placed(const ports::Attempt& attempt, std::size_t pods = 1) {
  return {attempt.job, attempt.number, "c1", "", Site::create(attempt, pods).pods};
}
std::string blank_spec(const Site& site) { return site.directory() + "/attempts/.new-blank/spec"; }

TEST(LocalCluster, WhatIsExpectedIsReadyButRunsOnlyWhenItIsAskedFor) {
  Site site;
  site.payloads.set("a", Site::shell("echo $MUSTER_ATTEMPT >> " + site.file("ran")));
  site.cluster->expect(placed(one));
  EXPECT_TRUE(eventually([&] { return exists(blank_spec(site)); }));
  EXPECT_FALSE(exists(site.dir(one)));
  site.cluster->apply(Site::create(one));
  EXPECT_TRUE(site.hear<model::Finished>(one).success);
  EXPECT_THAT(lines_of(site.file("ran")), ElementsAre("1"));
}

TEST(LocalCluster, WhatIsExpectedAndDoesNotComeLeavesNothing) {
  Site site;
  site.payloads.set("a", Site::shell("echo a >> " + site.file("ran")));
  site.payloads.set("b", Site::shell("echo b >> " + site.file("ran")));
  site.cluster->expect(placed(one));
  EXPECT_TRUE(eventually([&] { return exists(blank_spec(site)); }));
  site.cluster->apply(Site::create({"b", 1}));  // another comes instead
  EXPECT_TRUE(site.hear<model::Finished>({"b", 1}).success);
  site.cluster->expect(placed(one));
  EXPECT_TRUE(eventually([&] { return exists(blank_spec(site)); }));
  site.restart();  // and the server dies before it is durable
  site.cluster->relist({});
  EXPECT_TRUE(site.cluster->wait_settled(patience));
  EXPECT_FALSE(exists(blank_spec(site)));
  EXPECT_FALSE(exists(site.dir(one)));
  EXPECT_THAT(lines_of(site.file("ran")), ElementsAre("b"));
}

TEST(LocalCluster, WhatComesWithOtherPodsThanExpectedRunsAsItComes) {
  Site site;
  site.payloads.set("a", Site::shell("echo $RANK of $WORLD_SIZE"));
  site.cluster->expect(placed(one));
  EXPECT_TRUE(eventually([&] { return exists(blank_spec(site)); }));
  site.cluster->apply(Site::create(one, 2));
  EXPECT_TRUE(site.hear<model::Finished>(one).success);
  EXPECT_EQ(site.out(one, 1), "1 of 2\n");
}

TEST(LocalCluster, ADirectoryIsMadeAheadSoonAfterTheLastOneWasUsed) {
  Site site;
  const std::string blank = site.directory() + "/attempts/.new-blank";
  for (std::uint32_t attempt = 1; attempt < 4; ++attempt) {
    EXPECT_TRUE(eventually([&] { return exists(blank + "/unclaimed"); }));
    site.run({"a", attempt}, Site::shell("true"));
    EXPECT_TRUE(site.hear<model::Finished>({"a", attempt}).success);
  }
}

TEST(LocalCluster, ManySupervisorsOfOneAttemptRunItOnce) {
  Site site;
  site.cluster.reset();
  // It runs long enough for all of them to come, and nobody comes late to a directory that is over.
  site.payloads.set("a", Site::shell("echo x >> " + site.file("ran") + "; sleep 0.2"));
  auto spec = make_spec(Site::create(one), **site.payloads.of("a"), machine_environment());
  ASSERT_TRUE(spec);
  ASSERT_TRUE(make_attempt_dir(site.directory() + "/attempts", *spec));
  const auto rush = [&] {
    std::vector<std::unique_ptr<Launcher>> launchers;
    for (int i = 0; i < 4; ++i) {
      launchers.push_back(std::make_unique<Launcher>(site.options().supervisor, site.directory()));
      ASSERT_TRUE(launchers.back()->prepare());
    }
    for (int round = 0; round < 5; ++round) {
      for (const auto& launcher : launchers) ASSERT_TRUE(launcher->start(dir_name(one)));
    }
  };
  rush();
  EXPECT_TRUE(eventually([&] {
    const auto state = read_state(site.dir(one));
    return state && state->phase == Phase::Over;
  }));
  rush();
  site.open();
  site.cluster->apply(Site::create(one));
  EXPECT_TRUE(site.hear<model::Finished>(one).success);
  EXPECT_THAT(lines_of(site.file("ran")), ElementsAre("x"));
}

TEST(LocalCluster, TwoServersDoNotShareADirectory) {
  Site site;
  const auto second = LocalCluster::open(site.options(), {site.inbox, site.payloads, site.logs});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().fault, Fault::Conflict);
  EXPECT_THAT(second.error().message, HasSubstr("in use"));
}

// ---- when the machine does not do its part

TEST(LocalCluster, ADiskThatTakesNothingFailsTheStartAndNothingElse) {
  Site site;
  site.payloads.set("a", Site::shell("true"));
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  ::signal(SIGXFSZ, SIG_IGN);
  const rlimit none{0, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &none), 0);
  site.cluster->apply(Site::create(one));
  const auto failed = site.hear<model::StartFailed>(one);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_THAT(failed.reason, StartsWith("cannot write "));
  site.cluster->apply(Site::create({"a", 2}));
  EXPECT_TRUE(site.hear<model::Finished>({"a", 2}).success);
}

TEST(LocalCluster, WithoutASupervisorTheStartFails) {
  Scratch temporary;
  ports::MemoryInbox inbox(100);
  ports::MemoryPayloads payloads;
  ports::MemoryLogSink logs;
  LocalOptions options;
  options.directory = temporary.path();
  options.supervisor = {"/no/such/program"};
  const auto opened = LocalCluster::open(options, {inbox, payloads, logs});
  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().message, HasSubstr("/no/such/program"));
}

TEST(LocalCluster, AnAttemptThatNoSupervisorTakesUpIsGivenUp) {
  Site site;
  site.cluster.reset();
  LocalOptions options = site.options();
  options.supervisor = {"/bin/sh", "-c", "cat >/dev/null"};  // takes every name, and makes nothing
  options.claim_limit = milliseconds(500);
  auto opened = LocalCluster::open(options, {site.inbox, site.payloads, site.logs});
  ASSERT_TRUE(opened);
  site.payloads.set("a", Site::shell("true"));
  (*opened)->apply(Site::create(one));
  EXPECT_THAT(site.hear<model::StartFailed>(one).reason, HasSubstr("no supervisor"));
}

TEST(LocalCluster, AFullInboxLosesNothing) {
  Scratch temporary;
  ports::MemoryInbox inbox(1);
  ports::MemoryPayloads payloads;
  ports::MemoryLogSink logs;
  LocalOptions options;
  options.name = "c1";
  options.directory = temporary.path() + "/cluster";
  options.node.name = "n1";
  auto opened = LocalCluster::open(options, {inbox, payloads, logs});
  ASSERT_TRUE(opened);
  for (const char* job : {"a", "b", "c"})
    (*opened)->apply({ports::Verb::Delete, {job, 1}, "c1", {}});
  std::vector<std::string> jobs;
  EXPECT_TRUE(eventually([&] {
    for (const model::Event& event : inbox.take(1))
      jobs.push_back(std::get<model::Gone>(event.body).job);
    return jobs.size() == 3;
  }));
  EXPECT_THAT(jobs, ElementsAre("a", "b", "c"));
}

TEST(LocalCluster, FilesOfWhatNobodyAsksForAnyMoreAreRemoved) {
  Site site;
  site.cluster.reset();
  LocalOptions options = site.options();
  options.keep_finished = milliseconds(0);
  auto opened = LocalCluster::open(options, {site.inbox, site.payloads, site.logs});
  ASSERT_TRUE(opened);
  site.payloads.set("a", Site::shell("true"));
  (*opened)->apply(Site::create(one));
  EXPECT_TRUE(site.hear<model::Finished>(one).success);
  opened->reset();
  opened = LocalCluster::open(options, {site.inbox, site.payloads, site.logs});
  ASSERT_TRUE(opened);
  EXPECT_TRUE(eventually([&] { return !exists(site.dir(one)); }));
}

}  // namespace
}  // namespace muster::clusters
