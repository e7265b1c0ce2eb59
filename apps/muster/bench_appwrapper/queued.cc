#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <optional>
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

}  // namespace

Status measure_queued_wrappers(const WrapperBenchOptions& options, Sheet& sheet) {
  bench_progress("queued: cluster");
  const auto hub = BenchHub::start(options, AuditLog::None);  // nobody reads so long a one
  if (!hub) return hub.error();
  if (Status serving = (*hub)->serve(); !serving) return serving;
  const auto before = (*hub)->server().resident_bytes();
  if (!before) return before.error();
  bench_progress("queued: submitting");
  const auto begin = Sightings::Clock::now();
  std::optional<ProgressLines> lines(std::in_place, (*hub)->sightings(), options.queued);
  const auto sent = (*hub)->send(options.queued, [](std::size_t n) {
    return create_wrapper(fmt::format("big-{}", n), PodSize::FitsNowhere);
  });
  if (!sent) return sent.error();
  bench_progress("queued: queueing");
  const auto all = static_cast<std::size_t>(options.queued) + 1;  // and the first
  if (Status queued = (*hub)->sightings().wait_for(WrapperStage::Queued, all); !queued)
    return queued;
  lines.reset();
  const double took = std::chrono::duration<double>(Sightings::Clock::now() - begin).count();
  std::this_thread::sleep_for(
      std::min<std::chrono::milliseconds>(rest, std::chrono::milliseconds(options.queued)));
  const auto after = (*hub)->server().resident_bytes();
  if (!after) return after.error();
  sheet.add({.measure = fmt::format("memory of the server, {} AppWrappers queued", options.queued),
             .value = (*after - *before) / options.queued,
             .unit = "bytes each",
             .reach = reach_bytes,
             .direction = Reach::AtMost,
             .note = fmt::format("resident {:.0f} MiB, before {:.0f}; submitted in {:.0f} s, all "
                                 "queued after {:.0f} s",
                                 *after / 1048576, *before / 1048576, *sent, took)});
  bench_progress("queued: canaries");
  const auto lag = canary_row(
      **hub, fmt::format("submit to Job, {} AppWrappers queued", options.queued), "fits");
  if (!lag) return lag.error();
  sheet.add(*lag);
  return Ok{};
}

}  // namespace muster::app
