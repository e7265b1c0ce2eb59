#include "clusters/kubernetes/pod_asks.h"

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

/// `more` holds as well, wherever a term was met before.
void add_to_terms(json::array& terms, std::string_view key, const json::value& more) {
  if (terms.empty()) terms.push_back(json::object());
  for (json::value& term : terms) {
    json::array all = kube::items_at(term, {key});
    all.push_back(more);
    set_at(term, {key}, std::move(all));
  }
}

}  // namespace

void bind_to_nodes(json::value& spec, const std::set<std::string>& nodes, NodeBinding binding) {
  if (binding == NodeBinding::None || nodes.empty()) return;
  json::array names;
  for (const std::string& node : nodes) names.push_back(text(node));
  // matchFields takes one name only: of several the label of the host is asked for.
  const bool is_one = nodes.size() == 1;
  const std::string_view key = is_one ? "matchFields" : "matchExpressions";
  const json::value wanted =
      json::object({{"key", is_one ? "metadata.name" : "kubernetes.io/hostname"},
                    {"operator", "In"},
                    {"values", std::move(names)}});
  const std::string_view terms_key = "nodeSelectorTerms";
  if (binding == NodeBinding::Require) {
    json::array terms = kube::items_at(spec, {"affinity", "nodeAffinity", required, terms_key});
    add_to_terms(terms, key, wanted);
    set_at(spec, {"affinity", "nodeAffinity", required, terms_key}, std::move(terms));
    return;
  }
  json::array terms = kube::items_at(spec, {"affinity", "nodeAffinity", preferred});
  json::value term = json::object();
  set_at(term, {key}, json::array({wanted}));
  terms.push_back(json::object({{"weight", 100}, {"preference", std::move(term)}}));
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
