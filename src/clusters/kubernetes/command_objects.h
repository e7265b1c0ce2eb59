// From a placement and a command to the objects that run it in a cluster: one Job a pod set, whose
// pods take the planned nodes, and what they need beside them. Pure; the same input gives the same
// objects, so that creating again after a doubt makes nothing twice.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "clusters/kubernetes/pod_asks.h"
#include "model/command.h"
#include "model/selector.h"
#include "ports/cluster.h"

namespace muster::clusters {

/// What pods of a pool have unless the job says otherwise.
struct PodDefaults {
  std::string ns = "default";
  std::string image = {};
  std::string image_pull_policy = {};
  std::string service_account = {};
  std::vector<std::string> pull_secrets = {};
  std::string runtime_class = {};
  std::string scheduler_name = {};
  model::Environment environment = {};
  model::Labels labels = {};
  model::Labels annotations = {};
  std::vector<model::Toleration> tolerations = {};
  std::vector<boost::json::value> volumes = {};  // as Kubernetes writes them
  std::vector<model::VolumeMount> mounts = {};   // of every container
};

struct ObjectOptions {
  PodDefaults pod = {};
  std::vector<std::string> namespaces = {};  // that a job may name, beside that of its pool; "*":
                                             // all there are
  NodeBinding binding = NodeBinding::Require;
  std::string gpu_resource = "nvidia.com/gpu";
  std::string priority_class = "muster";  // "": none
  std::string cluster = {};               // what Muster calls this one
  std::string server = {};                // whose they are; "": nobody shares the namespace
  std::string epoch = {};                 // when their maker began; "": not written
};

/// Whether objects may be made in any namespace.
bool has_every_namespace(const ObjectOptions& options);
bool is_allowed_namespace(const ObjectOptions& options, std::string_view ns);
/// "'team', 'other'": for errors.
std::string allowed_namespaces(const ObjectOptions& options);

/// What holds for the pods of a job: what it says itself, over the defaults. Fault::Invalid if that
/// is not allowed here.
Result<ObjectOptions> options_for(const model::Container& container, ObjectOptions defaults);

/// The Service by which the pods of a gang find each other, shared with other jobs; none if there
/// is only one pod.
std::optional<boost::json::value> peers_service(const ports::Action& action, std::string_view ns,
                                                const std::string& server);

/// In the order in which they are to be made: first what pods need, then the Jobs by set.
/// Fault::Invalid if command and placement do not belong together, or no image is known.
Result<std::vector<boost::json::value>> command_objects(const ports::Action& action,
                                                        const model::Command& command,
                                                        const ObjectOptions& options);

}  // namespace muster::clusters
