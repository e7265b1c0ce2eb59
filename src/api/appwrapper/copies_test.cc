#include "api/appwrapper/copies.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <vector>

#include "kube/testing/scripted_server.h"

namespace muster::api {
namespace {

using boost::json::parse;
using kube::testing::make_client;
using kube::testing::ScriptedServer;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Use = WrapperCopies::Use;

constexpr const char* unmarked =
    R"({"metadata":{"uid":"u","resourceVersion":"7","finalizers":["mine"]}})";
constexpr const char* marked =
    R"({"metadata":{"uid":"u","resourceVersion":"8","finalizers":["mine","muster.dev/copies"],)"
    R"("annotations":{"muster.dev/copies-in":"west"}}})";
constexpr const char* deleted =
    R"({"metadata":{"uid":"u","resourceVersion":"9","deletionTimestamp":"2026-11-17T08:00:00Z"}})";
constexpr const char* conflict =
    R"({"kind":"Status","status":"Failure","reason":"Conflict","code":409,"message":"busy"})";
constexpr const char* missing =
    R"({"kind":"Status","status":"Failure","reason":"NotFound","code":404,"message":"none"})";

TEST(CopiesMark, NamesTheClustersAndKeepsTheFinalizersOfOthers) {
  const auto one = mark_patch(parse(unmarked), "west");
  EXPECT_EQ(one, parse(R"({"metadata":{"uid":"u","resourceVersion":"7",)"
                       R"("finalizers":["mine","muster.dev/copies"],)"
                       R"("annotations":{"muster.dev/copies-in":"west"}}})"));
  EXPECT_THAT(serialize(mark_patch(parse(marked), "east")), HasSubstr(R"("east,west")"));
  EXPECT_THAT(marked_clusters(parse(marked)), ElementsAre("west"));
  EXPECT_EQ(unmark_patch(parse(marked)),
            parse(R"({"metadata":{"uid":"u","resourceVersion":"8","finalizers":["mine"],)"
                  R"("annotations":{"muster.dev/copies-in":null}}})"));
}

TEST(CopiesMark, AnAnnotationWithoutTheFinalizerIsNoMark) {
  EXPECT_THAT(
      marked_clusters(parse(R"({"metadata":{"annotations":{"muster.dev/copies-in":"west"}}})")),
      IsEmpty());
}

/// A fleet of what is told to it.
class Fleet : public ports::KeptObjects {
 public:
  std::map<std::string, std::string> problems = {{"west", ""}, {"east", ""}};
  std::deque<bool> answers;  // whether all is gone; yes when there is none left
  std::vector<std::string> removed;

  Result<std::string> problem_of(const std::string& cluster) const override {
    const auto at = problems.find(cluster);
    if (at == problems.end()) return Error{Fault::NotFound, "cluster " + cluster + " has left"};
    return at->second;
  }
  void remove(const std::string& cluster, const std::string& ns, const std::string& job,
              std::function<void(bool)> done) override {
    removed.push_back(fmt::format("{} of {} in {}", job, ns, cluster));
    bool is_gone = true;
    if (!answers.empty()) {
      is_gone = answers.front();
      answers.pop_front();
    }
    done(is_gone);
  }
};

class Copies : public ::testing::Test {
 protected:
  ScriptedServer server;
  std::unique_ptr<kube::Client> client = make_client(server.access());
  Fleet fleet;
  Use use = Use::Needed;
  bool is_ours = true;
  std::vector<std::string> stuck;
  std::vector<std::string> said;
  const WrapperCopies::Whose whose{"aw-1", {WrapperGroup::Workload, "team", "train"}, "u"};

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> tasks;  // guarded by mutex

  WrapperCopies copies{
      *client,
      {.objects = fleet,
       .use_of = [this](const std::string&) { return use; },
       .on_stuck = [this](const std::string&, const std::string& why) { stuck.push_back(why); },
       .later = [this](std::function<void()> then) { put(std::move(then)); },
       .later_after = [this](Duration, std::function<void()> then) { put(std::move(then)); },
       .say = [this](const std::string& line) { said.push_back(line); }}};

