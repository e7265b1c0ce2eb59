// Clusters, their nodes, and what is free on them. Nodes of one cluster that are equal in
// everything the scheduler looks at (profile, free amounts, free devices, reservation) form one
// class, so that a pod is tried once per class and not once per node. A profile is the static half
// of that: taints, allocatable amounts, GPU type, and the labels some pod has asked about.
//
// Invariants: a usable node is in exactly one class, an unusable one (unknown, not ready, cordoned,
// hidden) in none; free amounts are allocatable minus foreign minus own pods; ranks follow node
// names, so arrival order decides nothing. Not thread-safe; part of World.
#pragma once

#include <array>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/cluster.h"
#include "model/node.h"
#include "sched/gpu_state.h"
#include "sched/ids.h"
#include "sched/rules.h"
#include "sched/shapes.h"
#include "sched/sum.h"

namespace muster::sched {

struct PodOn {
  JobSlot job;
  std::uint32_t set = 0;
  PodShapeId pod;
  NodeId node;
  std::uint32_t devices = 0;  // bit per device
  std::uint16_t each = 0;     // thousandths taken of each of them
};

struct Node {
  ClusterId cluster;
  model::NodeSpec spec;
  bool seen = false;    // false: only known from a placement or a foreign pod so far
  bool hidden = false;  // taken out of its class by a trial
  ProfileId profile;
  ClassId cls;
  std::uint32_t rank = 0;  // order of names inside the cluster
  ReservationId reserved;
  std::int64_t cpu = 0;  // free; negative when overcommitted by others
  std::int64_t memory = 0;
  std::int32_t pod_slots = 0;
  int gpus_told = 0;  // all it has; the spec has those that are planned with
  DeviceFree devices{};
  bool has_loose = false;              // pods with devices that it does not have: they take others
  std::vector<std::int64_t> extended;  // free, by extended index; missing: 0
  std::vector<PodOn> pods;
  std::map<std::string, model::ForeignPod> foreign;
};

/// Of pods with devices that the node does not have: when they came more were taken than it has.
std::vector<LooseShare> loose_shares(const Node& node);

struct Profile {
  ClusterId cluster;
  model::Labels labels;  // asked keys only
  std::vector<model::Taint> taints;
  TypeId type;
  std::int64_t gpu_memory = 0;
  std::int64_t cpu = 0;
  std::int64_t memory = 0;
  std::int32_t pod_slots = 0;
  int gpus = 0;
  std::vector<std::int64_t> extended;
  int nodes = 0;  // usable ones now
  int seen = 0;   // usable or not: cordoned and not-ready nodes may come back
};

struct NodeClass {
  ClusterId cluster;
  ProfileId profile;
  GpuStateId gpu;
  std::int32_t pod_slots = 0;
  std::int64_t cpu = 0;
  std::int64_t memory = 0;
  ReservationId reserved;
  std::vector<std::int64_t> extended;
  std::uint32_t generation = 0;  // differs for each life of a slot: caches compare it
  std::uint64_t hash = 0;        // of what its members have in common
  ClassId same_hash;             // another class with this hash, if any
  std::uint32_t size = 0;
  std::uint32_t bucket_at = 0;
  std::uint32_t first_rank = 0;  // of its first member
  std::vector<std::pair<std::uint32_t, NodeId>>
      members;  // heap by rank; stale entries are dropped when met
};

/// A class as its bucket lists it: what a search reads of every class stands side by side.
struct ListedClass {
  ClassId id;
  std::uint32_t generation = 0;
  std::uint32_t first_rank = 0;
  std::uint32_t whole = 0;  // idle devices
};

struct Cluster {
  model::ClusterSpec spec;
  model::Health health = model::Health::Ready;
  Time health_since;
  bool joined = false;
  std::vector<std::string> kinds;  // that it serves, in order
  bool are_kinds_known = false;    // false: it has not said so, and takes whatever is sent
  std::vector<NodeId> nodes;       // by rank
  std::unordered_map<std::string, NodeId> by_name;  // lookup-only
  bool ranks_stale = false;
  std::int64_t idle_gpu_milli = 0;
  std::int64_t gpu_milli = 0;       // of usable nodes
  Sum idle_cpu;                     // thousandths; nodes that others overcommitted have none
  Sum cpu;                          // of usable nodes
  std::vector<ProfileId> profiles;  // ever used by its nodes
  std::vector<std::int32_t> seen;   // nodes by GPU type, usable or not
  /// Classes by GPU type and number of idle devices: [type][whole].
  std::vector<std::array<std::vector<ListedClass>, gpus_per_node_max + 1>> buckets;
  std::vector<std::uint32_t> filled;  // by type: bit n is set while bucket [type][n] has classes
  /// Nodes per (type, whole idle devices), not counting reserved ones, for quick upper bounds.
  std::vector<std::array<std::int32_t, gpus_per_node_max + 1>> unreserved;
  std::vector<std::array<std::int32_t, gpus_per_node_max + 1>> all;
};

class Fleet {
 public:
  // ---- sight
  ClusterId set_cluster(const model::ClusterSpec& spec);
  void see_node(ClusterId cluster, const model::NodeSpec& spec, Shapes& shapes);
  void lose_node(ClusterId cluster, const std::string& name, Shapes& shapes);
  /// True if it was there before, perhaps elsewhere or with more.
  bool see_foreign(ClusterId cluster, const model::ForeignPod& pod, Shapes& shapes);
  bool lose_foreign(ClusterId cluster, const std::string& uid, Shapes& shapes);
  void set_rules(const Rules& rules) { rules_ = rules; }
  const Rules& rules() const { return rules_; }
  /// Brings ranks and profiles up to date with new nodes and newly asked label keys. Call before
  /// planning.
  void settle(Shapes& shapes);

