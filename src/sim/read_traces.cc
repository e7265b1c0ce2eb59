#include "sim/read_traces.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <span>

#include "base/text.h"
#include "sim/openb.h"

namespace muster::sim {
namespace {

__extension__ using Wide = __int128;

constexpr std::int64_t seconds_max = std::int64_t{1} << 40;

Error wrong(const std::string& file, std::size_t line, const std::string& what) {
  return invalid(fmt::format("{}:{}: {}", file, line, what));
}

SimJob job_of(OpenbPod pod) {
  SimJob job;
  job.spec.id = std::move(pod.name);
  job.spec.queue = pod.qos.empty() ? "pods" : std::move(pod.qos);
  job.spec.name = job.spec.queue;
  job.spec.user = job.spec.queue;
  job.spec.gang.sets.push_back(std::move(pod.set));
  const auto row = static_cast<std::int64_t>(pod.line) - 2;  // below the header
  job.submit = pod.created.value_or(Time{row * 1000});
  job.run_time = pod.created ? pod.run_time : hours(1);
  return job;
}

/// Takes the job of a line if a simulation can run it.
Status add_job(Workload& w, SimJob job, const std::string& file, std::size_t line,
               const ReadLimits& limits) {
  if (const Status valid = model::validate(job.spec); !valid)
    return wrong(file, line, valid.error().message);
  if (w.jobs.size() >= limits.jobs)
    return wrong(file, line, fmt::format("more than {} jobs", limits.jobs));
  w.jobs.push_back(std::move(job));
  return Ok{};
}

/// Moves the first arrival to time 0 and sorts.
void settle(Workload& w) {
  std::sort(w.jobs.begin(), w.jobs.end(), [](const SimJob& a, const SimJob& b) {
    if (a.submit != b.submit) return a.submit < b.submit;
    return a.spec.id < b.spec.id;
  });
  if (w.jobs.empty()) return;
  const Duration first{w.jobs.front().submit.ms};
  for (SimJob& job : w.jobs) job.submit = job.submit - first;
  std::map<std::string, int> queues;
  for (const SimJob& job : w.jobs) ++queues[job.spec.queue];
  for (const auto& [name, count] : queues) {
    model::QueueSpec queue;
    queue.name = name;
    queue.strategy = model::Strategy::Backfill;
    w.queues.push_back(queue);
  }
}

// ---- philly-gavel

/// Hundredths of steps per second on one V100, by model and batch size.
struct Rate {
  std::string_view model;
  std::string_view batch;
  std::int64_t centi;
};
constexpr std::array rates = {
    Rate{"ResNet-18", "16", 3240},
    Rate{"ResNet-18", "32", 2990},
    Rate{"ResNet-18", "64", 2410},
    Rate{"ResNet-18", "128", 1800},
    Rate{"ResNet-18", "256", 1030},
    Rate{"ResNet-50", "16", 1140},
    Rate{"ResNet-50", "32", 780},
    Rate{"ResNet-50", "64", 440},
    Rate{"ResNet-50", "128", 250},
    Rate{"Transformer", "16", 1110},
    Rate{"Transformer", "32", 1060},
    Rate{"Transformer", "64", 860},
    Rate{"Transformer", "128", 540},
    Rate{"Transformer", "256", 160},
    Rate{"LM", "5", 10900},
    Rate{"LM", "10", 8170},
    Rate{"LM", "20", 6470},
    Rate{"LM", "40", 4520},
    Rate{"LM", "80", 2820},
    Rate{"Recommendation", "512", 2330},
    Rate{"Recommendation", "1024", 1330},
    Rate{"Recommendation", "2048", 750},
    Rate{"Recommendation", "4096", 390},
    Rate{"Recommendation", "8192", 280},
    Rate{"A3C", "", 720},
    Rate{"CycleGAN", "", 440},
};

/// "ResNet-18 (batch size 16)" is model ResNet-18 with batch 16.
std::optional<Rate> rate_of(std::string_view job_type) {
  const std::size_t open = job_type.find(" (batch size ");
  const std::string_view model = job_type.substr(0, open);
  std::string_view batch;
  if (open != std::string_view::npos) {
    batch = job_type.substr(open + 13);
    if (batch.ends_with(')')) batch.remove_suffix(1);
  }
  for (const Rate& rate : rates) {
    if (rate.model == model && rate.batch == batch) return rate;
  }
  return std::nullopt;
}

Result<SimJob> read_gavel_job(std::string_view row, const std::string& source, std::size_t line) {
  const auto fields = split(row, '\t');
  if (fields.size() != 7)
    return wrong(source, line,
                 fmt::format("{} fields between tabs, a Gavel trace has 7", fields.size()));
  const auto rate = rate_of(fields[0]);
  if (!rate) return wrong(source, line, fmt::format("unknown job type: {}", fields[0]));
  const auto steps = parse_int(fields[4], "total_steps", 0, std::int64_t{1} << 40);
  if (!steps) return wrong(source, line, steps.error().message);
  const auto arrival =
      parse_int(fields[5].substr(0, fields[5].find('.')), "arrival_time", 0, seconds_max);
  if (!arrival) return wrong(source, line, arrival.error().message);
  const auto gpus = parse_int(fields[6], "scale_factor", 1, 4096);
  if (!gpus) return wrong(source, line, gpus.error().message);
  SimJob job;
  job.spec.id = fmt::format("job-{:04}", line);
  job.spec.name = std::string(fields[0]);
  job.spec.user = rate->model;
  job.spec.queue = rate->model;
  job.submit = Time{*arrival * 1000};
  job.run_time = milliseconds(std::max<std::int64_t>(1000, *steps * 100'000 / rate->centi));
  model::PodSet set;
  set.name = "worker";
  set.count = *gpus > 8 ? static_cast<int>((*gpus + 7) / 8) : 1;
  set.pod.gpu.count = static_cast<int>(std::min<std::int64_t>(*gpus, 8));
  set.pod.requests.cpu = {set.pod.gpu.count * 4000};
  job.spec.gang.sets.push_back(std::move(set));
  return job;
}

/// GPUs of a job of a Gavel trace: whole nodes above eight.
std::int64_t gpus_of(const SimJob& job) {
  const model::PodSet& set = job.spec.gang.sets.front();
  return std::int64_t{set.count} * set.pod.gpu.count;
}

std::int64_t largest_of(std::span<const SimJob> jobs) {
  std::int64_t largest = 0;
  for (const SimJob& job : jobs) largest = std::max(largest, gpus_of(job));
  return largest;
}

/// GPUs: the mean demand of a Gavel trace, a third more, and at least the largest job.
Wide demand(const Workload& w) {
  Wide gpu_seconds = 0;
  std::int64_t span = 1;
  for (const SimJob& job : w.jobs) {
    gpu_seconds += Wide{gpus_of(job)} * (job.run_time.ms / 1000);
    span = std::max(span, job.submit.ms / 1000);
  }
  return std::max(Wide{largest_of(w.jobs)}, gpu_seconds / span * 4 / 3);
}

}  // namespace

Result<Workload> read_openb(const OpenbFiles& files, const ReadLimits& limits) {
  Workload w;
  w.name = files.pods_name;
  w.clusters.push_back({"openb", {}, {}, minutes(5)});
  auto nodes = read_openb_nodes(files.nodes, files.nodes_name, limits.machines);
  if (!nodes) return nodes.error();
  if (nodes->empty()) return wrong(files.nodes_name, 1, "the list is empty");
  for (model::NodeSpec& node : *nodes) w.machines.push_back({"openb", std::move(node)});
  auto pods = read_openb_pods(files.pods, files.pods_name, limits.jobs);
  if (!pods) return pods.error();
  if (pods->empty()) return wrong(files.pods_name, 1, "the list is empty");
  for (OpenbPod& pod : *pods) {
    const std::size_t line = pod.line;
    const Status added = add_job(w, job_of(std::move(pod)), files.pods_name, line, limits);
    if (!added) return added.error();
  }
  settle(w);
  return w;
}

Result<Workload> read_gavel(const std::string& text, const std::string& source, int gpus,
                            const ReadLimits& limits, std::size_t first_jobs) {
  Workload w;
  w.name = source;
  w.clusters.push_back({"philly", {}, {}, minutes(5)});
  std::size_t line = 0;
  for (std::string_view row : split(text, '\n')) {
    ++line;
    if (row.ends_with('\r')) row.remove_suffix(1);
    if (row.empty()) continue;
    auto job = read_gavel_job(row, source, line);
    if (!job) return job.error();
    if (const Status added = add_job(w, std::move(*job), source, line, limits); !added)
      return added.error();
  }
  if (w.jobs.empty()) return wrong(source, 1, "no jobs");
  settle(w);
  const Wide fleet = gpus > 0 ? gpus : demand(w);
  const Wide nodes = (fleet + 7) / 8;
  if (nodes > static_cast<Wide>(limits.machines)) {
    return wrong(source, 1,
                 fmt::format("the fleet would have more than {} nodes; name its size with --gpus",
                             limits.machines));
  }
  const std::span<const SimJob> jobs(w.jobs);
  const Wide largest =
      largest_of(first_jobs > 0 ? jobs.first(std::min(first_jobs, jobs.size())) : jobs);
  if (largest > nodes * 8) {  // only a fleet that was named: it would wait for ever
    return wrong(source, 1,
                 fmt::format("the largest job wants {} GPUs, --gpus {} is less",
                             static_cast<std::int64_t>(largest), gpus));
  }
  for (int n = 0; n < static_cast<int>(nodes); ++n) {
    model::NodeSpec node;
    node.name = fmt::format("node-{:03}", n + 1);
    node.gpu_count = 8;
    node.gpu_type = "V100";
    node.allocatable.cpu = {64'000};
    w.machines.push_back({"philly", std::move(node)});
  }
  return w;
}

}  // namespace muster::sim
