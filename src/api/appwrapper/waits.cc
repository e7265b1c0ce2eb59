#include "api/appwrapper/waits.h"

#include <variant>

#include "sched/plan.h"
#include "sched/whatif.h"
#include "view/explain.h"

namespace muster::api {

namespace {

WrapperWait::Kind kind_of(const sched::Why& why) {
  using Kind = WrapperWait::Kind;
  if (std::holds_alternative<sched::OverQuota>(why)) return Kind::Quota;
  if (const auto* nowhere = std::get_if<sched::NoCluster>(&why))
    return nowhere->lacking > 0 ? Kind::NoKind : Kind::NoCluster;
  if (std::holds_alternative<sched::OnHold>(why)) return Kind::Held;
  const bool is_room = std::holds_alternative<sched::NoRoom>(why) ||
                       std::holds_alternative<sched::Infeasible>(why) ||
                       std::holds_alternative<sched::HasReservation>(why) ||
                       std::holds_alternative<sched::Preempting>(why);
  return is_room ? Kind::Room : Kind::Turn;
}

}  // namespace

std::optional<WrapperWait> wait_of(sched::World& world, sched::Agenda& agenda,
                                   const sched::Policy& policy, const std::string& job, Time now) {
  const sched::JobSlot slot = world.find_job(job);
  if (slot.is_none()) return std::nullopt;
  const model::JobState state = world.job(slot).state;
  if (state != model::JobState::Waiting && state != model::JobState::Held) return std::nullopt;
  const sched::Why why = sched::verdict(world, agenda, slot, now);
  if (std::holds_alternative<sched::NotTried>(why)) return std::nullopt;
  WrapperWait wait;
  wait.kind = kind_of(why);
  wait.sentence = view::sentence(world, why, now);
  if (state == model::JobState::Waiting) {
    const sched::Estimate estimate = sched::expected_start(world, agenda, policy, slot, now);
    if (!estimate.expected.is_never()) wait.expected_start = estimate.expected;
  }
  return wait;
}

}  // namespace muster::api
