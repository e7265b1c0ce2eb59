#include "work/wrapped/app_wrapper.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <limits>
#include <utility>

#include "base/text.h"
#include "kube/json.h"
#include "kube/resource.h"
#include "work/wrapped/grace.h"

namespace muster::work {

namespace {

namespace json = boost::json;
using kube::find;
using kube::flag_at;
using kube::integer_at;
using kube::items_at;
using kube::map_at;
using kube::text_at;

constexpr std::int64_t seconds_max = std::int64_t{10} * 365 * 24 * 3600;
constexpr std::size_t pod_sets_max = 8;  // as v1beta2's own controller has it, of a component
constexpr std::string_view clusters_annotation = "muster.dev/clusters";
constexpr std::string_view cluster_annotation = "clusterName";

/// Values that are no texts are left out: the API server takes none.
model::Labels texts_at(const json::value& from, kube::Path keys) {
  model::Labels texts;
  for (const auto& member : map_at(from, keys)) {
    if (member.value().is_string())
      texts[std::string(member.key())] = std::string(member.value().get_string());
  }
  return texts;
}

/// What was written as a list and is none is an error; what is not there has no items.
Result<const json::array*> list_at(const json::value& from, std::string_view key,
                                   const std::string& field) {
  static const json::array none;
  const json::value* list = find(from, {key});
  if (list == nullptr) return &none;
  if (list->is_array()) return &list->get_array();
  return invalid(fmt::format("{}.{}: not a list", field, key));
}

bool is_app_wrapper(const json::value& object) {
  const std::string group = kube::parse_group_version(text_at(object, {"apiVersion"})).group;
  return text_at(object, {"kind"}) == "AppWrapper" &&
         (group == "workload.codeflare.dev" || group == "mcad.ibm.com");
}

bool is_list(const json::value& object) {
  const json::value* items = find(object, {"items"});
  return text_at(object, {"kind"}).ends_with("List") && items != nullptr && items->is_array();
}

/// Reads until something is wrong.
class WrapperReader {
 public:
  explicit WrapperReader(const json::value& object) : object_(object) {}

  Result<AppWrapper> read() {
    if (!object_.is_object()) return invalid("not a map");
    if (!is_app_wrapper(object_)) return invalid("kind: not an AppWrapper");
    read_metadata();
    const json::value* spec = find(object_, {"spec"});
    if (spec == nullptr || !spec->is_object()) return invalid("spec: missing");
    read_items(*spec);
    read_scheduling(*spec);
    read_pins(*spec);
    warn_of_unread(*spec);
    wrapper_.is_suspended = flag_at(*spec, {"suspend"});
    wrapper_.managed_by = text_at(*spec, {"managedBy"});
    wrapper_.grace = read_grace(wrapper_.annotations, wrapper_.warnings);
    if (!wrong_) return wrong_.error();
    return std::move(wrapper_);
  }

 private:
  void note(Status status) {
    if (wrong_ && !status) wrong_ = std::move(status);
  }
  void note(std::string message) { note(Status(invalid(std::move(message)))); }

  void read_metadata() {
    AppWrapper& made = wrapper_;
    made.dialect = dialect_of(object_);
    made.api_version = text_at(object_, {"apiVersion"});
    made.group = kube::parse_group_version(made.api_version).group;
    made.ns = kube::namespace_of(object_);
    made.name = kube::name_of(object_);
    made.uid = kube::uid_of(object_);
    made.generation = integer_at(object_, {"metadata", "generation"});
    made.is_deleting = find(object_, {"metadata", "deletionTimestamp"}) != nullptr;
    made.labels = texts_at(object_, {"metadata", "labels"});
    made.annotations = texts_at(object_, {"metadata", "annotations"});
    if (made.name.empty()) note("metadata.name: missing");
  }

