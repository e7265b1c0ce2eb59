// AppWrappers as values: what users wrote in either dialect, read from the JSON of the object with
// the defaults their controllers gave it. Pure.
//
// v1beta1 is MCAD's (spec.resources.GenericItems, schedulingSpec, also with the fields of its
// second version and in its old group), v1beta2 its successor's (spec.components, annotations).
// Both are served for both versions of one kind, so which it is shows in the fields that are there,
// not in apiVersion.
#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "manifest/pod_resources.h"
#include "model/selector.h"
#include "work/wrapped/grace.h"

namespace muster::work {

enum class Dialect { V1beta1, V1beta2 };

/// The priority of those whose dialect has no field for it.
constexpr std::string_view priority_label = "muster.dev/priority";
constexpr std::size_t items_max = 1000;
constexpr std::size_t bytes_max = std::size_t{3} << 20;  // of all templates, as compact JSON

/// One of a component's podSets.
struct PodSetPath {
  std::int64_t replicas = 1;
  std::string path = {};  // "template.spec.template"
};

/// What an admission controller wants in the pod templates of a component, a set each.
struct PodSetInfo {
  model::Labels annotations = {};
  model::Labels labels = {};
  model::Labels node_selector = {};
  std::vector<boost::json::value> tolerations = {};
  std::vector<boost::json::value> scheduling_gates = {};
};

/// A wrapped object: a GenericItem or a component.
struct WrappedItem {
  std::string field = {};  // of its template: spec.resources.GenericItems[2].generictemplate
  boost::json::value object = {};                          // the template as it was written
  std::vector<manifest::PodResources> pod_resources = {};  // custompodresources
  std::vector<PodSetPath> pod_sets = {};
  std::vector<PodSetInfo> pod_set_infos = {};
  std::string completion_status = {};
};

enum class GrowthType { Exponential, Linear, None };

/// schedulingSpec.requeuing: what happens while fewer than minAvailable pods run.
struct Requeuing {
  Duration time = seconds(300);
  std::optional<Duration> initial_time = {};
  Duration time_most{0};  // 0: no limit
  GrowthType growth = GrowthType::Exponential;
  int requeuings_most = 0;                      // 0: no limit
  std::optional<Duration> pause = {};           // of MCAD's second version
  std::optional<Duration> force_deletion = {};  // of MCAD's second version

  Duration first_wait() const { return initial_time.value_or(time); }
};

struct DispatchDuration {
  Duration expected{0};
  Duration limit{0};  // 0: none
  bool may_overrun = false;
};

/// Where it may run; what is empty says nothing.
struct ClusterPins {
  std::vector<std::string> names = {};  // each once
  model::LabelSelector selector = {};
  bool has_selector() const { return selector != model::LabelSelector(); }
};

struct AppWrapper {
  Dialect dialect = Dialect::V1beta1;
  std::string api_version = {};  // as it was read
  std::string group = {};
  std::string ns = {};
  std::string name = {};
  std::string uid = {};
  std::int64_t generation = 0;
  bool is_deleting = false;
  model::Labels labels = {};
  model::Labels annotations = {};

  std::vector<WrappedItem> items = {};
  std::optional<std::int64_t> priority = {};
  double priority_slope = 0;
  int min_available = 0;
  Requeuing requeuing = {};
  DispatchDuration dispatch_duration = {};
  ClusterPins pins = {};
  bool is_suspended = false;
  std::string managed_by = {};
  Grace grace = {};
  std::vector<std::string> warnings = {};  // what was read otherwise than it is written

  /// Whether any item says when it is complete.
  bool has_completion_rule() const;
};

/// By which of spec.resources and spec.components is there, else by the version.
Dialect dialect_of(const boost::json::value& object);

/// Fault::Invalid names the field: spec.resources.GenericItems[2].generictemplate: .... An item in
/// another namespace is refused in MCAD's words.
Result<AppWrapper> read_app_wrapper(const boost::json::value& object);

}  // namespace muster::work
