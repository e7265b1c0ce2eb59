// What people see of a job in a list: one row, folded from the job's events alone. The state
// follows the same rules as in the engine (sched/apply), which keeps much more beside it; the
// simulator compares the two at the end of every history.
//
// Pure values. Thread contract: none needed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "model/amount.h"
#include "model/event.h"
#include "model/selector.h"
#include "model/state.h"

namespace muster::model {

/// Why the job last left its nodes, or ended without having any.
enum class EndWhy {
  None,
  Success,
  Failure,  // the work itself failed
  Cancelled,
  StartFailed,  // not ready in time, or pods or nodes lost
  Priority,
  Reclaim,
  Drain,
  RunLimit,
  ClusterLost,
  DependencyFailed,
  DeadlinePassed,
  RetriesExhausted,
  Held,     // it was held and told to stop
  Released  // and released before its pods were gone
};
std::string_view to_text(EndWhy why);
std::optional<EndWhy> parse_end_why(std::string_view text);

/// What becomes of a job.
struct JobCourse {
  std::string queue;
  int priority = 0;
  JobState state = JobState::Waiting;
  std::uint32_t attempt = 0;   // of the newest placement; 0: never placed
  std::uint32_t failures = 0;  // attempts that failed and were tried again
  std::uint32_t max_retries = 0;
  std::string cluster;                // of the newest attempt
  std::string pool = {};              // in which it was placed; empty: none was asked for
  Time submitted;                     // when it entered the books
  Time started = Time::never();       // of the newest attempt
  Time finished = Time::never();      // when it reached a final state
  EndWhy why = EndWhy::None;          // while Stopping: why it is being stopped
  std::optional<int> exit_code = {};  // of the newest attempt that ended by itself
  Ailment ailment = Ailment::None;    // what went wrong, as far as its cluster tells
  std::string reason = {};            // for people: how the newest attempt went wrong
  Duration run_limit{0};              // 0: none
  std::uint32_t pods = 0;             // of the whole gang
  /// Of the whole gang. A share by memory counts as a device until it is placed, and then as the
  /// part of one that it has, or had in the newest attempt.
  MilliGpu gpus;
  friend bool operator==(const JobCourse&, const JobCourse&) = default;
};

struct JobRow : JobCourse {
  std::uint64_t submit = 0;  // the journal's sequence of its submit: newer jobs have greater ones
  std::string id;
  std::string name;
  std::string user;
  std::string payload;  // hash of what to run
  Labels labels = {};   // for people and filters
  friend bool operator==(const JobRow&, const JobRow&) = default;
};

JobRow row_of(const JobSubmitted& event, Time at, std::uint64_t sequence);

/// The job that an event is about; none for events about something else.
const std::string* job_of(const EventBody& body);

/// What an event about this job makes of its course. False if the event does not apply any more, or
/// changes nothing that the row shows; the course is then as before.
bool follow(JobCourse& course, const Event& event);

}  // namespace muster::model
