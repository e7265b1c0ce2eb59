#include <fmt/format.h>

#include <boost/json.hpp>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "apps/muster/bench_appwrapper/hub.h"
#include "apps/muster/bench_appwrapper/parts.h"
#include "apps/muster/bench_appwrapper/wrapper_objects.h"
#include "apps/muster/bench_kube/parts.h"
#include "kube/json.h"

namespace muster::app {
namespace {

constexpr double reach = 4;
constexpr std::string_view user_of_muster = "token-admin";  // tests/e2e/audit.py
constexpr std::chrono::seconds rest{3};                     // what is written late counts too

constexpr std::string_view counted = "aw-";  // and not the first one, which runs on

using Writes = std::map<std::string, int>;  // "create jobs" -> how many

/// All writes of the server that the API server has on record.
Result<Writes> writes_in(const std::string& audit_log) {
  std::ifstream log(audit_log);
  if (!log) return invalid(fmt::format("there is no audit log {}", audit_log));
  Writes writes;
  std::string line;
  while (std::getline(log, line)) {
    boost::json::error_code wrong;
    const boost::json::value event = boost::json::parse(line, wrong);
    if (wrong || kube::text_at(event, {"user", "username"}) != user_of_muster) continue;
    const std::string_view part = kube::text_at(event, {"objectRef", "subresource"});
    ++writes[fmt::format("{} {}{}{}", kube::text_at(event, {"verb"}),
                         kube::text_at(event, {"objectRef", "resource"}), part.empty() ? "" : "/",
                         part)];
  }
  return writes;
}

/// The pods of all that are counted succeed, as kubelets would say it.
Status end_pods(BenchHub& hub) {
  const auto pods =
      hub.client().send(kube::list_request(kube::resources::pods(), bench_namespace, {}));
  if (!pods) return Error{Fault::Unavailable, pods.error().message};
  std::vector<std::string> names;
  for (const boost::json::value& pod : kube::items_at(*pods, {"items"})) {
    if (kube::name_of(pod).starts_with(counted)) names.emplace_back(kube::name_of(pod));
  }
  const auto sent = hub.send(static_cast<int>(names.size()),
                             [&](std::size_t n) { return patch_succeeded(names[n]); });
  return sent ? Status(Ok{}) : Status(sent.error());
}

Status run_to_the_end(BenchHub& hub, int count) {
  const auto all = static_cast<std::size_t>(count);
  bench_progress("writes: submitting");
  const auto sent = hub.send(
      count, [](std::size_t n) { return create_wrapper(fmt::format("aw-{}", n), PodSize::Fits); });
  if (!sent) return sent.error();
  bench_progress("writes: running");
  if (Status running = hub.sightings().wait_for(WrapperStage::Running, all + 1); !running)
    return running;
  if (Status ended = end_pods(hub); !ended) return ended;
  bench_progress("writes: completing");
  if (Status completed = hub.sightings().wait_for(WrapperStage::Completed, all); !completed)
    return completed;
  std::this_thread::sleep_for(rest);
  return Ok{};
}

}  // namespace

Status measure_wrapper_writes(const WrapperBenchOptions& options, Sheet& sheet) {
  bench_progress("writes: cluster");
  const auto hub = BenchHub::start(options);
  if (!hub) return hub.error();
  if (Status serving = (*hub)->serve(); !serving) return serving;
  if (Status running = (*hub)->sightings().wait_for(WrapperStage::Running, 1); !running)
    return running;
  std::this_thread::sleep_for(rest);
  const auto before = writes_in((*hub)->audit_log());
  if (!before) return before.error();
  if (Status done = run_to_the_end(**hub, options.ended); !done) return done;
  auto writes = writes_in((*hub)->audit_log());
  if (!writes) return writes.error();
  double all = 0;
  std::string note;
  for (const auto& [what, count] : *writes) {
    const auto at = before->find(what);
    const int since = count - (at == before->end() ? 0 : at->second);
    if (since == 0) continue;
    if (what != "create jobs") all += since;
    note += fmt::format("{}{} {}", note.empty() ? "" : ", ", since, what);
  }
  sheet.add(
      {.measure = fmt::format("writes beside the Job, submit to completed, of {}", options.ended),
       .value = all / options.ended,
       .unit = "each",
       .reach = reach,
       .direction = Reach::AtMost,
       .note = note});
  return Ok{};
}

}  // namespace muster::app
