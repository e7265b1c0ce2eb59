// The generator of the demo.
#include <array>

#include "sim/workload.h"
#include "sim/workload_parts.h"

namespace muster::sim {
namespace {

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
  for (int i = 0; i < count - 1; ++i) {  // and the urgent gang
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

}  // namespace muster::sim
