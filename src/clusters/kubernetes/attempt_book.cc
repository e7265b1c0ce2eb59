#include "clusters/kubernetes/attempt_book.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace muster::clusters {

namespace {

model::Gone gone(const ports::Attempt& attempt) { return {attempt.job, attempt.number}; }

constexpr int cannot_run = 126;  // as a shell says it
constexpr Duration cache_lag = seconds(5);

/// Objects of one that failed for good stay for a while, to look into.
bool keeps_failed(const model::ObjectCare& care) {
  return care.keep_failed && care.keep_failed->ms > 0;
}

model::EventBody with_ailment(model::EventBody outcome, model::Ailment ailment) {
  auto* finished = std::get_if<model::Finished>(&outcome);
  if (finished != nullptr && !finished->success) finished->ailment = ailment;
  if (auto* failed = std::get_if<model::StartFailed>(&outcome)) failed->ailment = ailment;
  return outcome;
}

}  // namespace

void AttemptBook::create(const ports::Attempt& attempt, Time now) {
  const auto [at, is_new] = entries_.try_emplace(attempt);
  const Change change(*this, at);
  if (!is_new) return say_again(attempt, at->second);
  at->second.at = now;
  commands_.emplace_back(MakeObjects{attempt});
}

void AttemptBook::remove(const ports::Attempt& attempt, Time now) {
  const auto [at, is_new] = entries_.try_emplace(attempt);
  const Change change(*this, at);
  Entry& entry = at->second;
  if (is_new) {
    // Not known here does not mean not there: another instance may have made it.
    entry.at = now;
    const auto unmade = unmade_.extract(attempt);
    if (unmade.empty()) return finish(attempt, entry, gone(attempt));
    return finish(
        attempt, entry,
        start_failed(attempt, entry, "its objects could not be made: " + unmade.mapped(), now));
  }
  switch (entry.stage) {
    case Stage::Making:
      entry.outcome = gone(attempt);  // deleted once all is made: nothing comes after the delete
      return;
    case Stage::Made:
    case Stage::Failing:
      return finish(attempt, entry, gone(attempt));
    case Stage::Removing:
    case Stage::Confirming:
      return;  // how it ends is known; of one that is being stopped the loop takes it for gone
    case Stage::Ended:
      entry.stage = Stage::Removing;
      commands_.emplace_back(RemoveObjects{attempt});
      say(gone(attempt));
      return;
    case Stage::Over:
      say(gone(attempt));
      return;
  }
}

void AttemptBook::adopt(const ports::Attempt& attempt, Time now) {
  const auto [at, is_new] = entries_.try_emplace(attempt);
  const Change change(*this, at);
  if (!is_new) return say_again(attempt, at->second);
  at->second.stage = Stage::Made;
  at->second.is_found = true;
  at->second.short_since = now;
  at->second.at = now + options_.ready_within;
}

void AttemptBook::keep_failure(const ports::Attempt& attempt, const GangState& state, Time now) {
  const auto [at, is_new] = entries_.try_emplace(attempt);
  const Change change(*this, at);
  if (!is_new) return;
  Entry& entry = at->second;
  entry.stage = Stage::Ended;
  entry.is_found = true;
  entry.care = state.care;
  entry.ailment = model::Ailment::FailedObject;
  entry.verdict =
      model::Finished{attempt.job, attempt.number, false, state.exit_code, state.reason};
  entry.outcome = *entry.verdict;
  entry.is_said = true;
  entry.at = now + state.care.care.keep_failed.value_or(Duration{0});
  commands_.emplace_back(TellStand{attempt});
}

