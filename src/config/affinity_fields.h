// The keys of affinity and spread, in Kubernetes' spelling.
#pragma once

#include <array>
#include <string_view>
#include <utility>

#include "config/codecs.h"
#include "config/job_document.h"

namespace muster::config {

template <>
struct EnumNames<model::Operator> {
  static constexpr std::array<std::pair<std::string_view, model::Operator>, 6> names = {
      {{"In", model::Operator::In},
       {"NotIn", model::Operator::NotIn},
       {"Exists", model::Operator::Exists},
       {"DoesNotExist", model::Operator::DoesNotExist},
       {"Gt", model::Operator::Gt},
       {"Lt", model::Operator::Lt}}};
};
template <>
struct EnumNames<SpreadDoc::Else> {
  static constexpr std::array<std::pair<std::string_view, SpreadDoc::Else>, 2> names = {
      {{"DoNotSchedule", SpreadDoc::Else::DoNotSchedule},
       {"ScheduleAnyway", SpreadDoc::Else::ScheduleAnyway}}};
};
template <>
struct Fields<model::Requirement> {
  static constexpr std::string_view name = "requirement";
  template <typename V>
  static void visit(V& v) {
    v.field("key", &model::Requirement::key, "label", Rule{.required = true});
    v.field("operator", &model::Requirement::op, "how it is compared", Rule{.required = true});
    v.field("values", &model::Requirement::values, "with what");
  }
};
template <>
struct Fields<model::NodeTerm> {
  static constexpr std::string_view name = "node_term";
  template <typename V>
  static void visit(V& v) {
    v.field("matchExpressions", &model::NodeTerm::expressions, "all of these, over labels");
    v.field("matchFields", &model::NodeTerm::fields, "all of these, over metadata.name");
  }
};
template <>
struct Fields<model::PreferredTerm> {
  static constexpr std::string_view name = "preferred_term";
  template <typename V>
  static void visit(V& v) {
    v.field("weight", &model::PreferredTerm::weight, "how much", between(1, 100));
    v.field("preference", &model::PreferredTerm::term, "which nodes", Rule{.required = true});
  }
};
template <>
struct Fields<model::LabelSelector> {
  static constexpr std::string_view name = "label_selector";
  template <typename V>
  static void visit(V& v) {
    v.field("matchLabels", &model::LabelSelector::match_labels, "all of these labels");
    v.field("matchExpressions", &model::LabelSelector::expressions, "and all of these");
  }
};
template <>
struct Fields<model::PodAffinityTerm> {
  static constexpr std::string_view name = "pod_affinity_term";
  template <typename V>
  static void visit(V& v) {
    v.field("labelSelector", &model::PodAffinityTerm::selector, "which pods, of any namespace");
    v.field("topologyKey", &model::PodAffinityTerm::topology_key, "label of the domain",
            Rule{.required = true});
  }
};
template <>
struct Fields<SpreadDoc> {
  static constexpr std::string_view name = "spread";
  template <typename V>
  static void visit(V& v) {
    v.field("maxSkew", &SpreadDoc::max_skew, "how uneven it may be", between(1, 1'000'000));
    v.field("topologyKey", &SpreadDoc::topology_key, "label of the domain", Rule{.required = true});
    v.field("whenUnsatisfiable", &SpreadDoc::otherwise, "a demand or a wish");
    v.field("labelSelector", &SpreadDoc::selector, "which pods are counted");
  }
};
template <>
struct Fields<NodeSelectorDoc> {
  static constexpr std::string_view name = "node_selector_terms";
  template <typename V>
  static void visit(V& v) {
    v.field("nodeSelectorTerms", &NodeSelectorDoc::terms, "any of these");
  }
};
template <>
struct Fields<NodeAffinityDoc> {
  static constexpr std::string_view name = "node_affinity";
  template <typename V>
  static void visit(V& v) {
    v.field("requiredDuringSchedulingIgnoredDuringExecution", &NodeAffinityDoc::required,
            "nodes that will do");
    v.field("preferredDuringSchedulingIgnoredDuringExecution", &NodeAffinityDoc::preferred,
            "nodes that are better");
  }
};
template <>
struct Fields<PodAffinityDoc> {
  static constexpr std::string_view name = "pod_affinity";
  template <typename V>
  static void visit(V& v) {
    v.field("requiredDuringSchedulingIgnoredDuringExecution", &PodAffinityDoc::required,
            "all of these");
  }
};
template <>
struct Fields<AffinityDoc> {
  static constexpr std::string_view name = "affinity";
  template <typename V>
  static void visit(V& v) {
    v.field("nodeAffinity", &AffinityDoc::node, "which nodes");
    v.field("podAffinity", &AffinityDoc::pod, "near which pods");
    v.field("podAntiAffinity", &AffinityDoc::pod_anti, "away from which pods");
  }
};

}  // namespace muster::config
