// Names of kinds and resources, and where the API server has them. Pure.
#pragma once

#include <compare>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster::kube {

/// "apps/v1" is the group apps in version v1; "v1" is the core group, which is called "".
struct GroupVersion {
  std::string group = {};
  std::string version = {};
  friend auto operator<=>(const GroupVersion&, const GroupVersion&) = default;
};
GroupVersion parse_group_version(std::string_view api_version);
std::string to_text(const GroupVersion& gv);

/// A resource of an API server: what a path needs, and what its objects say of themselves.
struct Resource {
  std::string group = {};
  std::string version = {};
  std::string plural = {};  // "pods"
  std::string kind = {};    // "Pod"
  bool is_namespaced = true;
  std::string singular = {};                   // "pod"; "" when it was not asked for
  std::vector<std::string> short_names = {};   // "po"
  std::vector<std::string> verbs = {};         // "create", "list", "watch"
  std::vector<std::string> subresources = {};  // "status", "scale"
  std::vector<std::string> categories = {};    // "all"

  std::string api_version() const { return to_text(GroupVersion{group, version}); }
  bool has_verb(std::string_view verb) const;
  bool has_subresource(std::string_view name) const;
};

/// "/api/v1/namespaces/ns/pods/name/log". An empty namespace means all of them, or none for
/// cluster-wide resources; empty name and subresource are left out.
std::string path_of(const Resource& resource, std::string_view ns, std::string_view name = "",
                    std::string_view subresource = "");

// Those every cluster has, so that nobody needs discovery to reach a pod.
namespace resources {
Resource pods();
Resource nodes();
Resource namespaces();
Resource events();
Resource secrets();
Resource config_maps();
Resource services();
Resource service_accounts();
Resource persistent_volume_claims();
Resource resource_quotas();
Resource limit_ranges();
Resource jobs();
Resource leases();
Resource priority_classes();
Resource runtime_classes();
Resource custom_resource_definitions();
}  // namespace resources

}  // namespace muster::kube