  void read_items(const json::value& spec) {
    const bool is_old = wrapper_.dialect == Dialect::V1beta1;
    const std::string field = is_old ? "spec.resources" : "spec";
    const std::string_view key = is_old ? "GenericItems" : "components";
    const json::value* from = is_old ? find(spec, {"resources"}) : &spec;
    if (from == nullptr || !from->is_object()) return note(field + ": missing");
    if (is_old && !items_at(*from, {"Items"}).empty()) {
      wrapper_.warnings.push_back(
          field + ".Items: nothing is created of it, as by MCAD since 1.34; use GenericItems");
    }
    const auto items = list_at(*from, key, field);
    if (!items) return note(items.error());
    if ((*items)->empty())
      return note(fmt::format("{}.{}: empty; there is nothing to create", field, key));
    for (std::size_t i = 0; i < (*items)->size() && wrong_; ++i) {
      const std::string at = fmt::format("{}.{}[{}]", field, key, i);
      const json::value& item = (**items)[i];
      if (!item.is_object()) return note(at + ": not a map");
      if (is_old) {
        read_generic_item(item, at);
      } else {
        read_component(item, at);
      }
    }
  }

  void read_generic_item(const json::value& item, const std::string& at) {
    WrappedItem made;
    const auto resources = list_at(item, "custompodresources", at);
    if (!resources) return note(resources.error());
    auto pods = manifest::read_pod_resources(**resources, at + ".custompodresources");
    if (!pods) return note(pods.error());
    made.pod_resources = std::move(*pods);
    made.completion_status = text_at(item, {"completionstatus"});
    add_item(std::move(made), find(item, {"generictemplate"}), at + ".generictemplate");
  }

  void read_component(const json::value& item, const std::string& at) {
    WrappedItem made;
    const auto sets = list_at(item, "podSets", at);
    if (!sets) return note(sets.error());
    if ((*sets)->size() > pod_sets_max)
      return note(fmt::format("{}.podSets: more than {}", at, pod_sets_max));
    for (const json::value& set : **sets) {
      made.pod_sets.push_back(
          {integer_at(set, {"replicas"}, 1), std::string(text_at(set, {"path"}))});
    }
    const auto infos = list_at(item, "podSetInfos", at);
    if (!infos) return note(infos.error());
    for (const json::value& info : **infos) {
      PodSetInfo& one = made.pod_set_infos.emplace_back();
      one.annotations = texts_at(info, {"annotations"});
      one.labels = texts_at(info, {"labels"});
      one.node_selector = texts_at(info, {"nodeSelector"});
      for (const json::value& toleration : items_at(info, {"tolerations"}))
        one.tolerations.push_back(toleration);
      for (const json::value& gate : items_at(info, {"schedulingGates"}))
        one.scheduling_gates.push_back(gate);
    }
    add_item(std::move(made), find(item, {"template"}), at + ".template");
  }

  /// With its object; a list becomes an item for each of its objects.
  void add_item(WrappedItem item, const json::value* object, const std::string& field) {
    if (!wrong_) return;
    if (object == nullptr) return note(field + ": missing; there is nothing to create");
    if (!object->is_object()) return note(field + ": not a map");
    if (is_list(*object)) {
      if (!item.pod_resources.empty() || !item.pod_sets.empty() || !item.pod_set_infos.empty())
        return note(field + ": of a list nobody knows which object the pods belong to");
      const json::array& items = items_at(*object, {"items"});
      for (std::size_t i = 0; i < items.size(); ++i)
        add_item(item, &items[i], fmt::format("{}.items[{}]", field, i));
      return;
    }
    if (!check_object(*object, field)) return;
    bytes_ += json::serialize(*object).size();
    if (bytes_ > bytes_max) {
      return note(fmt::format("{}: the templates up to here have {} bytes; the most are {}", field,
                              bytes_, bytes_max));
    }
    if (wrapper_.items.size() == items_max)
      return note(fmt::format("{}: more than {} objects", field, items_max));
    item.field = field;
    item.object = *object;
    wrapper_.items.push_back(std::move(item));
  }

  bool check_object(const json::value& object, const std::string& field) {
    if (text_at(object, {"apiVersion"}).empty() || text_at(object, {"kind"}).empty())
      note(field + ": needs apiVersion and kind");
    if (is_app_wrapper(object))
      note(field + ": an AppWrapper in an AppWrapper; wrap what that one wraps");
    const json::value* metadata = find(object, {"metadata"});
    if (metadata != nullptr && !metadata->is_object()) note(field + ".metadata: not a map");
    if (kube::name_of(object).empty() && text_at(object, {"metadata", "generateName"}).empty())
      note(field + ".metadata: needs a name or a generateName");
    const std::string_view ns = kube::namespace_of(object);
    if (ns.empty() || ns == wrapper_.ns) return wrong_.ok();
    if (wrapper_.dialect == Dialect::V1beta1) {  // MCAD's words, which its users look for
      note(fmt::format(
          "[SyncQueueJob] resource namespace \"{}\" is different from AppWrapper namespace \"{}\"",
          ns, wrapper_.ns));
    } else {
      note(fmt::format("{}.metadata.namespace: '{}' is not that of the AppWrapper, '{}'", field, ns,
                       wrapper_.ns));
    }
    return false;
  }

