#include "clusters/kubernetes/node_model.h"

#include <algorithm>
#include <boost/json/object.hpp>
#include <limits>
#include <string_view>
#include <utility>

#include "kube/json.h"

namespace muster::clusters {

namespace {

namespace json = boost::json;
using kube::flag_at;
using kube::items_at;
using kube::map_at;
using kube::text_at;

model::Labels labels_of(const json::value& object) {
  model::Labels labels;
  for (const auto& member : map_at(object, {"metadata", "labels"})) {
    if (member.value().is_string()) {
      labels[std::string(member.key())] = std::string(member.value().get_string());
    }
  }
  return labels;
}

std::vector<model::Taint> taints_of(const json::value& node) {
  std::vector<model::Taint> taints;
  for (const json::value& item : items_at(node, {"spec", "taints"})) {
    const auto effect = model::parse_effect(text_at(item, {"effect"}), "effect");
    if (!effect) continue;
    taints.push_back(
        {std::string(text_at(item, {"key"})), std::string(text_at(item, {"value"})), *effect});
  }
  return taints;
}

bool is_ready(const json::value& node) {
  for (const json::value& condition : items_at(node, {"status", "conditions"})) {
    if (text_at(condition, {"type"}) == "Ready") return text_at(condition, {"status"}) == "True";
  }
  return false;
}

}  // namespace

std::string gpu_type_of(const std::string& label_value, const GpuNaming& naming) {
  const std::pair<const std::string, std::string>* best = nullptr;
  for (const auto& alias : naming.aliases) {
    const bool is_longer = best == nullptr || alias.first.size() > best->first.size();
    if (label_value.starts_with(alias.first) && is_longer) best = &alias;
  }
  return best == nullptr ? label_value : best->second;
}

model::NodeSpec node_spec_of(const json::value& node, const GpuNaming& naming) {
  model::NodeSpec spec;
  spec.name = kube::name_of(node);
  spec.labels = labels_of(node);
  spec.taints = taints_of(node);
  manifest::Split amounts =
      manifest::split(manifest::amounts_of(map_at(node, {"status", "allocatable"})), naming);
  spec.allocatable = std::move(amounts.resources);
  spec.gpu_count = amounts.gpus;
  if (amounts.pods >= 0) {
    spec.pods_max = static_cast<int>(std::min<std::int64_t>(amounts.pods, 1 << 20));
  }
  spec.ready = is_ready(node);
  spec.cordoned = flag_at(node, {"spec", "unschedulable"});
  if (spec.gpu_count == 0) return spec;
  spec.gpu_type = "gpu";  // of nodes that do not say
  for (const std::string& label : naming.type_labels) {
    const auto found = spec.labels.find(label);
    if (found == spec.labels.end() || found->second.empty()) continue;
    spec.gpu_type = gpu_type_of(found->second, naming);
    break;
  }
  if (const auto found = spec.labels.find(naming.memory_label); found != spec.labels.end()) {
    const auto mib = model::whole_number(found->second);
    constexpr std::int64_t mib_max = std::int64_t{1} << 24;
    if (mib && *mib > 0 && *mib <= mib_max) spec.gpu_memory.v = *mib << 20;
  }
  return spec;
}

bool takes_room(const json::value& pod) {
  if (text_at(pod, {"spec", "nodeName"}).empty()) return false;
  const std::string_view phase = text_at(pod, {"status", "phase"});
  return phase != "Succeeded" && phase != "Failed";
}

std::optional<model::ForeignPod> foreign_pod_of(const json::value& pod, const GpuNaming& naming) {
  if (!takes_room(pod)) return std::nullopt;
  manifest::PodUse use = manifest::pod_use_of(pod, naming);
  model::ForeignPod foreign;
  foreign.uid = kube::uid_of(pod);
  foreign.node = text_at(pod, {"spec", "nodeName"});
  foreign.requests = std::move(use.requests);
  foreign.gpus = use.gpus;
  foreign.labels = labels_of(pod);
  foreign.host_ports = manifest::host_ports_of(pod);
  return foreign;
}

}  // namespace muster::clusters