  // ---- books
  NodeId node_for(ClusterId cluster, const std::string& name);  // makes an unseen node if need be
  void occupy(const PodOn& pod, const Shapes& shapes);
  void vacate(const PodOn& pod, const Shapes& shapes);
  /// Devices for a pod that is there already, whichever it really has: the first that no other of
  /// our pods needs, up to the most that a node may have. Books alone decide, so that a restart
  /// comes to the same; a node with fewer devices is over-committed and counts them as it can.
  std::uint32_t seat(NodeId node, int devices, std::uint16_t each) const;
  /// Pod shapes have other numbers now.
  void rename_pods(const std::vector<PodShapeId>& now);
  /// The pods of this set of its job on its node are of that shape now.
  void rename_pod(const PodOn& now);
  void reserve(NodeId node, ReservationId reservation);  // none(): give it up
  void hide(NodeId node, bool hidden);

  // ---- looking
  ClusterId find_cluster(const std::string& name) const;
  NodeId find_node(ClusterId cluster, const std::string& name) const;
  Cluster& cluster(ClusterId id) { return clusters_[id.index()]; }
  const Cluster& cluster(ClusterId id) const { return clusters_[id.index()]; }
  const Node& node(NodeId id) const { return nodes_[id.index()]; }
  const Profile& profile(ProfileId id) const { return profiles_[id.index()]; }
  const NodeClass& node_class(ClassId id) const { return classes_[id.index()]; }
  const GpuState& gpu(GpuStateId id) const { return gpu_states_[id]; }
  const GpuState& gpu_of(ClassId id) const { return gpu_states_[classes_[id.index()].gpu]; }
  /// The member with the lowest rank. The class must not be empty.
  NodeId first_member(ClassId id);
  std::size_t cluster_count() const { return clusters_.size(); }
  std::size_t node_count() const { return nodes_.size(); }
  std::size_t class_slots() const { return classes_.size(); }
  std::size_t class_count() const;
  std::size_t profile_count() const { return profiles_.size(); }
  /// Equal for profiles that differ in labels and amounts alone: pods that ask for no label need
  /// not tell them apart. A rack's label makes as many profiles as there are racks.
  std::uint32_t kind_of(ProfileId id) const { return kinds_[id.index()]; }
  std::size_t kind_count() const { return kind_ids_.size(); }
  TypeId type_id(const std::string& name);
  TypeId find_type(const std::string& name) const;
  const std::string& type_name(TypeId id) const { return type_names_[id.index()]; }
  std::size_t type_count() const { return type_names_.size(); }
  /// Of a node's GPUs as last seen; 0 if it has none or was never seen.
  TypeId type_of(NodeId node) const {
    const ProfileId profile = nodes_[node.index()].profile;
    return profile.is_none() ? TypeId{0} : profiles_[profile.index()].type;
  }
  /// Clusters by name: the order in which ties between them are broken.
  const std::vector<ClusterId>& by_name() const { return cluster_order_; }
  bool usable(const Node& node) const;
  /// Sum of allocatable amounts over usable nodes: cpu, memory and devices per type.
  struct Totals {
    Sum cpu;
    Sum memory;
    std::vector<std::int64_t> gpu_milli;  // by type
    std::vector<Sum> extended;
    std::int64_t idle_gpu_milli = 0;
    friend bool operator==(const Totals&, const Totals&) = default;
  };
  const Totals& totals() const { return totals_; }
  /// Memory of the smallest device of this type that has at least so much; 0 if there is none.
  std::int64_t smallest_gpu_memory(TypeId type, std::int64_t least) const;
  /// True once after a pod that kept others away has left.
  bool take_repeller_left() { return std::exchange(repeller_left_, false); }
  /// Nodes that gained room since last asked, for waking waiting lines.
  std::vector<NodeId>& gained() { return gained_; }
  /// Pods now placed that keep others away (anti-affinity), and gangs with a promise that do: while
  /// there are any, every pod is checked against them.
  int repelling_pods() const { return repelling_pods_; }
  /// A gang that keeps others away was promised nodes, or is not any more.
  void count_promised(int change) {
    repelling_pods_ += change;
    repeller_left_ = repeller_left_ || (change < 0 && log_gains_);
  }
  /// No node that is reserved for a job has become unusable.
  bool all_reserved_usable() const { return reserved_ == reserved_usable_; }
  void log_gains(bool on) { log_gains_ = on; }

