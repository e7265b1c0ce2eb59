#include "control/runner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string>
#include <vector>

#include "ports/memory_cluster.h"
#include "ports/memory_store.h"

namespace muster::control {
namespace {

/// Lines that threads write and the test waits for.
class Lines {
 public:
  void add(std::string line) {
    const std::lock_guard lock(mutex_);
    lines_.push_back(std::move(line));
    changed_.notify_all();
  }
  /// The first that begins with this; "" if none comes in ten seconds.
  std::string wait(const std::string& begin) {
    std::unique_lock lock(mutex_);
    std::string found;
    changed_.wait_for(lock, std::chrono::seconds(10), [&] {
      for (const std::string& line : lines_) {
        if (line.starts_with(begin)) found = line;
      }
      return !found.empty();
    });
    return found;
  }

  bool has(const std::string& begin) {
    const std::lock_guard lock(mutex_);
    return std::any_of(lines_.begin(), lines_.end(),
                       [&](const std::string& line) { return line.starts_with(begin); });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> lines_;
};

struct RunnerTest : testing::Test {
  static model::NodeSpec node() {
    model::NodeSpec spec;
    spec.name = "n1";
    spec.allocatable.cpu = {4000};
    return spec;
  }
  static std::vector<model::EventBody> first(const sched::World& world) {
    if (!world.quota.find("q").is_none()) return {};
    model::QueueSpec queue;
    queue.name = "q";
    std::vector<model::EventBody> events;
    events.emplace_back(model::ClusterSet{{"c1", {}, {}, minutes(5)}});
    events.emplace_back(model::QueueSet{queue});
    return events;
  }
  RunnerOptions options() {
    RunnerOptions options;
    options.refused_requests = milliseconds(60);
    options.clock = [this] { return Time{++now}; };
    options.publish = [this](const StepReport& report, const sched::World&, double) {
      for (const model::Event& event : report.events) {
        if (const auto* started = std::get_if<model::Started>(&event.body))
          lines.add("started " + started->job);
      }
      if (report.decision_seconds) lines.add(*report.decision_seconds > 0 ? "timed" : "no time");
    };
    options.say = [this](const std::string& text) { lines.add(text); };
    options.on_end = [this](const Error& error) { lines.add("end: " + error.message); };
    return options;
  }
  void submit(Runner& runner, const std::string& id) {
    model::JobSpec spec;
    spec.id = id;
    spec.queue = "q";
    spec.gang.sets.emplace_back();
    spec.gang.sets[0].pod.requests.cpu = {1000};
    const auto put =
        runner.requests().put({[spec](const sched::World&, Time) -> Result<Asked> {
                                 Asked asked;
                                 asked.events.emplace_back(model::JobSubmitted{spec, 0});
                                 return asked;
                               },
                               [this, id](const Result<Answer>& answer) {
                                 lines.add((answer ? "taken " : "refused ") + id);
                               }});
    if (put == Requests::Put::StoreRefuses) lines.add("not taken " + id);
  }

