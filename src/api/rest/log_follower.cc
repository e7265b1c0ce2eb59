#include "api/rest/log_follower.h"

#include <boost/json.hpp>
#include <chrono>
#include <utility>

#include "model/state.h"
#include "net/sse.h"
#include "view/event_json.h"

namespace muster::api {
namespace {

namespace json = boost::json;

constexpr std::chrono::milliseconds pause{50};
constexpr int quiet_looks = 1;  // clusters hand over all output before they say the end
constexpr std::size_t pending_most = 512 * 1024;

}  // namespace

std::string log_line_json(const ports::LogLine& line, std::uint32_t attempt) {
  return json::serialize(json::object{
      {"at_ms", line.at.ms},
      {"attempt", attempt},
      {"pod", view::valid_utf8(line.pod)},
      {"stream", line.stream == ports::Stream::Out ? "out" : "err"},
      {"text", view::valid_utf8(line.text)},
      {"offset", line.offset},
  });
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
    fresh_.push_back({std::move(what), std::move(stream)});
  }
  changed_.notify_one();
}

void LogFollower::run() {
  while (true) {
    {
      std::unique_lock lock(mutex_);
      const auto something = [this] { return stopping_ || !fresh_.empty(); };
      if (followed_.empty()) {
        changed_.wait(lock, something);
      } else {
        changed_.wait_for(lock, pause, something);
      }
      if (stopping_) return;
      followed_.splice(followed_.end(), fresh_);
    }
    std::erase_if(followed_, [this](One& one) { return !look(one); });
  }
}

bool LogFollower::look(One& one) const {
  if (!one.stream.is_open()) return false;
  const auto row = store_.job(one.what.job);
  if (!row && row.error().fault == Fault::NotFound) return false;
  if (!row) return true;  // the store is away: later
  one.is_over = model::is_final(row->state);
  if (one.what.attempt == 0) {
    const auto attempts = logs_.attempts(one.what.job);
    if (attempts && !attempts->empty()) one.what.attempt = attempts->back();
  }
  const bool sent = send_lines(one);
  one.quiet = sent || !one.is_over ? 0 : one.quiet + 1;
  if (!sent && one.what.attempt != 0 && row->attempt > one.what.attempt) {
    const auto attempts = logs_.attempts(one.what.job);
    for (const std::uint32_t next : attempts ? *attempts : std::vector<std::uint32_t>{}) {
      if (next <= one.what.attempt) continue;
      one.what.attempt = next;
      one.what.query.from = 0;
      return true;
    }
  }
  if (!one.is_over || one.quiet < quiet_looks) return true;
  const json::object end{
      {"state", model::to_text(row->state)},
      {"attempt", row->attempt},
      {"exit_code", row->exit_code ? json::value(*row->exit_code) : json::value(nullptr)}};
  one.stream.send(net::to_text(net::SseEvent{"", "end", json::serialize(end)}));
  one.stream.finish();
  return false;
}

/// Whether there were any.
bool LogFollower::send_lines(One& one) const {
  if (one.what.attempt == 0 || one.stream.pending_bytes() > pending_most) return false;
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
