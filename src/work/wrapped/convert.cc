#include "work/wrapped/convert.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <set>
#include <string_view>
#include <utility>

#include "kube/json.h"
#include "manifest/pod_sets.h"
#include "manifest/pod_use.h"
#include "work/wrapped/dressed_object.h"

namespace muster::work {

namespace {

namespace json = boost::json;
using kube::find;
using kube::items_at;
using kube::map_at;
using kube::set_at;
using kube::text_at;

constexpr std::string_view kept_metadata[] = {"name",   "generateName", "namespace",
                                              "labels", "annotations",  "finalizers"};
constexpr std::string_view queue_label = "muster.dev/queue";
constexpr std::string_view kueue_prefix = "kueue.x-k8s.io/";
constexpr std::string_view kueue_queue_label = "kueue.x-k8s.io/queue-name";
constexpr std::string_view clusters_annotation = "muster.dev/clusters";

json::string text(std::string_view from) { return json::string(from.data(), from.size()); }

/// What completes an object by the rule of its kind: MCAD wants it said.
struct Completion {
  std::string_view group;
  std::string_view kind;
  std::string_view conditions;
};
constexpr Completion completions[] = {
    {"batch/", "Job", "Complete,Failed"},
    {"jobset.x-k8s.io/", "JobSet", "Completed,Failed"},
    {"kubeflow.org/", "PyTorchJob", "Succeeded,Failed"},
    {"kubeflow.org/", "TFJob", "Succeeded,Failed"},
    {"kubeflow.org/", "MPIJob", "Succeeded,Failed"},
    {"kubeflow.org/", "XGBoostJob", "Succeeded,Failed"},
    {"kubeflow.org/", "PaddleJob", "Succeeded,Failed"},
    {"kubeflow.org/", "JAXJob", "Succeeded,Failed"},
};
std::string_view usual_completion(const json::value& object) {
  for (const Completion& one : completions) {
    if (text_at(object, {"apiVersion"}).starts_with(one.group) &&
        text_at(object, {"kind"}) == one.kind)
      return one.conditions;
  }
  return "";
}

/// What the templates of an object need, as custompodresources say it.
std::vector<manifest::PodResources> pods_of(const json::value& object,
                                            const std::vector<PodSetPath>& given) {
  std::vector<manifest::PodResources> pods;
  for (const PodSetPath& set : given) {
    const auto path = manifest::parse_path(set.path);
    const json::value* pod = path ? manifest::at(object, *path) : nullptr;
    if (pod != nullptr && set.replicas > 0)
      pods.push_back({set.replicas, manifest::pod_requests_of(*pod), {}});
  }
  if (!given.empty()) return pods;
  const auto inferred = manifest::infer_templates(object);
  if (!inferred) return pods;
  for (const manifest::PodTemplate& one : *inferred)
    pods.push_back({one.count, manifest::pod_requests_of(manifest::pod_of(object, one)), {}});
  return pods;
}

bool count_the_same(const std::vector<manifest::PodResources>& a,
                    const std::vector<manifest::PodResources>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const manifest::PodResources& x, const manifest::PodResources& y) {
                      return x.replicas == y.replicas && x.counted() == y.counted();
                    });
}

/// MCAD's merge, done in the file: see McadDresser.
void merge_labels(json::value& object) {
  const json::value* there = find(object, {"spec", "template", "metadata", "labels"});
  if (there == nullptr || !there->is_object()) return;
  json::object merged = there->get_object();
  for (const auto& member : map_at(object, {"metadata", "labels"})) {
    if (member.value().is_string()) merged[member.key()] = member.value();
  }
  set_at(object, {"spec", "template", "metadata", "labels"}, std::move(merged));
}

