#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "apps/muster/bench_appwrapper/hub.h"
#include "apps/muster/bench_appwrapper/parts.h"
#include "apps/muster/bench_appwrapper/wrapper_objects.h"

namespace muster::app {
namespace {

constexpr double reach_s = 1;
constexpr int canaries = 5;

/// One after the other. The slowest is the value: the first comes while the server has most to do.
Result<BenchRow> canary_row(BenchHub& hub, const std::string& title, const std::string& name) {
  std::vector<double> took;
  for (int i = 0; i < canaries; ++i) {
    const auto one = hub.canary(fmt::format("{}-{}", name, i));
    if (!one) return one.error();
    took.push_back(*one);
  }
  return BenchRow{.measure = title,
                  .value = *std::max_element(took.begin(), took.end()),
                  .unit = "s",
                  .reach = reach_s,
                  .direction = Reach::AtMost,
                  .note = fmt::format("the slowest of {}; the first {:.3f}, median {:.3f}",
                                      canaries, took.front(), median(took))};
}

}  // namespace

Status measure_unfit_wrappers(const WrapperBenchOptions& options, Sheet& sheet) {
  bench_progress("unfit: cluster");
  const auto hub = BenchHub::start(options);
  if (!hub) return hub.error();
  if (Status serving = (*hub)->serve(); !serving) return serving;
  bench_progress("unfit: submitting");
  const auto name = [](std::size_t n) { return fmt::format("big-{}", n); };
  const auto sent = (*hub)->send(
      options.unfit, [&](std::size_t n) { return create_wrapper(name(n), PodSize::FitsNowhere); });
  if (!sent) return sent.error();
  const auto behind = canary_row(
      **hub, fmt::format("submit to Job, behind {} that do not fit", options.unfit), "behind");
  if (!behind) return behind.error();
  sheet.add(*behind);
  bench_progress("unfit: queueing");
  const auto unfit = static_cast<std::size_t>(options.unfit);
  if (Status queued = (*hub)->sightings().wait_for(WrapperStage::Queued, unfit + canaries + 1);
      !queued)
    return queued;
  bench_progress("unfit: deleting");
  const auto deleted =
      (*hub)->send(options.unfit, [&](std::size_t n) { return delete_wrapper(name(n)); });
  if (!deleted) return deleted.error();
  const auto after = canary_row(
      **hub, fmt::format("submit to Job, {} that did not fit deleted", options.unfit), "after");
  if (!after) return after.error();
  sheet.add(*after);
  return Ok{};
}

}  // namespace muster::app
