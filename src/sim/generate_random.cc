// The random generator: everything a job can ask for, at random. Two nodes of cluster c1 (both in
// zone x and rack c1-r1, eight A100 each, untainted, with network cards) can hold any job alone, so
// every job can run on the healthy fleet.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <string_view>

#include "sim/workload.h"
#include "sim/workload_parts.h"

namespace muster::sim {
namespace {

constexpr std::string_view zone_key = "topology.kubernetes.io/zone";
constexpr std::string_view rack_key = "rack";
constexpr std::string_view host_key = "kubernetes.io/hostname";
constexpr std::string_view nic = "example.com/nic";
constexpr int largest_gang = 16;  // GPUs

void random_fleet(Workload& w, Prng& prng) {
  constexpr std::array<const char*, 3> types = {"A100", "H100", "T4"};
  const auto clusters = static_cast<int>(prng.between(1, 3));
  for (int c = 0; c < clusters; ++c) {
    const std::string name = fmt::format("c{}", c + 1);
    w.clusters.push_back({name, {}, {}, seconds(prng.between(30, 600))});
    const auto nodes = static_cast<int>(prng.between(2, 6));
    for (int n = 0; n < nodes; ++n) {
      const bool sure = c == 0 && n < 2;
      const auto gpus = static_cast<int>(c == 0 || prng.chance(70) ? 8 : 4);
      const char* type = sure ? types[0] : types[prng.below(types.size())];
      model::NodeSpec node = gpu_node(fmt::format("{}-n{}", name, n + 1), gpus, type);
      node.labels[std::string(zone_key)] = sure || prng.chance(50) ? "x" : "y";
      node.labels[std::string(rack_key)] =
          fmt::format("{}-r{}", name, sure ? 1 : prng.between(1, 2));
      if (sure || prng.chance(50)) node.allocatable.extended[std::string(nic)] = 8;
      if (!sure && prng.chance(20))
        node.taints.push_back({"dedicated", "team", model::TaintEffect::NoSchedule});
      if (!sure && prng.chance(10))
        node.taints.push_back({"old", "", model::TaintEffect::PreferNoSchedule});
      w.machines.push_back({name, std::move(node)});
    }
    if (prng.chance(50)) w.machines.push_back({name, cpu_node(name + "-cpu", 64)});
  }
  w.pools.push_back({"in-x", "c1", {{std::string(zone_key), "x"}}, {}});
  w.pools.push_back({"any", w.clusters.back().name, {}, {{"dedicated", true, "", ""}}});
  w.fleet_pools.push_back({"both", {"in-x", "any"}});
}

/// Guarantees that others may borrow but for a few GPUs, so that the largest gang of any queue
/// finds its GPUs beside what is held back from it, in the fleet and below the limits of a parent.
class RandomLimits {
 public:
  RandomLimits(const Workload& w, Prng& prng) : prng_(prng) {
    for (const Machine& machine : w.machines) spare_ += machine.node.gpu_count;
    spare_ -= largest_gang;
  }

  /// The queues that follow are below it until the next of these.
  void put_top(model::QueueSpec& queue, int guaranteed) {
    below_ = std::numeric_limits<std::int64_t>::max();
    put(queue, guaranteed);
    const model::Limit& limit = queue.limits["gpu"];
    if (limit.maximum) below_ = *limit.maximum / 1000 - largest_gang;
    if (limit.borrow)
      below_ =
          std::min(below_, (limit.guaranteed.value_or(0) + *limit.borrow) / 1000 - largest_gang);
  }

  void put(model::QueueSpec& queue, int guaranteed) {
    model::Limit& limit = queue.limits["gpu"];
    if (guaranteed > 0) {
      limit.guaranteed = guaranteed * 1000;
      if (prng_.chance(30)) {
        const std::int64_t spare = std::max<std::int64_t>(0, std::min(spare_, below_));
        const std::int64_t kept = std::min<std::int64_t>(prng_.between(0, guaranteed), spare);
        spare_ -= kept;
        below_ -= kept;
        limit.lend = (guaranteed - kept) * 1000;
      }
    }
    if (prng_.chance(20))
      limit.borrow =
          std::max<std::int64_t>(0, largest_gang - guaranteed + prng_.between(0, 8)) * 1000;
    if (prng_.chance(20)) limit.maximum = prng_.between(largest_gang, 32) * 1000;
  }

