// Logs that live as long as the object: for tests and for the simulator.
#pragma once

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include "ports/log_store.h"

namespace muster::ports {

class MemoryLogStore : public LogStore {
 public:
  Status append(const Attempt& attempt, std::span<const LogLine> lines) override {
    const std::lock_guard lock(mutex_);
    Log& log = logs_[attempt];
    for (const LogLine& line : lines) {
      std::string_view text = line.text;
      bool continues = line.continues;
      do {
        LogLine part{line.at,     line.pod,
                     line.stream, std::string(text.substr(0, log_line_max)),
                     log.next++,  std::exchange(continues, true)};
        text.remove_prefix(part.text.size());
        log.appended[{part.pod, part.stream}] += part.text.size();
        log.lines.push_back(std::move(part));
      } while (!text.empty());
    }
    return Ok{};
  }

  Result<LogPage> read(const Attempt& attempt, const LogQuery& query) const override {
    const std::lock_guard lock(mutex_);
    LogPage page;
    page.next = query.from;
    const auto it = logs_.find(attempt);
    if (it == logs_.end()) return page;
    const std::uint64_t from = first_of(it->second, query);
    for (const LogLine& line : it->second.lines) {
      if (line.offset < from) continue;
      if (page.lines.size() == query.limit) {
        page.end = false;
        return page;
      }
      page.next = line.offset + 1;
      if (chooses(query, line)) page.lines.push_back(line);
    }
    page.next = std::max(page.next, from);
    return page;
  }

  Result<std::uint64_t> appended(const Attempt& attempt, std::string_view pod,
                                 Stream stream) const override {
    const std::lock_guard lock(mutex_);
    const auto it = logs_.find(attempt);
    if (it == logs_.end()) return std::uint64_t{0};
    const auto found = it->second.appended.find({std::string(pod), stream});
    return found == it->second.appended.end() ? std::uint64_t{0} : found->second;
  }

  Result<std::vector<std::uint32_t>> attempts(std::string_view job) const override {
    const std::lock_guard lock(mutex_);
    std::vector<std::uint32_t> numbers;
    for (const auto& [attempt, log] : logs_) {
      if (attempt.job == job) numbers.push_back(attempt.number);
    }
    return numbers;
  }

  Result<std::uint64_t> retain(Time now, const LogLimits& limits) override {
    const std::lock_guard lock(mutex_);
    std::uint64_t before = bytes();
    const std::uint64_t at_first = before;
    std::erase_if(logs_, [&](const auto& item) {
      return item.second.lines.empty() || item.second.lines.back().at <= now - limits.age;
    });
    for (auto& [attempt, log] : logs_) {
      while (log.bytes() > limits.attempt_bytes) log.lines.erase(log.lines.begin());
    }
    while ((before = bytes()) > limits.total_bytes) {
      logs_.erase(std::min_element(logs_.begin(), logs_.end(), [](const auto& a, const auto& b) {
        return a.second.newest() < b.second.newest();
      }));
    }
    return at_first - before;
  }

 private:
  struct Log {
    std::vector<LogLine> lines;
    std::uint64_t next = 1;
    std::map<std::pair<std::string, Stream>, std::uint64_t> appended;

    std::uint64_t bytes() const {
      std::uint64_t sum = 0;
      for (const LogLine& line : lines) sum += line.text.size();
      return sum;
    }
    Time newest() const { return lines.empty() ? Time{0} : lines.back().at; }
  };
  /// The offset where an answer begins.
  static std::uint64_t first_of(const Log& log, const LogQuery& query) {
    if (!query.tail) return query.from;
    std::uint64_t from = std::max(query.from, log.next);
    std::size_t left = *query.tail;
    for (auto line = log.lines.rbegin(); line != log.lines.rend() && left > 0; ++line) {
      if (line->offset < query.from || !chooses(query, *line) || !counts(query, *line)) continue;
      from = line->offset;
      --left;
    }
    return from;
  }
  std::uint64_t bytes() const {
    std::uint64_t sum = 0;
    for (const auto& [attempt, log] : logs_) sum += log.bytes();
    return sum;
  }

  mutable std::mutex mutex_;
  std::map<Attempt, Log> logs_;
};

}  // namespace muster::ports
