#include "kube/resource.h"

#include <algorithm>

#include "net/url.h"

namespace muster::kube {

GroupVersion parse_group_version(std::string_view api_version) {
  const std::size_t slash = api_version.find('/');
  if (slash == std::string_view::npos) return {"", std::string(api_version)};
  return {std::string(api_version.substr(0, slash)), std::string(api_version.substr(slash + 1))};
}

std::string to_text(const GroupVersion& gv) {
  return gv.group.empty() ? gv.version : gv.group + "/" + gv.version;
}

bool Resource::has_verb(std::string_view verb) const {
  return std::find(verbs.begin(), verbs.end(), verb) != verbs.end();
}

bool Resource::has_subresource(std::string_view name) const {
  return std::find(subresources.begin(), subresources.end(), name) != subresources.end();
}

std::string path_of(const Resource& resource, std::string_view ns, std::string_view name,
                    std::string_view subresource) {
  std::string path = resource.group.empty() ? "/api/" : "/apis/" + resource.group + "/";
  path += resource.version;
  if (resource.is_namespaced && !ns.empty()) path += "/namespaces/" + net::percent_encode(ns);
  path += "/" + resource.plural;
  if (!name.empty()) path += "/" + net::percent_encode(name);
  if (!subresource.empty()) path += "/" + std::string(subresource);
  return path;
}

namespace resources {

namespace {

Resource make(std::string group, std::string version, std::string plural, std::string kind,
              bool is_namespaced) {
  Resource resource;
  resource.group = std::move(group);
  resource.version = std::move(version);
  resource.plural = std::move(plural);
  resource.kind = std::move(kind);
  resource.is_namespaced = is_namespaced;
  return resource;
}

}  // namespace

Resource pods() { return make("", "v1", "pods", "Pod", true); }
Resource nodes() { return make("", "v1", "nodes", "Node", false); }
Resource namespaces() { return make("", "v1", "namespaces", "Namespace", false); }
Resource events() { return make("", "v1", "events", "Event", true); }
Resource secrets() { return make("", "v1", "secrets", "Secret", true); }
Resource config_maps() { return make("", "v1", "configmaps", "ConfigMap", true); }
Resource services() { return make("", "v1", "services", "Service", true); }
Resource persistent_volume_claims() {
  return make("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim", true);
}
Resource service_accounts() { return make("", "v1", "serviceaccounts", "ServiceAccount", true); }
Resource resource_quotas() { return make("", "v1", "resourcequotas", "ResourceQuota", true); }
Resource limit_ranges() { return make("", "v1", "limitranges", "LimitRange", true); }
Resource jobs() { return make("batch", "v1", "jobs", "Job", true); }
Resource leases() { return make("coordination.k8s.io", "v1", "leases", "Lease", true); }
Resource priority_classes() {
  return make("scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", false);
}
Resource runtime_classes() {
  return make("node.k8s.io", "v1", "runtimeclasses", "RuntimeClass", false);
}
Resource custom_resource_definitions() {
  return make("apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition",
              false);
}

}  // namespace resources

}  // namespace muster::kube
