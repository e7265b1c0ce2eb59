// What clusters still have to be told. Derived from World, never stored: a job that is Starting
// wants its create, one that is Stopping its delete, an attempt left behind in a lost cluster its
// delete once the cluster answers again. An entry stays, and is handed over again with growing
// pauses, until an outcome moves the job on.
//
// The loop keeps it current event by event (look_at); rebuild() at start comes to the same entries,
// and the simulator compares the two after every step. Not thread-safe; owned by control/loop.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "ports/cluster.h"
#include "sched/world.h"

namespace muster::control {

/// What is counted for a pod of each set of its gang.
std::vector<model::Resources> counted_of(const sched::World& world, const sched::Job& job);

/// How long to wait for an outcome before saying the same again.
struct Retry {
  Duration first = seconds(5);
  Duration most = minutes(1);
  /// The pause after this many tries: doubles from `first` up to `most`.
  Duration pause(int tries) const;
};

class Outbox {
 public:
  /// `ready_limit`: a gang that is not running this long after its placement is removed, and
  /// queues again when it is gone.
  Outbox(Retry retry, Duration ready_limit) : retry_(retry), ready_limit_(ready_limit) {}

  /// Clusters came, or are described otherwise: holds from now on, also for creates under way that
  /// are not given up.
  void set_ready_limit(Duration limit);
  Duration ready_limit() const { return ready_limit_; }
  /// It was not ready in time, and is being removed.
  bool has_given_up(const ports::Attempt& attempt) const;
  /// Everything anew from the world, due at once.
  void rebuild(const sched::World& world, Time now);
  /// An event about this job was applied.
  void look_at(const sched::World& world, sched::JobSlot slot, Time now);
  /// The cluster answers again: what it has to be told is due now.
  void wake(const std::string& cluster, Time now);
  /// What is due, in the order of (time, job, attempt); each entry is put off by its next pause.
  /// Clusters that cannot be reached get nothing.
  std::vector<ports::Action> take_due(const sched::World& world, Time now);
  Time next() const { return due_.empty() ? Time::never() : due_.begin()->first; }
  std::size_t size() const { return entries_.size(); }
  /// "job/attempt verb cluster" per line, to compare two outboxes.
  std::string text() const;

 private:
  struct Entry {
    ports::Verb verb = ports::Verb::Create;
    std::string cluster;
    int tries = 0;
    Time due;
    Time ready_by = Time::never();  // of a create
  };
  void want(const ports::Attempt& attempt, Entry entry);
  void schedule(const ports::Attempt& attempt, Entry& entry, Time due);

  Retry retry_;
  Duration ready_limit_;
  std::map<ports::Attempt, Entry> entries_;
  std::set<std::pair<Time, ports::Attempt>> due_;
};

}  // namespace muster::control