  void put(std::function<void()> task) {
    const std::lock_guard lock(mutex);
    tasks.push_back(std::move(task));
    changed.notify_all();
  }
  /// What is due, and what that brings, until it is so.
  bool run_until(const std::function<bool()>& is_so) {
    while (!is_so()) {
      std::unique_lock lock(mutex);
      if (!changed.wait_for(lock, std::chrono::seconds(20), [this] { return !tasks.empty(); }))
        return false;
      const auto task = std::move(tasks.front());
      tasks.pop_front();
      lock.unlock();
      task();
    }
    return true;
  }
  Status mark(const std::string& cluster) {
    std::optional<Status> marked_as;
    copies.mark(whose, cluster, [&](const Status& status) { marked_as = status; });
    EXPECT_TRUE(run_until([&] { return marked_as.has_value(); }));
    return *marked_as;
  }
  void found(const char* object) { copies.seen(whose, parse(object), is_ours); }
  bool is_let_go() {
    return run_until([&] { return !copies.has(whose.job); });
  }
};

TEST_F(Copies, OneIsMarkedOnceForEachCluster) {
  server.then(200, unmarked).then(200, marked);
  EXPECT_TRUE(mark("west").ok());
  EXPECT_TRUE(mark("west").ok());
  EXPECT_THAT(server.asked(),
              ElementsAre(HasSubstr("GET /apis/workload.codeflare.dev/v1beta1/namespaces/team/"
                                    "appwrappers/train"),
                          HasSubstr("PATCH ")));
}

TEST_F(Copies, WhoWritesAtTheSameTimeIsReadAgain) {
  server.then(200, unmarked).then(409, conflict).then(200, unmarked).then(200, marked);
  EXPECT_TRUE(mark("west").ok());
}

TEST_F(Copies, WhatIsDeletedOrAnotherOneByNowIsNotMarked) {
  server.then(200, deleted).then(404, missing).then(200, R"({"metadata":{"uid":"other"}})");
  EXPECT_EQ(mark("west").error().fault, Fault::Conflict);
  EXPECT_EQ(mark("west").error().fault, Fault::NotFound);
  EXPECT_EQ(mark("west").error().fault, Fault::NotFound);
  EXPECT_FALSE(copies.has(whose.job));
}

TEST_F(Copies, TheMarkIsTakenOffWhenNothingIsLeftThere) {
  found(marked);
  use = Use::None;
  fleet.answers = {false, false};
  server.then(200, marked).then(200, unmarked);
  copies.let_go(whose.job);
  EXPECT_TRUE(is_let_go());
  EXPECT_EQ(fleet.removed.size(), 3U);
  EXPECT_EQ(fleet.removed.front(), "aw-1 of team in west");
  EXPECT_THAT(stuck, IsEmpty()) << "a moment is nothing to tell";
  EXPECT_THAT(server.request(1).body, HasSubstr(R"("finalizers":["mine"])"));
}

TEST_F(Copies, NothingIsRemovedBeforeTheJobIsOver) {
  found(marked);
  use = Use::Ending;
  copies.let_go(whose.job);
  int looks = 0;
  ASSERT_TRUE(run_until([&] { return ++looks > 3; }));
  EXPECT_THAT(fleet.removed, IsEmpty());
  use = Use::None;
  server.then(200, marked).then(200, unmarked);
  EXPECT_TRUE(is_let_go());
}

TEST_F(Copies, OneThatIsNeededAgainStaysMarked) {
  found(marked);
  copies.let_go(whose.job);
  EXPECT_TRUE(copies.has(whose.job));
  EXPECT_THAT(fleet.removed, IsEmpty());
  EXPECT_TRUE(mark("west").ok());
}

TEST_F(Copies, AClusterThatCannotBeReachedIsWaitedForAndTold) {
  found(marked);
  use = Use::None;
  fleet.problems["west"] = "connection refused";
  copies.let_go(whose.job);
  ASSERT_THAT(stuck, ElementsAre(HasSubstr("cluster west cannot be reached")));
  EXPECT_THAT(stuck[0], HasSubstr("connection refused"));
  fleet.problems["west"] = "";
  server.then(200, marked).then(200, unmarked);
  EXPECT_TRUE(is_let_go());
  EXPECT_EQ(fleet.removed.size(), 1U);
}

TEST_F(Copies, AClusterThatHasLeftStrandsNobody) {
  found(marked);
  use = Use::Ending;  // its job will never hear that its pods are gone
  fleet.problems.erase("west");
  server.then(200, marked).then(200, unmarked);
  copies.let_go(whose.job);
  EXPECT_TRUE(is_let_go());
  EXPECT_THAT(fleet.removed, IsEmpty());
  EXPECT_THAT(said, ElementsAre(HasSubstr("cluster west has left; what it has there is left")));
}

TEST_F(Copies, WhatDoesNotGoForLongIsTold) {
  found(marked);
  use = Use::None;
  fleet.answers.assign(30, false);
  server.then(200, marked).then(200, unmarked);
  copies.let_go(whose.job);
  EXPECT_TRUE(is_let_go());
  EXPECT_THAT(stuck, ElementsAre(HasSubstr("in cluster west is deleted and does not go")));
}

TEST_F(Copies, TheMarkIsTakenOffAgainAndAgainUntilItIsOff) {
  found(marked);
  use = Use::None;
  server.then(200, marked).then(409, conflict).then(200, marked).then(200, unmarked);
  copies.let_go(whose.job);
  EXPECT_TRUE(is_let_go());
}

TEST_F(Copies, OneThatSomebodyUnmarkedIsCleanedUpAllTheSame) {
  found(marked);
  use = Use::None;
  server.then(404, missing);
  copies.let_go(whose.job);
  EXPECT_TRUE(is_let_go());
  EXPECT_EQ(fleet.removed.size(), 1U);
}

constexpr const char* left_deleted =
    R"({"metadata":{"uid":"u","resourceVersion":"9","deletionTimestamp":"2026-11-17T08:00:00Z",)"
    R"("finalizers":["mine","workload.codeflare.dev/finalizer"]}})";
constexpr const char* left_running =
    R"({"metadata":{"uid":"u","resourceVersion":"9",)"
    R"("finalizers":["muster.dev/copies","workload.codeflare.dev/finalizer"]}})";

TEST(CopiesMark, WhatTheControllerOfV1beta2LeftStaysUntilItIsDeleted) {
  EXPECT_FALSE(is_left_finalizing(parse(left_running)));
  EXPECT_THAT(serialize(unmark_patch(parse(left_running))),
              HasSubstr(R"("finalizers":["workload.codeflare.dev/finalizer"])"));
  EXPECT_TRUE(is_left_finalizing(parse(left_deleted)));
  EXPECT_THAT(serialize(unmark_patch(parse(left_deleted))), HasSubstr(R"("finalizers":["mine"])"));
}

TEST_F(Copies, WhatOthersManageKeepsTheirFinalizer) {
  is_ours = false;
  found(left_deleted);
  EXPECT_FALSE(copies.has(whose.job));
}

TEST_F(Copies, TheFinalizerOfTheControllerOfV1beta2GoesWhenTheJobIsOver) {
  found(left_running);
  EXPECT_FALSE(copies.has(whose.job));
  found(left_deleted);
  use = Use::Ending;
  copies.let_go(whose.job);
  int looks = 0;
  ASSERT_TRUE(run_until([&] { return ++looks > 3; }));
  EXPECT_THAT(server.asked(), IsEmpty());
  use = Use::None;
  server.then(200, left_deleted).then(200, unmarked);
  EXPECT_TRUE(is_let_go());
  EXPECT_THAT(server.request(1).body, HasSubstr(R"("finalizers":["mine"])"));
}

}  // namespace
}  // namespace muster::api
