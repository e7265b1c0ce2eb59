#include "work/wrapped/node_health.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <map>
#include <string>
#include <string_view>

#include "kube/json.h"
#include "manifest/amounts.h"

namespace muster::work {

namespace {

namespace json = boost::json;
using kube::items_at;
using kube::set_at;

constexpr int avoid_weight = 50;
constexpr std::string_view required = "requiredDuringSchedulingIgnoredDuringExecution";
constexpr std::string_view preferred = "preferredDuringSchedulingIgnoredDuringExecution";

using Values = std::map<std::string, std::vector<std::string>>;  // by label

bool asks_for(const json::value& pod, const std::string& resource) {
  for (const std::string_view list : {"containers", "initContainers"}) {
    for (const json::value& container : items_at(pod, {"spec", list})) {
      for (const std::string_view kind : {"limits", "requests"}) {
        const manifest::Amounts amounts =
            manifest::amounts_of(kube::map_at(container, {"resources", kind}));
        const auto found = amounts.find(resource);
        if (found != amounts.end() && found->second > 0) return true;
      }
    }
  }
  return false;
}

json::array not_in(const Values& values) {
  json::array expressions;
  for (const auto& [label, all] : values) {
    json::array list;
    for (const std::string& one : all) list.emplace_back(one);
    expressions.push_back({{"key", label}, {"operator", "NotIn"}, {"values", std::move(list)}});
  }
  return expressions;
}

/// A node has to match one of the terms: the expressions go into each.
void require(json::value& pod, const Values& values) {
  const kube::Path terms_at = {"spec", "affinity", "nodeAffinity", required, "nodeSelectorTerms"};
  json::array terms = items_at(pod, terms_at);
  if (terms.empty()) terms.emplace_back(json::object());
  for (json::value& term : terms) {
    json::array all = items_at(term, {"matchExpressions"});
    for (json::value& one : not_in(values)) all.push_back(std::move(one));
    set_at(term, {"matchExpressions"}, std::move(all));
  }
  set_at(pod, terms_at, std::move(terms));
}

void prefer(json::value& pod, const Values& values) {
  const kube::Path terms_at = {"spec", "affinity", "nodeAffinity", preferred};
  json::array terms = items_at(pod, terms_at);
  terms.push_back(
      {{"weight", avoid_weight}, {"preference", {{"matchExpressions", not_in(values)}}}});
  set_at(pod, terms_at, std::move(terms));
}

void add(Values& into, const std::string& label, const std::vector<std::string>& values) {
  if (!values.empty()) into[label].insert(into[label].end(), values.begin(), values.end());
}

}  // namespace

std::vector<model::NodeHealth> autopilot_health() {
  return {{"nvidia.com/gpu", "autopilot.ibm.com/gpuhealth", {"WARN"}, {"TESTING"}, {"EVICT"}}};
}

void keep_from_sick_nodes(json::value& pod, const std::vector<model::NodeHealth>& health) {
  Values away;
  Values rather_not;
  for (const model::NodeHealth& one : health) {
    if (!asks_for(pod, one.resource)) continue;
    add(away, one.label, one.refuse);
    add(away, one.label, one.evict);
    add(rather_not, one.label, one.avoid);
  }
  if (!away.empty()) require(pod, away);
  if (!rather_not.empty()) prefer(pod, rather_not);
}

std::vector<model::NodeMark> evicting_marks(const std::vector<model::NodeHealth>& health) {
  std::vector<model::NodeMark> marks;
  for (const model::NodeHealth& one : health) {
    for (const std::string& value : one.evict) marks.push_back({one.resource, one.label, value});
  }
  return marks;
}

}  // namespace muster::work
