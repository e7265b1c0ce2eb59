#include <fmt/format.h>

#include <chrono>
#include <string>
#include <vector>

#include "apps/muster/bench_appwrapper/hub.h"
#include "apps/muster/bench_appwrapper/parts.h"
#include "apps/muster/bench_appwrapper/wrapper_objects.h"
#include "apps/muster/bench_kube/parts.h"

namespace muster::app {
namespace {

constexpr double reach = 0.7;

std::string name_of(std::size_t number) { return fmt::format("aw-{}", number); }

/// The writes alone, by one client: AppWrapper, Job, and the status in one patch.
Result<double> limit_rate(const WrapperBenchOptions& options) {
  bench_progress("limit: cluster");
  const auto hub = BenchHub::start(options);
  if (!hub) return hub.error();
  bench_progress("limit: writing");
  double took = 0;
  for (const auto& request : std::vector<std::function<kube::ApiRequest(std::size_t)>>{
           [](std::size_t n) { return create_wrapper(name_of(n), PodSize::Fits); },
           [](std::size_t n) { return create_wrapped_job(name_of(n)); },
           [](std::size_t n) { return patch_dispatched(name_of(n)); }}) {
    const auto one = (*hub)->send(options.wrappers, request);
    if (!one) return one.error();
    took += *one;
  }
  return options.wrappers / took;
}

/// From the first submit until the last is seen dispatched.
Result<double> muster_rate(const WrapperBenchOptions& options) {
  bench_progress("muster: cluster");
  const auto hub = BenchHub::start(options);
  if (!hub) return hub.error();
  if (const Status serving = (*hub)->serve(); !serving) return serving.error();
  bench_progress("muster: submitting");
  const auto begin = Sightings::Clock::now();
  const auto sent = (*hub)->send(
      options.wrappers, [](std::size_t n) { return create_wrapper(name_of(n), PodSize::Fits); });
  if (!sent) return sent.error();
  const auto all = static_cast<std::size_t>(options.wrappers) + 1;  // and the first
  const Status dispatched = (*hub)->sightings().wait_for(WrapperStage::Dispatched, all);
  if (!dispatched) return dispatched.error();
  return options.wrappers / std::chrono::duration<double>(Sightings::Clock::now() - begin).count();
}

}  // namespace

Status measure_wrapper_dispatch(const WrapperBenchOptions& options, Sheet& sheet) {
  std::vector<Turn> turns;
  for (int i = 0; i < options.turns; ++i) {
    const auto limit = limit_rate(options);
    if (!limit) return limit.error();
    const auto muster = muster_rate(options);
    if (!muster) return muster.error();
    turns.push_back({*muster, *limit});
  }
  BenchRow row = row_of(fmt::format("{} AppWrappers, {} nodes, submit to last dispatched",
                                    options.wrappers, options.nodes),
                        "/s", turns);
  sheet.add({.measure = "limit: AppWrapper, Job, one status patch",
             .value = row.limit.value_or(0),
             .unit = row.unit,
             .note = "by one client, 32 at once"});
  row.reach = reach;
  row.is_reach_of_ratio = true;
  sheet.add(row);
  return Ok{};
}

}  // namespace muster::app
