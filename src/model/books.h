// The books of the engine as plain records: what a snapshot holds. sched/books makes them from a
// World and makes a World from them; the store turns them into bytes and back. They refer to each
// other by place: a queue by its number among the queues, a job by its slot.
//
// Records come in the order of BookRecord's list, the header first and BookEnd last. Sight (nodes
// beyond those that hold something, foreign pods) is not in the books. What follows from other
// records (lines, timers, use of quota) is not written.
//
// Pure values. Thread contract: none needed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/time.h"
#include "model/cluster.h"
#include "model/event.h"
#include "model/job.h"
#include "model/queue.h"
#include "model/state.h"

namespace muster::model {

/// A label of pods that selectors ask for; without a value whatever it is.
struct BookAskedLabel {
  std::string key;
  std::optional<std::string> value;
};

struct BookHeader {
  std::uint64_t hash = 0;           // of the world that these books make
  Time last;                        // of the newest event in it
  std::uint64_t events = 0;         // folded so far
  std::uint64_t newest_submit = 0;  // greatest sequence of a job
  std::uint64_t jobs = 0;           // records that follow
  std::uint32_t job_slots = 0;
  std::uint32_t reservation_slots = 0;
  // Names in the order in which the engine met them: that order numbers them.
  std::vector<std::string> gpu_types;
  std::vector<std::string> extended;
  std::vector<std::string> label_keys;
  std::vector<std::string> resources;
  /// None: written before labels that nobody asks for were taken out of shapes.
  std::optional<std::vector<BookAskedLabel>> asked_labels;
  // Past estimates against what happened.
  std::uint64_t scored = 0;
  std::uint64_t inside_band = 0;
  std::uint64_t early = 0;
  std::uint64_t late = 0;
  std::int64_t error_sum_ms = 0;
  std::vector<std::uint32_t> ratio;
};

struct BookCluster {
  ClusterSpec spec;
  bool joined = true;
  Health health = Health::Ready;
  Time health_since;
};

/// One that holds pods or is reserved.
struct BookNode {
  std::uint32_t cluster = 0;
  std::string name;
};

struct BookPool {
  PoolSpec spec;
  bool has_cluster = true;  // the cluster was known when the pool was set
};

struct BookFleetPool {
  FleetPoolSpec spec;
};

struct BookLimit {
  std::uint32_t resource = 0;
  std::int64_t guaranteed = -1;  // -1: not set
  std::int64_t maximum = -1;
  std::int64_t borrow = -1;
  std::int64_t lend = -1;
};

struct BookQueue {
  std::string name;  // empty: the hidden root of its tree
  std::string tree;
  std::optional<std::uint32_t> parent;
  std::uint32_t place = 0;  // among the children of its parent
  bool alive = false;
  std::uint32_t weight = 1;
  Strategy strategy = Strategy::Backfill;
  int priority_cap = 1'000'000'000;
  std::vector<BookLimit> limits;
  std::vector<std::int64_t> remembered;  // half-life average of use, by resource
  Time remembered_at;
};

struct BookShape {
  Gang gang;
  std::vector<std::int64_t> demand;  // pods asked for so far, by set
};

/// What equal jobs share.
struct BookLine {
  std::uint32_t queue = 0;
  std::vector<std::uint32_t> extra_queues;
  std::uint32_t shape = 0;
  int priority = 0;
  Duration run_limit;
  bool stands = true;  // the engine has a line of it; false: its jobs stand in none
};

/// Run times of one user and name.
struct BookHistory {
  std::string user;
  std::string name;
  std::vector<std::int64_t> recent_ms;
  std::uint32_t next = 0;
  std::optional<Time> idle_since;  // no job of it is in the books
};

struct BookPod {
  std::uint32_t set = 0;
  std::uint32_t node = 0;
  std::uint32_t devices = 0;
  std::uint16_t each = 0;
};

struct BookCharge {
  std::uint32_t resource = 0;
  std::int64_t amount = 0;
};

/// An attempt that holds nodes and quota.
struct BookActive {
  std::uint32_t cluster = 0;
  std::uint32_t place = 0;  // in the engine's list of the cluster
  std::vector<BookPod> pods;
  std::vector<BookCharge> charges;
  Time expected_end;
  Time placed_at;
  std::optional<Time> started_at;
  Time checkpoint_at;
  bool stopping = false;
  StopWhy stop = StopWhy::Priority;
  bool cancelled = false;
  std::optional<std::uint32_t> beneficiary;  // slot
  bool held = false;                         // of stopping: then it is held
  Demise demise = {};
};

/// Of the pods of a set.
struct BookLabel {
  std::uint32_t set = 0;
  std::string key;
  std::string value;
};

struct BookJob {
  std::uint32_t slot = 0;
  std::string id;
  std::uint64_t seq = 0;
  std::uint32_t line = 0;
  std::uint32_t history = 0;
  JobState state = JobState::Waiting;
  std::uint32_t attempt = 0;
  std::uint32_t failures = 0;
  std::uint32_t requeues = 0;
  std::vector<std::uint32_t> failed_in;  // clusters, the latest last
  std::vector<BookLabel> spare_labels = {};
  bool ran = false;
  bool not_yet = false;  // a timer will let it join its line
  bool doomed = false;   // a job it depends on failed
  Time submitted;
  Time eligible_at;
  std::optional<Time> deadline;
  std::optional<Time> finished;
  std::vector<std::string> depends_on;
  // The estimate given when it was submitted, from then on; all 0: none was.
  Duration first_low;
  Duration first_expected;
  Duration first_high;
  std::optional<BookActive> active;
};

struct BookReservation {
  std::uint32_t slot = 0;
  std::uint32_t job = 0;
  std::uint32_t cluster = 0;
  Time start;
  bool preempting = false;
  std::vector<std::uint32_t> nodes;
  std::vector<BookCharge> charges;
};

/// An attempt left behind in a lost cluster.
struct BookOrphan {
  std::uint32_t job = 0;
  std::uint32_t attempt = 0;
  BookActive active;
};

/// Says that nothing is missing.
struct BookEnd {
  std::vector<std::uint32_t> free_slots;  // of jobs; the last is used next
};

using BookRecord =
    std::variant<BookHeader, BookCluster, BookNode, BookPool, BookFleetPool, BookQueue, BookShape,
                 BookLine, BookHistory, BookJob, BookReservation, BookOrphan, BookEnd>;

}  // namespace muster::model
