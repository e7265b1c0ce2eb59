#include "api/appwrapper/unplaced_desk.h"

#include <algorithm>
#include <iterator>

namespace muster::api {

namespace {

constexpr Duration look_pause = milliseconds(100);  // at those whose tries are open

struct Pace {
  Duration first{0};  // between two rounds
  Duration most{0};   // after many that brought nothing
};
Pace pace_of(WrapperWait::Kind kind) {
  switch (kind) {
    case WrapperWait::Kind::Takeover:
      return {seconds(1), minutes(1)};
    case WrapperWait::Kind::Quota:
      return {seconds(30), seconds(30)};
    default:
      return {seconds(5), seconds(5)};
  }
}

}  // namespace

bool UnplacedDesk::add(std::string_view job, Kind kind, std::uint64_t what, Time now) {
  drop(job);
  const auto [at, is_new] = lacks_.try_emplace(What{kind, what});
  Lack& lack = at->second;
  if (is_new) {
    lack.what = at->first;
    lack.pause = pace_of(kind).first;
    set_due(lack, now + lack.pause);
  }
  lack.jobs.insert(job);
  where_[job] = &lack;
  return is_new;
}

/// A lack that nobody has any more goes when it is due, or its round is over.
bool UnplacedDesk::drop(std::string_view job) {
  const auto at = where_.find(job);
  if (at == where_.end()) return false;
  at->second->jobs.erase(job);
  where_.erase(at);
  return true;
}

void UnplacedDesk::retried(const std::string& job) {
  if (const auto at = out_.find(job); at != out_.end()) at->second.is_retried = true;
}

void UnplacedDesk::look_again(Kind kind, Time now) {
  for (auto at = lacks_.lower_bound({kind, 0}); at != lacks_.end() && at->first.first == kind;
       ++at) {
    Lack& lack = at->second;
    if (running_.contains(lack.what)) {
      lack.is_wanted = true;
    } else {
      set_due(lack, now);
    }
  }
}

void UnplacedDesk::ask_due(Time now) {
  settle(now);
  while (!due_.empty() && due_.begin()->first <= now) begin(lacks_.at(due_.begin()->second));
  while (out_.size() < out_most) {
    Lack* lack = next_lack();
    if (lack == nullptr) break;
    ask_next(*lack);
    if (lack->left == 0 && lack->out == 0) end_round(*lack, now);
  }
}

Time UnplacedDesk::next_due(Time now) const {
  const Time due = due_.empty() ? Time::never() : due_.begin()->first;
  return out_.empty() ? due : std::min(due, now + look_pause);
}

void UnplacedDesk::set_due(Lack& lack, Time at) {
  due_.erase({lack.due, lack.what});
  lack.due = at;
  if (!at.is_never()) due_.insert({at, lack.what});
}

void UnplacedDesk::begin(Lack& lack) {
  set_due(lack, Time::never());
  if (lack.jobs.empty()) {
    lacks_.erase(What(lack.what));
    return;
  }
  lack.left = std::min(first_asked, lack.jobs.size());
  lack.is_over = false;
  running_.insert(lack.what);
}

/// Of those that are out, what came of them.
void UnplacedDesk::settle(Time now) {
  for (auto at = out_.begin(); at != out_.end();) {
    const auto& [job, one] = *at;
    const bool is_back = one.lack->jobs.contains(job);
    if (!one.is_retried || (!is_back && parts_.is_open(job))) {
      ++at;
      continue;
    }
    Lack& lack = *one.lack;
    at = out_.erase(at);
    --lack.out;
    if (!is_back && !std::exchange(lack.is_over, true)) lack.left = lack.jobs.size();
    if (lack.left == 0 && lack.out == 0) end_round(lack, now);
  }
}

void UnplacedDesk::end_round(Lack& lack, Time now) {
  running_.erase(lack.what);
  if (lack.jobs.empty()) {
    lacks_.erase(What(lack.what));
    return;
  }
  const Pace pace = pace_of(lack.what.first);
  lack.pause = lack.is_over ? pace.first : lack.pause;
  set_due(lack, std::exchange(lack.is_wanted, false) ? now : now + lack.pause);
  lack.pause = std::min(lack.pause + lack.pause, pace.most);
}

UnplacedDesk::Lack* UnplacedDesk::next_lack() {
  const auto has_left = [this](const What& what) { return lacks_.at(what).left > 0; };
  const auto after = running_.upper_bound(turn_);
  auto found = std::find_if(after, running_.end(), has_left);
  if (found == running_.end()) {
    found = std::find_if(running_.begin(), after, has_left);
    if (found == after) return nullptr;
  }
  turn_ = *found;
  return &lacks_.at(turn_);
}

/// In the order of their ids, and round again.
void UnplacedDesk::ask_next(Lack& lack) {
  auto next = lack.jobs.upper_bound(lack.last);
  if (next == lack.jobs.end()) next = lack.jobs.begin();
  if (next == lack.jobs.end()) {
    lack.left = 0;
    return;
  }
  --lack.left;
  lack.last = std::string(*next);
  const auto [at, is_new] = out_.try_emplace(lack.last, Out{&lack, false});
  if (!is_new) return;  // it still is out
  ++lack.out;
  parts_.retry(at->first);
}

}  // namespace muster::api
