#include "sched/backfill.h"

#include <gtest/gtest.h>

#include "sched/testing/site.h"

namespace muster::sched {
namespace {

using testing::job_spec;
using testing::node_spec;
using testing::Site;

/// Two nodes of eight GPUs; jobs with run-time limits in minutes.
struct Station : Site {
  Station() {
    cluster("a");
    node("a", node_spec("n1", 8));
    node("a", node_spec("n2", 8));
    queue("q");
  }
  void run(const std::string& id, int pods, int gpus, int limit_minutes) {
    model::JobSpec spec = job_spec(id, "q", pods, gpus);
    spec.run_limit = minutes(limit_minutes);
    submit(spec);
    plan();
    ASSERT_EQ(job(id).state, model::JobState::Running) << id;
  }
  /// "MINUTES nodes..." or "never".
  std::string fit(const model::JobSpec& spec) {
    const JobSlot slot = submit(spec);
    world.fleet.settle(world.shapes);
    const std::uint64_t before = world.hash();
    Placer placer(world, agenda.cache, policy);
    Calendar calendar(world, policy, now);
    const Shape& shape = world.shapes[world.job(slot).shape];
    const Venues venues = venues_of(world, policy, shape);
    const auto found = earliest_fit(world, placer, venues, shape,
                                    {slot, Time::never(), ReservationId::none()}, calendar);
    EXPECT_EQ(world.hash(), before) << "the search leaves the world as it was";
    EXPECT_EQ(check(world), "");
    if (!found) return "never";
    std::string text = std::to_string((found->start - now).ms / 60'000);
    for (const NodeId id : found->nodes) text += " " + world.fleet.node(id).spec.name;
    return text;
  }
};

TEST(Backfill, EndsAreInOrderAsFarAsAskedWhateverIsAsked) {
  Station station;
  for (int i = 0; i < 200; ++i) station.submit(job_spec("j" + std::to_string(i), "q", 1, 1));
  const auto fill = [&](Departures& list) {
    for (std::uint32_t i = 0; i < 200; ++i)
      list.add({Time{(i * 7919 % 101) * 1000}, JobSlot{i}, nullptr});
  };
  Departures sorted;
  fill(sorted);
  for (const int limit_s : {0, 1, 20, 50, 100, 101}) {
    Departures list;
    fill(list);
    for (std::size_t i = 0; i <= list.size(); i += 1 + i / 3) {
      const bool before = i < list.size() && sorted.at(station.world, i).end < Time{limit_s * 1000};
      EXPECT_EQ(list.is_before(station.world, i, Time{limit_s * 1000}), before) << limit_s << i;
      if (before) EXPECT_EQ(list.at(station.world, i).job, sorted.at(station.world, i).job);
    }
    for (std::size_t i = 0; i < list.size(); ++i)
      ASSERT_EQ(list.at(station.world, i).job, sorted.at(station.world, i).job) << limit_s << i;
  }
  EXPECT_EQ(sorted.at(station.world, 0).end, Time{0});
  EXPECT_EQ(sorted.at(station.world, 199).end, Time{100'000});
}

TEST(Backfill, TheShortestSufficientWait) {
  struct Row {
    int pods, gpus;
    std::string minutes;
  };
  // One node: 8 until 20. The other: 4 until 10, 4 until 30.
  const Row rows[] = {{1, 4, "10"}, {1, 8, "20"}, {2, 4, "20"},    {2, 8, "30"},
                      {3, 4, "20"}, {4, 4, "30"}, {1, 9, "never"}, {3, 8, "never"}};
  for (const Row& row : rows) {
    Station station;
    station.run("x", 1, 8, 20);
    station.run("y", 1, 4, 10);
    station.run("z", 1, 4, 30);
    const std::string found = station.fit(job_spec("new", "q", row.pods, row.gpus));
    EXPECT_EQ(found.substr(0, found.find(' ')), row.minutes)
        << row.pods << "x" << row.gpus << ": " << found;
  }
}

TEST(Backfill, WhatDoesNotEndIsInTheWay) {
  Station station;
  station.run("x", 2, 8, 20);
  model::NodeSpec down = node_spec("n2", 8);
  down.cordoned = true;
  station.node("a", down);
  EXPECT_EQ(station.fit(job_spec("two", "q", 2, 8)), "never") << "the other node takes nothing";
  EXPECT_EQ(station.fit(job_spec("one", "q", 1, 8)), "20 n1");
}

TEST(Backfill, NodesReservedForOthersAreNotCountedOn) {
  Station station;
  station.run("x", 2, 8, 20);
  station.submit(job_spec("holder", "q", 1, 8));
  station.apply(model::Reserved{"holder", "a", station.now + minutes(20), false, {"n1"}});
  EXPECT_EQ(station.fit(job_spec("new", "q", 1, 8)), "20 n2");
  EXPECT_EQ(station.fit(job_spec("both", "q", 2, 8)), "never");
}

TEST(Backfill, TheEarliestOfAllClusters) {
  Station station;
  station.run("x", 2, 8, 30);
  station.cluster("b");
  station.node("b", node_spec("m", 8));
  station.run("y", 1, 8, 10);
  EXPECT_EQ(station.fit(job_spec("new", "q", 1, 8)), "10 m");
}

TEST(Backfill, AnElasticGangNeedsItsLeast) {
  Station station;
  station.run("x", 1, 8, 10);
  station.run("y", 1, 8, 60);
  model::JobSpec spec = job_spec("new", "q", 4, 4);
  spec.gang.sets[0].min_count = 2;
  EXPECT_EQ(station.fit(spec).substr(0, 3), "10 ");
}

TEST(Backfill, ALaterJobStartsOnlyIfItDoesNotDelayTheReservation) {
  struct Row {
    int limit_minutes;
    bool starts;
  };
  for (const Row row : {Row{10, true}, Row{20, true}, Row{21, false}}) {
    Station station;
    station.run("x", 1, 8, 20);
    station.submit(job_spec("wide", "q", 2, 8));
    station.plan();
    ASSERT_FALSE(station.job("wide").reservation.is_none());
    model::JobSpec spec = job_spec("small", "q", 1, 1);
    spec.run_limit = minutes(row.limit_minutes);
    station.submit(spec);
    station.plan();
    EXPECT_EQ(station.job("small").state == model::JobState::Running, row.starts)
        << row.limit_minutes;
  }
}

}  // namespace
}  // namespace muster::sched