  void read_scheduling(const json::value& spec) {
    if (const json::value* priority = find(spec, {"priority"})) {
      json::error_code wrong;
      const auto number = priority->to_number<std::int32_t>(wrong);
      if (wrong) return note("spec.priority: not a whole number of 32 bits");
      wrapper_.priority = number;
    }
    const auto labelled = wrapper_.labels.find(std::string(priority_label));
    if (!wrapper_.priority && labelled != wrapper_.labels.end()) {
      const std::string field = fmt::format("metadata.labels.{}", priority_label);
      const auto number =
          parse_int(labelled->second, field, std::numeric_limits<std::int32_t>::min(),
                    std::numeric_limits<std::int32_t>::max());
      if (!number) return note(number.error());
      wrapper_.priority = *number;
    }
    if (const json::value* slope = find(spec, {"priorityslope"})) {
      json::error_code wrong;
      wrapper_.priority_slope = slope->to_number<double>(wrong);
      if (wrong) return note("spec.priorityslope: not a number");
    }
    const std::string field = "spec.schedulingSpec";
    const json::value* from = find(spec, {"schedulingSpec"});
    if (from == nullptr) return;
    wrapper_.min_available =
        static_cast<int>(whole(*from, "minAvailable", field, 0, std::numeric_limits<int>::max()));
    const json::value* duration = find(*from, {"dispatchDuration"});
    if (duration != nullptr) {
      const std::string at = field + ".dispatchDuration";
      wrapper_.dispatch_duration.expected = some_seconds(*duration, "expected", at, 0);
      wrapper_.dispatch_duration.limit = some_seconds(*duration, "limit", at, 0);
      wrapper_.dispatch_duration.may_overrun = flag_at(*duration, {"overrun"});
    }
    if (const json::value* requeuing = find(*from, {"requeuing"})) read_requeuing(*requeuing);
  }

  /// What its author may count on and does not get.
  void warn_of_unread(const json::value& spec) {
    const auto is_given = [&](kube::Path keys) {
      const json::value* value = find(spec, keys);
      return value != nullptr && !value->is_null() && *value != json::value(json::object());
    };
    const auto warn = [&](std::string_view field, std::string_view why) {
      wrapper_.warnings.push_back(fmt::format("spec.{}: {}", field, why));
    };
    if (is_given({"service"}))
      warn("service", "nothing is made of it, as by MCAD; wrap the Service as an item");
    if (is_given({"selector"})) warn("selector", "nothing reads it, as in MCAD");
    if (is_given({"schedulingSpec", "nodeSelector"}))
      warn("schedulingSpec.nodeSelector",
           "nothing reads it, as in MCAD; write it into the pod templates");
    if (is_given({"schedulingSpec", "dispatchingWindow"}))
      warn("schedulingSpec.dispatchingWindow", "it may start at any time; suspend it until then");
    if (wrapper_.dispatch_duration.expected.ms > 0)
      warn("schedulingSpec.dispatchDuration.expected", "nothing reads it; only limit counts");
    if (wrapper_.priority_slope != 0) warn("priorityslope", "priorities do not grow with time");
  }

