// The keys of clusters in the server's configuration, and of the sources where clusters are found.
// See config_fields.h.
#pragma once

#include <array>
#include <string_view>
#include <utility>

#include "config/codecs.h"
#include "config/config.h"
#include "config/container_fields.h"
#include "config/shared_fields.h"

namespace muster::config {

template <>
struct EnumNames<ClusterType> {
  static constexpr std::array<std::pair<std::string_view, ClusterType>, 3> names = {
      {{"local", ClusterType::Local},
       {"simulated", ClusterType::Simulated},
       {"kubernetes", ClusterType::Kubernetes}}};
};

template <>
struct EnumNames<NodeBinding> {
  static constexpr std::array<std::pair<std::string_view, NodeBinding>, 3> names = {
      {{"require", NodeBinding::Require},
       {"prefer", NodeBinding::Prefer},
       {"none", NodeBinding::None}}};
};

template <>
struct Fields<NodeGroup> {
  static constexpr std::string_view name = "node_group";
  template <typename V>
  static void visit(V& v) {
    v.field("count", &NodeGroup::count, "how many", between(1, 100'000));
    v.field("name", &NodeGroup::name, "what their names begin with", optional_name());
    v.field("cpu", &NodeGroup::cpu, "cores of one node", at_least(0));
    v.field("memory", &NodeGroup::memory, "memory of one node", at_least(0));
    v.field("gpu", &NodeGroup::gpu, "GPUs of one node, as {A100: 8}", between(1, 16));
    v.field("gpu_memory", &NodeGroup::gpu_memory, "memory of one GPU", at_least(0));
    v.field("resources", &NodeGroup::resources, "further resources, as {rdma/hca: 4}", at_least(1));
    v.field("pods_max", &NodeGroup::pods_max, "pods on one node", between(1, 100'000));
    v.field("labels", &NodeGroup::labels, "labels of the nodes");
    v.field("taints", &NodeGroup::taints, "taints of the nodes");
  }
};

template <>
struct Fields<SecretRef> {
  static constexpr std::string_view name = "secret_ref";
  template <typename V>
  static void visit(V& v) {
    v.field("cluster", &SecretRef::cluster, "the cluster that has the Secret", required_name());
    v.field("namespace", &SecretRef::kube_namespace, "where it is", required_name());
    v.field("name", &SecretRef::name, "its name", required_name());
    v.field("key", &SecretRef::key, "which of its data", optional_name());
  }
};

template <>
struct Fields<HubSecrets> {
  static constexpr std::string_view name = "hub_secrets";
  template <typename V>
  static void visit(V& v) {
    v.field("cluster", &HubSecrets::cluster, "the cluster that has the Secrets", required_name());
    v.field("namespace", &HubSecrets::kube_namespace, "where they are", required_name());
    v.field("selector", &HubSecrets::selector, "labels that they have, as kubectl writes them");
    v.field("key", &HubSecrets::key, "which of their data is the kubeconfig", optional_name());
  }
};

template <>
struct Fields<HubProfiles> {
  static constexpr std::string_view name = "hub_profiles";
  template <typename V>
  static void visit(V& v) {
    v.field("cluster", &HubProfiles::cluster, "the cluster that has the ClusterProfiles",
            required_name());
    v.field("namespace", &HubProfiles::kube_namespace, "where they are", required_name());
    v.field("providers", &HubProfiles::providers,
            "file: which plugins get credentials, {\"providers\": [{\"name\", \"execConfig\"}]}",
            Rule{.required = true});
  }
};

template <>
struct Fields<ClusterSource> {
  static constexpr std::string_view name = "cluster_source";
  template <typename V>
  static void visit(V& v) {
    v.field("directory", &ClusterSource::directory,
            "folder of kubeconfigs: a file that appears joins, one that goes leaves");
    v.field("secrets", &ClusterSource::secrets, "Secrets of a cluster, each a kubeconfig");
    v.field("profiles", &ClusterSource::profiles, "ClusterProfiles of a cluster");
    v.field("labels", &ClusterSource::labels, "labels of the clusters found there");
    v.field("grace", &ClusterSource::grace, "how long they may be silent");
    v.field("namespace", &ClusterSource::kube_namespace,
            "where jobs are made; the context's if not given", optional_name());
    v.field("namespaces", &ClusterSource::namespaces,
            "other namespaces that pools and jobs may name; '*': all there are", name_or_star());
    v.field("image", &ClusterSource::image, "container image that commands run in");
    v.field("node_binding", &ClusterSource::node_binding, "how pods keep to planned nodes");
    v.field(
        "ready_within", &ClusterSource::ready_within,
        "a gang whose pods are not all ready so long after they were made is taken back; 10m if "
        "not given");
    v.field("pod", &ClusterSource::pod, "what pods have unless pool or job say otherwise");
  }
};

template <>
struct Fields<Cluster> {
  static constexpr std::string_view name = "cluster";
  template <typename V>
  static void visit(V& v) {
    v.field("name", &Cluster::name, "unique name", required_name());
    v.field("type", &Cluster::type, "what it is made of", Rule{.required = true});
    v.field("labels", &Cluster::labels, "labels, for jobs whose data is near");
    v.field("gpu_price", &Cluster::gpu_price, "price of a GPU-hour by type, as {A100: 1.2}",
            between(0, 1'000'000'000));
    v.field("grace", &Cluster::grace, "how long it may be silent before its jobs wait or rerun");
    v.field("slots", &Cluster::slots, "local: GPU slots of this machine", between(0, 16));
    v.field("gpu_type", &Cluster::gpu_type, "local: the type of the slots", optional_name());
    v.field("cpu", &Cluster::cpu, "local: cores to give away; all if not given", at_least(0));
    v.field("memory", &Cluster::memory, "local: memory to give away; all if not given",
            at_least(0));
    v.field("stop_grace", &Cluster::stop_grace,
            "local: between TERM and KILL of jobs that do not say it; 30s if not given");
    v.field("nodes", &Cluster::nodes, "simulated: groups of equal nodes");
    v.field("run_time", &Cluster::run_time, "simulated: how long a pod runs; 1m if not given");
    v.field("kubeconfig", &Cluster::kubeconfig, "kubernetes: file that says how to reach it");
    v.field("kubeconfig_inline", &Cluster::kubeconfig_inline,
            "kubernetes: the text of a kubeconfig, instead of a file");
    v.field("kubeconfig_secret", &Cluster::kubeconfig_secret,
            "kubernetes: a Secret of another cluster that holds it");
    v.field("in_cluster", &Cluster::in_cluster,
            "kubernetes: the cluster that the server itself runs in, as its pod's service account");
    v.field("context", &Cluster::context,
            "kubernetes: of the kubeconfig; its current one if not given");
    v.field("namespace", &Cluster::kube_namespace,
            "kubernetes: where jobs are made; the context's if not given", optional_name());
    v.field("namespaces", &Cluster::namespaces,
            "kubernetes: other namespaces that pools and jobs may name; '*': all there are",
            name_or_star());
    v.field("image", &Cluster::image, "kubernetes: container image that commands run in");
    v.field("node_binding", &Cluster::node_binding, "kubernetes: how pods keep to planned nodes");
    v.field("ready_within", &Cluster::ready_within,
            "kubernetes: a gang whose pods are not all ready so long after they were made is taken "
            "back; 10m if not given");
    v.field("pod", &Cluster::pod, "kubernetes: what pods have unless pool or job say otherwise");
  }
};

}  // namespace muster::config
