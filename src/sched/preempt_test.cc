#include "sched/preempt.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "sched/counts.h"
#include "sched/testing/site.h"

namespace muster::sched {
namespace {

using testing::job_spec;
using testing::node_spec;
using testing::Site;

/// One node of eight GPUs and a way to ask who would go.
struct Court : Site {
  explicit Court(int gpus = 8) {
    cluster("a");
    node("a", node_spec("n", gpus));
  }
  model::JobSpec spec(const std::string& id, const std::string& queue_name, int gpus,
                      int priority = 50) {
    model::JobSpec s = job_spec(id, queue_name, 1, gpus);
    s.priority = priority;
    return s;
  }
  void run(const model::JobSpec& s) {
    submit(s);
    plan();
    ASSERT_EQ(job(s.id).state, model::JobState::Running) << s.id;
  }
  Charges charges(const std::string& id) {
    const Shape& shape = world.shapes[job(id).shape];
    const Counts counts = least_of(shape);
    return world.charges(shape, counts, std::vector<TypeId>(counts.size(), TypeId{1}), policy);
  }
  Standing standing(const std::string& id) {
    const VictimPool pool(world, policy, now);
    return pool.standing_of(world.find_job(id), charges(id));
  }
  VictimSearch search(const std::string& id, int limit = 64) {
    Placer placer(world, agenda.cache, policy);
    VictimPool pool(world, policy, now);
    const Venues venues = venues_of(world, policy, world.shapes[job(id).shape]);
    return pool.search(placer, venues, world.find_job(id), world.capacity(policy), limit);
  }
  std::set<std::string> victims(const std::string& id, int limit = 64) {
    const std::uint64_t before = world.hash();
    const VictimSearch found = search(id, limit);
    EXPECT_EQ(world.hash(), before) << "the search leaves the world as it was";
    std::set<std::string> names;
    if (found.found) {
      for (const JobSlot slot : found.found->victims) names.insert(world.job(slot).id);
    }
    return names;
  }
};

using Names = std::set<std::string>;

TEST(Preempt, StandingIsTheGuaranteeFirstAndThePriorityThen) {
  Court court;
  court.queue("own", 4);
  court.queue("other");
  court.submit(court.spec("small", "own", 4, 10));
  court.submit(court.spec("large", "own", 5, 90));
  court.submit(court.spec("guest", "other", 1, 90));
  EXPECT_EQ(court.standing("small"), (Standing{true, 10}));
  EXPECT_EQ(court.standing("large"), (Standing{false, 90}));
  EXPECT_EQ(court.standing("guest"), (Standing{false, 90}));
  EXPECT_LT(court.standing("large"), court.standing("small"));
}

TEST(Preempt, HigherPriorityFillsTheGuaranteeFirst) {
  Court court;
  court.queue("own", 4);
  court.run(court.spec("low", "own", 4, 10));
  court.submit(court.spec("high", "own", 2, 90));
  court.submit(court.spec("lower", "own", 2, 5));
  EXPECT_TRUE(court.standing("high").inside) << "it comes before the one that runs";
  EXPECT_FALSE(court.standing("lower").inside) << "what runs before it has filled the guarantee";
}

TEST(Preempt, AQueuesCapLowersTheClass) {
  Court court;
  model::QueueSpec spec;
  spec.name = "capped";
  spec.priority_cap = 40;
  court.apply(model::QueueSet{spec});
  court.submit(court.spec("job", "capped", 1, 90));
  EXPECT_EQ(priority_class(court.world, court.job("job"), court.policy), 40);
  court.policy.rules.without(Rule::PriorityCap);
  EXPECT_EQ(priority_class(court.world, court.job("job"), court.policy), 90);
}

TEST(Preempt, OnlyThoseWhoStandLowerGo) {
  struct Row {
    int running, asking;
    bool goes;
  };
  for (const Row row :
       {Row{10, 90, true}, Row{50, 50, false}, Row{90, 10, false}, Row{50, 51, true}}) {
    Court court;
    court.queue("q");
    court.run(court.spec("running", "q", 8, row.running));
    court.submit(court.spec("asking", "q", 1, row.asking));
    EXPECT_EQ(court.victims("asking"), row.goes ? Names{"running"} : Names{})
        << row.running << " " << row.asking;
  }
}

TEST(Preempt, BorrowedAmountsAreGivenBackWhateverTheirPriority) {
  Court court;
  court.queue("owner", 4);
  court.queue("guest");
  court.run(court.spec("g1", "guest", 4, 90));
  court.run(court.spec("g2", "guest", 4, 90));
  court.submit(court.spec("mine", "owner", 4, 10));
  EXPECT_EQ(court.victims("mine").size(), 1u);
  EXPECT_EQ(court.search("mine").found->why, model::StopWhy::Reclaim);
  court.submit(court.spec("more", "owner", 8, 10));
  EXPECT_EQ(court.victims("more"), Names{}) << "more than is guaranteed is not reclaimed";
}

TEST(Preempt, NobodyInsideAGuaranteeGoesForSomebodyOutside) {
  Court court;
  court.queue("owner", 8);
  court.queue("guest");
  court.run(court.spec("mine", "owner", 8, 10));
  court.submit(court.spec("loud", "guest", 8, 1000));
  EXPECT_EQ(court.victims("loud"), Names{});
}

TEST(Preempt, WhoMayNotGoDoesNot) {
  Court court;
  court.queue("q");
  model::JobSpec fixed = court.spec("fixed", "q", 4, 10);
  fixed.gang.preemptible = false;
  court.run(fixed);
  model::JobSpec young = court.spec("young", "q", 4, 10);
  young.gang.min_runtime = minutes(10);
  court.run(young);
  court.submit(court.spec("asking", "q", 4, 90));
  EXPECT_EQ(court.victims("asking"), Names{});
  EXPECT_EQ(court.search("asking").protected_until, court.now + minutes(10));
  court.now = court.now + minutes(10);
  EXPECT_EQ(court.victims("asking"), Names{"young"});
}

TEST(Preempt, NoMoreVictimsThanAreNeeded) {
  Court court;
  court.queue("q");
  for (const char* id : {"a1", "a2", "a3", "a4"}) court.run(court.spec(id, "q", 2, 10));
  struct Row {
    int gpus;
    std::size_t victims;
  };
  for (const Row row : {Row{1, 1}, Row{2, 1}, Row{3, 2}, Row{4, 2}, Row{8, 4}}) {
    const std::string id = "ask" + std::to_string(row.gpus);
    court.submit(court.spec(id, "q", row.gpus, 90));
    EXPECT_EQ(court.victims(id).size(), row.victims) << row.gpus;
  }
  EXPECT_EQ(court.victims("ask8", 3), Names{}) << "all or nobody";
}

TEST(Preempt, ASearchThatIsCutShortSaysSoAndLeavesTheWorldAsItWas) {
  Court court;
  court.queue("q");
  for (const char* id : {"a", "b", "c", "d"}) court.run(court.spec(id, "q", 2, 10));
  court.submit(court.spec("asking", "q", 8, 90));
  const std::uint64_t before = court.world.hash();
  Placer placer(court.world, court.agenda.cache, court.policy);
  const JobSlot slot = court.world.find_job("asking");
  const Venues venues =
      venues_of(court.world, court.policy, court.world.shapes[court.job("asking").shape]);
  for (const std::int64_t looks : {1, 4, 5, 8, 10}) {
    VictimPool pool(court.world, court.policy, court.now);
    pool.limit_looks(looks);
    const auto found =
        pool.search(placer, venues, slot, court.world.capacity(court.policy), 64).found;
    EXPECT_FALSE(found.has_value()) << looks;
    EXPECT_TRUE(pool.cut_short()) << looks;
    EXPECT_EQ(court.world.hash(), before) << looks;
  }
  EXPECT_EQ(court.victims("asking"), (Names{"a", "b", "c", "d"}));
}

/// Jobs of one device each on the nodes they are told, without a plan for each.
struct Crowd : Court {
  Crowd() : Court(0) { queue("q"); }
  void put(const std::string& id, const std::string& node_name, int priority, int device) {
    model::JobSpec s = spec(id, "q", device < 0 ? 0 : 1, priority);
    submit(s);
    model::PodPlace place;
    place.node = node_name;
    if (device >= 0) {
      place.gpu_type = "A100";
      place.devices = 1u << device;
      place.each = 1000;
    }
    ASSERT_TRUE(apply(model::Placed{id, 1, "a", "", {place}}));
    ASSERT_TRUE(apply(model::Started{id, 1}));
  }
};

TEST(Preempt, ThousandsWhoCannotMakeRoomHideNobodyWhoCan) {
  Crowd crowd;
  for (int n = 0; n < 70; ++n) crowd.node("a", node_spec("c" + std::to_string(n), 0));
  crowd.node("a", node_spec("g1", 8));
  crowd.node("a", node_spec("g2", 8));
  for (int i = 0; i < 4200; ++i)
    crowd.put("cpu" + std::to_string(i), "c" + std::to_string(i % 70), 10, -1);
  for (int i = 0; i < 16; ++i) crowd.put("gpu" + std::to_string(i), i < 8 ? "g1" : "g2", 20, i % 8);
  crowd.submit(crowd.spec("asking", "q", 8, 90));
  EXPECT_EQ(crowd.victims("asking").size(), 8u);
}

TEST(Preempt, AGangFindsItsNodesBehindThousandsOfLowerJobs) {
  Crowd crowd;
  // Seven jobs of each node go before the eighth, and all of those come first.
  for (int n = 0; n < 600; ++n) {
    const std::string name = "n" + std::to_string(n);
    crowd.node("a", node_spec(name, 8));
    for (int d = 0; d < 8; ++d)
      crowd.put(name + "-" + std::to_string(d), name, d == 0 ? 20 : 10, d);
  }
  model::JobSpec gang = job_spec("gang", "q", 16, 8);
  gang.priority = 90;
  crowd.submit(gang);
  EXPECT_EQ(crowd.victims("gang", 1000).size(), 128u);
  EXPECT_FALSE(crowd.search("gang").no_room);
}

TEST(Preempt, WhatASearchDidNotLookAtIsNotTakenForNoRoom) {
  Court court;
  court.queue("q");
  for (const char* id : {"a", "b", "c", "d"}) court.run(court.spec(id, "q", 2, 10));
  court.submit(court.spec("asking", "q", 8, 90));
  court.submit(court.spec("huge", "q", 16, 90));
  Placer placer(court.world, court.agenda.cache, court.policy);
  const auto search = [&](const std::string& id, std::size_t suspects) {
    VictimPool pool(court.world, court.policy, court.now);
    pool.limit_suspects(suspects);
    const JobSlot slot = court.world.find_job(id);
    const Venues venues =
        venues_of(court.world, court.policy, court.world.shapes[court.job(id).shape]);
    return pool.search(placer, venues, slot, court.world.capacity(court.policy), 64);
  };
  const VictimSearch some = search("asking", 3);
  EXPECT_FALSE(some.found.has_value());
  EXPECT_TRUE(some.cut);
  EXPECT_FALSE(some.no_room);
  const VictimSearch all = search("asking", 4);
  EXPECT_TRUE(all.found.has_value());
  EXPECT_FALSE(all.cut);
}

TEST(Preempt, GangsThatArePlacedToSeeTakeNoMoreVictimsThanTheyNeed) {
  Court court;
  court.queue("q");
  for (int n = 2; n <= 6; ++n) court.node("a", node_spec("n" + std::to_string(n), 8));
  for (int i = 0; i < 48; ++i) court.run(court.spec("low" + std::to_string(i), "q", 1, 10));
  model::JobSpec two = job_spec("two", "q", 1, 8);
  two.gang.sets.push_back(two.gang.sets[0]);
  two.gang.sets[0].name = "head";
  two.gang.sets[1].name = "worker";
  two.gang.sets[1].pod.requests.cpu = {2000};
  two.priority = 90;
  court.submit(two);
  EXPECT_EQ(court.victims("two").size(), 16u);
}

TEST(Preempt, TheLeastWorkIsLost) {
  Court court;
  court.queue("q");
  court.run(court.spec("old", "q", 4, 10));
  court.now = court.now + minutes(30);
  court.run(court.spec("new", "q", 4, 10));
  court.now = court.now + minutes(30);
  court.submit(court.spec("asking", "q", 4, 90));
  EXPECT_EQ(court.victims("asking"), Names{"new"});
  court.apply(model::Checkpointed{"old"});
  EXPECT_EQ(court.victims("asking"), Names{"old"}) << "it has just saved its work";
}

TEST(Preempt, NobodyGoesForAJobThatWouldNotFit) {
  Court court;
  court.queue("q");
  court.run(court.spec("running", "q", 8, 10));
  court.submit(court.spec("huge", "q", 16, 90));
  EXPECT_EQ(court.victims("huge"), Names{});
}

/// The multiset of standings of all running jobs, the highest first.
std::vector<Standing> potential(Court& court) {
  std::vector<Standing> all;
  for (std::size_t i = 0; i < court.world.job_count(); ++i) {
    const Job& job = court.world.job(JobSlot{static_cast<std::uint32_t>(i)});
    if (!job.active || job.active->stopping) continue;
    bool inside = false;
    const QueueId queue = court.world.quota.guarantor(job.queue);
    if (!queue.is_none()) {
      std::int64_t before = 0;  // charged by those who fill the guarantee before it
      for (std::size_t k = 0; k < court.world.job_count(); ++k) {
        const Job& other = court.world.job(JobSlot{static_cast<std::uint32_t>(k)});
        if (!other.active || other.active->stopping || other.queue != job.queue) continue;
        const bool first =
            other.priority != job.priority ? other.priority > job.priority : other.seq < job.seq;
        if (!first) continue;
        for (const Charge& c : other.active->charges)
          before += c.resource == resource_gpu ? c.amount : 0;
      }
      for (const Charge& c : job.active->charges) {
        if (c.resource == resource_gpu)
          inside =
              before + c.amount <= court.world.quota[queue].limits[c.resource.index()].guaranteed;
      }
    }
    all.push_back({inside, job.priority});
  }
  std::sort(all.rbegin(), all.rend());
  return all;
}

TEST(Preempt, EveryRoundRaisesThePotential) {
  Court court;
  court.queue("a", 4);
  court.queue("b", 4);
  for (int i = 0; i < 8; ++i)
    court.submit(court.spec("a" + std::to_string(i), "a", 1 + i % 3, 10 + 20 * (i % 4)));
  std::vector<Standing> last = potential(court);
  for (int round = 0; round < 12; ++round) {
    if (round == 3) {
      for (int i = 0; i < 8; ++i)
        court.submit(court.spec("b" + std::to_string(i), "b", 1 + i % 2, 90 - 20 * (i % 4)));
    }
    const Plan made = court.plan();
    for (const model::Decision& decision : made.decisions) {
      const auto* stopped = std::get_if<model::Stopped>(&decision);
      if (stopped != nullptr) court.apply(model::Gone{stopped->job, stopped->attempt});
    }
    court.plan();  // beneficiaries start
    const std::vector<Standing> now = potential(court);
    EXPECT_FALSE(std::lexicographical_compare(now.begin(), now.end(), last.begin(), last.end()))
        << "round " << round;
    last = now;
  }
}

}  // namespace
}  // namespace muster::sched
