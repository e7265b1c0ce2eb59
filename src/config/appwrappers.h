// AppWrappers of a cluster, the hub, that are taken as jobs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/node_health.h"

namespace muster::config {

/// How AppWrappers are treated where MCAD and Muster differ.
enum class WrapperProfile { Default, Mcad };

/// Whose Secrets go along to other clusters: those of namespaces with a label, or nobody's.
enum class TravellingSecrets { Labelled, Never };

/// What goes along with an AppWrapper that runs in another cluster than its own.
struct Travel {
  bool namespaces = true;  // made there when they are missing
  bool configmaps = true;  // that its pods name
  TravellingSecrets secrets = TravellingSecrets::Labelled;
  bool service_accounts = false;  // the same, without tokens and rights
  friend bool operator==(const Travel&, const Travel&) = default;
};

/// Which Events of Kubernetes are written about AppWrappers. Problems: why they wait or went wrong.
enum class WrapperEvents { None, Problems, All };

struct AppWrappers {
  std::string cluster;
  std::string kube_namespace;  // empty: all
  WrapperProfile profile = WrapperProfile::Default;
  std::string queue;  // of those that name none; empty: that of defaults
  bool quota = false;
  std::vector<std::string> kinds;  // that they may wrap, "batch/Job"; empty: as the profile says
  bool creators = false;           // the API server checks what their creators may create
  std::optional<std::vector<model::NodeHealth>> node_health;  // none: Autopilot's labels
  Travel travel;
  WrapperEvents events = WrapperEvents::Problems;
  friend bool operator==(const AppWrappers&, const AppWrappers&) = default;
};

}  // namespace muster::config