void AttemptBook::go_on_removing(const ports::Attempt& attempt, const AttemptCare& care,
                                 const model::Demise& demise, Time now) {
  const auto [at, is_new] = entries_.try_emplace(attempt);
  const Change change(*this, at);
  if (!is_new) return say_again(attempt, at->second);
  Entry& entry = at->second;
  entry.is_found = true;
  entry.care = care;
  entry.requeues = static_cast<int>(demise.requeues);
  entry.ailment = demise.ailment;
  entry.is_demise_told = true;
  if (demise.fails) {
    return finish(
        attempt, entry,
        model::Finished{attempt.job, attempt.number, false, demise.exit_code, demise.reason});
  }
  finish(attempt, entry, start_failed(attempt, entry, demise.reason, now));
}

void AttemptBook::vanished(const ports::Attempt& attempt, const AttemptCare& care, Time now) {
  const auto [at, is_new] = entries_.try_emplace(attempt);
  const Change change(*this, at);
  if (!is_new) return say_again(attempt, at->second);
  if (care.care.missing_fails) {  // unless its owner went too, which is about to be said
    Entry& entry = at->second;
    entry.stage = Stage::Made;
    entry.is_found = true;
    entry.has_started = true;
    entry.care = care;
    entry.is_withdrawn = true;
    entry.at = now + options_.owner_patience;
    return;
  }
  at->second.stage = Stage::Over;
  at->second.at = now;
  at->second.outcome = gone(attempt);
  at->second.is_said = true;
  say(gone(attempt));
}

void AttemptBook::look_after(const ports::Attempt& attempt, const AttemptCare& care) {
  const auto at = entries_.find(attempt);
  if (at == entries_.end()) return;
  at->second.care = care;
  at->second.requeues = care.requeues;
}

void AttemptBook::made(const ports::Attempt& attempt, Making how, const std::string& reason,
                       Time now) {
  const auto at = entries_.find(attempt);
  if (at == entries_.end() || at->second.stage != Stage::Making) return;
  Change change(*this, at);
  Entry& entry = at->second;
  if (how != Making::Unavailable || entry.outcome) unmade_.erase(attempt);
  if (entry.outcome && how == Making::Unavailable && !reason.empty()) {  // given up meanwhile
    entry.outcome.reset();
    return finish(attempt, entry,
                  start_failed(attempt, entry, "its objects could not be made: " + reason, now));
  }
  if (entry.outcome) return finish(attempt, entry, *std::exchange(entry.outcome, std::nullopt));
  switch (how) {
    case Making::Done:
      entry.stage = Stage::Made;
      entry.short_since = now;
      entry.at = now + ready_limit_of(entry);
      if (entry.care.care.starts_when_made) start(attempt, entry);
      return;
    case Making::Refused:
      entry.ailment = model::Ailment::NotMade;
      return finish(attempt, entry,
                    model::Finished{attempt.job, attempt.number, false, cannot_run, reason});
    case Making::NotNow:
      return finish(attempt, entry, start_failed(attempt, entry, reason, now));
    case Making::Unavailable:
      if (!reason.empty()) unmade_[attempt] = reason;
      return change.forget();  // the loop hands it over again; what was made is met then
  }
}

void AttemptBook::removed(const ports::Attempt& attempt) {
  const auto at = entries_.find(attempt);
  if (at == entries_.end() || at->second.stage != Stage::Removing) return;
  const Change change(*this, at);
  at->second.stage = Stage::Confirming;
  at->second.is_asking = true;
  commands_.emplace_back(ConfirmGone{attempt});
}

void AttemptBook::not_removed(const ports::Attempt& attempt, Time now) {
  const auto at = entries_.find(attempt);
  if (at == entries_.end() || at->second.stage != Stage::Removing) return;
  const Change change(*this, at);
  at->second.stage = Stage::Confirming;
  at->second.is_asking = false;
  at->second.at = now + options_.look_again;
}

void AttemptBook::confirmed(const ports::Attempt& attempt, bool is_gone, Time now) {
  const auto at = entries_.find(attempt);
  if (at == entries_.end() || at->second.stage != Stage::Confirming) return;
  const Change change(*this, at);
  Entry& entry = at->second;
  entry.is_asking = false;
  if (!is_gone) {
    entry.at = now + options_.look_again;
    return;
  }
  entry.stage = Stage::Over;
  entry.at = now;
  if (!entry.is_said) say(*entry.outcome);
  entry.is_said = true;
}

