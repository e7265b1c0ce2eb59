#include "tests/properties/runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "model/state.h"
#include "sched/plan.h"
#include "sim/scenario.h"
#include "tests/properties/placement.h"

namespace muster::properties {

std::string show(const model::Decision& decision) {
  if (const auto* placed = std::get_if<model::Placed>(&decision)) {
    std::string out = fmt::format("place {} attempt={} {}/{}", placed->job, placed->attempt,
                                  placed->cluster, placed->pool);
    for (const model::PodPlace& pod : placed->pods)
      out += fmt::format(" {}@{}:{:x}x{}", pod.set, pod.node, pod.devices, pod.each);
    return out;
  }
  if (const auto* stopped = std::get_if<model::Stopped>(&decision))
    return fmt::format("stop {} why={} for '{}'", stopped->job, static_cast<int>(stopped->why),
                       stopped->beneficiary);
  if (const auto* reserved = std::get_if<model::Reserved>(&decision)) {
    std::string out = fmt::format("keep {} {} {}{}", reserved->job, reserved->cluster,
                                  reserved->start.ms, reserved->preempting ? " preempting" : "");
    for (const auto& node : reserved->nodes) out += " " + node;
    return out;
  }
  if (const auto* dropped = std::get_if<model::ReservationDropped>(&decision))
    return "drop " + dropped->job;
  return "give-up " + std::get<model::GivenUp>(decision).job;
}

static std::string show(const std::vector<model::Decision>& decisions) {
  std::string out;
  for (const auto& decision : decisions) out += "  " + show(decision) + "\n";
  return out;
}

namespace {

using model::JobState;
using sched::World;

bool is_eviction(const model::Decision& decision) {
  const auto* stopped = std::get_if<model::Stopped>(&decision);
  return stopped != nullptr &&
         (stopped->why == model::StopWhy::Priority || stopped->why == model::StopWhy::Reclaim);
}

/// Decisions that are news to the next plan: a job back in its queue, dependents that fail in turn.
bool is_followed_up(const model::Decision& decision) {
  if (std::holds_alternative<model::GivenUp>(decision)) return true;
  const auto* stopped = std::get_if<model::Stopped>(&decision);
  return stopped != nullptr && stopped->why == model::StopWhy::ClusterLost;
}

void take(World& world, const sched::Policy& policy, Time now,
          const std::vector<model::Decision>& decisions) {
  for (const model::Decision& decision : decisions)
    sched::apply(world, {now, model::to_event(decision)}, policy);
}

/// Every stopping attempt's pods are gone.
void let_go(World& world, const sched::Policy& policy, Time now) {
  for (std::uint32_t i = 0; i < world.job_count(); ++i) {
    const sched::Job& job = world.job(sched::JobSlot{i});
    if (job.state == JobState::Stopping)
      sched::apply(world, {now, model::Gone{job.id, job.attempt}}, policy);
  }
}

bool places(const sched::Plan& plan, const std::string& job) {
  return std::any_of(plan.decisions.begin(), plan.decisions.end(), [&](const auto& decision) {
    const auto* placed = std::get_if<model::Placed>(&decision);
    return placed != nullptr && placed->job == job;
  });
}

class Runner {
 public:
  explicit Runner(const History& history) : history_(history) {}

  Outcome run() {
    for (std::size_t i = 0; i < history_.size() && out_.wrong.empty(); ++i) {
      line_ = i;
      const bool last_of_job = i + 1 == history_.size() || !history_[i + 1].starts_with("set ");
      if (history_[i] == "plan") {
        if (scenario_.flush()) plan();
      } else {
        if (history_[i].find("manual-start") != std::string::npos) manual_start_ = true;
        (void)scenario_.run(history_[i]);
      }
      if (last_of_job) (void)scenario_.flush();
      expect_sound("after the line");
    }
    if (out_.wrong.empty()) replay();
    if (out_.wrong.empty()) settle();
    out_.hash = scenario_.world().hash();
    out_.events.assign(scenario_.history().begin(), scenario_.history().end());
    out_.policy = scenario_.policy();
    return std::move(out_);
  }

 private:
  World& world() { return scenario_.world(); }
  const sched::Policy& policy() const { return scenario_.policy(); }
  Time now() const { return scenario_.now(); }

  void expect(bool holds, const std::string& what) {
    if (!holds && out_.wrong.empty())
      out_.wrong = fmt::format("line {} ({}): {}", line_ + 1, history_[line_], what);
  }
  void expect_sound(std::string_view when) {
    const std::string wrong = sched::check(world());
    expect(wrong.empty(), fmt::format("check {}: {}", when, wrong));
  }

