#include "api/appwrapper/status_writer.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <string>
#include <vector>

#include "api/appwrapper/status_fields.h"
#include "kube/json.h"

namespace muster::api {
namespace {

namespace json = boost::json;
using model::JobState;

/// One AppWrapper of two pods, with a clock of its own and an API server that takes everything.
struct Desk {
  const std::string job = "aw-1-uid";
  const std::string uid = "uid";
  WrapperKey key{WrapperGroup::Workload, "ns", "wrapped"};
  WrapperFacts facts;
  bool is_v1beta2 = false;
  Time now = Time{0} + hours(1);
  std::vector<std::pair<Duration, json::value>> writes;  // since the beginning
  const Time begin = now;
  StatusWriter writer{
      {},
      {.clock = [this] { return now; },
       .source = [this](const std::string&) -> std::optional<StatusSource> {
         return StatusSource{key, uid, is_v1beta2, facts};
       },
       .send =
           [this](const kube::ApiRequest& request, const StatusWriter::Answer& done) {
             writes.emplace_back(now - begin, json::parse(request.body).at("status"));
             done(std::nullopt);
           },
       .later = [](const std::function<void()>& then) { then(); },
       .on_write = [](const std::string&) {},
       .say = [](const std::string&) {}}};

  Desk() {
    facts.row.emplace();
    facts.job = &job;
    facts.row->pods = 2;
    facts.ask.names_its_end = true;
    writer.add(job, {});
  }
  void pass(Duration time) {
    const Time end = now + time;
    while (now < end) {
      now = std::min(end, std::max(now, writer.next_due()));
      writer.write_due(seconds(1));
    }
  }
  void touch() { writer.touch(job, Moves::No); }
  void backs_off() {
    facts.wait = WrapperWait{WrapperWait::Kind::Room, "no room", std::nullopt};
    touch();
  }
  void is_made() {
    facts.wait.reset();
    facts.row->state = JobState::Running;
    facts.row->attempt = 1;
    facts.row->started = now;
    facts.sight.edit().attempt = {job, 1};
    facts.sight.edit().is_made = true;
    touch();
  }
  void waits_and_is_made() {
    backs_off();
    pass(seconds(10));
    is_made();
    pass(seconds(2));
  }
  void has_pods(int pending, int running, int succeeded = 0) {
    facts.sight.edit().pods = {pending, running, succeeded, 0};
    touch();
  }
  void is_over() {
    facts.row->state = JobState::Succeeded;
    facts.row->finished = now;
    touch();
  }
  std::int64_t last(std::string_view name) const {
    return kube::integer_at(writes.back().second, {name});
  }
};

TEST(StatusWriter, FourWritesFromSubmitToCompletedHoweverThePodsTrickle) {
  Desk desk;
  desk.waits_and_is_made();
  desk.has_pods(1, 0);
  desk.pass(seconds(2));
  desk.has_pods(2, 0);
  desk.pass(seconds(20));
  desk.has_pods(1, 1);
  desk.pass(seconds(2));
  desk.has_pods(0, 2);
  desk.pass(minutes(5));
  ASSERT_EQ(desk.writes.size(), 3U);
  desk.has_pods(0, 1, 1);
  desk.pass(seconds(3));
  desk.has_pods(0, 0, 2);
  desk.pass(seconds(20));
  desk.is_over();
  desk.pass(minutes(10));
  ASSERT_EQ(desk.writes.size(), 4U);
  EXPECT_EQ(desk.last("Succeeded"), 2);
  EXPECT_EQ(kube::text_at(desk.writes[3].second, {"state"}), "Completed");
}

TEST(StatusWriter, OneThatWaitsForThisAndForThatIsWrittenLessAndLessOften) {
  for (const bool is_v1beta2 : {false, true}) {
    Desk desk;
    desk.is_v1beta2 = is_v1beta2;
    for (int i = 0; i < 100; ++i) {
      using Kind = WrapperWait::Kind;
      const Kind kind = i % 3 == 0 ? Kind::Room : i % 3 == 1 ? Kind::Turn : Kind::NoCluster;
      desk.facts.wait = WrapperWait{kind, "why", std::nullopt};
      desk.touch();
      desk.pass(seconds(3));
    }
    EXPECT_LE(desk.writes.size(), 7U) << "in five minutes";
    EXPECT_GE(desk.writes.size(), 2U);
  }
}

TEST(StatusWriter, ThatAllPodsRunIsToldAfterTheUsualPause) {
  Desk desk;
  desk.is_made();
  desk.pass(milliseconds(100));
  ASSERT_EQ(desk.writes.size(), 1U);
  const Duration dispatched = desk.writes[0].first;
  desk.has_pods(0, 2);
  desk.pass(seconds(2));
  ASSERT_EQ(desk.writes.size(), 2U);
  EXPECT_EQ(desk.writes[1].first, dispatched + seconds(1));
  EXPECT_EQ(desk.last("running"), 2);
}

TEST(StatusWriter, CountsOfARunningJobAreWrittenLessAndLessOften) {
  Desk desk;
  desk.is_made();
  desk.has_pods(0, 2);
  desk.pass(seconds(10));
  ASSERT_EQ(desk.writes.size(), 1U);
  desk.has_pods(1, 1);
  desk.pass(milliseconds(4900));
  EXPECT_EQ(desk.writes.size(), 1U);
  desk.pass(milliseconds(200));
  ASSERT_EQ(desk.writes.size(), 2U) << "after five seconds";
  EXPECT_EQ(desk.last("running"), 1);
  desk.has_pods(0, 2);
  desk.pass(seconds(9));
  EXPECT_EQ(desk.writes.size(), 2U) << "that all run was told before";
  desk.has_pods(1, 1);
  desk.pass(seconds(60));
  EXPECT_EQ(desk.writes.size(), 2U) << "as it was written";
  for (int i = 0; i < 20; ++i) {
    desk.has_pods(i % 2, 1, i);
    desk.pass(minutes(6));
  }
  EXPECT_EQ(desk.writes.size(), 22U) << "at the latest after five minutes";
}

TEST(StatusWriter, WhyPodsDoNotStartIsToldAfterAMoment) {
  for (const bool is_v1beta2 : {false, true}) {
    Desk desk;
    desk.is_v1beta2 = is_v1beta2;
    desk.is_made();
    desk.has_pods(2, 0);
    desk.pass(seconds(3));
    ASSERT_EQ(desk.writes.size(), 1U);
    desk.facts.sight.edit().trouble = "pod a on n: ImagePullBackOff: no such image";
    desk.touch();
    desk.pass(seconds(4));
    EXPECT_EQ(desk.writes.size(), 1U) << "it may be over in a moment";
    desk.pass(seconds(2));
    ASSERT_EQ(desk.writes.size(), 2U);
    EXPECT_NE(json::serialize(desk.writes[1].second).find("no such image"), std::string::npos);
    desk.facts.sight.edit().trouble.clear();
    desk.has_pods(2, 0);
    desk.pass(minutes(2));
    ASSERT_EQ(desk.writes.size(), 3U);
    EXPECT_EQ(json::serialize(desk.writes[2].second).find("no such image"), std::string::npos);
  }
}

TEST(StatusWriter, AStepTakesTheCountsAlong) {
  Desk desk;
  desk.is_made();
  desk.has_pods(0, 2);
  desk.pass(seconds(10));
  desk.has_pods(0, 1, 1);
  desk.pass(seconds(1));
  desk.facts.sight.edit().is_complete = true;
  desk.touch();
  desk.pass(seconds(1));
  ASSERT_EQ(desk.writes.size(), 2U);
  EXPECT_EQ(kube::text_at(desk.writes[1].second, {"state"}), "RunningHoldCompletion");
  EXPECT_EQ(desk.last("Succeeded"), 1);
  desk.pass(minutes(10));
  EXPECT_EQ(desk.writes.size(), 2U);
}

TEST(StatusWriter, FourWritesOfOneOfV1beta2) {
  Desk desk;
  desk.is_v1beta2 = true;
  desk.waits_and_is_made();
  desk.has_pods(2, 0);
  desk.pass(seconds(20));
  desk.has_pods(1, 1);
  desk.pass(minutes(20));
  desk.has_pods(0, 2);
  desk.pass(minutes(5));
  desk.has_pods(0, 1, 1);
  desk.pass(minutes(5));
  desk.is_over();
  desk.pass(minutes(5));
  EXPECT_EQ(desk.writes.size(), 4U);
}

TEST(StatusFields, OnlyTheFourCountsAreCounts) {
  const auto is_counts = [](const char* text) {
    const json::object before{
        {"conditions",
         json::array{json::object{{"type", "A"}, {"status", "True"}},
                     json::object{{"type", "PodsReady"}, {"status", "False"}, {"message", "2"}}}}};
    return is_counts_only(before, json::parse(text).as_object());
  };
  EXPECT_TRUE(is_counts(R"({"pending":1,"running":2,"failed":null,"Succeeded":3})"));
  EXPECT_FALSE(is_counts(R"({"running":2,"state":"Running"})"));
  EXPECT_FALSE(is_counts(R"({"conditions":[]})"));
  EXPECT_TRUE(is_counts(R"({"conditions":[{"type":"A","status":"True"},
                            {"type":"PodsReady","status":"False","message":"why"}]})"));
  EXPECT_FALSE(is_counts(R"({"conditions":[{"type":"A","status":"True"},
                             {"type":"PodsReady","status":"True","message":"2"}]})"));
}

}  // namespace
}  // namespace muster::api
