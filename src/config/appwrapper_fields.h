// The keys of AppWrappers in the server's configuration. See config_fields.h.
#pragma once

#include <array>
#include <string_view>
#include <utility>

#include "config/appwrappers.h"
#include "config/codecs.h"
#include "config/shared_fields.h"

namespace muster::config {

template <>
struct EnumNames<WrapperProfile> {
  static constexpr std::array<std::pair<std::string_view, WrapperProfile>, 2> names = {
      {{"default", WrapperProfile::Default}, {"mcad", WrapperProfile::Mcad}}};
};

template <>
struct EnumNames<TravellingSecrets> {
  static constexpr std::array<std::pair<std::string_view, TravellingSecrets>, 2> names = {
      {{"labelled", TravellingSecrets::Labelled}, {"never", TravellingSecrets::Never}}};
};

template <>
struct EnumNames<WrapperEvents> {
  static constexpr std::array<std::pair<std::string_view, WrapperEvents>, 3> names = {
      {{"none", WrapperEvents::None},
       {"problems", WrapperEvents::Problems},
       {"all", WrapperEvents::All}}};
};

template <>
struct Fields<Travel> {
  static constexpr std::string_view name = "travel";
  template <typename V>
  static void visit(V& v) {
    v.field("namespaces", &Travel::namespaces, "made in the other cluster when they are missing");
    v.field("configmaps", &Travel::configmaps, "those that pods name are copied there");
    v.field("secrets", &Travel::secrets,
            "those that pods name are copied there, if their namespace in the hub has the label "
            "muster.dev/travel-secrets: \"true\"; or never");
    v.field("service_accounts", &Travel::service_accounts,
            "those that pods run as are made there, without tokens, Secrets and rights");
  }
};

template <>
struct Fields<model::NodeHealth> {
  static constexpr std::string_view name = "node_health";
  template <typename V>
  static void visit(V& v) {
    constexpr Rule word = {.required = true};
    v.field("resource", &model::NodeHealth::resource, "of pods that ask for it", word);
    v.field("label", &model::NodeHealth::label, "of nodes, that says how well they are", word);
    v.field("avoid", &model::NodeHealth::avoid, "values of nodes that others are preferred to");
    v.field("refuse", &model::NodeHealth::refuse, "values of nodes that get no such pods");
    v.field("evict", &model::NodeHealth::evict,
            "values of nodes that get none, and from which AppWrappers are taken off");
  }
};

template <>
struct Fields<AppWrappers> {
  static constexpr std::string_view name = "appwrappers";
  template <typename V>
  static void visit(V& v) {
    v.field("cluster", &AppWrappers::cluster, "the cluster whose AppWrappers are taken as jobs",
            Rule{.required = true});
    v.field("namespace", &AppWrappers::kube_namespace, "only of this one; none: of all");
    v.field("profile", &AppWrappers::profile, "mcad: what MCAD does where it differs");
    v.field("queue", &AppWrappers::queue, "of AppWrappers that name none", optional_name());
    v.field("quota", &AppWrappers::quota,
            "QuotaSubtrees of the cluster are queues, and AppWrappers belong to their nodes");
    v.field("kinds", &AppWrappers::kinds,
            "what they may wrap, as batch/Job or Pod; '*': all; none: workloads and what goes with "
            "them, with profile mcad all");
    v.field("creators", &AppWrappers::creators,
            "only what their creators may create, which the API server checks after "
            "`muster aw install --creators`");
    v.field("node_health", &AppWrappers::node_health,
            "labels of nodes that AppWrappers of v1beta2 heed; none: those of Autopilot; []: none");
    v.field("events", &AppWrappers::events,
            "Events in the cluster about them; problems: why they wait, are requeued or fail");
    v.field("travel", &AppWrappers::travel, "what goes along to other clusters");
  }
};

}  // namespace muster::config
