// A job as it is written in a file or sent to the API, before it becomes a model::JobSpec and a
// model::Command: one struct a map of the document, with the defaults of the document.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "config/config.h"
#include "config/container_document.h"
#include "config/node.h"
#include "config/values.h"
#include "model/command.h"
#include "model/job.h"

namespace muster::config {

/// A text for the shell, or the words of a program and its arguments.
struct RunDoc {
  bool shell = false;
  std::vector<std::string> words;  // with shell: one
  friend bool operator==(const RunDoc&, const RunDoc&) = default;
};

/// Whole GPUs, or a share of one: 0.5.
struct GpuDoc {
  std::int64_t milli = 0;
  friend bool operator==(const GpuDoc&, const GpuDoc&) = default;
};

/// One word, or a list of them.
struct Words {
  std::vector<std::string> list;
  friend bool operator==(const Words&, const Words&) = default;
};

/// A moment, or a time from now.
struct When {
  std::optional<Time> at;
  Duration in{0};
  friend bool operator==(const When&, const When&) = default;
};

struct SpreadDoc {
  enum class Else { DoNotSchedule, ScheduleAnyway };
  int max_skew = 1;
  std::string topology_key;
  Else otherwise = Else::DoNotSchedule;
  model::LabelSelector selector;
  friend bool operator==(const SpreadDoc&, const SpreadDoc&) = default;
};

struct NodeSelectorDoc {
  std::vector<model::NodeTerm> terms;
  friend bool operator==(const NodeSelectorDoc&, const NodeSelectorDoc&) = default;
};
struct NodeAffinityDoc {
  NodeSelectorDoc required;
  std::vector<model::PreferredTerm> preferred;
  friend bool operator==(const NodeAffinityDoc&, const NodeAffinityDoc&) = default;
};
struct PodAffinityDoc {
  std::vector<model::PodAffinityTerm> required;
  friend bool operator==(const PodAffinityDoc&, const PodAffinityDoc&) = default;
};
struct AffinityDoc {
  NodeAffinityDoc node;
  PodAffinityDoc pod;
  PodAffinityDoc pod_anti;
  friend bool operator==(const AffinityDoc&, const AffinityDoc&) = default;
};

struct TopologyDoc {
  std::string key;
  bool required = true;
  friend bool operator==(const TopologyDoc&, const TopologyDoc&) = default;
};

/// What pods of one set are; a job without pod sets has one of these.
struct PodDoc {
  std::optional<RunDoc> command;
  std::optional<std::string> script;
  std::string image;
  model::Environment env;
  GpuDoc gpus;
  Words gpu_type;
  model::Bytes gpu_memory;
  model::MilliCpu cpu;
  model::Bytes memory;
  Amounts resources;
  int pods = 1;
  int min_pods = 0;
  int pods_per_node = 0;
  model::Labels node_selector;
  AffinityDoc affinity;
  std::vector<TolerationEntry> tolerations;
  std::vector<SpreadDoc> spread;
  model::Labels pod_labels;
  std::vector<int> host_ports;
  std::vector<std::string> volume_zones;
  friend bool operator==(const PodDoc&, const PodDoc&) = default;
};

struct PodSetDoc : PodDoc {
  std::string name;
  /// A set starts as its job, but what it runs is its own once it says so.
  static PodSetDoc seeded_from(const PodDoc& job, const Node& own);
  friend bool operator==(const PodSetDoc&, const PodSetDoc&) = default;
};

struct JobDoc : PodDoc, ContainerDoc {
  std::string name;
  std::optional<std::string> queue;
  std::vector<std::string> extra_queues;
  std::optional<int> priority;
  std::string workdir;
  std::vector<model::CommandFile> files;
  std::optional<Duration> stop_grace;  // none: as the cluster says
  std::string kube_namespace;
  std::vector<RawMap> objects;
  std::optional<model::HubObject> hub;
  model::ObjectCare care;
  std::vector<PodSetDoc> pod_sets;
  std::optional<TopologyDoc> topology;
  std::string pool;
  Words clusters;
  Words exclude_clusters;
  std::string data;
  Duration run_limit{0};
  bool preemptible = true;
  Duration min_runtime{0};
  int max_retries = 0;
  std::optional<When> start_after;
  std::optional<When> deadline;
  Words depends_on;
  model::OnClusterLoss on_cluster_loss = model::OnClusterLoss::Wait;
  bool held = false;
  model::Labels labels;
  friend bool operator==(const JobDoc&, const JobDoc&) = default;
};

/// A value of a parameter or of an array: any scalar.
struct ScalarDoc {
  std::string text;
  bool plain = false;
  friend bool operator==(const ScalarDoc&, const ScalarDoc&) = default;
};

enum class ParameterType { String, Integer, Number, Boolean };

struct ParameterDoc {
  ParameterType type = ParameterType::String;
  std::optional<ScalarDoc> standard;  // none: must be given
  std::vector<ScalarDoc> choices;
  std::string help;
  friend bool operator==(const ParameterDoc&, const ParameterDoc&) = default;
};

/// A name and its values: a list, or a range that is never written out.
struct AxisDoc {
  std::string name;
  std::vector<ScalarDoc> values;
  std::int64_t low = 0;  // of the range
  std::size_t count = 0;
  std::size_t size() const { return values.empty() ? count : values.size(); }
  ScalarDoc at(std::size_t i) const {
    return values.empty() ? ScalarDoc{std::to_string(low + static_cast<std::int64_t>(i)), true}
                          : values[i];
  }
  friend bool operator==(const AxisDoc&, const AxisDoc&) = default;
};

/// In the order written: the last one changes fastest.
struct OverDoc {
  std::vector<AxisDoc> axes;
  friend bool operator==(const OverDoc&, const OverDoc&) = default;
};

struct ArrayDoc {
  std::optional<int> count;
  OverDoc over;
  friend bool operator==(const ArrayDoc&, const ArrayDoc&) = default;
};

/// What turns one document into many jobs.
struct TemplateDoc {
  std::map<std::string, ParameterDoc> parameters;
  std::optional<ArrayDoc> array;
  friend bool operator==(const TemplateDoc&, const TemplateDoc&) = default;
};

struct JobDocument : JobDoc, TemplateDoc {
  friend bool operator==(const JobDocument&, const JobDocument&) = default;
};

/// Several jobs in one document.
struct BatchDocument {
  std::vector<JobDocument> jobs;
  std::map<std::string, ParameterDoc> parameters;
  friend bool operator==(const BatchDocument&, const BatchDocument&) = default;
};

}  // namespace muster::config
