#include "api/appwrapper/wait_desk.h"

#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <set>

#include "sched/testing/site.h"

namespace muster::api {
namespace {

/// Plays the loop and the hub.
struct Office {
  sched::testing::Site site;
  control::Reads reads{1};
  std::set<std::string> waiting;
  std::vector<std::pair<std::string, WrapperWait::Kind>> told;
  std::deque<std::function<void()>> answers;
  Time now = Time{0} + hours(1);
  WaitDesk desk{
      {},
      {.clock = [this] { return now; },
       .reads = reads,
       .later = [this](std::function<void()> then) { answers.push_back(std::move(then)); },
       .find = [this](const std::string& job) -> const std::string* {
         const auto at = waiting.find(job);
         return at == waiting.end() ? nullptr : &*at;
       },
       .tell = [this](const std::string& job,
                      const WrapperWait& wait) { told.emplace_back(job, wait.kind); }}};

  Office() {
    site.cluster("here");
    site.queue("team", 8);
  }
  void hold(const std::string& job) {
    model::JobSpec spec = sched::testing::job_spec(job, "team", 1, 0);
    spec.held = true;
    site.apply(model::JobSubmitted{spec});
    desk.set(*waiting.insert(job).first, now);
  }
  void loop_answers() {
    reads.answer_some(std::chrono::milliseconds(100), [this](const control::ReadAsk& ask) {
      return ask(site.world, site.agenda, site.policy, now);
    });
    while (!answers.empty()) {
      const auto next = std::move(answers.front());
      answers.pop_front();
      next();
    }
  }
};

TEST(WaitDesk, TellsWhyAJobWaitsAndAsksAgainLater) {
  Office office;
  office.hold("a");
  office.desk.ask_due();
  EXPECT_TRUE(office.desk.next_due().is_never()) << "an answer is on its way";
  office.loop_answers();
  ASSERT_EQ(office.told.size(), 1U);
  EXPECT_EQ(office.told[0].first, "a");
  EXPECT_EQ(office.told[0].second, WrapperWait::Kind::Held);
  EXPECT_EQ(office.desk.next_due(), office.now + seconds(20));
}

TEST(WaitDesk, AsksSoonAgainAboutOneThatTheEngineDoesNotKnowYet) {
  Office office;
  office.desk.set(*office.waiting.insert("new").first, office.now);
  office.desk.ask_due();
  office.loop_answers();
  EXPECT_TRUE(office.told.empty());
  EXPECT_EQ(office.desk.next_due(), office.now + milliseconds(60));
}

TEST(WaitDesk, ForgetsOneThatIsGoneWhenTheAnswerComes) {
  Office office;
  office.hold("a");
  office.desk.ask_due();
  office.waiting.clear();
  office.loop_answers();
  EXPECT_TRUE(office.told.empty());
  EXPECT_TRUE(office.desk.next_due().is_never());
}

TEST(WaitDesk, WaitsWhenTheLoopTakesNoQuestion) {
  Office office;
  office.hold("a");
  ASSERT_TRUE(office.reads.put({}));  // so many may wait
  office.desk.ask_due();
  EXPECT_EQ(office.desk.next_due(), office.now + seconds(1));
}

TEST(WaitDesk, AsksAboutManyLessOften) {
  Office office;
  std::set<std::string> others;
  for (int i = 0; i < 20'000; ++i)
    office.desk.set(*others.insert("other " + std::to_string(i)).first, office.now + hours(9));
  office.hold("a");
  office.desk.ask_due();
  office.loop_answers();
  EXPECT_EQ(office.desk.next_due(), office.now + seconds(40));
}

}  // namespace
}  // namespace muster::api