  // ---- one plan, looked at from all sides
  void plan() {
    const std::uint64_t before = world().hash();
    const World start(world());
    World copy(world());
    sched::Agenda fresh_agenda;
    const sched::Plan fresh = sched::plan(copy, fresh_agenda, policy(), now());
    const sched::Plan made = sched::plan(world(), scenario_.agenda(), policy(), now());
    expect(world().hash() == before, "10: plan() changed the world");
    expect_sound("after plan()");
    const bool remembers = policy().node_choice == sched::NodeChoice::Worth ||
                           policy().node_choice == sched::NodeChoice::Fgd;
    if (!remembers) {
      expect(show(made.decisions) == show(fresh.decisions),
             fmt::format("10: a fresh agenda decides otherwise\nfresh:\n{}this:\n{}",
                         show(fresh.decisions), show(made.decisions)));
    }
    take(made);
    if (!out_.wrong.empty()) return;
    check_verdicts(made);
    check_evictions(start, made);
    check_quiet(start, made);
  }

  void take(const sched::Plan& made) {
    for (const model::Decision& decision : made.decisions) {
      out_.transcript.push_back(show(decision));
      if (is_eviction(decision)) ++out_.evicted;
      const bool applied = scenario_.apply(model::to_event(decision));
      expect(applied, "a decision does not apply: " + show(decision));
      const auto* placed = std::get_if<model::Placed>(&decision);
      if (placed == nullptr || !applied) continue;
      ++out_.placed;
      const std::string wrong = wrong_placement(world(), *placed, world().capacity(policy()));
      expect(wrong.empty(), "1: " + wrong);
      if (!manual_start_) scenario_.apply(model::Started{placed->job, placed->attempt});
    }
    expect_sound("after the decisions");
  }

  /// 4: whoever waits was looked at and has a verdict.
  void check_verdicts(const sched::Plan& made) {
    std::set<std::string> requeued;
    for (const auto& decision : made.decisions) {
      if (const auto* stopped = std::get_if<model::Stopped>(&decision))
        requeued.insert(stopped->job);
    }
    for (std::uint32_t i = 0; i < world().job_count(); ++i) {
      const sched::Job& job = world().job(sched::JobSlot{i});
      if (job.state != JobState::Waiting && job.state != JobState::Held) continue;
      const sched::Why why = sched::verdict(world(), scenario_.agenda(), sched::JobSlot{i}, now());
      expect(!std::holds_alternative<sched::NotTried>(why) || requeued.contains(job.id),
             fmt::format("4: job {} waits without a verdict", job.id));
    }
  }

  /// 5: the beneficiary of evictions starts when its victims are gone, and would not if one stayed.
  void check_evictions(const World& start, const sched::Plan& made) {
    std::map<std::string, std::vector<model::Stopped>> victims;
    for (const auto& decision : made.decisions) {
      if (is_eviction(decision)) {
        const auto& stopped = std::get<model::Stopped>(decision);
        victims[stopped.beneficiary].push_back(stopped);
      }
    }
    if (victims.empty()) return;
    World after(world());
    let_go(after, policy(), now());
    sched::Agenda agenda;
    const sched::Plan next = sched::plan(after, agenda, policy(), now());
    for (const auto& [job, stops] : victims) {
      expect(places(next, job),
             fmt::format("5: {} does not start when its victims are gone, but\n{}", job,
                         show(next.decisions)));
      for (const model::Stopped& stayed : stops) {
        World less(start);
        for (const auto& decision : made.decisions) {  // the rest of the plan stays as it is
          if (std::holds_alternative<model::Placed>(decision))
            sched::apply(less, {now(), model::to_event(decision)}, policy());
        }
        for (const model::Stopped& stop : stops) {
          if (stop.job == stayed.job) continue;
          sched::apply(less, {now(), stop}, policy());
          sched::apply(less, {now(), model::Gone{stop.job, stop.attempt}}, policy());
        }
        sched::Agenda another;
        expect(!places(sched::plan(less, another, policy(), now()), job),
               fmt::format("5: {} is evicted for {}, which starts without that", stayed.job, job));
      }
    }
  }

  /// 6: nothing new, nothing to decide; neither for this agenda nor for a fresh one, nor later
  /// before the time the plan named.
  void check_quiet(const World& start, const sched::Plan& first) {
    const sched::Plan* last = &first;
    sched::Plan next;
    Starts starts = starts_of(start, first);
    for (int round = 0; round < 20; ++round) {
      // A round that has evicted may have too few evictions left for the next gang.
      constexpr int few = 8;
      const bool limited = policy().evictions_per_round < few;
      const bool goes_on =
          std::any_of(last->decisions.begin(), last->decisions.end(), is_followed_up) ||
          (limited && std::any_of(last->decisions.begin(), last->decisions.end(), is_eviction));
      sched::Plan again = sched::plan(world(), scenario_.agenda(), policy(), now());
      if (again.decisions.empty()) {
        check_fresh(again.next_look);
        return;
      }
      expect(goes_on || only_evicts(again, starts),
             fmt::format("6: plans again without news:\n{}", show(again.decisions)));
      starts = starts_of(world(), again);
      take(again);
      if (!out_.wrong.empty()) return;
      next = std::move(again);
      last = &next;
    }
    expect(false, "6: does not come to rest");
  }

