#include "clusters/kubernetes/attempt_book.h"

#include <fmt/format.h>

#include <utility>

namespace muster::clusters {

namespace {

model::Gone gone(const ports::Attempt& attempt) { return {attempt.job, attempt.number}; }

constexpr int cannot_run = 126;  // as a shell says it

}  // namespace

void AttemptBook::create(const ports::Attempt& attempt, Time now) {
  const auto [at, is_new] = entries_.try_emplace(attempt);
  if (!is_new) return say_again(attempt, at->second);
  at->second.at = now;
  commands_.emplace_back(MakeObjects{attempt});
}

void AttemptBook::remove(const ports::Attempt& attempt, Time now) {
  const auto [at, is_new] = entries_.try_emplace(attempt);
  Entry& entry = at->second;
  if (is_new) {
    // Not known here does not mean not there: another instance may have made it.
    entry.at = now;
    return finish(attempt, entry, gone(attempt));
  }
  switch (entry.stage) {
    case Stage::Making:
      entry.outcome = gone(attempt);  // deleted once all is made: nothing comes after the delete
      return;
    case Stage::Made:
      return finish(attempt, entry, gone(attempt));
    case Stage::Removing:
    case Stage::Confirming:
      entry.outcome = gone(attempt);
      return;
    case Stage::Over:
      say(gone(attempt));
      return;
  }
}

void AttemptBook::adopt(const ports::Attempt& attempt, Time now) {
  const auto [at, is_new] = entries_.try_emplace(attempt);
  if (!is_new) return say_again(attempt, at->second);
  at->second.stage = Stage::Made;
  at->second.at = now + options_.ready_within;
}

void AttemptBook::vanished(const ports::Attempt& attempt, Time now) {
  const auto [at, is_new] = entries_.try_emplace(attempt);
  if (!is_new) return say_again(attempt, at->second);
  at->second.stage = Stage::Over;
  at->second.at = now;
  at->second.outcome = gone(attempt);
  say(gone(attempt));
}

void AttemptBook::made(const ports::Attempt& attempt, Making how, const std::string& reason,
                       Time now) {
  const auto at = entries_.find(attempt);
  if (at == entries_.end() || at->second.stage != Stage::Making) return;
  Entry& entry = at->second;
  if (entry.outcome) return finish(attempt, entry, *std::exchange(entry.outcome, std::nullopt));
  switch (how) {
    case Making::Done:
      entry.stage = Stage::Made;
      entry.at = now + options_.ready_within;
      return;
    case Making::Refused:
      return finish(attempt, entry,
                    model::Finished{attempt.job, attempt.number, false, cannot_run, reason});
    case Making::NotNow:
      return finish(attempt, entry, start_failed(attempt, reason, now));
    case Making::Unavailable:
      entries_.erase(at);  // the loop hands it over again; what was made is met then
      return;
  }
}

void AttemptBook::removed(const ports::Attempt& attempt) {
  const auto at = entries_.find(attempt);
  if (at == entries_.end() || at->second.stage != Stage::Removing) return;
  at->second.stage = Stage::Confirming;
  at->second.is_asking = true;
  commands_.emplace_back(ConfirmGone{attempt});
}

void AttemptBook::confirmed(const ports::Attempt& attempt, bool is_gone, Time now) {
  const auto at = entries_.find(attempt);
  if (at == entries_.end() || at->second.stage != Stage::Confirming) return;
  Entry& entry = at->second;
  entry.is_asking = false;
  if (!is_gone) {
    entry.at = now + options_.look_again;
    return;
  }
  entry.stage = Stage::Over;
  entry.at = now;
  say(*entry.outcome);
}

void AttemptBook::seen(const ports::Attempt& attempt, const GangState& state, Time now) {
  const auto at = entries_.find(attempt);
  if (at == entries_.end()) return;
  Entry& entry = at->second;
  if (entry.stage == Stage::Confirming && !entry.is_asking && !state.has_live_pods) {
    entry.at = now;  // the last pod went: ask at once
    return;
  }
  if (entry.stage != Stage::Made) return;
  entry.trouble = state.reason;
  switch (state.phase) {
    case GangPhase::Absent:  // the cache may be behind what was made: the deadline decides
    case GangPhase::Starting:
      return;
    case GangPhase::Running:
      if (std::exchange(entry.has_started, true)) return;
      return say(model::Started{attempt.job, attempt.number});
    case GangPhase::Succeeded:
      return finish(attempt, entry, model::Finished{attempt.job, attempt.number, true, 0, ""});
    case GangPhase::Failed:
      return finish(
          attempt, entry,
          model::Finished{attempt.job, attempt.number, false, state.exit_code, state.reason});
    case GangPhase::Disrupted:
      return finish(attempt, entry, start_failed(attempt, state.reason, now));
  }
}

void AttemptBook::pass(Time now) {
  for (auto at = entries_.begin(); at != entries_.end();) {
    const auto& [attempt, entry] = *at;
    if (entry.stage == Stage::Over && now - entry.at >= options_.keep_outcomes) {
      at = entries_.erase(at);
      continue;
    }
    Entry& mine = at->second;
    if (mine.stage == Stage::Made && !mine.has_started && now >= mine.at) {
      const std::string why = mine.trouble.empty() ? "" : "; " + mine.trouble;
      finish(attempt, mine,
             start_failed(attempt,
                          fmt::format("not all pods were ready within {}{}",
                                      to_text(options_.ready_within), why),
                          now));
    } else if (mine.stage == Stage::Confirming && !mine.is_asking && now >= mine.at) {
      // Deleting again costs nothing, and meets what came up in between.
      mine.stage = Stage::Removing;
      commands_.emplace_back(RemoveObjects{attempt});
    }
    ++at;
  }
}

std::vector<ports::Attempt> AttemptBook::alive() const {
  std::vector<ports::Attempt> found;
  for (const auto& [attempt, entry] : entries_) {
    if (entry.stage != Stage::Over) found.push_back(attempt);
  }
  return found;
}

/// Whoever asks again for what is known hears how it stands.
void AttemptBook::say_again(const ports::Attempt& attempt, const Entry& entry) {
  if (entry.stage == Stage::Over) return say(*entry.outcome);
  if (entry.stage == Stage::Made && entry.has_started) {
    say(model::Started{attempt.job, attempt.number});
  }
}

void AttemptBook::finish(const ports::Attempt& attempt, Entry& entry, model::EventBody outcome) {
  entry.outcome = std::move(outcome);
  entry.stage = Stage::Removing;
  commands_.emplace_back(RemoveObjects{attempt});
}

model::StartFailed AttemptBook::start_failed(const ports::Attempt& attempt, std::string reason,
                                             Time now) const {
  return {attempt.job, attempt.number, now + options_.start_retry_pause, std::move(reason)};
}

}  // namespace muster::clusters