/// Takes a member of a map of texts away; "" if there was none.
std::string take(json::value& object, std::string_view map, std::string_view key) {
  json::value* metadata =
      object.is_object() ? object.get_object().if_contains("metadata") : nullptr;
  if (metadata == nullptr || !metadata->is_object()) return "";
  json::value* texts = metadata->get_object().if_contains(map);
  if (texts == nullptr || !texts->is_object()) return "";
  const json::value* value = texts->get_object().if_contains(key);
  if (value == nullptr || !value->is_string()) return "";
  std::string taken(value->get_string());
  texts->get_object().erase(key);
  if (texts->get_object().empty()) metadata->get_object().erase(map);
  return taken;
}

/// The parts that both ways share: metadata stays, the status and the marks of a server do not.
class Converter {
 public:
  Converter(const json::value& from, AppWrapper wrapper, Dialect to)
      : from_(from), wrapper_(std::move(wrapper)) {
    made_.object = json::object();
    made_.told = wrapper_.warnings;
    const bool is_old = to == Dialect::V1beta1;
    set_at(made_.object, {"apiVersion"},
           text(is_old ? "workload.codeflare.dev/v1beta1" : "workload.codeflare.dev/v1beta2"));
    set_at(made_.object, {"kind"}, "AppWrapper");
    std::vector<std::string> dropped;
    for (const auto& member : map_at(from_, {"metadata"})) {
      const std::string_view key(member.key());
      if (std::find(std::begin(kept_metadata), std::end(kept_metadata), key) !=
          std::end(kept_metadata)) {
        set_at(made_.object, {"metadata", key}, member.value());
      } else {
        dropped.emplace_back(key);
      }
    }
    if (!dropped.empty()) {
      tell("metadata", fmt::format("left out, as it belongs to the object in its cluster: {}",
                                   fmt::join(dropped, ", ")));
    }
    if (find(from_, {"status"}) != nullptr) tell("status", "is its controller's and left out");
  }

 protected:
  void tell(std::string_view field, std::string_view what) {
    made_.told.push_back(fmt::format("{}: {}", field, what));
  }
  /// Tells every member of a map that is none of those.
  void tell_others(const json::value& map, const std::string& field,
                   std::initializer_list<std::string_view> carried, std::string_view what) {
    if (!map.is_object()) return;
    for (const auto& member : map.get_object()) {
      const std::string_view key(member.key());
      if (member.value().is_null() ||
          std::find(carried.begin(), carried.end(), key) != carried.end())
        continue;
      tell(fmt::format("{}.{}", field, key), what);
    }
  }

  const json::value& from_;
  AppWrapper wrapper_;
  Converted made_;
};

constexpr std::string_view unread = "is read by nothing and left out";

class ToComponents : private Converter {
 public:
  ToComponents(const json::value& from, AppWrapper wrapper)
      : Converter(from, std::move(wrapper), Dialect::V1beta2) {}

  Converted convert() {
    json::array components;
    for (const WrappedItem& item : wrapper_.items) components.push_back(component_of(item));
    set_at(made_.object, {"spec", "components"}, std::move(components));
    if (wrapper_.is_suspended) set_at(made_.object, {"spec", "suspend"}, true);
    if (!wrapper_.managed_by.empty())
      set_at(made_.object, {"spec", "managedBy"}, text(wrapper_.managed_by));
    if (wrapper_.priority) {
      set_at(made_.object, {"metadata", "labels", priority_label},
             text(fmt::format("{}", *wrapper_.priority)));
      tell("spec.priority", fmt::format("is the label {} now", priority_label));
    }
    tell_rest();
    carry_scheduling();
    return std::move(made_);
  }

 private:
  json::value component_of(const WrappedItem& item) {
    json::value object = item.object;
    merge_labels(object);
    if (!item.completion_status.empty() && item.completion_status != usual_completion(object)) {
      set_at(object, {"metadata", "annotations", complete_when_annotation},
             text(item.completion_status));
      tell(item.field, fmt::format("completionstatus is its annotation {} now, which Muster reads",
                                   complete_when_annotation));
    }
    if (!item.pod_resources.empty() && !count_the_same(item.pod_resources, pods_of(object, {}))) {
      tell(item.field,
           "custompodresources are left out: v1beta2 counts what the pod templates ask for, which "
           "is something else here");
    }
    return json::object{{"template", std::move(object)}};
  }

