#include "sched/relations.h"

#include <algorithm>
#include <limits>

#include "sched/gang.h"

namespace muster::sched {

Relations::Relations(const World& world, const Policy& policy, ClusterId cluster, PodShapeId pod,
                     const Asker& asker)
    : world_(world), policy_(policy), pod_(world.shapes.pod(pod)) {
  for (const auto& term : pod_.spec.pod_affinity)
    near_.push_back({&term.selector, term.topology_key, {}});
  for (const auto& term : pod_.spec.pod_anti_affinity)
    away_.push_back({&term.selector, term.topology_key, {}});
  for (const auto& spread : pod_.spec.spread) spread_.push_back({&spread, {}});
  for (const NodeId id : world.fleet.cluster(cluster).nodes) {
    const Node& node = world.fleet.node(id);
    // Also one that is cordoned or not ready: its domain is there.
    if (node.seen && counts_for_spread(id)) {
      for (auto& term : spread_) {  // a domain without pods counts as one with zero
        if (const std::string* value = domain(id, term.spread->topology_key))
          term.counts.try_emplace(*value, 0);
      }
    }
    for (const PodOn& on : node.pods)
      is_leaving(on.job, cluster) ? leaving(on.pod, id) : placed(on.pod, id);
    for (const auto& [uid, foreign] : node.foreign) count(foreign.labels, id);
  }
  count_promises(cluster, asker);
}

/// To gangs whose victims are leaving, but not to the one that asks.
void Relations::count_promises(ClusterId cluster, const Asker& asker) {
  for (const Reservation& r : world_.reservations()) {
    if (r.job.is_none() || !r.preempting || r.cluster != cluster) continue;
    if (may_use_reserved(world_, policy_, r, asker)) continue;
    for (const SetRec& set : world_.shapes[world_.job(r.job).shape].sets) {
      for (const NodeId node : r.nodes) promised(world_.shapes.pod(set.pod), node);
    }
  }
}

void Relations::promised(const PodShapeRec& other, NodeId node) {
  // It will be there: this one is not the first of the group, but it has to wait for it.
  if (is_looked_for(other.spec.labels)) ++neighbours_;
  for (Term& term : away_) {
    if (!model::matches(*term.selector, other.spec.labels)) continue;
    if (const std::string* value = domain(node, term.key)) ++term.counts[*value];
  }
  repel(other, node);
  if (!policy_.rules.has(Rule::TopologySpread)) return;
  for (const model::Spread& spread : other.spec.spread) {
    const bool counts = spread.required && model::matches(spread.selector, pod_.spec.labels);
    if (counts) forbid(spread.topology_key, node);  // one more there may be one too many
  }
}

void Relations::forbid(const std::string& key, NodeId node) {
  if (const std::string* value = domain(node, key)) forbidden_.emplace(key, *value);
}

const std::string* Relations::domain(NodeId id, const std::string& key) const {
  const Node& node = world_.fleet.node(id);
  const auto it = node.spec.labels.find(key);
  if (it != node.spec.labels.end()) return &it->second;
  // Every Kubernetes node carries its name under this label; sight may leave it out.
  return key == "kubernetes.io/hostname" ? &node.spec.name : nullptr;
}

/// As Kubernetes does it (nodeAffinityPolicy: Honor, nodeTaintsPolicy: Ignore): nodes that the
/// pod's selector, with the pool's, or its affinity rules out have no part in how even the pods
/// stand.
bool Relations::counts_for_spread(NodeId id) const {
  if (!policy_.rules.has(Rule::NodeSelector)) return true;
  const model::Labels& labels = world_.fleet.node(id).spec.labels;
  const bool selected = std::all_of(pod_.spec.node_selector.begin(), pod_.spec.node_selector.end(),
                                    [&](const auto& wanted) {
                                      const auto it = labels.find(wanted.first);
                                      return it != labels.end() && it->second == wanted.second;
                                    });
  if (!selected || !names_allow(id)) return false;
  // A node without the key of one hard spread counts for none of them.
  return std::all_of(spread_.begin(), spread_.end(), [&](const SpreadTerm& term) {
    return !term.spread->required || domain(id, term.spread->topology_key) != nullptr;
  });
}

/// As Kubernetes does it: one pod that matches all terms, not one for each of them.
bool Relations::is_looked_for(const model::Labels& labels) const {
  return std::all_of(near_.begin(), near_.end(),
                     [&](const Term& term) { return model::matches(*term.selector, labels); });
}

void Relations::count(const model::Labels& labels, NodeId node) {
  if (is_looked_for(labels)) {
    ++neighbours_;
    for (Term& term : near_) {
      if (const std::string* value = domain(node, term.key)) ++term.counts[*value];
    }
  }
  count_others(labels, node);
}

void Relations::count_others(const model::Labels& labels, NodeId node) {
  for (Term& term : away_) {
    if (!model::matches(*term.selector, labels)) continue;
    if (const std::string* value = domain(node, term.key)) ++term.counts[*value];
  }
  if (spread_.empty() || !counts_for_spread(node)) return;
  for (SpreadTerm& term : spread_) {
    if (!model::matches(term.spread->selector, labels)) continue;
    if (const std::string* value = domain(node, term.spread->topology_key)) ++term.counts[*value];
  }
}

void Relations::repel(const PodShapeRec& other, NodeId node) {
  if (!policy_.rules.has(Rule::PodAntiAffinity)) return;
  for (const auto& term : other.spec.pod_anti_affinity) {
    if (model::matches(term.selector, pod_.spec.labels)) forbid(term.topology_key, node);
  }
}

void Relations::placed(PodShapeId pod, NodeId node) {
  const PodShapeRec& other = world_.shapes.pod(pod);
  count(other.spec.labels, node);
  repel(other, node);
}

/// Also who is told so in this plan, and what a lost attempt left behind.
bool Relations::is_leaving(JobSlot job, ClusterId cluster) const {
  const Active* active = world_.job(job).active.get();
  if (active != nullptr && active->cluster == cluster)
    return active->stopping || world_.told_to_leave.contains(job);
  const auto& orphans = world_.orphans();
  return std::any_of(orphans.begin(), orphans.end(), [&](const Orphan& orphan) {
    return orphan.job == job && orphan.active.cluster == cluster;
  });
}

/// It is in the way as long as it is there, but nobody starts to be near it: this one is not the
/// first of the group either, until it has gone.
void Relations::leaving(PodShapeId pod, NodeId node) {
  const PodShapeRec& other = world_.shapes.pod(pod);
  if (is_looked_for(other.spec.labels)) ++neighbours_;
  count_others(other.spec.labels, node);
  repel(other, node);
}

bool Relations::names_allow(NodeId node) const {
  const auto& terms = pod_.spec.required_affinity;
  if (terms.empty() || !policy_.rules.has(Rule::NodeSelector)) return true;
  const model::NodeSpec& spec = world_.fleet.node(node).spec;
  return std::any_of(terms.begin(), terms.end(), [&](const model::NodeTerm& t) {
    return model::matches(t, spec.labels, spec.name);
  });
}

bool Relations::ports_allow(NodeId id) const {
  if (pod_.spec.host_ports.empty() || !policy_.rules.has(Rule::HostPorts)) return true;
  const auto clash = [&](const std::vector<int>& ports) {
    return std::any_of(ports.begin(), ports.end(), [&](int port) {
      return std::find(pod_.spec.host_ports.begin(), pod_.spec.host_ports.end(), port) !=
             pod_.spec.host_ports.end();
    });
  };
  const Node& node = world_.fleet.node(id);
  for (const PodOn& on : node.pods) {
    if (clash(world_.shapes.pod(on.pod).spec.host_ports)) return false;
  }
  for (const auto& [uid, foreign] : node.foreign) {
    if (clash(foreign.host_ports)) return false;
  }
  return true;
}

bool Relations::allows(NodeId node) const {
  if (!names_allow(node) || !ports_allow(node)) return false;
  if (policy_.rules.has(Rule::PodAffinity)) {
    // The first of a group that wants to be together may start it anywhere.
    const bool is_first = neighbours_ == 0 && is_looked_for(pod_.spec.labels);
    for (const Term& term : near_) {
      const std::string* value = domain(node, term.key);
      if (value == nullptr || (!is_first && !term.counts.contains(*value))) return false;
    }
  }
  if (policy_.rules.has(Rule::PodAntiAffinity)) {
    for (const Term& term : away_) {
      const std::string* value = domain(node, term.key);
      if (value != nullptr && term.counts.contains(*value)) return false;
    }
  }
  for (const auto& [key, value] : forbidden_) {
    const std::string* here = domain(node, key);
    if (here != nullptr && *here == value) return false;
  }
  if (policy_.rules.has(Rule::TopologySpread)) {
    for (const SpreadTerm& term : spread_) {
      if (!term.spread->required) continue;
      const std::string* value = domain(node, term.spread->topology_key);
      const auto here = value == nullptr ? term.counts.end() : term.counts.find(*value);
      if (here == term.counts.end()) return false;
      int least = std::numeric_limits<int>::max();
      for (const auto& [other, n] : term.counts) least = std::min(least, n);
      const bool counts_itself = model::matches(term.spread->selector, pod_.spec.labels);
      if (here->second + (counts_itself ? 1 : 0) - least > term.spread->max_skew) return false;
    }
  }
  return true;
}

std::int64_t Relations::preference(NodeId id) const {
  if (!policy_.rules.has(Rule::PreferredAffinity)) return 0;
  const model::NodeSpec& spec = world_.fleet.node(id).spec;
  std::int64_t points = 0;
  for (const auto& preferred : pod_.spec.preferred_affinity) {
    if (!preferred.term.fields.empty() && model::matches(preferred.term, spec.labels, spec.name))
      points += preferred.weight;
  }
  return points;
}

std::int64_t Relations::crowding(NodeId node) const {
  std::int64_t sum = 0;
  for (const SpreadTerm& term : spread_) {
    if (term.spread->required) continue;
    const std::string* value = domain(node, term.spread->topology_key);
    const auto it = value == nullptr ? term.counts.end() : term.counts.find(*value);
    sum += it == term.counts.end() ? 0 : it->second;
  }
  return sum;
}

}  // namespace muster::sched
