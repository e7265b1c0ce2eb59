// What job files and pools say about the containers of their pods, in Kubernetes' terms.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/command.h"

namespace muster::config {

/// A map that is handed on as it is, as JSON on one line.
struct RawMap {
  std::string json;
  friend bool operator==(const RawMap&, const RawMap&) = default;
};

/// A volume as Kubernetes writes it: a name and one source.
struct VolumeDoc : RawMap {
  friend bool operator==(const VolumeDoc&, const VolumeDoc&) = default;
};

enum class PullPolicy { Always, IfNotPresent, Never };

struct ContainerDoc {
  std::optional<PullPolicy> image_pull_policy;
  std::string service_account;
  std::vector<std::string> pull_secrets;
  std::vector<VolumeDoc> volumes;
  std::vector<model::VolumeMount> mounts;
  friend bool operator==(const ContainerDoc&, const ContainerDoc&) = default;
};

/// What pods have unless their job says otherwise.
struct PodDefaults : ContainerDoc {
  std::string image;
  std::string runtime_class;
  std::string scheduler_name;
  model::Environment env;
  model::Labels labels;
  model::Labels annotations;
  friend bool operator==(const PodDefaults&, const PodDefaults&) = default;
};

}  // namespace muster::config