  void tell_rest() {
    const json::value& spec = from_.at("spec");
    tell_others(
        spec, "spec",
        {"resources", "priority", "schedulingSpec", "suspend", "managedBy", "priorityslope"},
        unread);
    if (find(spec, {"priorityslope"}) != nullptr)
      tell("spec.priorityslope", "has no counterpart and is left out");
    tell_others(spec.at("resources"), "spec.resources", {"GenericItems", "Items"}, unread);
    const json::array& items = items_at(spec, {"resources", "GenericItems"});
    for (std::size_t i = 0; i < items.size(); ++i) {
      tell_others(items[i], fmt::format("spec.resources.GenericItems[{}]", i),
                  {"generictemplate", "custompodresources", "completionstatus", "replicas"},
                  unread);
    }
  }

  void carry_scheduling() {
    const json::value* scheduling = find(from_, {"spec", "schedulingSpec"});
    if (scheduling == nullptr) return;
    const std::string field = "spec.schedulingSpec";
    tell_others(*scheduling, field,
                {"minAvailable", "requeuing", "dispatchDuration", "clusterScheduling"}, unread);
    if (wrapper_.min_available > 0) carry_requeuing();
    if (wrapper_.dispatch_duration.limit.ms > 0)
      tell(field + ".dispatchDuration", "has no counterpart and is left out");
    if (!wrapper_.pins.names.empty()) {
      set_at(made_.object, {"metadata", "annotations", clusters_annotation},
             text(fmt::format("{}", fmt::join(wrapper_.pins.names, ","))));
      tell(field + ".clusterScheduling.clusters",
           fmt::format("is the annotation {} now", clusters_annotation));
    }
    if (wrapper_.pins.has_selector())
      tell(field + ".clusterScheduling.clusterSelector", "has no counterpart and is left out");
  }

  void carry_requeuing() {
    const std::string field = "spec.schedulingSpec";
    Grace grace;
    grace.warmup = wrapper_.requeuing.first_wait();
    if (wrapper_.requeuing.pause) grace.retry_pause = *wrapper_.requeuing.pause;
    if (wrapper_.requeuing.requeuings_most > 0)
      grace.retry_limit = wrapper_.requeuing.requeuings_most;
    for (const auto& [name, value] : grace_annotations(grace))
      set_at(made_.object, {"metadata", "annotations", name}, text(value));
    tell(field + ".minAvailable", "v1beta2 waits for all pods; how long is an annotation now");
    if (wrapper_.requeuing.growth != GrowthType::None)
      tell(field + ".requeuing.growthType",
           "has no counterpart: every wait is as long as the first");
    if (wrapper_.requeuing.requeuings_most == 0) {
      tell(field + ".requeuing.maxNumRequeuings",
           fmt::format("it fails after {} retries now", grace.retry_limit));
    }
  }
};

class ToItems : private Converter {
 public:
  ToItems(const json::value& from, AppWrapper wrapper)
      : Converter(from, std::move(wrapper), Dialect::V1beta1) {}

  Result<Converted> convert() {
    json::array items;
    for (std::size_t i = 0; i < wrapper_.items.size(); ++i) {
      auto item = item_of(wrapper_.items[i]);
      if (!item) return item.error();
      items.push_back(std::move(*item));
    }
    set_at(made_.object, {"spec", "resources", "GenericItems"}, std::move(items));
    take(made_.object, "labels", priority_label);
    if (wrapper_.priority) set_at(made_.object, {"spec", "priority"}, *wrapper_.priority);
    if (wrapper_.is_suspended) {
      set_at(made_.object, {"spec", "suspend"}, true);
      tell("spec.suspend", "holds it in Muster; MCAD does not know it");
    }
    if (!wrapper_.managed_by.empty()) {
      set_at(made_.object, {"spec", "managedBy"}, text(wrapper_.managed_by));
      tell("spec.managedBy", "counts in Muster; MCAD does not know it");
    }
    if (wrapper_.grace != Grace())
      tell("metadata.annotations", "v1beta1 has no grace periods, retries and exit codes");
    const json::array& components = items_at(from_, {"spec", "components"});
    for (std::size_t i = 0; i < components.size(); ++i) {
      tell_others(components[i], fmt::format("spec.components[{}]", i),
                  {"template", "podSets", "podSetInfos"}, unread);
    }
    return std::move(made_);
  }

