// The output of jobs: lines in the order they came, for each attempt of a job. Offsets are places
// in that order: opaque, ascending, and good for as long as the line is kept, so a reader follows a
// log by asking from the offset that the last answer gave. Lines may be cut off at the front by
// retention, never in the middle.
//
// A line that was appended survives the end of the process, but not a failure of the machine.
//
// Thread contract: any thread. Appends to one attempt come from one thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "ports/cluster.h"
#include "ports/stream.h"

namespace muster::ports {

struct LogLine {
  Time at;
  std::string pod;
  Stream stream = Stream::Out;
  std::string text;          // with its newline; without one if the line goes on or was the last
  std::uint64_t offset = 0;  // given by the store
  bool continues = false;    // a line of this pod and stream whose beginning was appended before
  friend bool operator==(const LogLine&, const LogLine&) = default;
};

/// Which lines; empty parts do not choose.
struct LogQuery {
  std::uint64_t from = 0;                // offsets of this and more
  std::optional<std::size_t> tail = {};  // of those, begin with the last so many
  Time since = {};
  std::string contains = {};
  std::string pod = {};
  std::size_t limit = 1000;  // lines in an answer
};

/// Whether a query wants a line, its offset and limits apart.
inline bool chooses(const LogQuery& query, const LogLine& line) {
  return line.at >= query.since && (query.pod.empty() || query.pod == line.pod) &&
         line.text.find(query.contains) != std::string::npos;
}

/// Whether a chosen line is one of those that `tail` counts. A line that was kept in parts counts
/// once, where it begins; a query that chooses by text or time chooses parts, and counts them.
inline bool counts(const LogQuery& query, const LogLine& line) {
  return !line.continues || !query.contains.empty() || query.since > Time{};
}

/// `next` is where to go on, now or when there is more; `end`: there was nothing more yet.
struct LogPage {
  std::vector<LogLine> lines;
  std::uint64_t next = 0;
  bool end = true;
};

struct LogLimits {
  Duration age = hours(24 * 14);
  std::uint64_t attempt_bytes = std::uint64_t{256} << 20;  // oldest lines of an attempt go first
  std::uint64_t total_bytes = std::uint64_t{16} << 30;     // oldest attempts go first
};

constexpr std::size_t log_line_max = 64 * 1024;  // bytes; what is longer is kept in parts

class LogStore {
 public:
  virtual ~LogStore() = default;
  virtual Status append(const Attempt& attempt, std::span<const LogLine> lines) = 0;
  /// Of an attempt without output: an empty page.
  virtual Result<LogPage> read(const Attempt& attempt, const LogQuery& query) const = 0;
  /// Bytes of text that were ever appended for this stream of a pod: whoever copies a pod's output
  /// goes on from there after a restart.
  virtual Result<std::uint64_t> appended(const Attempt& attempt, std::string_view pod,
                                         Stream stream) const = 0;
  /// Numbers of the attempts of a job that have output, ascending.
  virtual Result<std::vector<std::uint32_t>> attempts(std::string_view job) const = 0;
  /// Removes what is past its limits; returns bytes.
  virtual Result<std::uint64_t> retain(Time now, const LogLimits& limits) = 0;
};

}  // namespace muster::ports