void AttemptBook::seen(const ports::Attempt& attempt, const GangState& state, Time now) {
  const auto at = entries_.find(attempt);
  if (at == entries_.end()) return;
  const Change change(*this, at);
  Entry& entry = at->second;
  if (entry.stage == Stage::Confirming && !entry.is_asking && !state.has_live_pods) {
    entry.at = now;  // the last pod went: ask at once
    return;
  }
  if (entry.stage == Stage::Over) {
    entry.is_back = state.phase != GangPhase::Absent;  // or the cache is behind: see pass()
    return;
  }
  if (entry.stage == Stage::Ended && entry.care.care.keep_ended &&
      state.phase == GangPhase::Absent) {  // they went with their owner, or somebody deleted them
    entry.stage = Stage::Over;
    entry.at = now;
    commands_.emplace_back(TellStand{attempt});
    return;
  }
  if (entry.stage == Stage::Failing) return seen_failing(attempt, entry, state);
  if (entry.stage != Stage::Made) return;
  entry.is_ended = state.is_ended;
  if (entry.verdict && (!entry.is_guess || state.is_guess)) {
    if (entry.is_guess) entry.is_loss = state.is_loss;
    if (state.is_ended && !entry.is_guess && !state.lacks_pods) end(attempt, entry, now);
    return;
  }
  entry.trouble = state.reason;
  entry.is_unplaced = state.is_unplaced;
  entry.was_leaving |= entry.is_found && !entry.was_known && state.is_root_leaving;
  if (!look_at_care(entry, state, now)) return;
  look_at_failed_pods(attempt, entry, state, now);
  entry.was_seen |= state.phase != GangPhase::Absent;
  entry.was_known |= entry.was_seen && state.is_known;
  const bool is_whole = entry.was_known && state.is_known && state.phase != GangPhase::Partial;
  const bool was_whole = std::exchange(entry.was_whole, entry.was_whole || is_whole);
  switch (state.phase) {
    case GangPhase::Absent:  // until it was seen, the cache may be behind: the deadline decides
      if (!entry.was_seen) return;
      return finish(attempt, entry,
                    lost(attempt, entry, "its objects were deleted by somebody else", now));
    case GangPhase::Partial:
      if (!was_whole) return;
      return conclude(
          attempt, entry,
          lost(attempt, entry, state.reason + "; the others were deleted by somebody else", now),
          now);
    case GangPhase::Starting:  // or it was scaled down while nobody watched
      if (state.least_pods > 0 && entry.was_ready) start(attempt, entry);
      return;
    case GangPhase::Withdrawn:
      return;
    case GangPhase::Running:
      return start(attempt, entry);
    case GangPhase::Succeeded:
    case GangPhase::Failed:
      return judge(attempt, entry, state, now);
    case GangPhase::Disrupted:
      if (entry.was_leaving) return finish(attempt, entry, taken_back_before(attempt, entry, now));
      return conclude(attempt, entry,
                      state.is_missing ? lost(attempt, entry, state.reason, now)
                                       : start_failed(attempt, entry, state.reason, now),
                      now);
  }
}

void AttemptBook::start(const ports::Attempt& attempt, Entry& entry) {
  if (std::exchange(entry.has_started, true)) return;
  say(model::Started{attempt.job, attempt.number});
}