  /// Who started in a plan, and who of them because victims had left them their place.
  struct Starts {
    std::set<std::string> all;
    std::set<std::string> served;
  };
  static Starts starts_of(const World& before, const sched::Plan& plan) {
    Starts starts;
    for (const auto& decision : plan.decisions) {
      const auto* placed = std::get_if<model::Placed>(&decision);
      if (placed == nullptr) continue;
      starts.all.insert(placed->job);
      const sched::ReservationId kept = before.job(before.find_job(placed->job)).reservation;
      if (!kept.is_none() && before.reservation(kept).preempting) starts.served.insert(placed->job);
    }
    return starts;
  }

  /// Nobody is evicted in the plan that starts him. So two kinds of starts may be followed by an
  /// eviction without news, one plan later: of a job that was served, since the place is its own
  /// although somebody higher has come to wait for it meanwhile, and of one that was there before
  /// the pods were that a higher job must be near to or can only then do without. Others may have
  /// to go with them: without these it had not been enough.
  bool only_evicts(const sched::Plan& again, const Starts& starts) {
    std::set<std::string> evictors;
    std::set<std::string> late;  // of these: one of the victims could not be evicted before
    for (const auto& decision : again.decisions) {
      const auto* stopped = std::get_if<model::Stopped>(&decision);
      if (stopped == nullptr) continue;
      if (!is_eviction(decision)) return false;
      evictors.insert(stopped->beneficiary);
      if (starts.served.contains(stopped->job) ||
          (starts.all.contains(stopped->job) && is_relational(stopped->beneficiary)))
        late.insert(stopped->beneficiary);
    }
    if (evictors != late) return false;
    // What was kept for others on these nodes is dropped, and others may keep what was kept for
    // those who evict now; nothing else happens.
    const bool gave_up_nodes =
        std::any_of(again.decisions.begin(), again.decisions.end(), [&](const auto& decision) {
          const auto* dropped = std::get_if<model::ReservationDropped>(&decision);
          return dropped != nullptr && evictors.contains(dropped->job);
        });
    return std::all_of(again.decisions.begin(), again.decisions.end(), [&](const auto& decision) {
      const auto* reserved = std::get_if<model::Reserved>(&decision);
      if (reserved != nullptr)
        return reserved->preempting ? evictors.contains(reserved->job) : gave_up_nodes;
      return !std::holds_alternative<model::Placed>(decision);
    });
  }

  bool is_relational(const std::string& job) {
    return world().shapes[world().job(world().find_job(job)).shape].relational;
  }

  void check_fresh(Time next_look) {
    World copy(world());
    sched::Agenda agenda;
    const sched::Plan fresh = sched::plan(copy, agenda, policy(), now());
    expect(fresh.decisions.empty(),
           fmt::format("6: a fresh agenda decides more:\n{}", show(fresh.decisions)));
    const Time later = std::min(next_look - Duration{1}, now() + hours(1));
    if (later <= now() || policy().half_life.ms > 0) return;
    World then(world());
    sched::apply(then, {later, model::Ticked{}}, policy());
    sched::Agenda waiting;
    sched::Plan early = sched::plan(then, waiting, policy(), later);
    pass_over_those_near_others(early);
    expect(early.decisions.empty(),
           fmt::format("6: something to do before next_look, {} ms from now:\n{}",
                       (later - now()).ms, show(early.decisions)));
  }

  /// When a job ends that has outlived its expected end is guessed anew as time passes: pods that
  /// look for others may find them at a time at which they were thought to be gone. Who holds nodes
  /// in the same queue, or anywhere if no more may, has to give way to them.
  void pass_over_those_near_others(sched::Plan& plan) {
    std::set<std::string> keepers;
    std::erase_if(plan.decisions, [&](const auto& decision) {
      const auto* reserved = std::get_if<model::Reserved>(&decision);
      const bool near =
          reserved != nullptr && !reserved->preempting && is_relational(reserved->job);
      if (near) keepers.insert(reserved->job);
      return near;
    });
    int kept = 0;
    for (const sched::Reservation& r : world().reservations())
      kept += !r.job.is_none() && !r.preempting ? 1 : 0;
    const auto queue_of = [&](const std::string& job) {
      return world().job(world().find_job(job)).queue;
    };
    std::erase_if(plan.decisions, [&](const auto& decision) {
      const auto* dropped = std::get_if<model::ReservationDropped>(&decision);
      return dropped != nullptr && std::any_of(keepers.begin(), keepers.end(), [&](const auto& k) {
               return kept >= policy().reservation_depth || queue_of(k) == queue_of(dropped->job);
             });
    });
  }

