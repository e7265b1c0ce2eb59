#include "manifest/pod_shape.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <optional>
#include <set>
#include <utility>

#include "kube/json.h"

namespace muster::manifest {

namespace {

namespace json = boost::json;
using kube::find;
using kube::integer_at;
using kube::items_at;
using kube::map_at;
using kube::text_at;

constexpr std::string_view required = "requiredDuringSchedulingIgnoredDuringExecution";
constexpr std::string_view preferred = "preferredDuringSchedulingIgnoredDuringExecution";

std::string text_of(const json::value& value) {
  return value.is_string() ? std::string(value.get_string()) : "";
}

model::Labels texts_of(const json::object& map) {
  model::Labels labels;
  for (const auto& member : map) labels[std::string(member.key())] = text_of(member.value());
  return labels;
}

/// Reads into a shape until something is wrong.
class ShapeReader {
 public:
  ShapeReader(const json::value& pod, const GpuNaming& naming) : pod_(pod) {
    PodUse use = pod_use_of(pod, naming);
    shape_.requests = std::move(use.requests);
    shape_.gpu.count = use.gpus;
  }

  Result<model::PodShape> read() {
    shape_.node_selector = texts_of(map_at(pod_, {"spec", "nodeSelector"}));
    shape_.labels = texts_of(map_at(pod_, {"metadata", "labels"}));
    read_host_ports();
    read_tolerations();
    read_node_affinity();
    read_pod_terms("podAffinity", shape_.pod_affinity);
    read_pod_terms("podAntiAffinity", shape_.pod_anti_affinity);
    read_wishes_to_be_away();
    read_spread();
    if (!wrong_) return wrong_.error();
    return std::move(shape_);
  }

 private:
  void note(Status status) {
    if (wrong_ && !status) wrong_ = std::move(status);
  }

  std::vector<model::Requirement> requirements(const json::array& items, const std::string& field) {
    std::vector<model::Requirement> read;
    for (const json::value& item : items) {
      model::Requirement one;
      one.key = text_at(item, {"key"});
      const auto op = model::parse_operator(text_at(item, {"operator"}), field + ".operator");
      if (!op) {
        note(op.error());
        continue;
      }
      one.op = *op;
      for (const json::value& value : items_at(item, {"values"}))
        one.values.push_back(text_of(value));
      read.push_back(std::move(one));
    }
    return read;
  }

  model::NodeTerm node_term(const json::value& item, const std::string& field) {
    return {requirements(items_at(item, {"matchExpressions"}), field + ".matchExpressions"),
            requirements(items_at(item, {"matchFields"}), field + ".matchFields")};
  }

  model::LabelSelector selector(const json::value& from, const std::string& field) {
    return {texts_of(map_at(from, {"labelSelector", "matchLabels"})),
            requirements(items_at(from, {"labelSelector", "matchExpressions"}), field)};
  }

  void read_host_ports() {
    std::set<int> ports;  // of several containers on the host's network one may be there twice
    for (const int port : host_ports_of(pod_)) ports.insert(port);
    shape_.host_ports.assign(ports.begin(), ports.end());
  }

  void read_tolerations() {
    for (const json::value& item : items_at(pod_, {"spec", "tolerations"})) {
      model::Toleration one;
      one.key = text_at(item, {"key"});
      const std::string_view op = text_at(item, {"operator"});
      if (!op.empty() && op != "Equal" && op != "Exists")
        note(invalid(fmt::format("spec.tolerations: operator '{}' is not known", op)));
      one.exists = op == "Exists";
      one.value = text_at(item, {"value"});
      one.effect = text_at(item, {"effect"});
      shape_.tolerations.push_back(std::move(one));
    }
  }

  void read_node_affinity() {
    const std::string field = "spec.affinity.nodeAffinity";
    for (const json::value& item :
         items_at(pod_, {"spec", "affinity", "nodeAffinity", required, "nodeSelectorTerms"}))
      shape_.required_affinity.push_back(node_term(item, field));
    for (const json::value& item :
         items_at(pod_, {"spec", "affinity", "nodeAffinity", preferred})) {
      const json::value* preference = find(item, {"preference"});
      if (preference == nullptr) continue;
      shape_.preferred_affinity.push_back(
          {static_cast<int>(std::clamp<std::int64_t>(integer_at(item, {"weight"}, 1), 1, 100)),
           node_term(*preference, field)});
    }
    const std::string node(text_at(pod_, {"spec", "nodeName"}));
    if (node.empty()) return;
    const model::Requirement that_one{"metadata.name", model::Operator::In, {node}};
    if (shape_.required_affinity.empty()) shape_.required_affinity.emplace_back();
    for (model::NodeTerm& term : shape_.required_affinity) term.fields.push_back(that_one);
  }

  void read_pod_terms(std::string_view kind, std::vector<model::PodAffinityTerm>& into) {
    const std::string field = fmt::format("spec.affinity.{}", kind);
    for (const json::value& item : items_at(pod_, {"spec", "affinity", kind, required})) {
      if (find(item, {"labelSelector"}) == nullptr) continue;  // selects no pod
      into.push_back({selector(item, field), std::string(text_at(item, {"topologyKey"}))});
    }
  }