bool AttemptBook::look_at_care(Entry& entry, const GangState& state, Time now) const {
  if (entry.care != state.care && entry.care == AttemptCare{}) {  // one that was found
    entry.care = state.care;
    entry.requeues = state.care.requeues;
    entry.short_since = now;
    entry.at = now + ready_limit_of(entry);
    // It ran, so all of it was there: what is not was deleted while nobody watched.
    entry.was_whole |= entry.is_found && entry.care.care.missing_fails;
  }
  const bool has_root = state.care.has_owner;
  // The Job that was its root went while nobody watched: with the object that owned it, maybe.
  entry.had_root |= has_root || (entry.is_found && state.is_rootless && state.care.has_hub);
  if (state.phase == GangPhase::Withdrawn || (entry.had_root && !has_root)) {
    if (!std::exchange(entry.is_withdrawn, true)) entry.at = now + options_.owner_patience;
    return false;
  }
  if (state.phase == GangPhase::Absent || !state.is_known) return true;
  const std::int64_t needed = entry.needed_of(state);
  entry.ready_pods = state.ready_pods;
  entry.succeeded_pods = state.succeeded_pods;
  entry.has_all_pods = state.there_pods >= needed;
  entry.was_ready |= state.has_pods(needed);
  entry.needed_pods = entry.needed_of(state);
  if (state.has_pods(needed)) {
    entry.is_short = false;
  } else if (entry.care.has_limit()) {
    if (!std::exchange(entry.is_short, true)) entry.short_since = now;
    entry.at = entry.short_since + ready_limit_of(entry);
  }
  return true;
}

/// Whoever made them may make others in their place, for a while.
void AttemptBook::look_at_failed_pods(const ports::Attempt& attempt, Entry& entry,
                                      const GangState& state, Time now) {
  const auto& borne = entry.care.care.failed_within;
  if (!borne || state.failed_pods == 0) {
    entry.fails_at = Time::never();
    return;
  }
  if (entry.fails_at.is_never()) entry.fails_at = now + *borne;
  entry.failure = model::Finished{
      attempt.job, attempt.number, false, state.failed_code,
      fmt::format("{} of its pods failed; {}", state.failed_pods, state.failed_why)};
}

model::EventBody AttemptBook::lost(const ports::Attempt& attempt, Entry& entry, std::string reason,
                                   Time now) const {
  entry.ailment = model::Ailment::MissingObject;
  if (!entry.care.care.missing_fails) return start_failed(attempt, entry, std::move(reason), now);
  return model::Finished{attempt.job, attempt.number, false, 1, std::move(reason)};
}

void AttemptBook::leave_nodes(const ports::Attempt& attempt, const std::string& reason, Time now) {
  const auto at = entries_.find(attempt);
  if (at == entries_.end()) return;
  const Change change(*this, at);
  Entry& entry = at->second;
  if (entry.stage != Stage::Made || entry.verdict || entry.is_withdrawn) return;
  entry.ailment = model::Ailment::SickNode;
  finish(attempt, entry, start_failed(attempt, entry, reason, now));
}

Duration AttemptBook::ready_limit_of(const Entry& entry) const {
  if (const auto& there = entry.care.care.pods_within; there && !entry.has_all_pods) return *there;
  return ready_limit(entry.care.care, entry.care.requeues, options_.ready_within);
}

/// Its pods were not ready in time: it is requeued, or was so often enough.
model::EventBody AttemptBook::taken_back(const ports::Attempt& attempt, Entry& entry,
                                         Time now) const {
  entry.ailment = model::Ailment::TooFewPods;
  if (!entry.care.has_limit()) {
    if (entry.is_unplaced) entry.ailment = model::Ailment::Unplaced;
    const std::string why = entry.trouble.empty() ? "" : "; " + entry.trouble;
    return start_failed(
        attempt, entry,
        fmt::format("not all pods were ready within {}{}", to_text(ready_limit_of(entry)), why),
        now);
  }
  const std::string reason =
      too_few_pods(entry.needed_pods, entry.ready_pods, entry.succeeded_pods);
  if (!entry.care.may_be_requeued()) {
    return model::Finished{attempt.job, attempt.number, false, 1,
                           fmt::format("{} It was requeued {} times, the most it may be.", reason,
                                       entry.care.requeues)};
  }
  entry.requeues = entry.care.requeues + 1;
  return start_failed(attempt, entry, reason, now);
}