 private:
  Prng& prng_;
  std::int64_t spare_ = 0;  // GPUs that may still be held back, in the fleet
  std::int64_t below_ = 0;  // and below the queue of the first level
};

void random_queues(Workload& w, Prng& prng) {
  RandomLimits limits(w, prng);
  const auto tops = static_cast<int>(prng.between(1, 3));
  for (int q = 0; q < tops; ++q) {
    model::QueueSpec top =
        queue(fmt::format("q{}", q + 1), static_cast<std::uint32_t>(prng.between(1, 4)), 0);
    limits.put_top(top, prng.chance(50) ? static_cast<int>(prng.between(2, 8)) : 0);
    w.queues.push_back(top);
    const auto children = static_cast<int>(prng.between(1, 3));
    for (int c = 0; c < children; ++c) {
      model::QueueSpec child = queue(fmt::format("q{}-{}", q + 1, c + 1), 1, 0);
      child.parent = top.name;
      child.strategy = static_cast<model::Strategy>(prng.below(3));
      limits.put(child, prng.chance(30) ? static_cast<int>(prng.between(1, 4)) : 0);
      w.queues.push_back(child);
    }
  }
}

model::PodSet random_pods(Prng& prng) {
  const auto roll = prng.below(10);
  if (roll < 2) {  // a share of a GPU
    model::PodSet set = gpu_pods(1, 1);
    set.pod.requests.cpu = {2'000};
    if (prng.chance(40)) {
      set.pod.gpu.memory_each = {prng.between(1, 9) * 8 * gib};
    } else {
      set.pod.gpu.each = {prng.between(1, 9) * 100};
    }
    return set;
  }
  if (roll < 3) {  // no GPU
    model::PodSet set = gpu_pods(static_cast<int>(prng.between(1, 4)), 0);
    set.pod.requests.cpu = {prng.between(1, 8) * 1000};
    set.pod.requests.memory = {4 * gib};
    return set;
  }
  if (roll < 7) return gpu_pods(1, 1 << prng.below(4));
  if (roll < 8) return gpu_pods(static_cast<int>(prng.between(3, 8)), 2);
  model::PodSet set = gpu_pods(2, 1 << prng.between(1, 3));
  if (prng.chance(30)) set.min_count = 1;
  return set;
}

/// What pods ask of nodes. Zone x and rack c1-r1 are those of the two sure nodes.
void ask_of_nodes(model::PodShape& pod, Prng& prng) {
  if (prng.chance(15)) pod.node_selector[std::string(zone_key)] = "x";
  if (prng.chance(5))
    pod.required_affinity.push_back(
        {{{std::string(rack_key), model::Operator::NotIn, {"c1-r2"}}}, {}});
  if (prng.chance(10))
    pod.preferred_affinity.push_back(
        {static_cast<int>(prng.between(1, 100)),
         {{{std::string(zone_key), model::Operator::In, {prng.chance(50) ? "x" : "y"}}}, {}}});
  if (prng.chance(20)) pod.tolerations.push_back({"dedicated", true, "", ""});
  if (prng.chance(5)) pod.volume_zones = {"x"};
  if (prng.chance(8)) pod.requests.extended[std::string(nic)] = 1;
  if (prng.chance(10)) pod.gpu_types = {"A100"};
}

/// What pods ask of each other and of those of other jobs, which all end some day. Never more than
/// one pod a host where only two hosts are sure.
void ask_of_others(model::PodSet& set, Prng& prng) {
  model::PodShape& pod = set.pod;
  pod.labels["app"] = prng.chance(50) ? "web" : "db";
  pod.labels["tier"] = prng.chance(50) ? "front" : "back";
  pod.labels["run"] = fmt::format("{}", prng.below(1000));  // nobody asks for it
  const std::string asked = prng.chance(15) ? "tier" : "app";
  const model::LabelSelector own{{{asked, pod.labels[asked]}}, {}};
  const auto roll = prng.below(100);
  if (roll < 8 && set.count <= 2) {
    pod.pod_anti_affinity.push_back({own, std::string(host_key)});
  } else if (roll < 12) {
    pod.pod_affinity.push_back({own, std::string(rack_key)});
  } else if (roll < 18 && set.count <= 2) {
    pod.node_selector[std::string(zone_key)] = "x";
    pod.spread.push_back({1, std::string(host_key), own, true});
  } else if (roll < 26) {
    pod.spread.push_back({1, std::string(zone_key), own, false});
  } else if (roll < 30 && set.count <= 2) {
    pod.host_ports = {8080};
  } else if (roll < 34 && set.count <= 2) {
    set.pods_per_node = 1;
  }
}

void random_gang(model::Gang& gang, const Workload& w, Prng& prng) {
  gang.sets.push_back(random_pods(prng));
  ask_of_nodes(gang.sets.back().pod, prng);
  ask_of_others(gang.sets.back(), prng);
  if (prng.chance(20)) {  // a head for the workers
    model::PodSet head = gpu_pods(1, 0);
    head.name = "head";
    head.pod.requests.cpu = {2'000};
    head.pod.requests.memory = {4 * gib};
    ask_of_nodes(head.pod, prng);
    head.pod.gpu_types.clear();
    gang.sets.push_back(std::move(head));
  }
  if (prng.chance(12))
    gang.topology =
        model::TopologyDomain{std::string(prng.chance(50) ? rack_key : zone_key), prng.chance(50)};
  if (prng.chance(15)) gang.pool = prng.chance(50) ? "in-x" : "both";
  if (prng.chance(8)) gang.clusters = {"c1"};
  if (prng.chance(5) && w.clusters.size() > 1) gang.excluded_clusters = {"c2"};
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
  random_gang(gang, w, prng);
  gang.preemptible = prng.chance(80);
  if (prng.chance(20)) gang.min_runtime = seconds(prng.between(10, 300));
  if (prng.chance(30)) gang.on_cluster_loss = model::OnClusterLoss::Rerun;
  if (prng.chance(20)) {
    job.failures = static_cast<int>(prng.between(1, 2));
    gang.max_retries = static_cast<int>(prng.between(0, 3));
  }
  if (prng.chance(20)) job.checkpoint = seconds(prng.between(30, 300));
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

void random_incidents(Workload& w, Prng& prng, Duration span) {
  const auto when = [&] { return Time{prng.between(0, span.ms)}; };
  const auto lasts = [&] { return seconds(prng.between(60, 1200)); };
  if (prng.chance(30)) {
    const Machine& machine = w.machines[prng.below(w.machines.size())];
    w.incidents.push_back({when(), lasts(), machine.cluster, machine.node.name, Trouble::Cordon});
  }
  if (prng.chance(25)) {
    const std::string& cluster = w.clusters[prng.below(w.clusters.size())].name;
    w.incidents.push_back(
        {when(), lasts(), cluster, "", prng.chance(70) ? Trouble::Drain : Trouble::Cordon});
  }
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
  random_incidents(w, prng, span);
  sort_jobs(w);
  return w;
}

}  // namespace muster::sim