  std::atomic<std::int64_t> now{0};
  Lines lines;
  ports::MemoryStore store;
};

TEST_F(RunnerTest, AskedItPlansAndTellsTheCluster) {
  Runner runner(store, {}, options());
  ports::MemoryCluster cluster("c1", {node()}, runner.inbox());
  ASSERT_TRUE(runner.start({{"c1", &cluster}}, first));
  submit(runner, "a");
  EXPECT_EQ(lines.wait("taken a"), "taken a");
  EXPECT_EQ(lines.wait("started a"), "started a");
  EXPECT_EQ(lines.wait("timed"), "timed") << "from the request to the dispatch";
  runner.reads().put(
      {[](sched::World& world, sched::Agenda&, const sched::Policy&, Time) -> Result<std::string> {
         return fmt::format("{} jobs", world.job_count());
       },
       [this](const Result<std::string>& text) { lines.add("read " + *text); }});
  EXPECT_EQ(lines.wait("read"), "read 1 jobs");
  runner.stop();
}

TEST_F(RunnerTest, AStoreThatRefusesIsSaidAndHealsByItself) {
  Runner runner(store, {}, options());
  ports::MemoryCluster cluster("c1", {node()}, runner.inbox());
  ASSERT_TRUE(runner.start({{"c1", &cluster}}, first));
  submit(runner, "before");
  EXPECT_EQ(lines.wait("started before"), "started before");
  store.be_busy(1'000'000);
  submit(runner, "during");
  EXPECT_NE(lines.wait("the store refuses"), "");
  EXPECT_EQ(lines.wait("refused during"), "refused during");
  submit(runner, "later");
  EXPECT_EQ(lines.wait("not taken later"), "not taken later") << "at once, without the loop";
  // What the cluster says meanwhile is kept.
  store.be_busy(0);
  cluster.finish({"before", 1}, true);
  EXPECT_NE(lines.wait("the store takes writes again"), "");
  submit(runner, "after");
  EXPECT_EQ(lines.wait("taken after"), "taken after");
  runner.stop();
  EXPECT_EQ(store.job("before")->state, model::JobState::Succeeded);
  EXPECT_EQ(store.job("during").error().fault, Fault::NotFound);
}

TEST_F(RunnerTest, WhoIsDeposedEndsWithTheReason) {
  Runner runner(store, {}, options());
  ports::MemoryCluster cluster("c1", {node()}, runner.inbox());
  ASSERT_TRUE(runner.start({{"c1", &cluster}}, first));
  const auto other = store.another();
  ASSERT_TRUE(other->lead());
  submit(runner, "a");
  EXPECT_NE(lines.wait("end: another server leads"), "");
  EXPECT_EQ(lines.wait("refused a"), "refused a");
  runner.stop();
}

TEST_F(RunnerTest, AWorldThatIsNotSoundIsSaidAndRecoveredFromTheJournal) {
  RunnerOptions checking = options();
  checking.check_every = milliseconds(1);
  std::atomic<int> unsound{1};
  checking.check = [&](const sched::World&) { return unsound-- > 0 ? "planted" : ""; };
  checking.on_unsound = [this] { lines.add("counted"); };
  Runner runner(store, {}, checking);
  ports::MemoryCluster cluster("c1", {node()}, runner.inbox());
  ASSERT_TRUE(runner.start({{"c1", &cluster}}, first));
  submit(runner, "a");
  EXPECT_EQ(lines.wait("the world is not sound"),
            "the world is not sound and is recovered from the journal: planted");
  EXPECT_EQ(lines.wait("counted"), "counted");
  EXPECT_NE(lines.wait("the world was recovered"), "");
  submit(runner, "b");
  EXPECT_EQ(lines.wait("started b"), "started b") << "it goes on";
  runner.stop();
}

TEST_F(RunnerTest, IfRecoveringDoesNotHelpNothingIsScheduledAndNobodyIsTurnedAway) {
  RunnerOptions checking = options();
  checking.check_every = milliseconds(1);
  checking.check = [](const sched::World&) { return "planted"; };
  Runner runner(store, {}, checking);
  ports::MemoryCluster cluster("c1", {node()}, runner.inbox());
  ASSERT_TRUE(runner.start({{"c1", &cluster}}, first));
  EXPECT_NE(lines.wait("the recovered world is not sound either"), "");
  submit(runner, "late");
  EXPECT_EQ(lines.wait("taken late"), "taken late");
  runner.stop();
  EXPECT_EQ(store.job("late")->state, model::JobState::Waiting);
}

TEST_F(RunnerTest, AWorldThatIsTooLargeIsNotChecked) {
  RunnerOptions checking = options();
  checking.check_every = milliseconds(1);
  checking.check_most = 0;
  checking.check = [](const sched::World&) { return "planted"; };
  checking.on_unsound = [this] { lines.add("counted"); };
  Runner runner(store, {}, checking);
  ports::MemoryCluster cluster("c1", {node()}, runner.inbox());
  ASSERT_TRUE(runner.start({{"c1", &cluster}}, first));
  submit(runner, "a");
  EXPECT_EQ(lines.wait("started a"), "started a");
  submit(runner, "b");
  EXPECT_EQ(lines.wait("started b"), "started b");
  runner.stop();
  EXPECT_FALSE(lines.has("counted"));
}

TEST_F(RunnerTest, ANewRunnerGoesOnWhereTheLastOneStopped) {
  std::optional<ports::MemoryCluster> cluster;
  {
    Runner runner(store, {}, options());
    cluster.emplace("c1", std::vector{node()}, runner.inbox());
    ASSERT_TRUE(runner.start({{"c1", &*cluster}}, first));
    submit(runner, "a");
    EXPECT_EQ(lines.wait("started a"), "started a");
  }
  const std::uint64_t books = store.last();
  Runner runner(store, {}, options());
  ports::MemoryCluster again("c1", {node()}, runner.inbox());
  ASSERT_TRUE(runner.start({{"c1", &again}}, first));
  submit(runner, "b");
  EXPECT_EQ(lines.wait("started b"), "started b");
  runner.stop();
  int configured = 0;
  ASSERT_TRUE(store.read(books + 1, [&](const ports::Entry& entry) {
    configured += std::holds_alternative<model::ClusterSet>(entry.event.body) ||
                  std::holds_alternative<model::QueueSet>(entry.event.body);
  }));
  EXPECT_EQ(configured, 0) << "the configuration is in the books already";
}

}  // namespace
}  // namespace muster::control