/// Which counts where such an end mostly does: the reason is lost with that server.
model::EventBody AttemptBook::taken_back_before(const ports::Attempt& attempt, Entry& entry,
                                                Time now) const {
  entry.ailment = model::Ailment::Forgotten;
  const std::string reason = "it was being taken back when the server stopped";
  if (!entry.care.has_limit() && !entry.care.care.requeues_failures)
    return start_failed(attempt, entry, reason, now);
  if (!entry.care.may_be_requeued()) {
    return model::Finished{attempt.job, attempt.number, false, 1,
                           fmt::format("{}; it was requeued {} times, the most it may be", reason,
                                       entry.care.requeues)};
  }
  entry.requeues = entry.care.requeues + 1;
  return start_failed(attempt, entry, reason, now);
}

void AttemptBook::pass(Time now) {
  std::vector<ports::Attempt> due;
  for (auto at = due_.begin(); at != due_.end() && at->first <= now; ++at) {
    due.push_back(at->second);
  }
  for (const ports::Attempt& attempt : due) {
    const auto at = entries_.find(attempt);
    Change change(*this, at);
    Entry& entry = at->second;
    if (entry.stage == Stage::Over && now - entry.at >= options_.keep_outcomes) {
      change.forget();
    } else {
      pass_one(attempt, entry, now);
    }
  }
}

void AttemptBook::pass_one(const ports::Attempt& attempt, Entry& entry, Time now) {
  if (entry.stage == Stage::Made && entry.verdict && entry.is_ended && entry.verdict->success) {
    end(attempt, entry, now);  // pods that succeeded are gone, and were never seen
  } else if (entry.stage == Stage::Made && entry.verdict) {
    conclude(attempt, entry, outcome_of_guess(attempt, entry, now), now);
  } else if (entry.stage == Stage::Made && entry.is_withdrawn) {
    finish(attempt, entry,
           entry.was_leaving
               ? taken_back_before(attempt, entry, now)
               : lost(attempt, entry, "its objects were deleted by somebody else", now));
  } else if (entry.stage == Stage::Made && now >= entry.fails_at) {
    entry.ailment = model::Ailment::FailedPods;
    entry.verdict = entry.failure;
    conclude(attempt, entry, outcome_of_verdict(attempt, entry, now), now);
  } else if (entry.stage == Stage::Made) {
    conclude(attempt, entry, taken_back(attempt, entry, now), now);
  } else {
    // Of Over: a create that was on its way when all was gone has arrived after all.
    // Of Confirming: deleting again costs nothing, and meets what came up in between.
    // Of Ended and Failing: it was kept for long enough.
    if (entry.stage == Stage::Failing) tell_demise(attempt, entry);
    entry.is_back = false;
    entry.stage = Stage::Removing;
    commands_.emplace_back(RemoveObjects{attempt});
  }
}

void AttemptBook::remove_ended() {
  for (auto at = entries_.begin(); at != entries_.end(); ++at) {
    if (at->second.stage != Stage::Ended || stays(at->second)) continue;
    const Change change(*this, at);
    at->second.stage = Stage::Removing;
    commands_.emplace_back(RemoveObjects{at->first});
  }
}

Time AttemptBook::due_of(const Entry& entry) const {
  switch (entry.stage) {
    case Stage::Made: {
      if (entry.verdict || entry.is_withdrawn) return entry.at;
      const bool is_awaited = entry.care.has_limit() ? entry.is_short : !entry.has_started;
      return std::min(is_awaited ? entry.at : Time::never(), entry.fails_at);
    }
    case Stage::Ended:
      return stays(entry) ? Time::never() : entry.at;
    case Stage::Failing:
      return entry.at;
    case Stage::Confirming:
      return entry.is_asking ? Time::never() : entry.at;
    case Stage::Over:
      return entry.at + (entry.is_back ? cache_lag : options_.keep_outcomes);
    case Stage::Making:
    case Stage::Removing:
      break;
  }
  return Time::never();
}

