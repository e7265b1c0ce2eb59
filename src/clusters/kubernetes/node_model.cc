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
using kube::find;
using kube::flag_at;
using kube::items_at;
using kube::map_at;
using kube::text_at;

/// Amounts by resource: thousandths of cores, whole units of all else.
using Amounts = std::map<std::string, std::int64_t>;

/// A quantity stands as text, and as a bare number where somebody wrote one.
std::int64_t amount_of(const json::value& value, model::Scale scale) {
  if (value.is_int64() || value.is_uint64()) {
    json::error_code error;
    const auto number = value.to_number<std::int64_t>(error);
    if (error || number < 0 || number > model::amount_max / 1000) return 0;
    return scale == model::Scale::Milli ? number * 1000 : number;
  }
  if (!value.is_string()) return 0;
  const std::string_view text(value.get_string().data(), value.get_string().size());
  const auto parsed = model::parse_quantity(text, "quantity", scale);
  return parsed ? *parsed : 0;
}

Amounts amounts_of(const json::object& map) {
  Amounts amounts;
  for (const auto& member : map) {
    const std::string name(member.key());
    const auto scale = name == "cpu" ? model::Scale::Milli : model::Scale::Whole;
    if (const std::int64_t amount = amount_of(member.value(), scale); amount > 0) {
      amounts[name] = amount;
    }
  }
  return amounts;
}

std::int64_t capped(std::int64_t amount) { return std::min(amount, model::amount_max); }

void add(Amounts& into, const Amounts& more) {
  for (const auto& [name, amount] : more) into[name] = capped(into[name] + amount);
}

void raise(Amounts& into, const Amounts& other) {
  for (const auto& [name, amount] : other) into[name] = std::max(into[name], amount);
}

bool is_gpu(const std::string& resource, const GpuNaming& naming) {
  return std::find(naming.resources.begin(), naming.resources.end(), resource) !=
         naming.resources.end();
}

/// What the model keeps apart: cores, memory, GPUs; pods are counted, the rest is extended.
struct Split {
  model::Resources resources;
  int gpus = 0;
  std::int64_t pods = -1;
};

Split split(const Amounts& amounts, const GpuNaming& naming) {
  Split found;
  for (const auto& [name, amount] : amounts) {
    if (name == "cpu") {
      found.resources.cpu.v = amount;
    } else if (name == "memory") {
      found.resources.memory.v = amount;
    } else if (name == "pods") {
      found.pods = amount;
    } else if (is_gpu(name, naming)) {
      found.gpus += static_cast<int>(std::min<std::int64_t>(amount, 1 << 20));
    } else {
      found.resources.extended[name] = amount;
    }
  }
  return found;
}

/// Requests of a container; a limit without a request is one. What the node has allocated counts
/// while it is more.
Amounts container_use(const json::value& container, const json::array& statuses) {
  Amounts use = amounts_of(map_at(container, {"resources", "limits"}));
  for (auto& [name, amount] : amounts_of(map_at(container, {"resources", "requests"}))) {
    use[name] = amount;
  }
  const std::string_view name = text_at(container, {"name"});
  for (const json::value& status : statuses) {
    if (text_at(status, {"name"}) != name) continue;
    raise(use, amounts_of(map_at(status, {"allocatedResources"})));
  }
  return use;
}

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

std::vector<int> host_ports_of(const json::value& pod) {
  std::vector<int> ports;
  const bool is_on_host = flag_at(pod, {"spec", "hostNetwork"});
  for (const json::value& container : items_at(pod, {"spec", "containers"})) {
    for (const json::value& port : items_at(container, {"ports"})) {
      std::int64_t number = kube::integer_at(port, {"hostPort"});
      if (number == 0 && is_on_host) number = kube::integer_at(port, {"containerPort"});
      if (number > 0 && number < 65536) ports.push_back(static_cast<int>(number));
    }
  }
  return ports;
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
  Split amounts = split(amounts_of(map_at(node, {"status", "allocatable"})), naming);
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

PodUse pod_use_of(const json::value& pod, const GpuNaming& naming) {
  Amounts together;  // of all that run at the same time in the end
  const json::array& statuses = items_at(pod, {"status", "containerStatuses"});
  for (const json::value& container : items_at(pod, {"spec", "containers"})) {
    add(together, container_use(container, statuses));
  }
  Amounts sidecars;    // init containers that stay
  Amounts at_startup;  // the most that one step of the start needs
  const json::array& init_statuses = items_at(pod, {"status", "initContainerStatuses"});
  for (const json::value& container : items_at(pod, {"spec", "initContainers"})) {
    const Amounts use = container_use(container, init_statuses);
    if (text_at(container, {"restartPolicy"}) == "Always") {
      add(sidecars, use);
      raise(at_startup, sidecars);
    } else {
      Amounts step = sidecars;
      add(step, use);
      raise(at_startup, step);
    }
  }
  add(together, sidecars);
  raise(together, at_startup);
  // Requests of the pod as a whole replace the sum of its containers, resource by resource.
  for (const auto& [name, amount] : amounts_of(map_at(pod, {"spec", "resources", "requests"}))) {
    together[name] = amount;
  }
  add(together, amounts_of(map_at(pod, {"spec", "overhead"})));
  Split amounts = split(together, naming);
  return {std::move(amounts.resources), amounts.gpus};
}

bool takes_room(const json::value& pod) {
  if (text_at(pod, {"spec", "nodeName"}).empty()) return false;
  const std::string_view phase = text_at(pod, {"status", "phase"});
  return phase != "Succeeded" && phase != "Failed";
}

std::optional<model::ForeignPod> foreign_pod_of(const json::value& pod, const GpuNaming& naming) {
  if (!takes_room(pod)) return std::nullopt;
  PodUse use = pod_use_of(pod, naming);
  model::ForeignPod foreign;
  foreign.uid = kube::uid_of(pod);
  foreign.node = text_at(pod, {"spec", "nodeName"});
  foreign.requests = std::move(use.requests);
  foreign.gpus = use.gpus;
  foreign.labels = labels_of(pod);
  foreign.host_ports = host_ports_of(pod);
  return foreign;
}

}  // namespace muster::clusters
