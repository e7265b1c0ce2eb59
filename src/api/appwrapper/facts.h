// What is known of an AppWrapper and of the job it became: all that its status is made of. Plain
// values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/boxed.h"
#include "base/shared_text.h"
#include "base/time.h"
#include "model/ailment.h"
#include "model/job_row.h"
#include "ports/attempt_sights.h"
#include "work/wrapped/wrapped_job.h"

namespace muster::api {

/// Why its job waits, as the engine said when it was asked.
struct WrapperWait {
  enum class Kind {
    Room,
    Quota,
    NoCluster,
    NoKind,
    NoCheck,
    Held,
    Turn,
    Takeover  // it runs, or did: what another controller left of it cannot be taken over
  };
  Kind kind = Kind::Room;
  SharedText sentence = {};
  std::optional<Time> expected_start = {};
  std::optional<Time> told_start = {};  // the estimate that was to be written last
  friend bool operator==(const WrapperWait&, const WrapperWait&) = default;
};

/// Of v1beta2: what one of its components is, as the status repeats it.
struct WrapperComponent {
  std::string name = {};
  std::string kind = {};
  std::string api_version = {};
  std::vector<std::pair<std::string, std::int64_t>> pod_sets = {};  // path and replicas
  friend bool operator==(const WrapperComponent&, const WrapperComponent&) = default;
};

/// What its author asked for, as far as the status repeats it.
struct WrapperAsk {
  int priority = 0;
  int min_available = 0;
  Duration first_wait{0};  // for its pods, before it is requeued; 0: it is not
  Duration next_wait{0};   // after the first requeue, if they grow exponentially
  Duration wait_most{0};   // 0: without end
  work::GrowthType wait_growth = work::GrowthType::None;
  bool names_its_end = false;  // an item says what completes it
  bool is_held = false;        // v1beta2: spec.suspend
  bool is_unread = false;      // its spec does not read any more: what was written of it stands
  Duration run_limit{0};       // 0: none
  work::Totals totals = {};
  std::vector<WrapperComponent> components = {};
  std::uint64_t content = 0;  // of what its job was made: see editions.h; 0: not known
  Boxed<std::vector<std::string>> warnings = {};  // what it says and does not get
  Duration success_ttl{0};  // v1beta2: deleted so long after it succeeded; 0: never
  Duration failed_ttl{0};   // v1beta2: what it wraps is kept so long after a failure
  friend bool operator==(const WrapperAsk&, const WrapperAsk&) = default;
};

struct WrapperFacts {
  const std::string* job = nullptr;  // its id, where it stays
  WrapperAsk ask = {};
  bool is_mcad = false;      // the profile
  bool is_labelled = false;  // it is no AppWrapper but what runs itself: see labelled_desk.h
  bool is_deleting = false;
  bool keeps_failed = false;  // see failed_before: what it made is kept, which may be gone by now
  Boxed<std::string> stuck = {};             // it is deleted and does not go: why
  Boxed<std::string> ignored = {};           // it was changed, and its job is not: why
  Boxed<std::string> refusal = {};           // it cannot become a job: why
  std::optional<model::JobCourse> row = {};  // once its job is in the books
  std::optional<WrapperWait> wait = {};      // of a job that waits
  Boxed<ports::AttemptSight> sight = {};     // of row->attempt; of another one it says nothing
  /// v1beta2: an earlier server said that it failed for good: why.
  Boxed<std::string> failed_before = {};

  /// Something was seen of the job's newest attempt.
  bool is_seen() const { return row && row->attempt > 0 && sight->attempt.number == row->attempt; }
  /// It failed for good, and what the newest attempt made is still there.
  bool is_kept_failure() const {
    return keeps_failed || (is_seen() && !sight->kept_failure.empty());
  }
  /// The same, or all of it is gone by now.
  bool has_failed_for_good() const { return is_kept_failure() || !failed_before->empty(); }
  /// Of such a failure.
  const std::string& why_kept_failed() const {
    return failed_before->empty() ? sight->kept_failure : *failed_before;
  }
  /// What was wrong with the newest attempt; None: nothing, or nobody tells.
  model::Ailment ailment() const {
    if (is_seen() && sight->ailment != model::Ailment::None) return sight->ailment;
    const bool has_failed =
        row && (row->why == model::EndWhy::Failure || row->why == model::EndWhy::StartFailed);
    return has_failed ? row->ailment : model::Ailment::None;
  }
  /// What it wraps is being removed because of what is wrong with it, and counts until it is gone.
  bool is_removed() const {
    const bool is_out =
        row && (row->state == model::JobState::Starting || row->state == model::JobState::Running);
    return is_out && is_seen() && sight->is_removed;
  }
  /// All objects of the newest attempt were made: seen, or it could not have started.
  bool is_made() const {
    return (is_seen() && sight->is_made) || (row && row->started != Time::never());
  }
  /// The newest attempt ended before all its objects were made: a kind or a namespace is missing,
  /// or a quota of the cluster is full. It is tried again.
  bool could_not_be_made() const {
    return row && row->state == model::JobState::Waiting &&
           row->why == model::EndWhy::StartFailed && !is_made();
  }
  /// Nothing of the newest attempt is there yet; how the one before it went wrong is all there is
  /// to say.
  bool is_tried_again() const {
    return could_not_be_made() ||
           (row && row->state == model::JobState::Starting && row->attempt > 1 && !is_made());
  }
};

}  // namespace muster::api
