#include "control/snapshots.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "control/recovery.h"
#include "sched/books.h"

namespace muster::control {

Result<SnapshotReport> write_snapshot(ports::Store& store, const sched::Policy& policy,
                                      const std::function<bool()>& goes_on) {
  const auto begin = std::chrono::steady_clock::now();
  SnapshotReport report;
  {
    Result<Recovered> shadow = recover(store, policy, {{}, {}, goes_on});
    if (!shadow) return shadow.error();
    report.sequence = shadow->sequence;
    if (shadow->sequence > shadow->snapshot) {
      sched::BookWriter writer(shadow->world, shadow->last);
      const auto next = [&]() -> Result<std::optional<model::BookRecord>> {
        if (!goes_on()) return Error{Fault::Unavailable, "the snapshot was given up"};
        return writer.next();
      };
      const Status saved = store.save_snapshot(report.sequence, next);
      if (!saved) return saved.error();
    }
  }
  const Result<Recovered> read = read_snapshot(store, {{}, {}, goes_on});
  if (!read) return read.error();
  if (read->snapshot != report.sequence)
    return Error{Fault::Conflict, fmt::format("the snapshot of entry {} is gone, there is one of "
                                              "entry {}: does another server write them?",
                                              report.sequence, read->snapshot)};
  report.jobs = read->world.live_jobs();
  report.took = Duration{std::chrono::duration_cast<std::chrono::milliseconds>(
                             std::chrono::steady_clock::now() - begin)
                             .count()};
  return report;
}

Snapshots::Snapshots(ports::Store& store, Options options)
    : store_(store),
      options_(std::move(options)),
      every_(std::max<std::uint64_t>(options_.every, 1)) {}

void Snapshots::start(std::uint64_t proven) {
  proven_ = proven;
  thread_ = std::thread([this] { run(); });
}

void Snapshots::note(std::uint64_t sequence) {
  if (sequence == 0) return;
  const bool was_due = is_due();
  newest_ = sequence;
  if (was_due || !is_due()) return;
  {
    const std::lock_guard lock(mutex_);
  }  // whoever looked before this has begun to wait
  changed_.notify_one();
}

void Snapshots::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

/// By a thread that ends with it: allocators keep what a thread has freed for that thread, and this
/// was a second world.
Result<SnapshotReport> Snapshots::write_apart() {
  Result<SnapshotReport> written = Error{Fault::Unavailable, "no thread"};
  std::thread writer([&] {
    options_.begun();
    written = write_snapshot(store_, options_.policy(), [this] { return !stopping_; });
  });
  writer.join();
  return written;
}

void Snapshots::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stopping_ || is_due(); });
    if (stopping_) return;
    lock.unlock();
    const Result<SnapshotReport> written = write_apart();
    if (written) {
      proven_ = written->sequence;
      every_ = std::max({options_.every, written->jobs / 4, std::uint64_t{1}});
      options_.written(*written);
    } else if (!stopping_) {
      options_.failed(written.error());
    }
    lock.lock();
    if (!written)
      changed_.wait_for(lock, std::chrono::milliseconds(options_.retry_pause.ms),
                        [this] { return stopping_.load(); });
  }
}

}  // namespace muster::control