 private:
  Result<json::value> item_of(const WrappedItem& from) {
    auto object = with_infos(from);
    if (!object) return object;
    json::object item{{"replicas", 1}};
    std::string completion = take(*object, "annotations", complete_when_annotation);
    if (completion.empty()) completion = usual_completion(*object);
    if (!completion.empty()) item["completionstatus"] = text(completion);
    const std::vector<manifest::PodResources> pods = pods_of(*object, from.pod_sets);
    if (!pods.empty()) {
      json::array& resources = item["custompodresources"].emplace_array();
      for (const manifest::PodResources& one : pods) resources.push_back(manifest::to_json(one));
    }
    if (!from.pod_sets.empty() && !count_the_same(pods, pods_of(*object, {})))
      tell(from.field, "podSets are custompodresources now, without their paths");
    item["generictemplate"] = std::move(*object);
    return json::value(std::move(item));
  }

  /// What podSetInfos add, written into the templates. Namespace and the dialect's own label are
  /// the controller's, not the user's.
  Result<json::value> with_infos(const WrappedItem& from) {
    if (from.pod_set_infos.empty()) return from.object;
    auto object = dressed_object(wrapper_, from);
    if (!object) return object;
    take(*object, "labels", app_wrapper_label);
    if (kube::namespace_of(from.object).empty())
      object->at("metadata").as_object().erase("namespace");
    tell(from.field, "podSetInfos are written into its pod templates");
    return object;
  }
};

// ---- plain objects

/// What Kueue looks at, taken off, so that it does not hold what Muster has started.
void leave_kueue(json::value& object, const std::string& title, std::string& queue,
                 std::vector<std::string>& told) {
  const json::object labels = map_at(object, {"metadata", "labels"});
  for (const auto& member : labels) {
    const std::string_view key(member.key());
    if (!key.starts_with(kueue_prefix)) continue;
    const std::string value = take(object, "labels", key);
    if (key == kueue_queue_label && (queue.empty() || queue == value)) {
      queue = value;
    } else {
      told.push_back(fmt::format("{}: label {} has no counterpart and is left out", title, key));
    }
  }
  json::value* spec = object.get_object().if_contains("spec");
  if (spec == nullptr || !kube::flag_at(*spec, {"suspend"})) return;
  spec->get_object().erase("suspend");
  told.push_back(title + ": spec.suspend is left out: it is created when it may start");
}

/// An AppWrapper that Kueue admits: in the queue of that name, and not held for Kueue to start it.
json::value without_kueue(json::value object, std::vector<std::string>& told) {
  const std::string title = manifest::title_of(object);
  std::string queue;
  leave_kueue(object, title, queue, told);
  if (find(object, {"metadata", "labels", queue_label}) == nullptr) {
    set_at(object, {"metadata", "labels", queue_label}, text(queue));
    told.push_back(
        fmt::format("{}: label {} is the label {} now", title, kueue_queue_label, queue_label));
  } else {
    told.push_back(fmt::format("{}: label {} is left out: it has the label {}", title,
                               kueue_queue_label, queue_label));
  }
  return object;
}

Status collect(const json::value& document, std::vector<json::value>& into) {
  if (!document.is_object()) return invalid("not a map");
  const json::value* items = find(document, {"items"});
  if (!text_at(document, {"kind"}).ends_with("List") || items == nullptr || !items->is_array()) {
    into.push_back(document);
    return Ok{};
  }
  for (const json::value& item : items->get_array()) {
    if (Status s = collect(item, into); !s) return s;
  }
  return Ok{};
}

