// Amounts of resources as Kubernetes writes them, and which of them are GPUs. Pure.
//
// What cannot be read (an amount of a resource nobody knows) counts as nothing and never stops the
// rest.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "model/amount.h"

namespace muster::manifest {

/// How GPUs are named in a cluster.
struct GpuNaming {
  /// Resources that are whole GPUs.
  std::vector<std::string> resources = {"nvidia.com/gpu", "amd.com/gpu", "gpu.intel.com/i915"};
  /// Labels of nodes whose value is the type of their GPUs, the first that is there.
  std::vector<std::string> type_labels = {
      "nvidia.com/gpu.product", "cloud.google.com/gke-accelerator", "k8s.amazonaws.com/accelerator",
      "amd.com/gpu.product-name", "accelerator"};
  /// What people call a type: "NVIDIA-A100-SXM4-80GB" is "A100". The longest key that begins the
  /// value wins; a value without one stays as it is.
  std::map<std::string, std::string> aliases = {};
  /// Label with the memory of one device in MiB.
  std::string memory_label = "nvidia.com/gpu.memory";
};

/// By resource: thousandths of cores, whole units of all else.
using Amounts = std::map<std::string, std::int64_t>;

model::Scale scale_of(const std::string& resource);
Amounts amounts_of(const boost::json::object& quantities);
void add(Amounts& into, const Amounts& more);
/// Each at least as much as the other has.
void raise(Amounts& into, const Amounts& other);

/// What the model keeps apart: cores, memory, GPUs; pods are counted, the rest is extended.
struct Split {
  model::Resources resources;
  int gpus = 0;
  std::int64_t pods = -1;
};
Split split(const Amounts& amounts, const GpuNaming& naming);

}  // namespace muster::manifest
