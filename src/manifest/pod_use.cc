#include "manifest/pod_use.h"

#include <boost/json/array.hpp>
#include <string_view>
#include <utility>

#include "kube/json.h"
#include "model/host_port.h"

namespace muster::manifest {

namespace {

namespace json = boost::json;
using kube::flag_at;
using kube::items_at;
using kube::map_at;
using kube::text_at;

/// Requests of a container; a limit without a request is one. What the node has allocated, or the
/// container still has, counts while it is more.
Amounts container_use(const json::value& container, const json::array& statuses) {
  Amounts use = amounts_of(map_at(container, {"resources", "limits"}));
  for (auto& [name, amount] : amounts_of(map_at(container, {"resources", "requests"}))) {
    use[name] = amount;
  }
  const std::string_view name = text_at(container, {"name"});
  for (const json::value& status : statuses) {
    if (text_at(status, {"name"}) != name) continue;
    raise(use, amounts_of(map_at(status, {"allocatedResources"})));
    raise(use, amounts_of(map_at(status, {"resources", "requests"})));
  }
  return use;
}

Amounts container_limits(const json::value& container, const json::array&) {
  return amounts_of(map_at(container, {"resources", "limits"}));
}

/// The most that the containers of a pod have at any time; `of` tells what one has.
template <typename Of>
Amounts most_of(const json::value& pod, Of of) {
  Amounts together;  // of all that run at the same time in the end
  const json::array& statuses = items_at(pod, {"status", "containerStatuses"});
  for (const json::value& container : items_at(pod, {"spec", "containers"})) {
    add(together, of(container, statuses));
  }
  Amounts sidecars;    // init containers that stay
  Amounts at_startup;  // the most that one step of the start needs
  const json::array& init_statuses = items_at(pod, {"status", "initContainerStatuses"});
  for (const json::value& container : items_at(pod, {"spec", "initContainers"})) {
    const Amounts use = of(container, init_statuses);
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
  return together;
}

}  // namespace

Amounts pod_requests_of(const json::value& pod) {
  Amounts together = most_of(pod, container_use);
  // A limit of the pod as a whole is its request where nothing in it says one.
  for (const auto& [name, amount] : amounts_of(map_at(pod, {"spec", "resources", "limits"}))) {
    together.try_emplace(name, amount);
  }
  // Requests of the pod as a whole replace the sum of its containers, resource by resource.
  for (const auto& [name, amount] : amounts_of(map_at(pod, {"spec", "resources", "requests"}))) {
    together[name] = amount;
  }
  add(together, amounts_of(map_at(pod, {"spec", "overhead"})));
  return together;
}

Amounts pod_limits_of(const json::value& pod) {
  Amounts together = most_of(pod, container_limits);
  for (const auto& [name, amount] : amounts_of(map_at(pod, {"spec", "resources", "limits"}))) {
    together[name] = amount;
  }
  for (const auto& [name, amount] : amounts_of(map_at(pod, {"spec", "overhead"}))) {
    if (together.contains(name)) add(together, {{name, amount}});
  }
  return together;
}

PodUse pod_use_of(const json::value& pod, const GpuNaming& naming) {
  Split amounts = split(pod_requests_of(pod), naming);
  return {std::move(amounts.resources), amounts.gpus};
}

PodRuntime runtime_of(const json::value& pod) {
  return {std::string(text_at(pod, {"spec", "runtimeClassName"})),
          !map_at(pod, {"spec", "overhead"}).empty()};
}

std::vector<int> host_ports_of(const json::value& pod) {
  std::vector<int> ports;
  const bool is_on_host = flag_at(pod, {"spec", "hostNetwork"});
  for (const json::value& container : items_at(pod, {"spec", "containers"})) {
    for (const json::value& port : items_at(container, {"ports"})) {
      std::int64_t number = kube::integer_at(port, {"hostPort"});
      if (number == 0 && is_on_host) number = kube::integer_at(port, {"containerPort"});
      const auto protocol = model::parse_protocol(kube::text_at(port, {"protocol"}));
      if (number > 0 && number < model::ports_of_a_protocol && protocol)
        ports.push_back(model::host_port(static_cast<int>(number), *protocol));
    }
  }
  return ports;
}

}  // namespace muster::manifest
