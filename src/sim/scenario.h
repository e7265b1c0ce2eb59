// Scenario files: scheduling behaviour in the user's words. A file is blocks of commands, `----`,
// and the output they must give:
//
//   # A gang starts whole or not at all.
//   cluster a
//   nodes a/n count=2 gpu=8xA100
//   submit train queue=q pods=3 gpu=8
//   plan
//   ----
//   wait  train no-room 2/3 best=a
//
// The verbs drive the real engine: facts become events, `plan` plans and applies. After `plan`
// placed jobs run at once (unless `policy manual-start`); a stopped job's pods are there until
// `gone`. See scenario_specs.h for the options of nouns. An unknown verb, a leftover argument or a
// bad value fails the file; `expect-error COMMAND` is how a scenario shows one.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/event.h"
#include "sched/agenda.h"
#include "sched/plan.h"
#include "sched/policy.h"
#include "sched/world.h"
#include "sim/scenario_args.h"

namespace muster::sim {

class Scenario {
 public:
  explicit Scenario(const sched::Rules& rules = {});

  /// Runs one command and returns what it prints, empty or whole lines.
  Result<std::string> run(std::string_view line);
  /// A job under construction (its `set` lines may still come) is submitted now. Every other
  /// command does this first.
  Result<std::string> flush();

  sched::World& world() { return world_; }
  sched::Agenda& agenda() { return agenda_; }
  const sched::Policy& policy() const { return policy_; }
  Time now() const { return now_; }
  /// Every event applied so far, in order: the history to replay.
  const std::vector<model::Event>& history() const { return history_; }
  /// Takes an event into the world, as every verb does.
  bool apply(model::EventBody body);
  /// Plans and applies; what `plan` does without printing.
  sched::Plan plan();

  static std::vector<std::string_view> verbs();

 private:
  using Verb = Result<std::string> (Scenario::*)(Args&);
  static const std::map<std::string, Verb, std::less<>>& table();
  Result<std::string> finished(const Args& args, std::string output);
  Result<std::string> apply_known(const Args& args, const std::string& job, model::EventBody body);

  // facts
  Result<std::string> cluster(Args&);
  Result<std::string> cluster_left(Args&);
  Result<std::string> health(Args&);
  Result<std::string> kinds(Args&);
  Result<std::string> node(Args&);
  Result<std::string> nodes(Args&);
  Result<std::string> node_change(Args&);
  Result<std::string> node_gone(Args&);
  Result<std::string> foreign(Args&);
  Result<std::string> foreign_gone(Args&);
  Result<std::string> pool(Args&);
  Result<std::string> fleet_pool(Args&);
  Result<std::string> queue(Args&);
  Result<std::string> queue_removed(Args&);
  Result<std::string> set_policy(Args&);
  // jobs
  Result<std::string> submit(Args&);
  Result<std::string> add_set(Args&);
  Result<std::string> job_verb(Args&);
  Result<std::string> priority(Args&);
  Result<std::string> move_queue(Args&);
  Result<std::string> start_failed(Args&);
  Result<std::string> bound(Args&);
  // time and decisions
  Result<std::string> advance(Args&);
  Result<std::string> do_plan(Args&);
  // looking
  Result<std::string> jobs(Args&);
  Result<std::string> usage(Args&);
  Result<std::string> score(Args&);
  Result<std::string> explain(Args&);
  Result<std::string> estimate(Args&);
  Result<std::string> estimates(Args&);
  Result<std::string> check(Args&);

  std::string show(const model::Decision& decision) const;
  std::string show_waiting();
  std::string since_now(Time t) const;
  std::pair<std::string, std::string> cluster_and_node(Args& args, const std::string& word);

  sched::Policy policy_;
  sched::World world_;
  sched::Agenda agenda_;
  Time now_{0};
  std::uint64_t next_seq_ = 1;
  bool manual_start_ = false;
  struct Pending {
    model::JobSpec spec;
    std::uint64_t seq = 0;
    bool has_sets = false;
  };
  std::optional<Pending> pending_;
  std::vector<model::Event> history_;
  std::map<std::string, sched::PlacementScore> scores_;
};

// ---- files

struct ScenarioResult {
  std::string path;
  bool passed = false;
  std::string message;    // what went wrong, with the line
  std::string rewritten;  // the file with the output as it is now; empty if a command failed
};

/// Runs the text of one file. `rules`: the rules in force (for mutation).
ScenarioResult run_scenario(const std::string& path, std::string_view text,
                            const sched::Rules& rules);

}  // namespace muster::sim
