#include "manifest/kinds.h"

#include <fmt/format.h>

#include <set>

#include "kube/json.h"

namespace muster::manifest {

namespace {

constexpr bool unusual = false;

constexpr KnownKind table[] = {
    {"", "Pod", "pods"},
    {"", "Service", "services"},
    {"", "ConfigMap", "configmaps"},
    {"", "Secret", "secrets"},
    {"", "PersistentVolumeClaim", "persistentvolumeclaims"},
    {"", "ReplicationController", "replicationcontrollers", unusual},
    {"", "ServiceAccount", "serviceaccounts", unusual},
    {"apps", "Deployment", "deployments"},
    {"apps", "StatefulSet", "statefulsets"},
    {"apps", "ReplicaSet", "replicasets"},
    {"autoscaling", "HorizontalPodAutoscaler", "horizontalpodautoscalers", unusual},
    {"batch", "Job", "jobs"},
    {"batch", "CronJob", "cronjobs"},
    {"networking.k8s.io", "Ingress", "ingresses"},
    {"networking.k8s.io", "NetworkPolicy", "networkpolicies"},
    {"policy", "PodDisruptionBudget", "poddisruptionbudgets"},
    {"route.openshift.io", "Route", "routes"},
    {"ray.io", "RayCluster", "rayclusters"},
    {"ray.io", "RayJob", "rayjobs"},
    {"ray.io", "RayService", "rayservices"},
    {"jobset.x-k8s.io", "JobSet", "jobsets"},
    {"leaderworkerset.x-k8s.io", "LeaderWorkerSet", "leaderworkersets"},
    {"kubeflow.org", "PyTorchJob", "pytorchjobs"},
    {"kubeflow.org", "TFJob", "tfjobs"},
    {"kubeflow.org", "MPIJob", "mpijobs"},
    {"kubeflow.org", "XGBoostJob", "xgboostjobs"},
    {"kubeflow.org", "PaddleJob", "paddlejobs"},
    {"kubeflow.org", "JAXJob", "jaxjobs"},
    {"scheduling.sigs.k8s.io", "PodGroup", "podgroups"},
    {"scheduling.x-k8s.io", "PodGroup", "podgroups"},
};

}  // namespace

std::span<const KnownKind> known_kinds() { return table; }

std::string kind_text(std::string_view group, std::string_view kind) {
  return group.empty() ? std::string(kind) : fmt::format("{}/{}", group, kind);
}

std::string served_kind(std::string_view api_version, std::string_view kind) {
  return fmt::format("{}/{}", api_version, kind);
}

std::vector<std::string> kinds_to_serve(std::span<const boost::json::value> objects) {
  std::set<std::string> kinds;
  for (const boost::json::value& object : objects) {
    const std::string_view version = kube::text_at(object, {"apiVersion"});
    if (version == "v1" || version == "apps/v1" || version == "batch/v1") continue;
    kinds.insert(served_kind(version, kube::text_at(object, {"kind"})));
  }
  return {kinds.begin(), kinds.end()};
}

}  // namespace muster::manifest
