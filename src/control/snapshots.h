// Writes a snapshot whenever the journal has grown by so many entries. It keeps no second world all
// the time and asks nothing of the loop: a thread of its own recovers the world from the store, as
// a restart would, and writes that (docs/adr/0010). What was written is read back; only then is it
// proven, and the journal before it may be trimmed.
//
// Thread contract: note and proven from any thread, cheaply; the rest from the thread that made it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "base/result.h"
#include "base/time.h"
#include "ports/store.h"
#include "sched/policy.h"

namespace muster::control {

struct SnapshotReport {
  std::uint64_t sequence = 0;  // the newest entry in it
  std::uint64_t jobs = 0;
  Duration took;
};

class Snapshots {
 public:
  struct Options {
    /// Entries between two snapshots. With many jobs in the books it is more: a quarter of them, so
    /// that the work of writing stays in proportion to what happens.
    std::uint64_t every = 100'000;
    Duration retry_pause = seconds(30);  // after one that failed
    std::function<sched::Policy()> policy;
    std::function<void()> begun = [] {};  // on the thread that writes one, before anything else
    // After each try.
    std::function<void(const SnapshotReport&)> written;
    std::function<void(const Error&)> failed;
  };

  Snapshots(ports::Store& store, Options options);
  ~Snapshots() { stop(); }
  Snapshots(const Snapshots&) = delete;
  Snapshots& operator=(const Snapshots&) = delete;

  /// `proven`: of the snapshot from which the world was recovered; 0: none.
  void start(std::uint64_t proven);
  /// The journal goes so far now. 0 says nothing.
  void note(std::uint64_t sequence);
  /// The one under way is given up.
  void stop();
  std::uint64_t proven() const { return proven_; }

 private:
  Result<SnapshotReport> write_apart();
  void run();
  bool is_due() const { return newest_ >= proven_ + every_; }

  ports::Store& store_;
  const Options options_;
  std::atomic<std::uint64_t> proven_{0};
  std::atomic<std::uint64_t> newest_{0};
  std::atomic<std::uint64_t> every_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

/// Writes the world of the journal's present end and reads it back. Once `goes_on` says false it is
/// given up, and as if it had never begun: Fault::Unavailable.
Result<SnapshotReport> write_snapshot(
    ports::Store& store, const sched::Policy& policy,
    const std::function<bool()>& goes_on = [] { return true; });

}  // namespace muster::control
