// The fields of the model's types in bytes (store/bytes.h), for events and snapshots alike. A guard
// of a version here must hold for every kind of event and of record that has the type.
#pragma once

#include "model/event.h"
#include "model/state.h"
#include "store/bytes.h"

namespace muster::store::wire {

using namespace model;

// One function a type lists its fields, for writing and for reading alike: they cannot differ. A
// field that came with version n of a kind is guarded by `if (a.version >= n)`.
template <typename A>
void fields(A& a, Duration& d) {
  a(d.ms);
}
template <typename A>
void fields(A& a, Time& t) {
  a(t.ms);
}
template <typename A, typename Tag>
void fields(A& a, Amount<Tag>& amount) {
  a(amount.v);
}
template <typename A>
void fields(A& a, Resources& r) {
  a(r.cpu, r.memory, r.extended);
}
template <typename A>
void fields(A& a, Requirement& r) {
  a(r.key, r.op, r.values);
}
template <typename A>
void fields(A& a, NodeTerm& t) {
  a(t.expressions, t.fields);
}
template <typename A>
void fields(A& a, PreferredTerm& t) {
  a(t.weight, t.term);
}
template <typename A>
void fields(A& a, LabelSelector& s) {
  a(s.match_labels, s.expressions);
}
template <typename A>
void fields(A& a, Taint& t) {
  a(t.key, t.value, t.effect);
}
template <typename A>
void fields(A& a, Toleration& t) {
  a(t.key, t.exists, t.value, t.effect);
}
template <typename A>
void fields(A& a, GpuAsk& g) {
  a(g.count, g.each, g.memory_each);
}
template <typename A>
void fields(A& a, PodAffinityTerm& t) {
  a(t.selector, t.topology_key);
}
template <typename A>
void fields(A& a, Spread& s) {
  a(s.max_skew, s.topology_key, s.selector, s.required);
}
template <typename A>
void fields(A& a, PodShape& p) {
  a(p.requests, p.gpu, p.gpu_types, p.node_selector, p.required_affinity, p.preferred_affinity);
  a(p.tolerations, p.labels, p.pod_affinity, p.pod_anti_affinity, p.spread, p.host_ports);
  a(p.volume_zones);
}
template <typename A>
void fields(A& a, PodSet& s) {
  a(s.name, s.count, s.min_count, s.pods_per_node, s.pod);
}
template <typename A>
void fields(A& a, TopologyDomain& t) {
  a(t.key, t.required);
}
/// Its kinds came later: those that hold a gang add them in the version that does.
template <typename A>
void fields(A& a, Gang& g) {
  a(g.sets, g.topology, g.pool, g.clusters, g.excluded_clusters, g.data_label, g.preemptible);
  a(g.min_runtime, g.on_cluster_loss, g.max_retries);
}
template <typename A>
void fields(A& a, JobSpec& s) {
  a(s.id, s.name, s.user, s.queue, s.extra_queues, s.priority, s.gang, s.run_limit, s.start_after);
  a(s.deadline, s.depends_on, s.held, s.payload);
}
template <typename A>
void fields(A& a, Limit& l) {
  a(l.guaranteed, l.maximum, l.borrow, l.lend);
}
template <typename A>
void fields(A& a, QueueSpec& s) {
  a(s.name, s.parent, s.tree, s.weight, s.limits, s.strategy, s.priority_cap);
}
template <typename A>
void fields(A& a, ClusterSpec& s) {
  a(s.name, s.labels, s.gpu_price_milli, s.grace);
  if (a.version >= 2) a(s.admission);
}
template <typename A>
void fields(A& a, PoolSpec& s) {
  a(s.name, s.cluster, s.node_selector, s.tolerations);
}
template <typename A>
void fields(A& a, FleetPoolSpec& s) {
  a(s.name, s.pools);
}
template <typename A>
void fields(A& a, NodeSpec& s) {
  a(s.name, s.labels, s.taints, s.allocatable, s.pods_max, s.gpu_count, s.gpu_type, s.gpu_memory);
  a(s.ready, s.cordoned);
}
template <typename A>
void fields(A& a, ForeignPod& p) {
  a(p.uid, p.node, p.requests, p.gpus, p.labels, p.host_ports);
}
template <typename A>
void fields(A& a, PodPlace& p) {
  a(p.set, p.node, p.gpu_type, p.devices, p.each);
}
template <typename A>
void fields(A& a, Demise& d) {
  a(d.ailment, d.fails, d.exit_code, d.requeues, d.reason);
}
/// The last value of each enum that is written: a greater one is corrupt. New values go at the end,
/// with a new version of the kinds that hold them.
constexpr int last_of(Choice, Operator) { return static_cast<int>(Operator::Lt); }
constexpr int last_of(Choice, TaintEffect) { return static_cast<int>(TaintEffect::NoExecute); }
constexpr int last_of(Choice, OnClusterLoss) { return static_cast<int>(OnClusterLoss::Rerun); }
constexpr int last_of(Choice, Strategy) { return static_cast<int>(Strategy::Fifo); }
constexpr int last_of(Choice, Admission) { return static_cast<int>(Admission::Draining); }
constexpr int last_of(Choice, Health) { return static_cast<int>(Health::Cordoned); }
constexpr int last_of(Choice, StopWhy) { return static_cast<int>(StopWhy::ClusterLost); }
constexpr int last_of(Choice, Ailment) { return static_cast<int>(Ailment::Forgotten); }
constexpr int last_of(Choice, FailWhy) { return static_cast<int>(FailWhy::RetriesExhausted); }

constexpr int last_of(Choice, JobState) { return static_cast<int>(JobState::Cancelled); }

}  // namespace muster::store::wire
