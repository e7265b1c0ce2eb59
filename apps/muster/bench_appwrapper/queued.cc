#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "apps/muster/bench_appwrapper/hub.h"
#include "apps/muster/bench_appwrapper/parts.h"
#include "apps/muster/bench_appwrapper/wrapper_objects.h"

namespace muster::app {
namespace {

constexpr double reach_bytes = 4096;
constexpr std::chrono::seconds rest{20};
constexpr std::chrono::seconds told_every{10};

/// Tells how far they are as long as it is there, also where nobody sits at a terminal: 100,000
/// take minutes.
class ProgressLines {
 public:
  ProgressLines(const Sightings& sightings, int wanted)
      : thread_([this, &sightings, wanted] { tell(sightings, wanted); }) {}
  ~ProgressLines() {
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
    }
    over_.notify_all();
    thread_.join();
  }

 private:
  void tell(const Sightings& sightings, int wanted) {
    const auto begin = Sightings::Clock::now();
    std::unique_lock lock(mutex_);
    while (!over_.wait_for(lock, told_every, [this] { return is_over_; })) {
      const std::chrono::duration<double> took = Sightings::Clock::now() - begin;
      fmt::print(stderr, "queued: {} of {} created, {} queued after {:.0f} s\n",
                 sightings.count(WrapperStage::Created), wanted,
                 sightings.count(WrapperStage::Queued), took.count());
    }
  }

  std::mutex mutex_;
  std::condition_variable over_;
  bool is_over_ = false;  // guarded by mutex_
  std::thread thread_;    // the last: it begins when all else is there
};

/// A version of AppWrappers, of which so many are to wait.
struct Queued {
  int count = 0;
  std::string words = {};  // "100 AppWrappers"
  kube::ApiRequest (*create)(const std::string& name, PodSize size) = nullptr;
};

/// Creates them and waits until all wait. A note on how long it took.
Result<std::string> queue_up(BenchHub& hub, const Queued& which) {
  bench_progress("queued: submitting");
  const auto begin = Sightings::Clock::now();
  const ProgressLines lines(hub.sightings(), which.count);
  const auto sent = hub.send(which.count, [&](std::size_t n) {
    return which.create(fmt::format("big-{}", n), PodSize::FitsNowhere);
  });
  if (!sent) return sent.error();
  bench_progress("queued: queueing");
  const auto all = static_cast<std::size_t>(which.count) + 1;  // and the first
  if (Status queued = hub.sightings().wait_for(WrapperStage::Queued, all); !queued)
    return queued.error();
  const double took = std::chrono::duration<double>(Sightings::Clock::now() - begin).count();
  return fmt::format("submitted in {:.0f} s, all queued after {:.0f} s", *sent, took);
}

Status measure(const WrapperBenchOptions& options, const Queued& which, Sheet& sheet) {
  bench_progress("queued: cluster");
  const auto hub = BenchHub::start(options, AuditLog::None);  // nobody reads so long a one
  if (!hub) return hub.error();
  if (Status serving = (*hub)->serve(); !serving) return serving;
  const auto before = (*hub)->server().resident_bytes();
  if (!before) return before.error();
  const auto note = queue_up(**hub, which);
  if (!note) return note.error();
  std::this_thread::sleep_for(
      std::min<std::chrono::milliseconds>(rest, std::chrono::milliseconds(which.count)));
  const auto after = (*hub)->server().resident_bytes();
  if (!after) return after.error();
  sheet.add({.measure = fmt::format("memory of the server, {} queued", which.words),
             .value = (*after - *before) / which.count,
             .unit = "bytes each",
             .reach = reach_bytes,
             .direction = Reach::AtMost,
             .note = fmt::format("resident {:.0f} MiB, before {:.0f}; {}", *after / 1048576,
                                 *before / 1048576, *note)});
  bench_progress("queued: canaries");
  const auto lag = canary_row(**hub, fmt::format("submit to Job, {} queued", which.words), "fits");
  if (!lag) return lag.error();
  sheet.add(*lag);
  return Ok{};
}

}  // namespace

Status measure_queued_wrappers(const WrapperBenchOptions& options, Sheet& sheet) {
  const Queued old{options.queued, fmt::format("{} AppWrappers", options.queued), create_wrapper};
  if (Status measured = measure(options, old, sheet); !measured) return measured;
  if (options.queued_v1beta2 == 0) return Ok{};
  const Queued newer{options.queued_v1beta2, fmt::format("{} of v1beta2", options.queued_v1beta2),
                     create_wrapper_v1beta2};
  return measure(options, newer, sheet);
}

}  // namespace muster::app
