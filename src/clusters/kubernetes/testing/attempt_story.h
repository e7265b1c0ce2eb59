// A book of attempts as stories tell of it: what happens, and what it says to do in words.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "clusters/kubernetes/attempt_book.h"

namespace muster::clusters {

using Making = AttemptBook::Making;

inline const ports::Attempt a1{"a", 1};

inline std::string words(const model::EventBody& body) {
  if (std::holds_alternative<model::Started>(body)) return "started";
  if (std::holds_alternative<model::Gone>(body)) return "gone";
  if (const auto* end = std::get_if<model::Finished>(&body)) {
    return fmt::format("finished {} {}{}", end->success, end->exit_code,
                       end->reason.empty() ? "" : " " + end->reason);
  }
  if (const auto* failed = std::get_if<model::StartFailed>(&body)) {
    return fmt::format("start failed until {}: {}", failed->not_before.ms, failed->reason);
  }
  return "?";
}

/// A book, and what it says to do in words.
struct Story {
  AttemptBook book{{.ready_within = seconds(60),
                    .start_retry_pause = seconds(10),
                    .look_again = seconds(2),
                    .keep_outcomes = hours(1)}};
  Time now{0};
  std::uint32_t requeues = 0;  // as the last outcome said
  std::vector<model::Demise> demises = {};

  std::vector<std::string> next_steps() {
    std::vector<std::string> found;
    for (const BookCommand& command : book.take()) {
      note_requeues(command);
      if (note_demise(command)) continue;
      if (std::holds_alternative<MakeObjects>(command)) found.emplace_back("make");
      if (std::holds_alternative<RemoveObjects>(command)) found.emplace_back("remove");
      if (std::holds_alternative<ConfirmGone>(command)) found.emplace_back("confirm");
      if (const auto* said = std::get_if<SayEvent>(&command)) found.push_back(words(said->body));
    }
    return found;
  }
  void note_requeues(const BookCommand& command) {
    const auto* said = std::get_if<SayEvent>(&command);
    const auto* failed = said == nullptr ? nullptr : std::get_if<model::StartFailed>(&said->body);
    if (failed != nullptr) requeues = failed->requeues;
  }
  /// Told apart from the steps: it is said before the first of them.
  bool note_demise(const BookCommand& command) {
    const auto* said = std::get_if<SayEvent>(&command);
    const auto* ailing = said == nullptr ? nullptr : std::get_if<model::Ailing>(&said->body);
    if (ailing != nullptr) demises.push_back(ailing->demise);
    return ailing != nullptr;
  }
  /// All Jobs ended by themselves.
  void see_end(GangPhase phase, int code = 0, const std::string& reason = "") {
    book.seen(a1, {phase, code, reason, false, true}, now);
  }
  void see(GangPhase phase, bool live = true, int code = 0, const std::string& reason = "") {
    book.seen(a1, {phase, code, reason, live, false}, now);
  }
  void make_it() {
    book.create(a1, now);
    book.made(a1, Making::Done, "", now);
    next_steps();
  }
  /// From remove to nothing left.
  std::vector<std::string> end_it() {
    book.removed(a1);
    book.confirmed(a1, true, now);
    return next_steps();
  }
};

/// A list of objects as an AppWrapper has it.
struct CaredFor : Story {
  AttemptCare care;
  std::uint32_t attempt = 1;

  ports::Attempt it() const { return {"a", attempt}; }
  void make_next() {
    care.requeues = static_cast<int>(requeues);
    book.create(it(), now);
    book.look_after(it(), care);
    book.made(it(), Making::Done, "", now);
  }
  GangState state(std::int64_t ready, GangPhase phase = GangPhase::Running) const {
    GangState made;
    made.phase = phase;
    made.care = care;
    made.needed_pods = 3;
    made.least_pods = 3;
    made.ready_pods = ready;
    made.has_live_pods = true;
    return made;
  }
  /// Its root is seen, its objects are not listed yet.
  GangState unknown() const {
    GangState made = state(0, GangPhase::Starting);
    made.is_known = false;
    made.needed_pods = 1;
    return made;
  }
  void see_ready(std::int64_t ready) { book.seen(it(), state(ready), now); }
  void pass_at(Time at) {
    now = at;
    book.pass(now);
  }
  std::vector<std::string> end_this() {
    book.removed(it());
    book.confirmed(it(), true, now);
    return next_steps();
  }
};

}  // namespace muster::clusters
