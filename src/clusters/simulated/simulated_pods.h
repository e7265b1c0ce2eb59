// The pods of a simulated cluster: a book of attempts that start, run for a while and end as time
// passes. Time is an argument; nothing here waits, so a test can let an hour pass at once.
//
// An attempt that is over stays in the book, so that it never comes back, until it is forgotten.
// Not thread-safe.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"
#include "model/event.h"
#include "ports/cluster.h"

namespace muster::clusters {

class SimulatedPods {
 public:
  struct Timing {
    Duration start = milliseconds(300);  // from create to running
    Duration stop = milliseconds(300);   // from delete to gone
  };
  struct Run {
    Duration time;
    int exit_code = 0;
  };
  explicit SimulatedPods(Timing timing) : timing_(timing) {}

  bool knows(const ports::Attempt& attempt) const { return book_.contains(attempt); }
  /// Nothing if the attempt is known.
  void create(const ports::Attempt& attempt, Run run, Time now);
  /// One that is not known is over at once, and so is one that does not start.
  void remove(const ports::Attempt& attempt, Time now);
  void refuse(const ports::Attempt& attempt, std::string reason, Time now);
  /// What happened until now: who started, who ended.
  std::vector<model::EventBody> pass(Time now);
  /// Nothing happens before.
  Time next() const { return due_.empty() ? Time::never() : due_.begin()->first; }
  /// Started or how it ended; none of one that is unknown, starting or stopping. `again`: when a
  /// gang that did not start may be tried again.
  std::optional<model::EventBody> how(const ports::Attempt& attempt, Time again) const;
  std::size_t size() const { return book_.size(); }
  std::vector<ports::Attempt> alive() const;
  /// Some attempt is starting or stopping.
  bool is_changing() const { return changing_ > 0; }
  /// Forgets those that were over before `when`.
  void forget(Time when);

  /// One line an attempt, and back. Lines that are none are left out.
  std::string text() const;
  std::string line_of(const ports::Attempt& attempt) const;
  void read(std::string_view text);

 private:
  enum class Phase { Starting, Running, Stopping, Over };
  enum class End { Finished, Gone, StartFailed };
  struct Entry {
    Phase phase = Phase::Over;
    Time starts, ends;  // over: when it ended
    int exit_code = 0;
    End end = End::Gone;
    std::string reason;
  };
  void set(const ports::Attempt& attempt, Entry entry);
  static Time due_at(const Entry& entry);
  static bool is_changing(const Entry& entry) {
    return entry.phase == Phase::Starting || entry.phase == Phase::Stopping;
  }

  Timing timing_;
  std::map<ports::Attempt, Entry> book_;
  std::set<std::pair<Time, ports::Attempt>> due_;
  std::size_t changing_ = 0;
};

}  // namespace muster::clusters