void AttemptBook::count(Entries::iterator at, bool is_forgotten) {
  const ports::Attempt& attempt = at->first;
  Entry& entry = at->second;
  const bool is_at_rest = entry.is_said || entry.stage == Stage::Over ||
                          entry.stage == Stage::Failing ||
                          (entry.stage == Stage::Made && entry.has_started && !entry.verdict);
  const bool is_open = !is_at_rest && !is_forgotten;
  if (std::exchange(entry.is_open, is_open)) --open_;
  if (is_open) ++open_;
  const Time due = is_forgotten ? Time::never() : due_of(entry);
  if (due != entry.due) {
    if (!entry.due.is_never()) due_.erase({entry.due, attempt});
    if (!due.is_never()) due_.emplace(due, attempt);
    entry.due = due;
  }
  const bool is_leaving =
      !is_forgotten && (entry.stage == Stage::Confirming || entry.stage == Stage::Removing);
  if (is_leaving) leaving_.insert(attempt);
  if (!is_leaving) leaving_.erase(attempt);
  const bool is_movable =
      !is_forgotten && entry.stage == Stage::Made && !entry.care.care.leaves.empty();
  if (is_movable) movable_.try_emplace(attempt, entry.care.care.leaves);
  if (!is_movable) movable_.erase(attempt);
  if (is_forgotten) entries_.erase(at);
}

std::set<ports::Attempt> AttemptBook::alive() const {
  std::set<ports::Attempt> found;
  for (const auto& [attempt, entry] : entries_) {
    if (entry.stage != Stage::Over) found.insert(attempt);
  }
  return found;
}

bool AttemptBook::is_made(const ports::Attempt& attempt) const {
  const auto at = entries_.find(attempt);
  return at != entries_.end() &&
         (at->second.stage == Stage::Made || at->second.stage == Stage::Ended ||
          at->second.stage == Stage::Failing);
}

std::string AttemptBook::kept_failure_of(const ports::Attempt& attempt) const {
  const auto at = entries_.find(attempt);
  if (at == entries_.end()) return "";
  const Entry& entry = at->second;
  const bool is_kept =
      entry.stage == Stage::Failing || (entry.stage == Stage::Ended && entry.verdict &&
                                        !entry.verdict->success && keeps_failed(entry.care.care));
  if (!is_kept) return "";
  const std::string& why = std::get<model::Finished>(*entry.outcome).reason;
  return why.empty() ? "failed" : why;
}

std::int64_t AttemptBook::needed_pods_of(const ports::Attempt& attempt) const {
  const auto at = entries_.find(attempt);
  return at == entries_.end() ? 0 : at->second.needed_pods;
}

int AttemptBook::requeues_before(const ports::Attempt& attempt) const {
  const auto at = entries_.find(attempt);
  return at == entries_.end() ? 0 : at->second.care.requeues;
}

model::Ailment AttemptBook::ailment_of(const ports::Attempt& attempt) const {
  const auto at = entries_.find(attempt);
  return at == entries_.end() ? model::Ailment::None : at->second.ailment;
}

model::Demise AttemptBook::demise_of(const ports::Attempt& attempt) const {
  const auto at = entries_.find(attempt);
  if (at == entries_.end()) return {};
  const Stage stage = at->second.stage;
  // When it is over its outcome is on its way.
  const bool is_leaving =
      stage == Stage::Removing || stage == Stage::Confirming || stage == Stage::Over;
  return is_leaving ? demise_of(at->second) : model::Demise{};
}

bool AttemptBook::is_kept(const ports::Attempt& attempt) const {
  const auto at = entries_.find(attempt);
  return at != entries_.end() && at->second.stage == Stage::Ended && stays(at->second);
}

bool AttemptBook::is_kept_failure(const ports::Attempt& attempt) const {
  const auto at = entries_.find(attempt);
  return at != entries_.end() && at->second.stage == Stage::Ended &&
         !kept_failure_of(attempt).empty();
}

