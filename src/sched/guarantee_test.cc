#include "sched/guarantee.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sched/preempt.h"
#include "sched/testing/site.h"

namespace muster::sched {
namespace {

using testing::job_spec;
using testing::node_spec;
using testing::Site;

/// Room for everybody, and queues whose guarantees are filled by jobs of so many GPUs.
struct Ward : Site {
  Ward() {
    cluster("a");
    for (int i = 0; i < 8; ++i) node("a", node_spec("n" + std::to_string(i), 8));
  }
  JobSlot ask(const std::string& id, const std::string& queue_name, int gpus, int priority) {
    model::JobSpec spec = job_spec(id, queue_name, 1, gpus);
    spec.priority = priority;
    return submit(spec);
  }
  void run(const std::string& id, const std::string& queue_name, int gpus, int priority) {
    ask(id, queue_name, gpus, priority);
    plan();
    ASSERT_EQ(job(id).state, model::JobState::Running) << id;
    ASSERT_EQ(check(world), "");
  }
  void end(const std::string& id) {
    apply(model::Finished{id, job(id).attempt, true});
    ASSERT_EQ(check(world), "");
  }
  bool inside(const std::string& id) const {
    return world.guarantees.is_inside(world, world.find_job(id));
  }
  static Charges gpus(std::int64_t count) { return {{resource_gpu, count * 1000}}; }
  bool would_be(const std::string& id, std::int64_t count) const {
    return world.guarantees.would_be_inside(world, claim(id), gpus(count));
  }
  std::vector<std::string> pushed_by(const std::string& id, std::int64_t count) const {
    std::vector<std::string> ids;
    for (const JobSlot slot : world.guarantees.pushed_by(world, claim(id), gpus(count)))
      ids.push_back(world.job(slot).id);
    return ids;
  }
  Claim claim(const std::string& id) const { return claim_of(world, world.find_job(id), policy); }
};

using Ids = std::vector<std::string>;

TEST(Guarantee, IsThatOfAnyQueueOnTheWayUp) {
  Ward w;
  w.queue("parent", 8);
  w.queue("with", 2, "parent");
  w.queue("without", {}, "parent");
  w.queue("alone");
  w.ask("with", "with", 1, 50);
  w.ask("without", "without", 1, 50);
  w.ask("alone", "alone", 1, 50);
  const auto inside_of = [&](const std::string& id, std::int64_t count) {
    const QueueId queue = w.world.guarantees.inside_of(w.world, w.claim(id), Ward::gpus(count));
    return queue.is_none() ? "" : w.world.quota[queue].name;
  };
  EXPECT_EQ(inside_of("with", 2), "with");
  EXPECT_EQ(inside_of("with", 3), "parent");
  EXPECT_EQ(inside_of("with", 9), "");
  EXPECT_TRUE(w.would_be("without", 8));
  EXPECT_FALSE(w.would_be("without", 9));
  EXPECT_FALSE(w.would_be("alone", 1));
  EXPECT_FALSE(w.world.guarantees.would_be_inside(w.world, w.claim("with"), {{resource_cpu, 1}}))
      << "nothing it uses is guaranteed";
}

TEST(Guarantee, OfATeamIsPartOfItsDepartments) {
  Ward w;
  w.queue("dept", 8);
  w.queue("team", 4, "dept");
  w.queue("other", {}, "dept");
  w.run("first", "team", 3, 50);
  w.run("more", "team", 3, 50);
  EXPECT_TRUE(w.inside("more")) << "not of the team's, but of the department's";
  w.ask("o", "other", 1, 50);
  EXPECT_TRUE(w.would_be("o", 2));
  EXPECT_FALSE(w.would_be("o", 3)) << "six of the eight are the team's";
  w.end("first");
  EXPECT_TRUE(w.inside("more")) << "of the team's now";
  EXPECT_TRUE(w.would_be("o", 5));
  EXPECT_FALSE(w.would_be("o", 6));
}

TEST(Guarantee, OfATeamPushesEqualsOutOfTheDepartments) {
  Ward w;
  w.queue("dept", 8);
  w.queue("team", 4, "dept");
  w.queue("other", {}, "dept");
  w.run("o1", "other", 4, 50);
  w.run("o2", "other", 4, 50);
  w.ask("lower", "team", 4, 10);
  w.ask("equal", "team", 4, 50);
  EXPECT_TRUE(w.would_be("lower", 4));
  EXPECT_EQ(w.pushed_by("lower", 4), Ids{}) << "what is its own it has, but no higher class goes";
  EXPECT_EQ(w.pushed_by("equal", 4), Ids{"o2"});
  EXPECT_FALSE(w.would_be("equal", 5)) << "beyond its own it comes after its equals";
  w.world.guarantees.take_news();
  w.plan();
  EXPECT_TRUE(w.inside("equal"));
  EXPECT_TRUE(w.inside("o1"));
  EXPECT_FALSE(w.inside("o2"));
  EXPECT_EQ(check(w.world), "");
  w.end("equal");
  EXPECT_TRUE(w.inside("o2"));
  const Guarantees::News news = w.world.guarantees.take_news();
  EXPECT_TRUE(news.grown.contains(w.world.quota.find("dept")));
  EXPECT_TRUE(news.grown.contains(w.world.quota.find("team"))) << "its jobs may use it too";
}

TEST(Guarantee, AChangeInATeamCountsAsFarUpAsThereAreGuarantees) {
  Ward w;
  w.queue("org", 10);
  w.queue("dept", 6, "org");
  w.queue("team", 3, "dept");
  w.run("t", "team", 3, 50);
  w.run("d", "dept", 3, 50);
  w.run("o", "org", 4, 50);
  for (const char* id : {"t", "d", "o"}) EXPECT_TRUE(w.inside(id)) << id;
  w.run("urgent", "team", 3, 90);  // out of the team's goes t, of the department's too, then o
  for (const char* id : {"t", "d", "urgent"}) EXPECT_TRUE(w.inside(id)) << id;
  EXPECT_FALSE(w.inside("o"));
  w.end("d");
  for (const char* id : {"t", "urgent", "o"}) EXPECT_TRUE(w.inside(id)) << id;
}

TEST(Guarantee, OfZeroIsSafeForNobody) {
  Ward w;
  w.queue("q", 0);
  w.run("j", "q", 1, 50);
  EXPECT_FALSE(w.inside("j"));
  EXPECT_FALSE(w.would_be("j", 1));
}

TEST(Guarantee, IsFilledByTheHighestClassFirst) {
  Ward w;
  w.queue("q", 4);
  w.run("low", "q", 4, 10);
  EXPECT_TRUE(w.inside("low"));
  w.ask("equal", "q", 1, 10);
  w.ask("higher", "q", 3, 50);
  EXPECT_FALSE(w.would_be("equal", 1)) << "nobody is pushed out by an equal";
  EXPECT_TRUE(w.would_be("higher", 4)) << "whatever lower classes use";
  EXPECT_FALSE(w.would_be("higher", 5));
  EXPECT_EQ(w.pushed_by("higher", 3), Ids{"low"});
  EXPECT_EQ(w.pushed_by("higher", 5), Ids{}) << "who is outside pushes nobody";
  w.plan();
  EXPECT_TRUE(w.inside("higher"));
  EXPECT_FALSE(w.inside("low"));
  EXPECT_TRUE(w.inside("equal")) << "there is one left, too little for the other";
}

TEST(Guarantee, WhatDoesNotFitIsPassedOver) {
  Ward w;
  w.queue("q", 4);
  w.run("large", "q", 6, 90);
  w.run("small", "q", 3, 50);
  EXPECT_FALSE(w.inside("large"));
  EXPECT_TRUE(w.inside("small"));
}

TEST(Guarantee, AnEndLetsOthersInAndTheyMayPushAThird) {
  Ward w;
  w.queue("q", 4);
  w.run("first", "q", 3, 90);
  w.run("second", "q", 3, 70);
  w.run("third", "q", 1, 50);
  w.run("fourth", "q", 1, 50);
  EXPECT_TRUE(w.inside("first"));
  EXPECT_FALSE(w.inside("second"));
  EXPECT_TRUE(w.inside("third"));
  EXPECT_FALSE(w.inside("fourth"));
  w.world.guarantees.take_news();
  w.end("third");
  EXPECT_TRUE(w.inside("fourth"));
  EXPECT_TRUE(w.world.guarantees.take_news().fallen.empty());
  w.end("first");
  EXPECT_TRUE(w.inside("second"));
  EXPECT_TRUE(w.inside("fourth"));
  w.run("fifth", "q", 2, 90);
  EXPECT_FALSE(w.inside("second"));
  const Guarantees::News news = w.world.guarantees.take_news();
  EXPECT_FALSE(news.fallen.empty());
  EXPECT_TRUE(news.grown.contains(w.world.quota.find("q")));
}

TEST(Guarantee, WhoLeavesForAnotherCountsNoMore) {
  Ward w;
  w.queue("q", 4);
  w.run("victim", "q", 4, 10);
  w.run("stopped", "q", 4, 20);
  w.ask("other", "q", 4, 10);
  EXPECT_TRUE(w.inside("stopped"));
  w.apply(model::Stopped{"stopped", w.job("stopped").attempt, model::StopWhy::RunLimit, ""});
  EXPECT_TRUE(w.inside("stopped")) << "it comes back to its queue without an eviction";
  w.apply(model::Gone{"stopped", w.job("stopped").attempt});
  EXPECT_TRUE(w.inside("victim"));
  w.apply(model::Stopped{"victim", w.job("victim").attempt, model::StopWhy::Priority, "other"});
  EXPECT_FALSE(w.inside("victim"));
  EXPECT_TRUE(w.would_be("other", 4));
  EXPECT_EQ(check(w.world), "");
}

TEST(Guarantee, AChangedQueueOrPriorityCountsAtOnce) {
  Ward w;
  w.queue("q", 4);
  w.run("a", "q", 3, 50);
  w.run("b", "q", 3, 50);
  EXPECT_FALSE(w.inside("b"));
  w.apply(model::PriorityChanged{"b", 60});
  EXPECT_TRUE(w.inside("b"));
  EXPECT_FALSE(w.inside("a"));
  w.queue("q", 6);
  EXPECT_TRUE(w.inside("a"));
  w.queue("q");
  EXPECT_FALSE(w.inside("a"));
  EXPECT_FALSE(w.inside("b"));
  EXPECT_EQ(check(w.world), "");
}

TEST(Guarantee, ABoundForAQueueSaysNoOnlyIfNobodyOfItIsInside) {
  Ward w;
  w.queue("q", 8);
  const QueueId q = w.world.quota.find("q");
  const auto may = [&](int priority, std::int64_t least) {
    return w.world.guarantees.may_be_inside(w.world, q, priority, Ward::gpus(least));
  };
  EXPECT_TRUE(may(50, 1));
  w.run("first", "q", 5, 50);
  EXPECT_TRUE(may(50, 3));
  EXPECT_FALSE(may(50, 4));
  EXPECT_TRUE(may(60, 8)) << "a higher class comes before it";
  w.run("second", "q", 3, 50);
  EXPECT_FALSE(may(50, 0)) << "nothing is left, however little somebody asks for";
  w.end("first");
  EXPECT_TRUE(may(50, 5));
}

}  // namespace
}  // namespace muster::sched