 private:
  void join_class(NodeId id);
  void leave_class(NodeId id);
  void set_first_rank(NodeClass& cls, std::uint32_t rank);
  void forget_class(ClassId id);
  void refresh(NodeId id, const Shapes& shapes);  // recomputes free amounts from scratch
  ProfileId profile_of(const Node& node, const Shapes& shapes);
  std::uint32_t kind_for(const Profile& profile) const;
  void set_profile(Node& node, ProfileId profile);
  void count_seen(ProfileId profile, int change);
  void count_totals(const Profile& profile, std::int64_t sign);
  std::uint64_t class_hash(const Node& node, GpuStateId gpu) const;
  void gain(NodeId id) {
    if (log_gains_) gained_.push_back(id);
  }

  std::vector<Cluster> clusters_;
  std::vector<ClusterId> cluster_order_;
  std::vector<Node> nodes_;
  std::vector<Profile> profiles_;
  std::vector<std::uint32_t> kinds_;  // by profile
  std::vector<NodeClass> classes_;
  std::vector<ClassId> free_classes_;
  boost::unordered_flat_map<std::uint64_t, ClassId> class_ids_;    // lookup-only
  std::unordered_multimap<std::uint64_t, ProfileId> profile_ids_;  // lookup-only
  std::unordered_multimap<std::uint64_t, ProfileId> kind_ids_;     // lookup-only: the first of each
  std::unordered_map<std::string, ClusterId> cluster_ids_;         // lookup-only
  std::unordered_map<std::string, std::pair<ClusterId, NodeId>> foreign_at_;  // lookup-only
  std::vector<std::string> type_names_ = {""};
  GpuStates gpu_states_;
  Totals totals_;
  std::vector<NodeId> gained_;
  bool log_gains_ = true;
  int repelling_pods_ = 0;
  std::int64_t reserved_ = 0;  // nodes
  std::int64_t reserved_usable_ = 0;
  bool repeller_left_ = false;
  Rules rules_;
  std::set<std::string> keys_seen_;      // asked for when profiles were made
  std::set<std::string> keys_on_nodes_;  // of any node, ever
  std::uint32_t generation_ = 0;
};

}  // namespace muster::sched
