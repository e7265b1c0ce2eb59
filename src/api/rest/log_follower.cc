#include "api/rest/log_follower.h"

#include <algorithm>
#include <boost/json.hpp>
#include <chrono>
#include <utility>

#include "model/state.h"
#include "net/sse.h"
#include "view/event_json.h"

namespace muster::api {
namespace {

namespace json = boost::json;

constexpr std::chrono::seconds look_pause{1};          // without having been woken
constexpr std::chrono::milliseconds behind_pause{20};  // for a client that is behind
constexpr std::chrono::milliseconds gather{5};         // what comes meanwhile is one look
constexpr std::size_t pending_most = 512 * 1024;

}  // namespace

std::string log_line_json(const ports::LogLine& line, std::uint32_t attempt) {
  json::object said{
      {"at_ms", line.at.ms},
      {"attempt", attempt},
      {"pod", view::valid_utf8(line.pod)},
      {"stream", line.stream == ports::Stream::Out ? "out" : "err"},
      {"text", view::valid_utf8(line.text)},
      {"offset", line.offset},
  };
  if (line.continues) said["continues"] = true;
  return json::serialize(said);
}

LogFollower::LogFollower(const ports::Store& store, const ports::LogStore& logs)
    : store_(store), logs_(logs) {
  thread_ = std::thread([this] { run(); });
}

LogFollower::~LogFollower() { stop(); }

void LogFollower::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void LogFollower::follow(Follow what, net::Stream stream) {
  {
    const std::lock_guard lock(mutex_);
    ++jobs_[what.job];
    fresh_.push_back({std::move(what), std::move(stream)});
  }
  changed_.notify_one();
}

void LogFollower::wake(const std::string& job) {
  {
    const std::lock_guard lock(mutex_);
    if (!jobs_.contains(job) || !woken_.insert(job).second) return;
  }
  changed_.notify_one();
}

void LogFollower::run() {
  auto next_look = std::chrono::steady_clock::now() + look_pause;
  while (true) {
    std::set<std::string> woken;
    std::list<One> fresh;
    {
      std::unique_lock lock(mutex_);
      const auto something = [this] { return stopping_ || !fresh_.empty() || !woken_.empty(); };
      if (followed_.empty()) {
        changed_.wait(lock, something);
      } else {
        changed_.wait_until(lock, next_look, something);
      }
      if (!stopping_ && !woken_.empty())
        changed_.wait_for(lock, gather, [this] { return stopping_; });
      if (stopping_) return;
      woken.swap(woken_);
      fresh.swap(fresh_);
    }
    const auto now = std::chrono::steady_clock::now();
    const bool all = now >= next_look;
    if (all) next_look = now + look_pause;
    for (One& one : followed_) {
      if (all || one.is_behind || woken.contains(one.what.job)) look(one);
    }
    for (One& one : fresh) look(one);
    followed_.splice(followed_.end(), fresh);
    const bool is_behind = std::any_of(followed_.begin(), followed_.end(),
                                       [](const One& one) { return one.is_behind; });
    if (is_behind) next_look = std::min(next_look, now + behind_pause);
    const std::lock_guard lock(mutex_);
    std::erase_if(followed_, [this](const One& one) {
      if (one.is_done && --jobs_[one.what.job] == 0) jobs_.erase(one.what.job);
      return one.is_done;
    });
  }
}

void LogFollower::look(One& one) const {
  Look next = Look::Again;
  while (next == Look::Again) next = look_once(one);
  one.is_done = next == Look::Done;
}

/// The row comes first: clusters hand over all output before they say the end, so what is read
/// after a row that says so is all there is.
LogFollower::Look LogFollower::look_once(One& one) const {
  if (!one.stream.is_open()) return Look::Done;
  const auto row = store_.job(one.what.job);
  if (!row && row.error().fault == Fault::NotFound) return Look::Done;
  if (!row) return Look::Later;  // the store is away
  const auto attempts = logs_.attempts(one.what.job);
  if (!attempts) return Look::Later;
  if (one.what.attempt == 0 && !attempts->empty()) one.what.attempt = attempts->back();
  one.is_behind = one.stream.pending_bytes() > pending_most;
  if (one.is_behind) return Look::Later;
  if (send_lines(one)) return Look::Again;
  for (const std::uint32_t next : *attempts) {
    if (one.what.attempt == 0 || next <= one.what.attempt) continue;
    one.what.attempt = next;
    one.what.query.from = 0;
    return Look::Again;
  }
  return model::is_final(row->state) ? finish(one, *row) : Look::Later;
}

LogFollower::Look LogFollower::finish(One& one, const model::JobRow& row) const {
  const json::object end{
      {"state", model::to_text(row.state)},
      {"attempt", row.attempt},
      {"exit_code", row.exit_code ? json::value(*row.exit_code) : json::value(nullptr)}};
  one.stream.send(net::to_text(net::SseEvent{"", "end", json::serialize(end)}));
  one.stream.finish();
  return Look::Done;
}

/// Whether there were any.
bool LogFollower::send_lines(One& one) const {
  if (one.what.attempt == 0) return false;
  const auto page = logs_.read({one.what.job, one.what.attempt}, one.what.query);
  if (!page) return false;
  std::string bytes;
  for (std::size_t i = 0; i < page->lines.size(); ++i) {
    const ports::LogLine& line = page->lines[i];
    const std::uint64_t next = i + 1 < page->lines.size() ? page->lines[i + 1].offset : page->next;
    bytes += net::to_text(net::SseEvent{fmt::format("{}:{}", one.what.attempt, next), "line",
                                        log_line_json(line, one.what.attempt)});
  }
  const bool moved = page->next != one.what.query.from;
  one.what.query.from = page->next;
  one.what.query.tail.reset();
  if (!bytes.empty()) one.stream.send(std::move(bytes));
  return moved;
}

}  // namespace muster::api
