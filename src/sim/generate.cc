// The generators: demo and random.
#include <algorithm>
#include <array>

#include "sim/workload.h"

namespace muster::sim {
namespace {

constexpr std::int64_t gib = std::int64_t{1} << 30;

model::NodeSpec gpu_node(std::string name, int gpus, std::string type) {
  model::NodeSpec node;
  node.name = std::move(name);
  node.allocatable.cpu = {gpus * 12'000};
  node.allocatable.memory = {gpus * 128 * gib};
  node.gpu_count = gpus;
  node.gpu_type = std::move(type);
  node.gpu_memory = {80 * gib};
  return node;
}

model::NodeSpec cpu_node(std::string name, int cores) {
  model::NodeSpec node;
  node.name = std::move(name);
  node.allocatable.cpu = {cores * 1000};
  node.allocatable.memory = {cores * 4 * gib};
  return node;
}

/// `count` pods with `gpus` whole GPUs each.
model::PodSet gpu_pods(int count, int gpus) {
  model::PodSet set;
  set.name = "worker";
  set.count = count;
  set.pod.requests.cpu = {std::max(1, gpus) * 8'000};
  set.pod.requests.memory = {std::max(1, gpus) * 64 * gib};
  set.pod.gpu.count = gpus;
  return set;
}

model::QueueSpec queue(std::string name, std::uint32_t weight, int guaranteed_gpus) {
  model::QueueSpec spec;
  spec.name = std::move(name);
  spec.weight = weight;
  if (guaranteed_gpus > 0) spec.limits["gpu"].guaranteed = guaranteed_gpus * 1000;
  return spec;
}

void sort_jobs(Workload& workload) {
  std::sort(workload.jobs.begin(), workload.jobs.end(), [](const SimJob& a, const SimJob& b) {
    if (a.submit != b.submit) return a.submit < b.submit;
    return a.spec.id < b.spec.id;
  });
}

Duration minutes_between(Prng& prng, int low, int high) {
  return seconds(prng.between(low * 60, high * 60));
}

// ---- demo

struct Kind {
  const char* queue;
  const char* name;
  const char* user;
  int percent;
  int pods;
  int gpus;
  int minutes_low;
  int minutes_high;
};
constexpr std::array demo_kinds = {
    Kind{"production", "retrain", "ana", 7, 2, 8, 20, 40},
    Kind{"production", "evaluate", "ana", 16, 1, 2, 5, 15},
    Kind{"research", "pretrain", "bo", 4, 4, 8, 30, 60},
    Kind{"research", "finetune", "chen", 18, 1, 8, 15, 40},
    Kind{"research", "sweep", "chen", 20, 1, 1, 10, 40},
    Kind{"students", "thesis", "dina", 14, 1, 4, 15, 45},
    Kind{"students", "notebook", "eli", 21, 1, 1, 15, 90},
};

const Kind& draw_kind(Prng& prng) {
  auto roll = static_cast<int>(prng.below(100));
  for (const Kind& kind : demo_kinds) {
    roll -= kind.percent;
    if (roll < 0) return kind;
  }
  return demo_kinds.back();
}

}  // namespace

Workload demo_workload(const GenerateOptions& options) {
  Prng prng(options.seed);
  Workload w;
  w.name = "demo";
  w.clusters.push_back({"berlin", {}, {{"H100", 2500}}, minutes(5)});
  w.clusters.push_back({"oslo", {}, {{"A100", 1200}}, minutes(5)});
  for (int i = 1; i <= 8; ++i)
    w.machines.push_back({"berlin", gpu_node(fmt::format("berlin-{}", i), 8, "H100")});
  for (int i = 1; i <= 6; ++i)
    w.machines.push_back({"oslo", gpu_node(fmt::format("oslo-{}", i), 8, "A100")});
  w.queues.push_back(queue("production", 2, 40));
  w.queues.push_back(queue("research", 2, 32));
  w.queues.push_back(queue("students", 1, 0));
  const int count = options.jobs > 0 ? options.jobs : 200;
  const Duration span = options.span.ms > 0 ? options.span : hours(5);
  for (int i = 0; i < count; ++i) {
    const Kind& kind = draw_kind(prng);
    SimJob job;
    job.submit = Time{prng.between(0, span.ms)};
    job.run_time = minutes_between(prng, kind.minutes_low, kind.minutes_high);
    job.spec.id = fmt::format("{}-{:03}", kind.name, i + 1);
    job.spec.name = kind.name;
    job.spec.user = kind.user;
    job.spec.queue = kind.queue;
    job.spec.gang.sets.push_back(gpu_pods(kind.pods, kind.gpus));
    job.spec.run_limit = minutes(kind.minutes_high + 5);
    w.jobs.push_back(std::move(job));
  }
  SimJob urgent;
  urgent.submit = Time{span.ms * 3 / 5};
  urgent.run_time = minutes(30);
  urgent.spec.id = "hotfix-gang";
  urgent.spec.name = "hotfix";
  urgent.spec.user = "ana";
  urgent.spec.queue = "production";
  urgent.spec.priority = 1000;
  urgent.spec.gang.sets.push_back(gpu_pods(5, 8));
  urgent.spec.gang.preemptible = false;
  urgent.spec.run_limit = minutes(45);
  w.jobs.push_back(std::move(urgent));
  w.incidents.push_back({Time{span.ms / 4}, minutes(40), "berlin", "berlin-3"});
  sort_jobs(w);
  return w;
}

// ---- random

namespace {

void random_fleet(Workload& w, Prng& prng) {
  constexpr std::array<const char*, 3> types = {"A100", "H100", "T4"};
  const auto clusters = static_cast<int>(prng.between(1, 3));
  for (int c = 0; c < clusters; ++c) {
    const std::string name = fmt::format("c{}", c + 1);
    w.clusters.push_back({name, {}, {}, seconds(prng.between(30, 600))});
    const auto nodes = static_cast<int>(prng.between(2, 6));
    for (int n = 0; n < nodes; ++n) {
      const auto gpus = static_cast<int>(c == 0 || prng.chance(70) ? 8 : 4);
      const char* type = c == 0 && n < 2 ? types[0] : types[prng.below(types.size())];
      w.machines.push_back({name, gpu_node(fmt::format("{}-n{}", name, n + 1), gpus, type)});
    }
    if (prng.chance(50)) w.machines.push_back({name, cpu_node(name + "-cpu", 64)});
  }
}

void random_queues(Workload& w, Prng& prng) {
  const auto tops = static_cast<int>(prng.between(1, 3));
  for (int q = 0; q < tops; ++q) {
    model::QueueSpec top =
        queue(fmt::format("q{}", q + 1), static_cast<std::uint32_t>(prng.between(1, 4)),
              prng.chance(50) ? static_cast<int>(prng.between(2, 8)) : 0);
    w.queues.push_back(top);
    const auto children = static_cast<int>(prng.between(1, 3));
    for (int c = 0; c < children; ++c) {
      model::QueueSpec child = queue(fmt::format("q{}-{}", q + 1, c + 1), 1, 0);
      child.parent = top.name;
      child.strategy = static_cast<model::Strategy>(prng.below(3));
      if (prng.chance(30)) child.limits["gpu"].maximum = prng.between(16, 32) * 1000;
      w.queues.push_back(child);
    }
  }
}

model::PodSet random_pods(Prng& prng) {
  const auto roll = prng.below(10);
  if (roll < 2) {  // a share of a GPU
    model::PodSet set = gpu_pods(1, 1);
    set.pod.requests.cpu = {2'000};
    set.pod.gpu.each = {prng.between(1, 9) * 100};
    return set;
  }
  if (roll < 3) {  // no GPU
    model::PodSet set = gpu_pods(static_cast<int>(prng.between(1, 4)), 0);
    set.pod.requests.cpu = {prng.between(1, 8) * 1000};
    set.pod.requests.memory = {4 * gib};
    return set;
  }
  if (roll < 8) return gpu_pods(1, 1 << prng.below(4));
  // Two nodes of cluster c1 always have eight A100: what fits there can run.
  model::PodSet set = gpu_pods(2, 1 << prng.between(1, 3));
  if (prng.chance(30)) set.min_count = 1;
  return set;
}

SimJob random_job(Prng& prng, const Workload& w, int number, Duration span) {
  SimJob job;
  job.submit = Time{prng.between(0, span.ms)};
  job.run_time = seconds(prng.between(5, 1200));
  job.spec.id = fmt::format("j{:04}", number);
  job.spec.name = fmt::format("kind{}", prng.below(6));
  job.spec.user = fmt::format("user{}", prng.below(4));
  std::vector<std::string> leaves;
  for (const auto& q : w.queues) {
    if (!q.parent.empty()) leaves.push_back(q.name);
  }
  job.spec.queue = leaves[prng.below(leaves.size())];
  job.spec.priority = static_cast<int>(prng.below(4)) * 50;
  model::Gang& gang = job.spec.gang;
  gang.sets.push_back(random_pods(prng));
  gang.preemptible = prng.chance(80);
  if (prng.chance(20)) gang.min_runtime = seconds(prng.between(10, 300));
  if (prng.chance(30)) gang.on_cluster_loss = model::OnClusterLoss::Rerun;
  if (prng.chance(20)) {
    job.failures = static_cast<int>(prng.between(1, 2));
    gang.max_retries = static_cast<int>(prng.between(0, 3));
  }
  if (prng.chance(60)) job.spec.run_limit = job.run_time + seconds(prng.between(30, 1200));
  if (prng.chance(10)) job.spec.start_after = job.submit + seconds(prng.between(1, 900));
  if (prng.chance(5)) job.spec.deadline = job.submit + seconds(prng.between(60, 3600));
  if (prng.chance(8)) job.cancel = job.submit + seconds(prng.between(0, 1800));
  if (prng.chance(8)) {
    job.hold = job.submit + seconds(prng.between(0, 1800));
    job.release = job.hold + seconds(prng.between(0, 900));
  }
  if (prng.chance(10) && number > 1)
    job.spec.depends_on.push_back(fmt::format("j{:04}", prng.between(1, number - 1)));
  return job;
}

}  // namespace

Workload random_workload(const GenerateOptions& options) {
  Prng prng(options.seed);
  Workload w;
  w.name = "random";
  random_fleet(w, prng);
  random_queues(w, prng);
  const int count = options.jobs > 0 ? options.jobs : 100;
  const Duration span = options.span.ms > 0 ? options.span : minutes(90);
  for (int i = 1; i <= count; ++i) w.jobs.push_back(random_job(prng, w, i, span));
  sort_jobs(w);
  return w;
}

}  // namespace muster::sim
