#include "work/wrapped/dressed_object.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <utility>

#include "kube/json.h"
#include "manifest/pod_sets.h"
#include "work/wrapped/node_health.h"

namespace muster::work {

namespace {

namespace json = boost::json;
using kube::find;
using kube::items_at;
using kube::map_at;
using kube::set_at;
using kube::text_at;

constexpr std::size_t name_max = 63;

json::string text(std::string_view from) { return json::string(from.data(), from.size()); }

bool is_alphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/// Where its pods are described. Paths that lead nowhere are told when the gang is read.
std::vector<manifest::Path> templates_of(const WrappedItem& item) {
  std::vector<manifest::Path> paths;
  for (const PodSetPath& set : item.pod_sets) {
    auto path = manifest::parse_path(set.path);
    paths.push_back(path ? std::move(*path) : manifest::Path{std::string()});
  }
  if (!paths.empty()) return paths;
  const auto inferred = manifest::infer_templates(item.object);
  if (!inferred) return paths;
  for (const manifest::PodTemplate& one : *inferred) paths.push_back(one.path);
  return paths;
}

/// Into a map of a template: what is there stays.
void put_missing(json::value& into, kube::Path keys, const model::Labels& more) {
  if (more.empty()) return;
  json::object map = map_at(into, keys);
  for (const auto& [name, value] : more) map.emplace(name, text(value));
  set_at(into, keys, std::move(map));
}

class McadDresser {
 public:
  McadDresser(const AppWrapper& wrapper, const WrappedItem& item)
      : item_(item), object_(item.object) {
    marks_[std::string(mcad_label)] = label_value(wrapper.name);
    const std::string name(kube::name_of(object_));
    if (!name.empty()) marks_[std::string(mcad_item_label)] = label_value(name);
  }

  json::value dress() {
    const std::string name(kube::name_of(object_).substr(0, name_max));
    if (!name.empty()) set_at(object_, {"metadata", "name"}, text(name));
    json::object labels = map_at(object_, {"metadata", "labels"});
    for (const auto& [key, value] : marks_) labels[key] = text(value);
    merge_into_template(labels);
    set_at(object_, {"metadata", "labels"}, std::move(labels));
    // So that the pods of kinds with other templates are counted once, as its own.
    for (const manifest::Path& path : templates_of(item_)) {
      json::value* pod = manifest::at(object_, path);
      if (pod != nullptr && !path.empty()) put_marks(*pod);
    }
    return std::move(object_);
  }

 private:
  /// MCAD's merge: all labels of the object win over those of the template, if that has any map of
  /// them. Deployments whose selector matches only then are known.
  void merge_into_template(const json::object& labels) {
    const json::value* there = find(object_, {"spec", "template", "metadata", "labels"});
    if (there == nullptr || !there->is_object()) return;
    json::object merged = there->get_object();
    for (const auto& member : labels) {
      if (member.value().is_string()) merged[member.key()] = member.value();
    }
    set_at(object_, {"spec", "template", "metadata", "labels"}, std::move(merged));
  }
  void put_marks(json::value& pod) {
    json::object labels = map_at(pod, {"metadata", "labels"});
    for (const auto& [key, value] : marks_) labels[key] = text(value);
    set_at(pod, {"metadata", "labels"}, std::move(labels));
  }

  const WrappedItem& item_;
  json::value object_;
  model::Labels marks_;
};

/// v1beta2: what is there stays; what an admission controller adds must not contradict it.
class ComponentDresser {
 public:
  ComponentDresser(const AppWrapper& wrapper, const WrappedItem& item,
                   const std::vector<model::NodeHealth>& health)
      : item_(item), health_(health), object_(item.object) {
    marks_[std::string(app_wrapper_label)] = label_value(wrapper.name);
  }

  Result<json::value> dress() {
    put_missing(object_, {"metadata", "labels"}, marks_);
    const std::vector<manifest::Path> paths = templates_of(item_);
    for (std::size_t i = 0; i < paths.size(); ++i) {
      json::value* pod = manifest::at(object_, paths[i]);
      if (pod == nullptr) continue;
      const PodSetInfo none;
      const PodSetInfo& info = i < item_.pod_set_infos.size() ? item_.pod_set_infos[i] : none;
      if (Status s = add(*pod, info, manifest::to_text(paths[i])); !s) return s.error();
      keep_from_sick_nodes(*pod, health_);
    }
    return std::move(object_);
  }

 private:
  Status add(json::value& pod, const PodSetInfo& info, const std::string& path) const {
    model::Labels labels = info.labels;
    labels.insert(marks_.begin(), marks_.end());
    if (Status s = merge(pod, {"metadata", "annotations"}, info.annotations, path); !s) return s;
    if (Status s = merge(pod, {"metadata", "labels"}, labels, path); !s) return s;
    if (Status s = merge(pod, {"spec", "nodeSelector"}, info.node_selector, path); !s) return s;
    append(pod, {"spec", "tolerations"}, info.tolerations);
    std::vector<json::value> gates;
    for (const json::value& gate : info.scheduling_gates) {
      const json::array& there = items_at(pod, {"spec", "schedulingGates"});
      const auto is_same = [&](const json::value& one) {
        return text_at(one, {"name"}) == text_at(gate, {"name"});
      };
      if (std::none_of(there.begin(), there.end(), is_same)) gates.push_back(gate);
    }
    append(pod, {"spec", "schedulingGates"}, gates);
    return Ok{};
  }

  Status merge(json::value& pod, kube::Path keys, const model::Labels& more,
               const std::string& path) const {
    const json::object& there = map_at(pod, keys);
    for (const auto& [name, value] : more) {
      const json::value* written = there.if_contains(name);
      if (written == nullptr || (written->is_string() && written->get_string() == value)) continue;
      return invalid(fmt::format("{}: {}: podSetInfos want '{}' for {} '{}', which it has already",
                                 item_.field, path, value, *(keys.end() - 1), name));
    }
    put_missing(pod, keys, more);
    return Ok{};
  }

  static void append(json::value& pod, kube::Path keys, const std::vector<json::value>& more) {
    if (more.empty()) return;
    json::array all = items_at(pod, keys);
    all.insert(all.end(), more.begin(), more.end());
    set_at(pod, keys, std::move(all));
  }

  const WrappedItem& item_;
  const std::vector<model::NodeHealth>& health_;
  json::value object_;
  model::Labels marks_;
};

}  // namespace

std::string label_value(std::string_view from) {
  std::string value(from.substr(0, name_max));
  for (char& c : value) {
    if (!is_alphanumeric(c) && c != '-' && c != '_' && c != '.') c = '_';
  }
  const auto is_end = [](char c) { return is_alphanumeric(c); };
  const auto last = std::find_if(value.rbegin(), value.rend(), is_end).base();
  value.erase(last, value.end());
  value.erase(value.begin(), std::find_if(value.begin(), value.end(), is_end));
  return value;
}

Result<json::value> dressed_object(const AppWrapper& wrapper, const WrappedItem& item,
                                   const std::vector<model::NodeHealth>& health) {
  Result<json::value> dressed = wrapper.dialect == Dialect::V1beta1
                                    ? Result<json::value>(McadDresser(wrapper, item).dress())
                                    : ComponentDresser(wrapper, item, health).dress();
  if (!dressed) return dressed;
  set_at(*dressed, {"metadata", "namespace"}, text(wrapper.ns));
  if (!item.completion_status.empty()) {
    set_at(*dressed, {"metadata", "annotations", complete_when_annotation},
           text(item.completion_status));
  }
  return dressed;
}

}  // namespace muster::work