  // ---- the whole history
  /// 3, 8, 9: folding the events gives the same world, twice the same event changes nothing, and
  /// only legal edges are taken.
  void replay() {
    World world;
    world.fleet.set_rules(policy().rules);
    std::map<std::string, JobState> states;
    for (const model::Event& event : scenario_.history()) {
      sched::apply(world, event, policy());
      check_edges(world, event, states);
      const std::uint64_t once = world.hash();
      sched::apply(world, event, policy());
      expect(world.hash() == once,
             fmt::format("9: event {} twice is not once", event.body.index()));
      if (!out_.wrong.empty()) return;
    }
    const std::string wrong = sched::check(world);
    expect(wrong.empty(), "8: check of the replayed world: " + wrong);
    expect(world.hash() == this->world().hash(), "8: the replayed world is another");
  }

  void check_edges(const World& world, const model::Event& event,
                   std::map<std::string, JobState>& states) {
    for (std::uint32_t i = 0; i < world.job_count(); ++i) {
      const sched::Job& job = world.job(sched::JobSlot{i});
      const auto [it, is_new] = states.try_emplace(job.id, job.state);
      if (is_new || it->second == job.state) continue;
      const auto edges = model::edges();
      const bool known = std::any_of(edges.begin(), edges.end(), [&](const model::Edge& edge) {
        return edge.from == it->second && edge.to == job.state;
      });
      expect(known,
             fmt::format("3: job {} from {} to {} by event {}", job.id, model::to_text(it->second),
                         model::to_text(job.state), event.body.index()));
      it->second = job.state;
    }
  }

  /// 5: with nothing from outside but pods that go when told to, evictions come to an end and never
  /// go round in a circle.
  void settle() {
    World copy(world());
    sched::Agenda agenda;
    std::map<std::string, std::set<std::string>> evicted;  // by beneficiary
    for (int round = 0; round < 30; ++round) {
      const sched::Plan made = sched::plan(copy, agenda, policy(), now());
      if (made.decisions.empty() && round > 0) return;
      properties::take(copy, policy(), now(), made.decisions);
      for (const auto& decision : made.decisions) {
        if (const auto* placed = std::get_if<model::Placed>(&decision))
          sched::apply(copy, {now(), model::Started{placed->job, placed->attempt}}, policy());
        if (!is_eviction(decision)) continue;
        const auto& stopped = std::get<model::Stopped>(decision);
        evicted[stopped.beneficiary].insert(stopped.job);
        expect(!reaches(evicted, stopped.job, stopped.beneficiary),
               fmt::format("5: {} evicts {}, which evicted it", stopped.beneficiary, stopped.job));
      }
      let_go(copy, policy(), now());
      const std::string wrong = sched::check(copy);
      expect(wrong.empty(), "check while settling: " + wrong);
      if (!out_.wrong.empty()) return;
    }
    expect(false, "5: evictions do not come to an end");
  }

  static bool reaches(const std::map<std::string, std::set<std::string>>& evicted,
                      const std::string& from, const std::string& to) {
    std::set<std::string> seen;
    std::vector<std::string> left = {from};
    while (!left.empty()) {
      const std::string job = left.back();
      left.pop_back();
      if (!seen.insert(job).second) continue;
      const auto it = evicted.find(job);
      if (it == evicted.end()) continue;
      if (it->second.contains(to)) return true;
      left.insert(left.end(), it->second.begin(), it->second.end());
    }
    return false;
  }

  const History& history_;
  sim::Scenario scenario_;
  bool manual_start_ = false;
  std::size_t line_ = 0;
  Outcome out_;
};

}  // namespace

Outcome run(const History& history) { return Runner(history).run(); }

std::string first_wrong(const History& history) {
  const Outcome straight = run(history);
  if (!straight.wrong.empty()) return straight.wrong;
  const Outcome other = run(shuffled(history, 7));
  if (!other.wrong.empty()) return "in another order of facts: " + other.wrong;
  for (std::size_t i = 0; i < std::max(straight.transcript.size(), other.transcript.size()); ++i) {
    const std::string a = i < straight.transcript.size() ? straight.transcript[i] : "(end)";
    const std::string b = i < other.transcript.size() ? other.transcript[i] : "(end)";
    if (a != b) return fmt::format("7: the order of facts decides:\n  {}\n  {}", a, b);
  }
  if (straight.hash != other.hash) return "7: the order of facts changes the world's hash";
  return "";
}

}  // namespace muster::properties
