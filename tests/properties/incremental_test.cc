// A plan that looks only at what changed decides as one that looks at everything: on fleets with
// thousands of jobs, where most lines are not looked at after an event.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "base/prng.h"
#include "sched/plan.h"
#include "sim/fleet_generator.h"

namespace muster::properties {
namespace {

struct Case {
  const char* name;
  int occupied_percent;
  int guaranteed_percent;
  std::uint64_t seed;
  sched::NodeChoice choice = sched::NodeChoice::BestFit;
  bool nested = false;  // queues with guarantees below others with guarantees
  // Learned prices belong to one agenda: with them another may choose other nodes, for the same
  // jobs.
  bool learns() const { return choice == sched::NodeChoice::Worth; }
};

std::string show(const model::Decision& decision) {
  if (const auto* placed = std::get_if<model::Placed>(&decision)) {
    std::string text = fmt::format("place {} {}", placed->job, placed->cluster);
    for (const model::PodPlace& pod : placed->pods) text += " " + pod.node;
    return text;
  }
  if (const auto* stopped = std::get_if<model::Stopped>(&decision))
    return fmt::format("stop {} for {}", stopped->job, stopped->beneficiary);
  if (const auto* reserved = std::get_if<model::Reserved>(&decision))
    return fmt::format("keep {} {} {}", reserved->job, reserved->cluster, reserved->start.ms);
  if (const auto* dropped = std::get_if<model::ReservationDropped>(&decision))
    return "drop " + dropped->job;
  return "give-up " + std::get<model::GivenUp>(decision).job;
}

std::vector<std::string> show(const sched::Plan& plan) {
  std::vector<std::string> lines;
  for (const model::Decision& decision : plan.decisions) lines.push_back(show(decision));
  return lines;
}

/// Who starts and who is stopped for whom, wherever that is.
std::vector<std::string> show_who(const sched::Plan& plan) {
  std::vector<std::string> lines;
  for (const model::Decision& decision : plan.decisions) {
    if (const auto* placed = std::get_if<model::Placed>(&decision))
      lines.push_back("place " + placed->job);
    if (std::holds_alternative<model::Stopped>(decision)) lines.push_back(show(decision));
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

class Life {
 public:
  explicit Life(const Case& c) : case_(c), draw_(c.seed) {
    // Remembered use belongs to one agenda: without it plans can be compared.
    policy_.node_choice = c.choice;
    policy_.half_life = Duration{0};
    sim::FleetSize size;
    size.nodes = 60;
    size.jobs = 3000;
    size.queues = c.nested ? 8 : 20;  // so that a team's part of a guarantee is worth something
    size.clusters = 4;
    size.guaranteed_percent = c.guaranteed_percent;
    size.nested_guarantees = c.nested;
    const sim::FleetGenerator generator(size, now_);
    for (const model::Event& event : generator.fleet()) sched::apply(world_, event, policy_);
    for (const model::Event& event : generator.occupation(c.occupied_percent))
      sched::apply(world_, event, policy_);
    generator.jobs(0, size.jobs,
                   [&](const model::Event& event) { sched::apply(world_, event, policy_); });
  }

  void plan_both_ways() {
    sched::World copy(world_);
    sched::Agenda fresh;
    const sched::Plan wanted = sched::plan(copy, fresh, policy_, now_);
    const sched::Plan made = sched::plan(world_, agenda_, policy_, now_);
    if (case_.learns())
      ASSERT_EQ(show_who(made), show_who(wanted));
    else
      ASSERT_EQ(show(made), show(wanted));
    for (const model::Decision& decision : made.decisions) {
      apply(model::to_event(decision));
      if (const auto* placed = std::get_if<model::Placed>(&decision)) {
        apply(model::Started{placed->job, placed->attempt});
        running_[placed->job] = placed->attempt;
      } else if (const auto* stopped = std::get_if<model::Stopped>(&decision)) {
        running_.erase(stopped->job);
        leaving_[stopped->job] = stopped->attempt;
      }
    }
  }

  void one_job_ends() {
    now_ = now_ + seconds(static_cast<std::int64_t>(draw_.below(60)));
    const bool leaves = !leaving_.empty() && draw_.chance(50);
    auto& jobs = leaves ? leaving_ : running_;
    if (jobs.empty()) return;
    const auto it = std::next(jobs.begin(), static_cast<std::ptrdiff_t>(draw_.below(jobs.size())));
    if (leaves) {
      apply(model::Gone{it->first, it->second});
    } else {
      apply(model::Finished{it->first, it->second, true});
    }
    jobs.erase(it);
  }

 private:
  void apply(model::EventBody body) { sched::apply(world_, {now_, std::move(body)}, policy_); }

  Case case_;
  sched::Policy policy_;
  sched::World world_;
  sched::Agenda agenda_;
  Time now_{0};
  Prng draw_;
  std::map<std::string, std::uint32_t> running_;
  std::map<std::string, std::uint32_t> leaving_;
};

class Incremental : public testing::TestWithParam<Case> {};

TEST_P(Incremental, PlansDecideAsIfEverythingWereLookedAt) {
  Life life(GetParam());
  for (int event = 0; event < 60; ++event) {
    ASSERT_NO_FATAL_FAILURE(life.plan_both_ways()) << "event " << event;
    life.one_job_ends();
  }
}

INSTANTIATE_TEST_SUITE_P(
    Fleets, Incremental,
    testing::Values(Case{"Empty", 0, 0, 2}, Case{"Used", 50, 0, 4}, Case{"Guaranteed", 50, 60, 6},
                    Case{"GuaranteedEmpty", 0, 40, 8},
                    Case{"Nested", 50, 60, 10, sched::NodeChoice::BestFit, true},
                    Case{"NestedEmpty", 0, 90, 12, sched::NodeChoice::BestFit, true},
                    Case{"Learning", 0, 0, 2, sched::NodeChoice::Worth},
                    Case{"LearningUsed", 50, 0, 4, sched::NodeChoice::Worth}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace muster::properties
