// A status as stories tell of it: what is known of an AppWrapper, and what is written of it.
#pragma once

#include <fmt/format.h>

#include <boost/json.hpp>
#include <string>

#include "api/appwrapper/status_v1beta1.h"
#include "api/appwrapper/status_v1beta2.h"
#include "kube/json.h"

namespace muster::api {

namespace json = boost::json;
using model::EndWhy;
using model::JobState;

inline std::string text(const json::object& from, std::string_view key) {
  return std::string(kube::text_at(json::value(from), {key}));
}

/// "Init Queueing/AwaitingHeadOfLine ..."
inline std::string conditions(const json::object& status) {
  std::string line;
  const json::value whole(status);
  for (const json::value& one : kube::items_at(whole, {"conditions"})) {
    const std::string_view reason = kube::text_at(one, {"reason"});
    if (!line.empty()) line += ' ';
    line += kube::text_at(one, {"type"});
    if (!reason.empty()) line += "/" + std::string(reason);
  }
  return line;
}

inline std::string message(const json::object& status, std::string_view type,
                           std::string_view reason) {
  const json::value whole(status);
  for (const json::value& one : kube::items_at(whole, {"conditions"})) {
    if (kube::text_at(one, {"type"}) == type && kube::text_at(one, {"reason"}) == reason)
      return std::string(kube::text_at(one, {"message"}));
  }
  return "no such condition";
}

/// Of the job in a story.
inline const std::string story_job = "aw-1-uid";

struct StatusStory {
  WrapperFacts facts;
  Time now = Time{0} + hours(1);
  json::object status;
  bool is_v1beta2 = false;

  StatusStory() {
    facts.row.emplace();
    facts.job = &story_job;
    facts.row->queue = "default";
    facts.row->pods = 2;
    facts.row->priority = 7;
    facts.ask.priority = 7;
    facts.ask.totals = {3000, std::int64_t{5} << 30, 1};
  }
  json::object& write() {
    now = now + seconds(1);
    status = is_v1beta2 ? status_v1beta2(status, facts, now) : status_v1beta1(status, facts, now);
    return status;
  }
  void waits(WrapperWait::Kind kind = WrapperWait::Kind::Room) {
    facts.row->state = JobState::Waiting;
    facts.wait = WrapperWait{kind, "waits for room: 1 of 2 pods fit in cluster a", now};
  }
  void placed(std::uint32_t attempt = 1) {
    facts.wait.reset();
    facts.row->state = JobState::Starting;
    facts.row->attempt = attempt;
    facts.row->cluster = "a";
    facts.row->started = Time::never();
    facts.row->why = EndWhy::None;
  }
  void made(int running = 0) {
    facts.row->state = JobState::Running;
    facts.row->started = now;
    ports::AttemptSight& sight = facts.sight.edit();
    sight.attempt = {story_job, facts.row->attempt};
    sight.is_made = true;
    sight.pods = {2 - running, running, 0, 0};
  }
};

/// "True Resuming" of a condition.
inline std::string condition(const json::object& status, std::string_view type) {
  const json::value whole(status);
  for (const json::value& one : kube::items_at(whole, {"conditions"})) {
    if (kube::text_at(one, {"type"}) == type)
      return fmt::format("{} {}", kube::text_at(one, {"status"}), kube::text_at(one, {"reason"}));
  }
  return "";
}

/// A start that ended before its objects were made.
inline void is_not_made(StatusStory& story, std::uint32_t attempt) {
  story.placed(attempt);
  story.facts.row->state = JobState::Waiting;
  story.facts.row->why = EndWhy::StartFailed;
  story.facts.row->reason = "Thing t: this cluster has no kind Thing of example.com/v1";
  story.facts.wait = WrapperWait{WrapperWait::Kind::Turn, "may not start yet", std::nullopt};
}

}  // namespace muster::api