  void read_requeuing(const json::value& from) {
    const std::string field = "spec.schedulingSpec.requeuing";
    Requeuing& made = wrapper_.requeuing;
    made.time = some_seconds(from, "timeInSeconds", field, 300);
    made.time_most = some_seconds(from, "maxTimeInSeconds", field, 0);
    // 0 is what Go writes for none.
    if (integer_at(from, {"initialTimeInSeconds"}) != 0)
      made.initial_time = some_seconds(from, "initialTimeInSeconds", field, 0);
    if (find(from, {"pauseTimeInSeconds"}) != nullptr)
      made.pause = some_seconds(from, "pauseTimeInSeconds", field, 0);
    if (find(from, {"forceDeletionTimeInSeconds"}) != nullptr)
      made.force_deletion = some_seconds(from, "forceDeletionTimeInSeconds", field, 0);
    made.requeuings_most = static_cast<int>(
        whole(from, "maxNumRequeuings", field, 0, std::numeric_limits<int>::max()));
    const std::string_view growth = text_at(from, {"growthType"});
    if (growth == "linear") {
      made.growth = GrowthType::Linear;
    } else if (growth != "exponential" && !growth.empty()) {
      made.growth = GrowthType::None;  // also for words that MCAD does not know
      if (growth != "none") {
        wrapper_.warnings.push_back(
            fmt::format("{}.growthType: '{}' is not exponential, linear or none; taken as none",
                        field, growth.substr(0, 60)));
      }
    }
  }

  /// Below the least is taken as it, which is what MCAD's comparisons make of it.
  std::int64_t whole(const json::value& from, std::string_view key, const std::string& field,
                     std::int64_t otherwise, std::int64_t most) {
    const json::value* value = find(from, {key});
    if (value == nullptr) return otherwise;
    json::error_code wrong;
    const auto number = value->to_number<std::int64_t>(wrong);
    if (wrong) {
      note(fmt::format("{}.{}: not a whole number", field, key));
      return otherwise;
    }
    return std::clamp<std::int64_t>(number, 0, most);
  }
  Duration some_seconds(const json::value& from, std::string_view key, const std::string& field,
                        std::int64_t otherwise) {
    return seconds(whole(from, key, field, otherwise, seconds_max));
  }

  void read_pins(const json::value& spec) {
    const auto add = [&](std::string_view name) {
      std::vector<std::string>& names = wrapper_.pins.names;
      if (!name.empty() && std::find(names.begin(), names.end(), name) == names.end())
        names.emplace_back(name);
    };
    const kube::Path clusters = {"schedulingSpec", "clusterScheduling", "clusters"};
    for (const json::value& one : items_at(spec, clusters)) add(text_at(one, {"name"}));
    for (const std::string_view annotation : {clusters_annotation, cluster_annotation}) {
      const auto written = wrapper_.annotations.find(std::string(annotation));
      if (written == wrapper_.annotations.end()) continue;
      for (const std::string_view name : split(written->second, ',')) add(trim(name));
    }
    const json::value* selector =
        find(spec, {"schedulingSpec", "clusterScheduling", "clusterSelector"});
    if (selector != nullptr) read_selector(*selector);
  }

  void read_selector(const json::value& from) {
    const std::string field = "spec.schedulingSpec.clusterScheduling.clusterSelector";
    model::LabelSelector& made = wrapper_.pins.selector;
    made.match_labels = texts_at(from, {"matchLabels"});
    for (const json::value& item : items_at(from, {"matchExpressions"})) {
      const auto op =
          model::parse_operator(text_at(item, {"operator"}), field + ".matchExpressions.operator");
      if (!op) return note(op.error());
      model::Requirement& one = made.expressions.emplace_back();
      one.key = text_at(item, {"key"});
      one.op = *op;
      for (const json::value& value : items_at(item, {"values"})) {
        if (value.is_string()) one.values.emplace_back(value.get_string());
      }
    }
  }

  const json::value& object_;
  AppWrapper wrapper_;
  std::size_t bytes_ = 0;  // of all templates so far
  Status wrong_ = Ok{};
};

}  // namespace

bool AppWrapper::has_completion_rule() const {
  return std::any_of(items.begin(), items.end(),
                     [](const WrappedItem& item) { return !item.completion_status.empty(); });
}

Dialect dialect_of(const json::value& object) {
  if (find(object, {"spec", "components"}) != nullptr) return Dialect::V1beta2;
  if (find(object, {"spec", "resources"}) != nullptr) return Dialect::V1beta1;
  return text_at(object, {"apiVersion"}).ends_with("/v1beta2") ? Dialect::V1beta2
                                                               : Dialect::V1beta1;
}

Result<AppWrapper> read_app_wrapper(const json::value& object) {
  return WrapperReader(object).read();
}

}  // namespace muster::work
