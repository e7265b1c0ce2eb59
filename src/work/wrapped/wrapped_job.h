// The job that an AppWrapper is: its wrapped objects with the labels and names its own controller
// would give them, the gang of their pods, and how they are looked after. Pure; the same AppWrapper
// gives the same job.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "manifest/amounts.h"
#include "model/command.h"
#include "model/job.h"
#include "model/node_health.h"
#include "model/selector.h"
#include "work/wrapped/app_wrapper.h"

namespace muster::work {

/// Whose an AppWrapper, or a labelled object, is.
inline constexpr std::string_view user_label = "workload.codeflare.dev/user";

/// A cluster of the fleet, where an AppWrapper may run if it can.
struct SelectableCluster {
  std::string name = {};
  model::Labels labels = {};                    // by which a clusterSelector chooses
  bool makes_objects = true;                    // false: it is no Kubernetes
  std::vector<std::string> namespaces = {"*"};  // where jobs may be made; "*": everywhere
};

struct WrapOptions {
  std::string hub = {};                    // the cluster that the AppWrapper was read from
  std::string queue = {};                  // of those without the label muster.dev/queue
  int priority = 0;                        // of those that say none
  bool is_mcad = false;                    // fits against sums, and totals by MCAD's arithmetic
  std::vector<std::string> kinds = {"*"};  // that may be wrapped: see rights.h
  manifest::GpuNaming gpus = {};
  std::vector<SelectableCluster> clusters = {};
  std::vector<model::NodeHealth> node_health = {};  // that those of v1beta2 heed
};

/// What it asks for in all, for its status. Not clamped.
struct Totals {
  std::int64_t milli_cpu = 0;
  std::int64_t memory = 0;
  std::int64_t gpu = 0;
  friend bool operator==(const Totals&, const Totals&) = default;
};

struct WrappedJob {
  model::JobSpec spec = {};  // without id and payload
  model::Command command = {};
  model::Labels labels = {};                     // of the AppWrapper
  std::vector<std::string> unfit_clusters = {};  // that make nothing in its namespace
  Totals totals = {};
  bool makes_pods = true;  // false: nothing in it does, and its one pod stands for none
  std::vector<std::string> warnings = {};  // those of the AppWrapper among them
};

/// Paths and replicas of an item's pod sets, given or inferred, as v1beta2 writes them:
/// "template.spec.template".
std::vector<PodSetPath> pod_sets_of(const WrappedItem& item);

/// Fault::Invalid names the field; Fault::Unavailable: no cluster that it may run in is there now.
Result<WrappedJob> wrapped_job(const AppWrapper& wrapper, const WrapOptions& options);

/// As MCAD fits: against the sum of a cluster's nodes, where GPUs are an amount like any other and
/// nothing is asked of a single node.
void flatten_as_mcad(model::PodShape& pod);

/// MCAD's count of what an item asks for: replicas of the object, not the parallelism of Jobs;
/// containers only, a limit where there is no request; nothing for kinds it does not know.
Totals mcad_totals(const WrappedItem& item);

}  // namespace muster::work
