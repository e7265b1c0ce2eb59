// The readers of workloads: a Kueue generator, openb lists, a Gavel trace. The first line of an
// input names the reader; openb's node list and pod list stand in one text with `----` between,
// the tabs of a trace are semicolons.
// Whatever is accepted can be simulated: valid jobs in order, names that are there once.
#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/check.h"
#include "sim/read_kueue.h"
#include "sim/read_traces.h"
#include "tests/fuzz/lines.h"

namespace {

using namespace muster;

constexpr sim::ReadLimits limits = {.jobs = 300, .machines = 100};

/// The text below a first line that is exactly `kind`.
std::optional<std::string> below(const std::string& text, std::string_view kind) {
  if (!text.starts_with(kind) || text.size() <= kind.size() || text[kind.size()] != '\n') return {};
  return text.substr(kind.size() + 1);
}

void check(const sim::Workload& w) {
  MUSTER_CHECK(w.jobs.size() <= limits.jobs && w.machines.size() <= limits.machines, "too many");
  std::set<std::string> queues;
  for (const model::QueueSpec& queue : w.queues) {
    MUSTER_CHECK(queues.insert(queue.name).second, "queue '{}' is there twice", queue.name);
    MUSTER_CHECK(queue.parent.empty() || queues.contains(queue.parent), "{}", queue.parent);
    for (const auto& [name, limit] : queue.limits) {
      MUSTER_CHECK(limit.maximum.value_or(0) <= model::amount_max, "maximum of {}", queue.name);
    }
  }
  std::set<std::string> ids;
  Time last{0};
  for (const sim::SimJob& job : w.jobs) {
    const Status valid = model::validate(job.spec);
    MUSTER_CHECK(valid.ok(), "{}: {}", job.spec.id, valid.error().message);
    MUSTER_CHECK(ids.insert(job.spec.id).second, "job '{}' is there twice", job.spec.id);
    MUSTER_CHECK(queues.contains(job.spec.queue), "queue of {}", job.spec.id);
    MUSTER_CHECK(job.submit >= last && !(job.submit + job.run_time).is_never(), "{} at {} for {}",
                 job.spec.id, job.submit.ms, job.run_time.ms);
    MUSTER_CHECK(job.run_time.ms >= 0, "{} runs for {} ms", job.spec.id, job.run_time.ms);
    last = job.submit;
  }
  std::set<std::string> nodes;
  for (const sim::Machine& machine : w.machines) {
    const model::NodeSpec& node = machine.node;
    MUSTER_CHECK(!node.name.empty() && nodes.insert(node.name).second, "node '{}'", node.name);
    MUSTER_CHECK(node.gpu_count >= 0 && node.gpu_count <= 16, "{} GPUs", node.gpu_count);
    for (const std::int64_t amount : {node.allocatable.cpu.v, node.allocatable.memory.v}) {
      MUSTER_CHECK(amount >= 0 && amount <= model::amount_max, "{} of {}", amount, node.name);
    }
  }
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(data, data + size);
  std::optional<Result<sim::Workload>> read;
  if (const auto yaml = below(text, "kueue")) {
    read = sim::read_kueue(*yaml, "file", limits);
  } else if (auto trace = below(text, "gavel")) {
    std::replace(trace->begin(), trace->end(), ';', '\t');
    read = sim::read_gavel(*trace, "file", 0, limits);
  } else if (const auto lists = below(text, "openb")) {
    const std::size_t between = lists->find("----\n");
    if (between == std::string::npos) return -1;
    read = sim::read_openb({lists->substr(between + 5), "file", lists->substr(0, between), "file"},
                           limits);
  } else {
    return -1;  // not kept
  }
  if (*read) {
    check(**read);
  } else {
    MUSTER_CHECK(read->error().message.starts_with("file:"), "{}", read->error().message);
  }
  return 0;
}
