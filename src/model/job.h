// A job is the unit of admission: a gang of pod sets that starts whole in one cluster or not at
// all. This header is what a user can ask for; the scheduler interns the gang (equal gangs are one
// shape) and keeps the rest per job.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "model/amount.h"
#include "model/selector.h"

namespace muster::model {

/// GPUs of one pod: `count` whole devices, or a share of a single one, given as thousandths or as
/// device memory. ("n pods share a GPU" is each = 1000/n, rounded down.)
struct GpuAsk {
  int count = 0;
  MilliGpu each{1000};
  Bytes memory_each{0};  // when set, `each` follows from the device's memory on the node looked at
  bool is_share() const { return count == 1 && (each.v < 1000 || memory_each.v > 0); }
  friend bool operator==(const GpuAsk&, const GpuAsk&) = default;
};

/// Pods of this set near to (or away from) pods whose labels match, in domains of `topology_key`.
/// Of whatever namespace they are: the engine does not know namespaces.
struct PodAffinityTerm {
  LabelSelector selector;
  std::string topology_key;
  friend bool operator==(const PodAffinityTerm&, const PodAffinityTerm&) = default;
};

struct Spread {
  int max_skew = 1;
  std::string topology_key;
  LabelSelector selector;
  bool required = true;  // false: Kubernetes' ScheduleAnyway
  friend bool operator==(const Spread&, const Spread&) = default;
};

/// What one pod needs. Pods of equal shape are interchangeable for the scheduler.
struct PodShape {
  Resources requests;
  GpuAsk gpu;
  std::vector<std::string> gpu_types;  // allowed types; empty: any
  std::map<std::string, std::string> node_selector;
  std::vector<NodeTerm> required_affinity;  // any of these terms; empty: no demand
  std::vector<PreferredTerm> preferred_affinity;
  std::vector<Toleration> tolerations;
  std::map<std::string, std::string> labels;
  std::vector<PodAffinityTerm> pod_affinity;
  std::vector<PodAffinityTerm> pod_anti_affinity;
  std::vector<Spread> spread;
  std::vector<int> host_ports;
  std::vector<std::string> volume_zones;  // a bound volume allows only these zones; empty: any
  friend bool operator==(const PodShape&, const PodShape&) = default;
};

struct PodSet {
  std::string name;
  int count = 1;
  int min_count = 0;      // elastic: may start with this many; 0: all of count
  int pods_per_node = 0;  // at most this many of the set on a node; 0: no limit
  PodShape pod;
  int least() const { return min_count > 0 ? min_count : count; }
  friend bool operator==(const PodSet&, const PodSet&) = default;
};

/// All pods of the gang under one value of a node label, e.g. one rack.
struct TopologyDomain {
  std::string key;
  bool required = true;
  friend bool operator==(const TopologyDomain&, const TopologyDomain&) = default;
};

enum class OnClusterLoss { Wait, Rerun };

/// The part of a job that decides where it can run. Equal gangs are one shape in the engine.
struct Gang {
  std::vector<PodSet> sets;
  std::optional<TopologyDomain> topology;
  std::string pool;                   // a pool or a fleet pool; empty: any node of any cluster
  std::vector<std::string> clusters;  // pins; empty: all
  std::vector<std::string> excluded_clusters;
  /// Kinds of objects that its cluster has to serve, "ray.io/v1/RayCluster"; in order, each once.
  std::vector<std::string> kinds = {};
  std::string data_label;  // clusters that carry this label are near the job's data
  bool preemptible = true;
  Duration min_runtime{0};  // not preempted before it ran this long
  OnClusterLoss on_cluster_loss = OnClusterLoss::Wait;
  int max_retries = 0;
  int pod_count() const {
    int n = 0;
    for (const PodSet& set : sets) n += set.count;
    return n;
  }
  friend bool operator==(const Gang&, const Gang&) = default;
};

constexpr int priority_min = -1'000'000;
constexpr int priority_max = 1'000'000'000;

struct JobSpec {
  std::string id;  // unique, the last tie-break of every order
  std::string name;
  std::string user;
  std::string queue;                      // in the queue tree
  std::vector<std::string> extra_queues;  // nodes of further quota trees that the job charges too
  int priority = 50;
  Gang gang;
  Duration run_limit{0};  // 0: none
  Time start_after{0};
  Time deadline = Time::never();        // a job that has not started by then fails
  std::vector<std::string> depends_on;  // starts after all of these succeeded
  bool held = false;
  std::string payload;  // hash of what to run, which the store keeps until dispatch; empty: none
};

/// What is wrong with a spec by itself, with the name of the field; unknown queues, pools and
/// clusters are not looked up here.
Status validate(const JobSpec& spec);

}  // namespace muster::model