/// The first object with pods, else the first.
const json::value& main_object(const std::vector<json::value>& objects) {
  for (const json::value& object : objects) {
    const auto templates = manifest::infer_templates(object);
    if (templates && !templates->empty()) return object;
  }
  return objects.front();
}

}  // namespace

Result<Converted> convert_app_wrapper(const json::value& object, Dialect to) {
  std::vector<std::string> told;
  const json::value own = find(object, {"metadata", "labels", kueue_queue_label}) == nullptr
                              ? object
                              : without_kueue(object, told);
  auto wrapper = read_app_wrapper(own);
  if (!wrapper) return wrapper.error();
  Result<Converted> made = Converted{own, wrapper->warnings};
  if (wrapper->dialect != to && to == Dialect::V1beta2)
    made = ToComponents(own, std::move(*wrapper)).convert();
  else if (wrapper->dialect != to)
    made = ToItems(own, std::move(*wrapper)).convert();
  if (made) made->told.insert(made->told.begin(), told.begin(), told.end());
  return made;
}

Result<Converted> wrap_objects(const std::vector<json::value>& objects, Dialect to) {
  if (objects.empty()) return invalid("nothing to wrap");
  std::string queue;
  std::vector<std::string> told;
  std::set<std::string> namespaces;
  json::array components;
  for (const json::value& object : objects) {
    if (!object.is_object()) return invalid("not a map");
    const std::string title = manifest::title_of(object);
    json::value own = object;
    leave_kueue(own, title, queue, told);
    if (!kube::namespace_of(own).empty()) namespaces.emplace(kube::namespace_of(own));
    if (namespaces.size() > 1)
      return invalid(title + ": in another namespace than the others; wrap them apart");
    components.push_back(json::object{{"template", std::move(own)}});
  }
  const json::value& named = main_object(objects);
  json::value wrapper =
      json::object{{"apiVersion", "workload.codeflare.dev/v1beta2"}, {"kind", "AppWrapper"}};
  const std::string_view name = kube::name_of(named);
  set_at(wrapper, {"metadata", "name"},
         text(name.empty() ? label_value(text_at(named, {"metadata", "generateName"})) : name));
  if (!namespaces.empty()) set_at(wrapper, {"metadata", "namespace"}, text(*namespaces.begin()));
  if (!queue.empty()) {
    set_at(wrapper, {"metadata", "labels", queue_label}, text(queue));
    told.push_back(fmt::format("{}: label {} is the label {} of the AppWrapper now",
                               manifest::title_of(named), kueue_queue_label, queue_label));
  }
  set_at(wrapper, {"spec", "components"}, std::move(components));
  auto converted = convert_app_wrapper(wrapper, to);
  if (!converted) return converted;
  converted->told.insert(converted->told.begin(), told.begin(), told.end());
  return converted;
}

Result<std::vector<Converted>> convert_documents(const std::vector<json::value>& documents,
                                                 std::optional<Dialect> to) {
  std::vector<json::value> all;
  for (const json::value& document : documents) {
    if (Status s = collect(document, all); !s) return s.error();
  }
  std::vector<Converted> made;
  std::vector<json::value> plain;
  for (json::value& object : all) {
    if (text_at(object, {"kind"}) != "AppWrapper") {
      plain.push_back(std::move(object));
      continue;
    }
    const bool is_old = dialect_of(object) == Dialect::V1beta1;
    auto one =
        convert_app_wrapper(object, to.value_or(is_old ? Dialect::V1beta2 : Dialect::V1beta1));
    if (!one)
      return Error{one.error().fault,
                   fmt::format("{}: {}", manifest::title_of(object), one.error().message)};
    made.push_back(std::move(*one));
  }
  if (!plain.empty()) {
    auto one = wrap_objects(plain, to.value_or(Dialect::V1beta2));
    if (!one) return one.error();
    made.push_back(std::move(*one));
  }
  if (made.empty()) return invalid("no objects in it");
  return made;
}

}  // namespace muster::work