bool AttemptBook::will_delete(const ports::Attempt& attempt) const {
  const auto at = entries_.find(attempt);
  if (at == entries_.end()) return false;
  return at->second.stage == Stage::Removing ||
         (at->second.stage == Stage::Making && at->second.outcome);
}

/// Whoever asks again for what is known hears how it stands.
void AttemptBook::say_again(const ports::Attempt& attempt, const Entry& entry) {
  if (entry.is_said) return say(*entry.outcome);
  if ((entry.stage == Stage::Made || entry.stage == Stage::Failing) && entry.has_started) {
    say(model::Started{attempt.job, attempt.number});
  }
}

/// It comes to its end by itself; its Jobs end the pods that are left and then say so. Jobs and
/// pods are watched apart: a Job may be heard of before the pod that failed it.
void AttemptBook::judge(const ports::Attempt& attempt, Entry& entry, const GangState& state,
                        Time now) {
  const bool is_success = state.phase == GangPhase::Succeeded;
  if (!is_success) entry.ailment = model::Ailment::FailedObject;
  entry.verdict = model::Finished{attempt.job, attempt.number, is_success,
                                  is_success ? 0 : state.exit_code, is_success ? "" : state.reason};
  entry.at = now + options_.end_within;
  entry.is_guess = state.is_guess;
  entry.is_loss = state.is_loss;
  if (state.is_ended && !state.is_guess && !state.lacks_pods) end(attempt, entry, now);
}

/// Of one that ended: whether its objects are left where they are.
bool AttemptBook::stays(const Entry& entry) {
  const bool has_failed = entry.verdict && !entry.verdict->success;
  return entry.care.care.keep_ended && !(has_failed && entry.care.care.keep_failed);
}

/// A pod that was evicted or deleted while no server watched left nothing but its Job's failure.
model::EventBody AttemptBook::outcome_of_guess(const ports::Attempt& attempt, Entry& entry,
                                               Time now) const {
  if (!entry.is_guess || !entry.is_loss) return outcome_of_verdict(attempt, entry, now);
  return lost(
      attempt, entry,
      "a pod was taken away by somebody else while nobody watched; " + entry.verdict->reason, now);
}

/// A failure may be worth another try.
model::EventBody AttemptBook::outcome_of_verdict(const ports::Attempt& attempt, Entry& entry,
                                                 Time now) const {
  model::Finished verdict = *entry.verdict;
  if (verdict.success || !entry.care.care.requeues_failures) return verdict;
  if (!is_worth_a_requeue(entry.care.care, verdict.exit_code)) {
    verdict.reason += fmt::format("; exit code {} is not worth another try", verdict.exit_code);
  } else if (!entry.care.may_be_requeued()) {
    verdict.reason +=
        fmt::format("; it was requeued {} times, the most it may be", entry.care.requeues);
  } else {
    entry.requeues = entry.care.requeues + 1;
    return start_failed(attempt, entry, verdict.reason, now);
  }
  return verdict;
}

void AttemptBook::end(const ports::Attempt& attempt, Entry& entry, Time now) {
  model::EventBody outcome = with_ailment(outcome_of_verdict(attempt, entry, now), entry.ailment);
  if (std::holds_alternative<model::StartFailed>(outcome))
    return finish(attempt, entry, std::move(outcome));
  const bool has_failed = !entry.verdict->success;
  entry.stage = Stage::Ended;
  entry.at =
      now + (has_failed ? entry.care.care.keep_failed : std::nullopt).value_or(options_.keep_ended);
  entry.outcome = std::move(outcome);
  entry.is_said = true;
  if (has_failed && keeps_failed(entry.care.care)) commands_.emplace_back(TellStand{attempt});
  say(*entry.outcome);
}

