// Measures the engine on a generated fleet: apply and plan as the control loop calls them, and
// nothing else. Times are processor time of the one thread that does it; making the input is never
// part of them.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/prng.h"
#include "base/time.h"
#include "model/event.h"
#include "sched/plan.h"
#include "sched/policy.h"
#include "sched/world.h"
#include "sim/fleet_generator.h"

namespace muster::sim {

struct FillMeasure {
  std::int64_t gangs = 0;
  std::int64_t pods = 0;
  std::int64_t gpus = 0;
  std::uint64_t tried = 0;      // lines the plan looked at
  std::int64_t unanswered = 0;  // waiting jobs without a verdict afterwards
  double plan_s = 0;
  double apply_s = 0;
  double gangs_per_s() const { return static_cast<double>(gangs) / (plan_s + apply_s); }
  double pods_per_s() const { return static_cast<double>(pods) / (plan_s + apply_s); }
};

struct EventMeasure {
  std::int64_t events = 0;
  std::int64_t placements = 0;
  std::int64_t stops = 0;
  std::uint64_t tried = 0;  // lines looked at, all events together
  double p50_us = 0;        // of the time per resulting placement
  double p99_us = 0;
  double max_us = 0;
  double whole_p50_us = 0;  // of the time per event
  double whole_p99_us = 0;
  double whole_max_us = 0;
};

/// Saying no: from the submit to the plan that has the verdict, over several gangs.
struct NoMeasure {
  double worst_ms = 0;
  double median_ms = 0;
  double new_label_ms = 0;         // a gang that asks for a label nobody asked for before
  double counterfactuals_ms = -1;  // below 0: not measured
  int started = 0;                 // gangs that found room after all: not measured
  std::string wrong;               // a gang that got another verdict than it should, if any
};

/// The engine with one generated fleet, driven by events.
class EngineRun {
 public:
  EngineRun(const FleetGenerator& generator, sched::Policy policy, Time now);

  void load_fleet();
  void occupy(int percent);
  /// Submits jobs `first` to `last` of the generator; returns the seconds that apply took.
  double submit(std::int64_t first, std::int64_t last);
  /// One plan over everything that waits, its decisions applied; what was placed starts.
  FillMeasure fill();
  /// A random running job ends, again and again.
  EventMeasure end_jobs(std::int64_t events, Prng& prng);
  /// To gangs that fit nowhere, even if the fleet were empty.
  NoMeasure say_no();
  /// To gangs that would fit if the fleet were empty: victims, quota and the calendar are looked
  /// at.
  NoMeasure say_not_now();

  sched::World& world() { return world_; }
  const sched::Agenda& agenda() const { return agenda_; }
  std::size_t lines_waiting() const;
  std::size_t running() const { return running_.size(); }

 private:
  struct Attempt {
    std::string job;
    std::uint32_t number = 0;
  };
  struct Round {
    double plan_s = 0;
    double apply_s = 0;
    std::int64_t placed = 0;
    std::int64_t pods = 0;
    std::int64_t gpus = 0;
    std::int64_t stopped = 0;
    std::uint64_t tried = 0;
  };
  Round plan_and_apply();
  void apply_untimed(model::EventBody body);
  void start_placed();
  model::EventBody next_end(Prng& prng);
  Attempt take_running(std::size_t index);
  double ask(const model::JobSpec& spec, sched::Why& why);
  NoMeasure say_no_to(const std::vector<model::JobSpec>& jobs, bool (*expected)(const sched::Why&));

  const FleetGenerator& generator_;
  sched::Policy policy_;
  Time now_;
  sched::World world_;
  sched::Agenda agenda_;
  std::vector<Attempt> running_;
  std::unordered_map<std::string, std::size_t> at_;  // job -> index in running_
  std::vector<Attempt> placed_;                      // since the last start_placed()
  std::deque<Attempt> leaving_;                      // stopped, their pods not yet gone
};

/// Hash of what a plan decided, in its order.
std::uint64_t hash_of(const sched::Plan& plan);

struct DeterminismMeasure {
  int runs = 0;
  bool same = true;
  std::uint64_t plan_hash = 0;
};
/// Plans the same facts several times, each time arrived in another order (jobs of equal sequence,
/// nodes, queues), and compares the plans.
DeterminismMeasure measure_determinism(std::uint64_t seed);

struct GrowthPoint {
  int nodes = 0;
  std::int64_t jobs = 0;
  double event_p50_us = 0;
  double event_max_us = 0;
};
GrowthPoint measure_growth_point(const FleetSize& size, std::int64_t events);
/// Slope of log(event_p50_us) over log(nodes) by least squares.
double growth_exponent(const std::vector<GrowthPoint>& points);

/// What this machine can do at best, for comparison.
struct MachineLimits {
  double scan_ns_per_node = 0;  // one look at every node of the world's table
  double copy_gb_per_s = 0;
  double lookups_per_s = 0;  // random finds in a hash map of a million entries
};
MachineLimits measure_machine(const sched::World& world);

}  // namespace muster::sim
