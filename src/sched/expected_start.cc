// The estimate of one waiting job, from what keeps it waiting: jobs in the way of its room or
// quota, the job before it, those it depends on.
#include <algorithm>
#include <map>
#include <vector>

#include "sched/estimate.h"
#include "sched/judge.h"
#include "sched/plan.h"
#include "sched/trial.h"
#include "sched/tryout.h"

namespace muster::sched {
namespace {

/// Of a chain of jobs that wait for each other; beyond it the work ahead is all there is to go by.
constexpr int followed_max = 8;
/// Lines whose room is looked for between two plans: each look costs as much as a reservation.
constexpr std::size_t soonest_max = 256;

class Forecast {
 public:
  Forecast(World& world, Agenda& agenda, const Policy& policy, Time now)
      : world_(world), agenda_(agenda), policy_(policy), now_(now) {}

  Time start_of(JobSlot slot, int followed = 0) {
    const Job& job = world_.job(slot);
    if (job.active) return now_;
    const bool waits_for_itself = std::find(way_.begin(), way_.end(), slot) != way_.end();
    if (model::is_final(job.state) || waits_for_itself) return Time::never();
    const auto known = known_.find(slot);
    if (known != known_.end() && known->second.followed <= followed) return known->second.start;
    way_.push_back(slot);
    Time start = after_dependencies(job, followed);
    if (!start.is_never()) {
      start = std::max(
          start, std::max(held_up(slot, followed), estimate(world_, slot, policy_, now_).expected));
    }
    way_.pop_back();
    known_.insert_or_assign(slot, Known{start, followed});
    return start;
  }

 private:
  Time after_dependencies(const Job& job, int followed) {
    Time free = now_;
    for (const std::string& id : job.depends_on) {
      const JobSlot other = world_.find_job(id);
      if (other.is_none()) return Time::never();
      free = std::max(free, end_of(other, followed));
    }
    return free;
  }

  Time end_of(JobSlot slot, int followed) {
    const Job& job = world_.job(slot);
    if (job.active) return expected_end(world_, stay_of(job), policy_, now_);
    if (followed >= followed_max) return now_;
    const Time start = start_of(slot, followed + 1);
    return start.is_never() ? start : start + expected_run_time(world_, job, policy_);
  }

  /// Until then the verdict holds.
  Time held_up(JobSlot slot, int followed) {
    const Why why = fresh_verdict(world_, agenda_, policy_, slot, now_);
    if (std::holds_alternative<Infeasible>(why) || std::holds_alternative<UnknownQueue>(why) ||
        std::holds_alternative<FurtherTree>(why) || std::holds_alternative<NoCluster>(why) ||
        std::holds_alternative<OnHold>(why)) {
      return Time::never();
    }
    if (const auto* behind = std::get_if<BehindFirst>(&why)) {
      if (behind->first.is_none() || followed >= followed_max) return now_;
      return start_of(behind->first, followed + 1);
    }
    const Job& job = world_.job(slot);
    if (std::holds_alternative<OverQuota>(why) &&
        !allowed_somewhere(world_, job, agenda_.venues(world_, policy_, job.shape), policy_.rules))
      return Time::never();
    const bool for_room = std::holds_alternative<NoRoom>(why) ||
                          std::holds_alternative<WouldDelay>(why) ||
                          std::holds_alternative<OverQuota>(why);
    return for_room ? soonest(slot, why) : now_;
  }

  Time soonest(JobSlot slot, const Why& why) {
    const LineId line = world_.job(slot).line;
    const auto known = agenda_.soonest.find(line);
    if (known != agenda_.soonest.end()) return std::max(known->second, now_);
    if (agenda_.soonest.size() >= soonest_max) return now_;
    world_.fleet.settle(world_.shapes);
    Kit kit(agenda_, policy_);
    const Trial quiet(world_);  // keeps the fleet's log of gains quiet
    Tryout tryout(world_, kit, slot, now_);
    const auto ends = tryout.when_job_ends();
    Time time = ends ? ends->time : now_;
    if (tryout.is_hopeless(why, ends)) time = Time::never();
    agenda_.soonest.emplace(line, time);
    return time;
  }

  World& world_;
  Agenda& agenda_;
  const Policy& policy_;
  Time now_;
  std::vector<JobSlot> way_;  // from the job asked about to the one at hand
  /// Stages of many jobs that all wait for all of the stage before are looked at once. One that was
  /// met later on the way was followed less far.
  struct Known {
    Time start;
    int followed = 0;
  };
  std::map<JobSlot, Known> known_;
};

}  // namespace

Estimate expected_start(World& world, Agenda& agenda, const Policy& policy, JobSlot slot,
                        Time now) {
  return with_band(world, Forecast(world, agenda, policy, now).start_of(slot), now);
}

}  // namespace muster::sched
