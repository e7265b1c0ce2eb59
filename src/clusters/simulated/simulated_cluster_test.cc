#include "clusters/simulated/simulated_cluster.h"

#include <gmock/gmock.h>

#include <fstream>

#include "clusters/local/testing/site.h"
#include "ports/cluster_contract.h"

namespace muster::clusters {
namespace {

using testing::IsEmpty;

const ports::Attempt one{"a", 1};

// ---- the book, on time that is an argument

std::string said(const std::vector<model::EventBody>& bodies) {
  std::string text;
  for (const model::EventBody& body : bodies) {
    if (const auto* e = std::get_if<model::Started>(&body)) text += "started " + e->job;
    if (const auto* e = std::get_if<model::Gone>(&body)) text += "gone " + e->job;
    if (const auto* e = std::get_if<model::StartFailed>(&body)) text += "failed " + e->reason;
    if (const auto* e = std::get_if<model::Finished>(&body))
      text += fmt::format("finished {} {}", e->job, e->exit_code);
    text += "; ";
  }
  return text;
}

SimulatedPods book() { return SimulatedPods({seconds(1), seconds(2)}); }

TEST(SimulatedPods, StartRunAndEndAsTimePasses) {
  SimulatedPods pods = book();
  pods.create({"b", 1}, {seconds(10), 3}, Time{0});
  pods.create(one, {seconds(5), 0}, Time{0});
  EXPECT_EQ(pods.next(), Time{1000});
  EXPECT_EQ(said(pods.pass(Time{999})), "");
  EXPECT_TRUE(pods.is_changing());
  EXPECT_EQ(said(pods.pass(Time{1000})), "started a; started b; ");
  EXPECT_FALSE(pods.is_changing());
  EXPECT_EQ(said(pods.pass(Time{60'000})), "finished a 0; finished b 3; ");
  EXPECT_TRUE(pods.next().is_never());
  EXPECT_THAT(pods.alive(), IsEmpty());
}

TEST(SimulatedPods, ARemovedOneIsGoneAfterAWhileAndStaysSo) {
  SimulatedPods pods = book();
  pods.create(one, {seconds(5), 0}, Time{0});
  pods.pass(Time{1000});
  pods.remove(one, Time{4000});
  pods.remove(one, Time{5000});
  EXPECT_FALSE(pods.how(one, Time{0}));
  EXPECT_EQ(said(pods.pass(Time{6000})), "gone a; ");  // its own end would have come at 6000 too
  pods.create(one, {seconds(5), 0}, Time{7000});
  EXPECT_EQ(said(pods.pass(Time{60'000})), "");
}

TEST(SimulatedPods, TheBookComesBackFromItsText) {
  SimulatedPods pods = book();
  pods.create({"job with blanks\n", 7}, {seconds(10), 3}, Time{0});
  pods.create(one, {seconds(5), 0}, Time{0});
  pods.remove({"gone", 2}, Time{0});
  pods.pass(Time{1000});
  SimulatedPods again = book();
  again.read(pods.text());
  EXPECT_EQ(again.text(), pods.text());
  EXPECT_EQ(said(again.pass(Time{8000})), "finished a 0; ");
  EXPECT_TRUE(again.knows({"gone", 2}));
  EXPECT_EQ(said(again.pass(Time{60'000})), "finished job with blanks\n 3; ");
}

TEST(SimulatedPods, LinesThatAreNoneAndHalfALineAreLeftOut) {
  SimulatedPods pods = book();
  pods.read(
      "running 1 0 9 0 finished ok\nrunning 1 0 9 999 finished x\nfoo\n\nrunning\n"
      "running x 0 9 0 finished x\nrunning 1 0 9 0 sometime x\nrunning 1 0 9 0 finished \n"
      "running 1 0 9 0 finished ha");
  EXPECT_EQ(pods.text(), "running 1 0 9 0 finished ok\n");
}

TEST(SimulatedPods, OnlyOldEndsAreForgotten) {
  SimulatedPods pods = book();
  pods.create(one, {hours(9), 0}, Time{0});
  pods.remove({"old", 1}, Time{0});
  pods.remove({"new", 1}, Time{5000});
  pods.forget(Time{5000});
  EXPECT_TRUE(pods.knows(one));
  EXPECT_TRUE(pods.knows({"new", 1}));
  EXPECT_FALSE(pods.knows({"old", 1}));
}

TEST(SimulatedRun, SaysHowLongAndHowItEnds) {
  model::Command command = Site::shell("");
  EXPECT_EQ(simulated_run(command, minutes(7)).time, minutes(7));
  command.argv = {"sleep", "90"};
  EXPECT_EQ(simulated_run(command, minutes(7)).time, seconds(90));
  command.argv = {"sleep", "forever"};
  EXPECT_EQ(simulated_run(command, minutes(7)).time, minutes(7));
  command.environment = {{"MUSTER_SIM_SECONDS", "20"}, {"MUSTER_SIM_EXIT_CODE", "3"}};
  EXPECT_EQ(simulated_run(command, minutes(7)).time, seconds(20));
  EXPECT_EQ(simulated_run(command, minutes(7)).exit_code, 3);
  command.sets[0].environment = {{"MUSTER_SIM_SECONDS", "30"}};
  EXPECT_EQ(simulated_run(command, minutes(7)).time, seconds(30));
  EXPECT_EQ(simulated_run({}, minutes(7)).time, minutes(7));
}

// ---- the cluster, on the real clock

struct SimulatedHarness {
  SimulatedHarness() { open(); }
  void open() {
    simulated.reset();
    SimulatedOptions options;
    options.name = "c1";
    options.nodes.resize(1);
    options.nodes[0].name = "n1";
    options.file = temporary.path() + "/pods";
    options.run_time = hours(100);
    options.timing = {milliseconds(3), milliseconds(3)};
    auto opened = SimulatedCluster::open(options, {inbox, payloads});
    ASSERT_TRUE(opened);
    simulated = std::move(*opened);
  }
  ports::Cluster& cluster() { return *simulated; }
  std::vector<model::Event> heard() {
    EXPECT_TRUE(simulated->wait_settled(patience));
    return inbox.take(1000);
  }
  /// From its file: an attempt is made when its first line is one of a start.
  int creations(const ports::Attempt& attempt) const {
    int count = 0;
    for (const std::string& line : lines_of(temporary.path() + "/pods")) {
      count += line.starts_with(fmt::format("starting {} ", attempt.number)) &&
                       line.ends_with(" " + attempt.job)
                   ? 1
                   : 0;
    }
    return count;
  }
  void set_reachable(bool reachable) { simulated->set_reachable(reachable); }

  Scratch temporary;
  ports::MemoryInbox inbox{1000};
  ports::MemoryPayloads payloads;
  std::unique_ptr<SimulatedCluster> simulated;
};

ports::Action create(const ports::Attempt& attempt, const std::string& node = "n1") {
  return {ports::Verb::Create, attempt, "c1", {{0, node, "", 0, 0}}};
}

template <typename Body>
std::vector<Body> of(const std::vector<model::Event>& events) {
  std::vector<Body> found;
  for (const model::Event& event : events) {
    if (const auto* body = std::get_if<Body>(&event.body)) found.push_back(*body);
  }
  return found;
}

TEST(SimulatedClusterKind, AJobEndsWhenItsTimeIsOver) {
  SimulatedHarness h;
  model::Command command = Site::shell("");
  command.environment = {{"MUSTER_SIM_SECONDS", "0"}, {"MUSTER_SIM_EXIT_CODE", "4"}};
  h.payloads.set("a", command);
  h.cluster().apply(create(one));
  std::vector<model::Finished> finished;
  EXPECT_TRUE(eventually([&] {
    finished = of<model::Finished>(h.heard());
    return !finished.empty();
  }));
  EXPECT_FALSE(finished[0].success);
  EXPECT_EQ(finished[0].exit_code, 4);
}

TEST(SimulatedClusterKind, ARestartChangesNothing) {
  SimulatedHarness h;
  h.cluster().apply(create(one));
  h.cluster().apply({ports::Verb::Delete, {"b", 1}, "c1", {}});
  h.heard();
  h.open();
  h.cluster().relist(std::vector<ports::Expected>{{one, true}, {{"lost", 1}, true}});
  const auto events = h.heard();
  ASSERT_EQ(of<model::Started>(events).size(), 1u);
  ASSERT_EQ(of<model::Gone>(events).size(), 1u);
  EXPECT_EQ(of<model::Gone>(events)[0].job, "lost");
  h.cluster().apply(create({"b", 1}));
  EXPECT_EQ(of<model::Gone>(h.heard()).size(), 1u);
}

TEST(SimulatedClusterKind, NodesComeGoAndChangeWhileItIsOpen) {
  SimulatedHarness h;
  h.cluster().apply(create(one));
  ASSERT_EQ(of<model::Started>(h.heard()).size(), 1u);
  model::NodeSpec second;
  second.name = "n2";
  h.simulated->change({second}, hours(100));
  std::vector<model::Event> events;
  const auto hear = [&](std::size_t count) {
    events.clear();
    return eventually([&] {
      for (model::Event& event : h.inbox.take(1000)) events.push_back(std::move(event));
      return events.size() >= count;
    });
  };
  ASSERT_TRUE(hear(2));
  EXPECT_EQ(of<model::NodeSeen>(events).at(0).node.name, "n2");
  EXPECT_EQ(of<model::NodeGone>(events).at(0).node, "n1");
  second.allocatable.cpu = {4000};
  model::NodeSpec third;
  third.name = "n3";
  h.simulated->change({second, third}, Duration{0});
  ASSERT_TRUE(hear(2));
  EXPECT_EQ(of<model::NodeSeen>(events).at(0).node.allocatable.cpu.v, 4000);
  EXPECT_EQ(of<model::NodeSeen>(events).at(1).node.name, "n3");
  h.cluster().apply(create({"b", 1}, "n3"));
  ASSERT_TRUE(hear(2)) << "its run time is the new one";
  EXPECT_EQ(of<model::Finished>(events).at(0).job, "b");
  h.cluster().relist(std::vector<ports::Expected>{{one, true}});
  events = h.heard();
  EXPECT_EQ(of<model::NodeSeen>(events).size(), 2u);
  EXPECT_EQ(of<model::Started>(events).size(), 1u) << "it runs on, on a node that is no more";
}

TEST(SimulatedClusterKind, ANodeThatIsNotThereFailsTheStart) {
  SimulatedHarness h;
  h.cluster().apply(create(one, "n2"));
  const auto failed = of<model::StartFailed>(h.heard());
  ASSERT_EQ(failed.size(), 1u);
  EXPECT_EQ(failed[0].reason, "there is no node n2 in cluster c1");
}

TEST(SimulatedClusterKind, SaysWhenItCannotBeReachedAndWhenItCanAgain) {
  SimulatedHarness h;
  for (const bool reachable : {false, true}) {
    h.set_reachable(reachable);
    const auto health = of<model::ClusterHealth>(h.heard());
    ASSERT_EQ(health.size(), 1u);
    EXPECT_EQ(health[0].health, reachable ? model::Health::Ready : model::Health::Unreachable);
  }
}

}  // namespace
}  // namespace muster::clusters

namespace muster::ports {
INSTANTIATE_TYPED_TEST_SUITE_P(SimulatedKind, ClusterContract, clusters::SimulatedHarness);
}  // namespace muster::ports
