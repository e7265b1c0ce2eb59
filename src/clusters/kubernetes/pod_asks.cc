#include "clusters/kubernetes/pod_asks.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "kube/json.h"
#include "model/host_port.h"

namespace muster::clusters {

namespace {

namespace json = boost::json;
using kube::set_at;

constexpr std::string_view required = "requiredDuringSchedulingIgnoredDuringExecution";
constexpr std::string_view preferred = "preferredDuringSchedulingIgnoredDuringExecution";
constexpr std::size_t terms_most = 500;  // each pod of a gang has all of them

json::string text(std::string_view from) { return json::string(from.data(), from.size()); }

json::value to_json(const model::Requirement& requirement) {
  json::value made = json::object(
      {{"key", text(requirement.key)}, {"operator", text(model::to_text(requirement.op))}});
  json::array values;
  for (const std::string& value : requirement.values) values.push_back(text(value));
  if (!values.empty()) set_at(made, {"values"}, std::move(values));
  return made;
}

json::value to_json(const model::NodeTerm& term) {
  json::value made = json::object();
  json::array expressions;
  for (const auto& one : term.expressions) expressions.push_back(to_json(one));
  json::array fields;
  for (const auto& one : term.fields) fields.push_back(to_json(one));
  if (!expressions.empty()) set_at(made, {"matchExpressions"}, std::move(expressions));
  if (!fields.empty()) set_at(made, {"matchFields"}, std::move(fields));
  return made;
}

json::value to_json(const model::LabelSelector& selector) {
  json::value made = json::object();
  json::object labels;
  for (const auto& [name, value] : selector.match_labels) labels[name] = text(value);
  if (!labels.empty()) set_at(made, {"matchLabels"}, std::move(labels));
  json::array expressions;
  for (const auto& one : selector.expressions) expressions.push_back(to_json(one));
  if (!expressions.empty()) set_at(made, {"matchExpressions"}, std::move(expressions));
  return made;
}

void put_terms(json::value& spec, std::string_view kind,
               const std::vector<model::PodAffinityTerm>& terms) {
  json::array made;
  for (const model::PodAffinityTerm& term : terms) {
    made.push_back(json::object(
        {{"labelSelector", to_json(term.selector)}, {"topologyKey", text(term.topology_key)}}));
  }
  if (!made.empty()) set_at(spec, {"affinity", kind, required}, std::move(made));
}

/// What a term adds that holds on some of the nodes.
struct Wanted {
  std::string_view key;
  json::value what;
};

/// One for each node by its name, of which a term may have one only; their labels need not repeat
/// it. A template has to stay small, though: of very many nodes it is the label of the host, which
/// is nearly always that name.
std::vector<Wanted> wanted_of(const std::set<std::string>& nodes, std::size_t times) {
  const auto in = [](std::string_view key, json::array values) {
    return json::value({{"key", text(key)}, {"operator", "In"}, {"values", std::move(values)}});
  };
  std::vector<Wanted> all;
  if (nodes.size() * std::max<std::size_t>(times, 1) > terms_most) {
    json::array names;
    for (const std::string& node : nodes) names.push_back(text(node));
    all.push_back({"matchExpressions", in("kubernetes.io/hostname", std::move(names))});
    return all;
  }
  for (const std::string& node : nodes)
    all.push_back({"matchFields", in("metadata.name", json::array({text(node)}))});
  return all;
}

json::value with(json::value term, const Wanted& wanted) {
  json::array all = kube::items_at(term, {wanted.key});
  all.push_back(wanted.what);
  set_at(term, {wanted.key}, std::move(all));
  return term;
}

}  // namespace

void bind_to_nodes(json::value& spec, const std::set<std::string>& nodes, NodeBinding binding) {
  if (binding == NodeBinding::None || nodes.empty()) return;
  if (binding == NodeBinding::Require) {
    const kube::Path terms_at = {"affinity", "nodeAffinity", required, "nodeSelectorTerms"};
    json::array own = kube::items_at(spec, terms_at);
    if (own.empty()) own.push_back(json::object());
    json::array terms;  // any of them is enough: each of its own on each of the nodes
    for (const Wanted& wanted : wanted_of(nodes, own.size())) {
      for (const json::value& term : own) terms.push_back(with(term, wanted));
    }
    set_at(spec, terms_at, std::move(terms));
    return;
  }
  json::array terms = kube::items_at(spec, {"affinity", "nodeAffinity", preferred});
  for (const Wanted& wanted : wanted_of(nodes, 1)) {
    terms.push_back(json::object({{"weight", 100}, {"preference", with(json::object(), wanted)}}));
  }
  set_at(spec, {"affinity", "nodeAffinity", preferred}, std::move(terms));
}

void put_asks(json::value& spec, const model::PodShape& pod) {
  json::object selector;
  for (const auto& [name, value] : pod.node_selector) selector[name] = text(value);
  if (!selector.empty()) set_at(spec, {"nodeSelector"}, std::move(selector));
  json::array terms;
  for (const model::NodeTerm& term : pod.required_affinity) terms.push_back(to_json(term));
  if (!terms.empty()) {
    set_at(spec, {"affinity", "nodeAffinity", required, "nodeSelectorTerms"}, std::move(terms));
  }
  json::array wishes;
  for (const model::PreferredTerm& wish : pod.preferred_affinity) {
    wishes.push_back(json::object({{"weight", wish.weight}, {"preference", to_json(wish.term)}}));
  }
  if (!wishes.empty()) set_at(spec, {"affinity", "nodeAffinity", preferred}, std::move(wishes));
  put_terms(spec, "podAffinity", pod.pod_affinity);
  put_terms(spec, "podAntiAffinity", pod.pod_anti_affinity);
  json::array spread;
  for (const model::Spread& one : pod.spread) {
    spread.push_back(
        json::object({{"maxSkew", one.max_skew},
                      {"topologyKey", text(one.topology_key)},
                      {"whenUnsatisfiable", one.required ? "DoNotSchedule" : "ScheduleAnyway"},
                      {"labelSelector", to_json(one.selector)}}));
  }
  if (!spread.empty()) set_at(spec, {"topologySpreadConstraints"}, std::move(spread));
}

json::object to_json(const model::Toleration& one) {
  json::object made;
  if (!one.key.empty()) made["key"] = text(one.key);
  made["operator"] = one.exists ? "Exists" : "Equal";
  if (!one.exists) made["value"] = text(one.value);
  if (!one.effect.empty()) made["effect"] = text(one.effect);
  return made;
}

json::array host_ports(const model::PodShape& pod) {
  json::array made;
  for (const int port : pod.host_ports) {
    const int number = model::port_number(port);
    json::object one({{"containerPort", number}, {"hostPort", number}});
    if (const auto protocol = model::port_protocol(port); protocol != model::Protocol::Tcp)
      one["protocol"] = text(model::protocol_names[static_cast<std::size_t>(protocol)]);
    made.push_back(std::move(one));
  }
  return made;
}

}  // namespace muster::clusters
