#include <fmt/format.h>

#include <string>

#include "apps/muster/bench_appwrapper/hub.h"
#include "apps/muster/bench_appwrapper/parts.h"
#include "apps/muster/bench_appwrapper/wrapper_objects.h"

namespace muster::app {

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
  if (Status queued =
          (*hub)->sightings().wait_for(WrapperStage::Queued, unfit + canaries_a_row + 1);
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
