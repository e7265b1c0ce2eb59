#include "sim/engine_measure.h"

#include <gtest/gtest.h>

namespace muster::sim {
namespace {

/// Events on a full fleet of 300 queues; so many lines were tried for each.
double tried_per_event(int guaranteed_percent) {
  FleetSize size;
  size.clusters = 4;
  size.nodes = 60;
  size.queues = 300;
  size.jobs = 6'000;
  size.guaranteed_percent = guaranteed_percent;
  const FleetGenerator generator(size, Time{0});
  EngineRun run(generator, sched::Policy{}, Time{0});
  run.load_fleet();
  run.submit(0, size.jobs);
  run.fill();
  Prng prng(size.seed);
  run.end_jobs(30, prng);  // the plans after the first one settle what it left
  const EventMeasure m = run.end_jobs(60, prng);
  return static_cast<double>(m.tried) / static_cast<double>(m.events);
}

TEST(Effort, AfterAJobsEndFewLinesAreTried) { EXPECT_LT(tried_per_event(0), 10); }

TEST(Effort, AfterAJobsEndFewLinesAreTriedBesideGuaranteesToo) {
  EXPECT_LT(tried_per_event(60), 10);
}

}  // namespace
}  // namespace muster::sim
