// Whether the API server checks what AppWrappers' creators may create: what AppWrapperHub does
// where it is to.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "api/appwrapper/hub.h"

namespace muster::api {

namespace {

constexpr Duration look_again = seconds(30);
constexpr Duration ask_again = seconds(5);  // it is not there yet, or nobody answers

}  // namespace

void AppWrapperHub::check_creators() {
  api::check_creators(*client_, [this](const Result<CreatorsCheck>& found) {
    answer([this, found] { creators_checked(found); });
  });
}

/// Somebody may take it away, or make it check less, at any time: then only what has a job goes on.
void AppWrapperHub::creators_checked(const Result<CreatorsCheck>& found) {
  const bool is_first = creators_mark_.empty();
  const auto again = [this](Duration pause) { answer_after(pause, [this] { check_creators(); }); };
  if (!found) {
    const bool is_known = found.error().fault != Fault::Unavailable;
    if (!is_known && !is_first) return again(ask_again);  // the hub does not answer at all
    std::string why = fmt::format("no new AppWrappers of cluster {} are taken: {}",
                                  options_.cluster, found.error().message);
    if (unchecked_ != why) parts_->say(why);
    unchecked_ = std::move(why);
    if (is_known && !std::exchange(has_begun_, true)) begin_watch();  // what has a job goes on
    return again(is_first ? ask_again : look_again);
  }
  Time since = found->since;
  if (!is_first && creators_mark_ != found->mark)  // nobody knows what it was in between
    since = std::max(since, parts_->clock() + CreatorsCheck::until_in_force);
  checked_since_ = std::max(checked_since_, since);
  creators_mark_ = found->mark;
  const bool was_unchecked = !std::exchange(unchecked_, "").empty();
  if (was_unchecked) {
    parts_->say(
        fmt::format("AppWrappers of cluster {}: their creators are checked", options_.cluster));
  }
  if (!std::exchange(has_begun_, true)) {
    begin_watch();
  } else if (was_unchecked) {
    unplaced_->look_again(WrapperWait::Kind::NoCheck, parts_->clock());
  }
  again(look_again);
}

}  // namespace muster::api