  /// To stand rather where fewer of those pods are is what a soft spread says.
  void read_wishes_to_be_away() {
    for (const json::value& item :
         items_at(pod_, {"spec", "affinity", "podAntiAffinity", preferred})) {
      const json::value* term = find(item, {"podAffinityTerm"});
      if (term == nullptr || find(*term, {"labelSelector"}) == nullptr) continue;
      model::Spread one;
      one.topology_key = text_at(*term, {"topologyKey"});
      one.selector = selector(*term, "spec.affinity.podAntiAffinity");
      one.required = false;
      shape_.spread.push_back(std::move(one));
    }
  }

  void read_spread() {
    for (const json::value& item : items_at(pod_, {"spec", "topologySpreadConstraints"})) {
      if (find(item, {"labelSelector"}) == nullptr) continue;
      model::Spread one;
      one.max_skew = static_cast<int>(
          std::clamp<std::int64_t>(integer_at(item, {"maxSkew"}, 1), 1, 1'000'000));
      one.topology_key = text_at(item, {"topologyKey"});
      one.selector = selector(item, "spec.topologySpreadConstraints");
      one.required = text_at(item, {"whenUnsatisfiable"}) != "ScheduleAnyway";
      shape_.spread.push_back(std::move(one));
    }
  }

  const json::value& pod_;
  model::PodShape shape_;
  Status wrong_ = Ok{};
};

}  // namespace

Result<model::PodShape> pod_shape_of(const json::value& pod, const GpuNaming& naming) {
  return ShapeReader(pod, naming).read();
}

namespace {

Result<model::PodShape> shape_at(const ObjectList& list, const PodTemplate& one,
                                 const GpuNaming& naming) {
  const json::value& object = list.objects[one.object];
  auto shape = pod_shape_of(pod_of(object, one), naming);
  if (shape) return shape;
  return invalid(
      fmt::format("{}, {}: {}", title_of(object), to_text(one.path), shape.error().message));
}

void put_requests(const Amounts& amounts, const GpuNaming& naming, model::PodShape& shape) {
  Split given = split(amounts, naming);
  shape.requests = std::move(given.resources);
  shape.gpu.count = given.gpus;
}

/// What both shapes want. The rest is left to the cluster's own scheduler.
void keep_common(model::PodShape& shape, const model::PodShape& other) {
  const auto agree = [](auto& ours, const auto& theirs) {
    if (ours != theirs) ours.clear();
  };
  agree(shape.node_selector, other.node_selector);
  agree(shape.required_affinity, other.required_affinity);
  agree(shape.preferred_affinity, other.preferred_affinity);
  agree(shape.pod_affinity, other.pod_affinity);
  agree(shape.pod_anti_affinity, other.pod_anti_affinity);
  agree(shape.spread, other.spread);
  agree(shape.host_ports, other.host_ports);
  std::erase_if(shape.labels, [&](const auto& label) {
    const auto same = other.labels.find(label.first);
    return same == other.labels.end() || same->second != label.second;
  });
  std::erase_if(shape.tolerations, [&](const model::Toleration& one) {
    return std::find(other.tolerations.begin(), other.tolerations.end(), one) ==
           other.tolerations.end();
  });
}

/// Pods of a set without template stand where those of all templates of their object may.
Result<model::PodShape> shape_without_template(const ObjectList& list, const PodTemplate& set,
                                               const GpuNaming& naming) {
  std::optional<model::PodShape> common;
  for (const PodTemplate& one : list.covered) {
    if (one.object != set.object) continue;
    auto shape = shape_at(list, one, naming);
    if (!shape) return shape.error();
    if (common) {
      keep_common(*common, *shape);
    } else {
      common = std::move(*shape);
    }
  }
  if (!common) common.emplace();
  return std::move(*common);
}

}  // namespace

Result<std::vector<model::PodSet>> pod_sets_of(const ObjectList& list, const GpuNaming& naming) {
  std::vector<model::PodSet> sets;
  for (const PodTemplate& one : list.templates) {
    auto shape =
        one.has_template ? shape_at(list, one, naming) : shape_without_template(list, one, naming);
    if (!shape) return shape.error();
    if (one.requests) put_requests(*one.requests, naming, *shape);
    model::PodSet& set = sets.emplace_back();
    set.name = one.set;
    set.count = static_cast<int>(one.count);
    set.min_count = one.least < one.count ? static_cast<int>(one.least) : 0;
    set.pod = std::move(*shape);
  }
  return sets;
}

std::vector<PodRuntime> runtimes_of(const ObjectList& list) {
  std::vector<PodRuntime> runtimes;
  for (const PodTemplate& one : list.templates) {
    PodRuntime& runtime = runtimes.emplace_back();
    if (!one.has_template) continue;
    runtime = runtime_of(pod_of(list.objects[one.object], one));
    runtime.has_overhead |= one.requests.has_value();
  }
  return runtimes;
}

std::vector<std::string> unweighed_wishes(const ObjectList& list) {
  std::vector<std::string> wishes;
  for (const PodTemplate& one : list.templates) {
    if (!one.has_template) continue;
    const json::value& object = list.objects[one.object];
    if (items_at(pod_of(object, one), {"spec", "affinity", "podAffinity", preferred}).empty())
      continue;
    wishes.push_back(fmt::format(
        "{}, {}: preferred podAffinity is left to the scheduler of the cluster; Muster does not "
        "weigh it when it chooses nodes",
        title_of(object), to_text(one.path)));
  }
  return wishes;
}

}  // namespace muster::manifest