void AttemptBook::conclude(const ports::Attempt& attempt, Entry& entry, model::EventBody outcome,
                           Time now) {
  const auto* finished = std::get_if<model::Finished>(&outcome);
  if (finished == nullptr || finished->success || !keeps_failed(entry.care.care))
    return finish(attempt, entry, std::move(outcome));
  entry.verdict = *finished;
  entry.outcome = with_ailment(std::move(outcome), entry.ailment);
  entry.stage = Stage::Failing;
  entry.at = now + *entry.care.care.keep_failed;
  commands_.emplace_back(TellStand{attempt});
}

/// When all of it has ended meanwhile it takes no room any more, and that can be said.
void AttemptBook::seen_failing(const ports::Attempt& attempt, Entry& entry,
                               const GangState& state) {
  if (state.phase == GangPhase::Absent)  // somebody deleted it
    return finish(attempt, entry, *std::exchange(entry.outcome, std::nullopt));
  if (!state.is_ended || state.phase != GangPhase::Failed) return;
  entry.stage = Stage::Ended;
  entry.is_said = true;
  say(*entry.outcome);
}

void AttemptBook::finish(const ports::Attempt& attempt, Entry& entry, model::EventBody outcome) {
  entry.outcome = with_ailment(std::move(outcome), entry.ailment);
  entry.stage = Stage::Removing;
  tell_demise(attempt, entry);
  // It may be that nothing of it is seen again before its outcome is said.
  if (entry.ailment != model::Ailment::None) commands_.emplace_back(TellStand{attempt});
  commands_.emplace_back(RemoveObjects{attempt});
}

/// Before anything of it is removed, where a loss by others has another end. A server that is
/// killed before this is written down takes what is gone by then for such a loss.
void AttemptBook::tell_demise(const ports::Attempt& attempt, Entry& entry) {
  const model::ObjectCare& care = entry.care.care;
  const bool matters = entry.care.has_limit() || care.requeues_failures || care.missing_fails;
  model::Demise demise = demise_of(entry);
  if (!matters || entry.is_said || demise.ailment == model::Ailment::None) return;
  if (std::exchange(entry.is_demise_told, true)) return;
  say(model::Ailing{attempt.job, attempt.number, std::move(demise)});
}

model::Demise AttemptBook::demise_of(const Entry& entry) {
  if (!entry.outcome) return {};
  model::Demise demise{.ailment = entry.ailment};
  const auto* finished = std::get_if<model::Finished>(&*entry.outcome);
  if (finished != nullptr && !finished->success) {
    demise.fails = true;
    demise.exit_code = finished->exit_code;
    demise.reason = finished->reason;
  } else if (const auto* failed = std::get_if<model::StartFailed>(&*entry.outcome)) {
    demise.requeues = failed->requeues;
    demise.reason = failed->reason;
  } else {
    return {};  // it was asked for, or ended well
  }
  return demise;
}

const AttemptBook::Entry* AttemptBook::entry_before(const ports::Attempt& attempt) const {
  const auto at = entries_.lower_bound(attempt);
  if (at == entries_.begin()) return nullptr;
  const auto& [last, entry] = *std::prev(at);
  return last.job == attempt.job ? &entry : nullptr;
}

model::StartFailed AttemptBook::start_failed(const ports::Attempt& attempt, Entry& entry,
                                             std::string reason, Time now) const {
  const Entry* last = entry_before(attempt);
  const bool did_start = entry.care.has_limit() ? entry.was_ready : entry.has_started;
  entry.failed_starts = did_start ? 0 : (last == nullptr ? 0 : last->failed_starts) + 1;
  const auto requeues = static_cast<std::uint32_t>(entry.requeues);
  if (const auto& own = entry.care.care.requeue_pause)
    return {attempt.job, attempt.number, now + *own, std::move(reason), requeues};
  Duration pause = options_.start_retry_pause;
  for (int i = 1; i < entry.failed_starts && pause < options_.start_retry_most; ++i)
    pause = std::min(Duration{pause.ms * 2}, options_.start_retry_most);
  return {attempt.job, attempt.number, now + pause, std::move(reason), requeues};
}

}  // namespace muster::clusters
