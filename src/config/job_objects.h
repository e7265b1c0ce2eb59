// Jobs that are lists of Kubernetes objects, between their text and what the engine takes. Pure.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/container_document.h"
#include "config/job_file.h"
#include "config/node.h"
#include "model/job.h"
#include "model/runtime_class.h"

namespace muster::config {

struct ListedJob {
  std::string json;  // the list
  std::vector<model::PodSet> sets;
  std::vector<std::string> kinds;  // that a cluster has to serve: see model::Gang
  std::string name;                // of the first object that makes pods
  std::string queue;               // by the label muster.dev/queue of any of them; "": none
  std::optional<int> priority;
};

/// Errors name the object and its field.
Result<ListedJob> read_listed(const std::vector<RawMap>& objects);
/// Adds to a job's pods what an API server will, for the RuntimeClasses that the pod templates of
/// its objects name. `known` is asked only if there may be one.
void add_runtime_classes(const std::function<model::RuntimeClasses()>& known, Submission& job);
/// The objects of a list, one each.
std::vector<RawMap> split_listed(const std::string& json);

/// Whether a document is an object of Kubernetes and not a job of ours.
bool is_manifest(const Node& root);

}  // namespace muster::config
