#include "clusters/kubernetes/aggregate_node.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace muster::clusters {

namespace {

void add(model::Resources& into, const model::Resources& more) {
  into.cpu.v += more.cpu.v;
  into.memory.v += more.memory.v;
  for (const auto& [name, amount] : more.extended) into.extended[name] += amount;
}

bool keeps_away(const model::Taint& taint) {
  return taint.effect != model::TaintEffect::PreferNoSchedule;
}

}  // namespace

void AggregateNode::put(const model::NodeSpec& node) {
  const bool is_usable = node.ready && !node.cordoned &&
                         std::none_of(node.taints.begin(), node.taints.end(), keeps_away);
  if (!is_usable) return remove(node.name);
  Part part{node.allocatable, node.pods_max};
  if (node.gpu_count > 0) part.allocatable.extended[aggregate_gpu] += node.gpu_count;
  parts_[node.name] = std::move(part);
}

void AggregateNode::remove(const std::string& name) { parts_.erase(name); }

model::NodeSpec AggregateNode::sum() const {
  model::NodeSpec all;
  all.name = aggregate_name;
  std::int64_t pods = 0;
  for (const auto& [name, part] : parts_) {
    add(all.allocatable, part.allocatable);
    pods += part.pods;
  }
  all.pods_max = static_cast<int>(std::min<std::int64_t>(pods, std::numeric_limits<int>::max()));
  all.ready = !parts_.empty();
  return all;
}

model::ForeignPod aggregate_pod(model::ForeignPod pod) {
  if (pod.gpus > 0) pod.requests.extended[aggregate_gpu] += std::exchange(pod.gpus, 0);
  pod.node = aggregate_name;
  pod.host_ports.clear();
  return pod;
}

}  // namespace muster::clusters
