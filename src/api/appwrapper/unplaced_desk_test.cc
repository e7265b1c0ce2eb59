#include "api/appwrapper/unplaced_desk.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace muster::api {
namespace {

using Kind = WrapperWait::Kind;
constexpr std::uint64_t typo = 1;
constexpr std::uint64_t other = 2;

/// Plays the hub: jobs lack something until it is there.
struct Hub {
  std::set<std::string> jobs;
  std::map<std::string, std::uint64_t> lacks;  // by job
  std::set<std::uint64_t> there;
  std::set<std::string> open;
  std::deque<std::string> asked;  // and not tried yet
  std::vector<std::string> tried;
  std::size_t out_most = 0;
  bool has_slow_books = false;
  Kind kind = Kind::Quota;
  Time now = Time{0} + hours(1);
  UnplacedDesk desk{{.retry = [this](const std::string& job) { asked.push_back(job); },
                     .is_open = [this](const std::string& job) { return open.contains(job); }}};

  bool lack(const std::string& job, std::uint64_t what) {
    lacks[job] = what;
    return desk.add(*jobs.insert(job).first, kind, what, now);
  }
  void lack_many(int count, std::uint64_t what) {
    for (int i = 0; i < count; ++i) lack(fmt::format("job-{:06}", i), what);
  }
  void try_one(const std::string& job) {
    tried.push_back(job);
    if (desk.drop(job)) {
      if (there.contains(lacks.at(job))) {
        if (has_slow_books) open.insert(job);
      } else {
        desk.add(*jobs.find(job), kind, lacks.at(job), now);
      }
    }
    desk.retried(job);
  }
  /// Until nothing is asked any more.
  std::size_t run() {
    const std::size_t before = tried.size();
    desk.ask_due(now);
    while (!asked.empty()) {
      out_most = std::max(out_most, asked.size());
      for (const std::string& job : std::exchange(asked, {})) try_one(job);
      desk.ask_due(now);
    }
    return tried.size() - before;
  }
  std::size_t run_after(Duration wait) {
    now = now + wait;
    return run();
  }
};

TEST(UnplacedDesk, OfManyThatLackTheSameAFewAreAskedFor) {
  Hub hub;
  hub.lack_many(100'000, typo);
  hub.lack("z", other);
  EXPECT_EQ(hub.run(), 0U) << "it is not time yet";
  EXPECT_EQ(hub.run_after(seconds(30)), UnplacedDesk::first_asked + 1);
  EXPECT_EQ(hub.run(), 0U);
  EXPECT_EQ(hub.run_after(seconds(29)), 0U);
  EXPECT_EQ(hub.run_after(seconds(1)), UnplacedDesk::first_asked + 1);
}

TEST(UnplacedDesk, OthersAreAskedForEachTime) {
  Hub hub;
  hub.lack_many(50, typo);
  for (int round = 0; round < 3; ++round) hub.run_after(seconds(30));
  EXPECT_EQ(std::set<std::string>(hub.tried.begin(), hub.tried.end()).size(), 50U);
}

TEST(UnplacedDesk, AllAreAskedForWhenOneLacksItNoMoreAndNeverManyAtATime) {
  Hub hub;
  hub.lack_many(1000, typo);
  hub.lack("z", other);
  hub.there = {typo};
  EXPECT_EQ(hub.run_after(seconds(30)), 1001U);
  EXPECT_LE(hub.out_most, UnplacedDesk::out_most);
  EXPECT_FALSE(hub.desk.has("job-000999"));
  EXPECT_TRUE(hub.desk.has("z"));
}

TEST(UnplacedDesk, WhatLacksNothingElseIsPlacedThoughAnotherOneOfTheFewIsNot) {
  Hub hub;
  hub.lack_many(30, typo);
  hub.lacks["job-000003"] = other;  // it says the same and lacks something else
  hub.there = {other};
  hub.run_after(seconds(30));
  EXPECT_FALSE(hub.desk.has("job-000003"));
  EXPECT_EQ(hub.tried.size(), UnplacedDesk::first_asked + 29);
  EXPECT_EQ(hub.run_after(seconds(30)), UnplacedDesk::first_asked) << "and a few again";
}

TEST(UnplacedDesk, TheRestWaitsForWhatComesOfTheFirst) {
  Hub hub;
  hub.has_slow_books = true;
  hub.lack_many(100, typo);
  hub.there = {typo};
  EXPECT_EQ(hub.run_after(seconds(30)), UnplacedDesk::first_asked);
  EXPECT_LE(hub.desk.next_due(hub.now), hub.now + milliseconds(100));
  hub.open.clear();
  hub.has_slow_books = false;
  EXPECT_EQ(hub.run_after(milliseconds(100)), 80U);
  EXPECT_FALSE(hub.desk.has("job-000099"));
}

TEST(UnplacedDesk, AChangeIsAskedForAtOnceAndOnceMoreIfItComesInARound) {
  Hub hub;
  hub.lack_many(3, typo);
  hub.desk.look_again(Kind::NoCluster, hub.now);
  EXPECT_EQ(hub.run(), 0U);
  hub.desk.look_again(Kind::Quota, hub.now);
  hub.desk.ask_due(hub.now);
  EXPECT_EQ(hub.asked.size(), 3U);
  hub.desk.look_again(Kind::Quota, hub.now);
  EXPECT_EQ(hub.run(), 6U);
}

TEST(UnplacedDesk, OneThatChangesOrGoesWhileItIsReadIsLeftOut) {
  Hub hub;
  hub.lack_many(2, typo);
  hub.now = hub.now + seconds(30);
  hub.desk.ask_due(hub.now);
  EXPECT_TRUE(hub.desk.drop("job-000000"));
  EXPECT_FALSE(hub.desk.drop("job-000000"));
  hub.run();
  EXPECT_FALSE(hub.desk.has("job-000000"));
  EXPECT_TRUE(hub.desk.drop("job-000001"));
  EXPECT_EQ(hub.run_after(seconds(60)), 0U);
  EXPECT_TRUE(hub.desk.next_due(hub.now).is_never()) << "nothing is left of it";
}

TEST(UnplacedDesk, OneThatCouldNotBeReadIsAskedForAgain) {
  Hub hub;
  hub.lack_many(1, typo);
  hub.now = hub.now + seconds(30);
  hub.desk.ask_due(hub.now);
  hub.asked.clear();
  hub.desk.retried("job-000000");
  EXPECT_EQ(hub.run(), 0U);
  EXPECT_EQ(hub.run_after(seconds(30)), 1U);
}

TEST(UnplacedDesk, WhatCannotBeTakenOverIsTriedLessAndLessOften) {
  Hub hub;
  hub.kind = Kind::Takeover;
  EXPECT_TRUE(hub.lack("a", typo));
  EXPECT_FALSE(hub.lack("b", typo)) << "it is no news";
  std::size_t tries = 0;
  for (int second = 0; second < 600; ++second) tries += hub.run_after(seconds(1));
  EXPECT_GE(tries, 2U * 14);
  EXPECT_LE(tries, 2U * 17);
  EXPECT_FALSE(hub.lack("c", typo));
}

TEST(UnplacedDesk, AFullRoundOfManyHoldsUpNoOtherLack) {
  Hub hub;
  hub.lack_many(1000, typo);
  hub.lack("z", other);
  hub.there = {typo, other};
  hub.run_after(seconds(30));
  const auto at = std::find(hub.tried.begin(), hub.tried.end(), "z");
  EXPECT_LE(at - hub.tried.begin(), 128);
}

}  // namespace
}  // namespace muster::api
