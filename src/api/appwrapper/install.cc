#include "api/appwrapper/install.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <chrono>
#include <thread>

#include "kube/json.h"
#include "kube/requests.h"
#include "kube/timestamp.h"
#include "kube/yaml.h"
#include "work/wrapped/crds.h"
#include "work/wrapped/rights.h"

namespace muster::api {

namespace {

namespace json = boost::json;

constexpr std::chrono::milliseconds look_pause{100};

Error refused(std::string_view name, const kube::ApiError& error) {
  const std::string hint =
      error.is_forbidden() ? "; `muster cluster rbac --crds` prints what has to be allowed" : "";
  return {error.is_forbidden() ? Fault::Invalid : Fault::Unavailable,
          fmt::format("definition {}: {}{}", name, error.message, hint)};
}

bool is_served(const json::value& crd) {
  const json::array& conditions = kube::items_at(crd, {"status", "conditions"});
  return std::any_of(conditions.begin(), conditions.end(), [](const json::value& one) {
    return kube::text_at(one, {"type"}) == "Established" &&
           kube::text_at(one, {"status"}) == "True";
  });
}

Status wait_served(kube::Client& client, std::string_view name,
                   std::chrono::steady_clock::time_point end) {
  const kube::Resource crds = kube::resources::custom_resource_definitions();
  while (true) {
    const auto now = client.send(kube::get_request(crds, "", name));
    if (!now) return refused(name, now.error());
    if (is_served(*now)) return Ok{};
    if (std::chrono::steady_clock::now() >= end)
      return Error{Fault::Unavailable,
                   fmt::format("definition {}: the API server does not serve it yet", name)};
    std::this_thread::sleep_for(look_pause);
  }
}

}  // namespace

Status install_crds(kube::Client& client, OldGroup old_group, Duration at_most,
                    const std::function<void(const InstalledCrd&)>& told) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(at_most.ms);
  const auto documents = kube::parse_yaml(work::appwrapper_crds());
  MUSTER_CHECK(documents.ok(), "the definitions are no YAML: {}", documents.error().message);
  const kube::Resource crds = kube::resources::custom_resource_definitions();
  for (const json::value& crd : *documents) {
    const std::string name(kube::name_of(crd));
    const auto before = client.send(kube::get_request(crds, "", name));
    if (!before && !before.error().is_not_found()) return refused(name, before.error());
    const bool is_old = kube::text_at(crd, {"spec", "group"}) == "mcad.ibm.com";
    if (is_old && !before && old_group == OldGroup::IfThere) continue;
    // What others wrote into it before is Muster's from here on.
    const auto made = client.send(kube::apply_request(crds, crd, "muster", /*force=*/true));
    if (!made) return refused(name, made.error());
    if (Status served = wait_served(client, name, end); !served) return served;
    const auto generation = [](const json::value& object) {
      return kube::integer_at(object, {"metadata", "generation"});
    };
    using How = InstalledCrd::How;
    const How how = !before                                    ? How::Created
                    : generation(*before) != generation(*made) ? How::Changed
                                                               : How::AsBefore;
    told({name, how});
  }
  return Ok{};
}

namespace {

kube::Resource policy_resource(std::string_view kind) {
  kube::Resource resource;
  resource.group = "admissionregistration.k8s.io";
  resource.version = "v1";
  resource.kind = kind;
  resource.plural = kind == "ValidatingAdmissionPolicy" ? "validatingadmissionpolicies"
                                                        : "validatingadmissionpolicybindings";
  resource.is_namespaced = false;
  return resource;
}

}  // namespace

Status install_creators_policy(kube::Client& client) {
  for (const json::value& object : work::creators_policy()) {
    const kube::Resource resource = policy_resource(kube::text_at(object, {"kind"}));
    const auto made = client.send(kube::apply_request(resource, object, "muster", /*force=*/true));
    if (!made)
      return Error{Fault::Unavailable, fmt::format("{} {}: {}", resource.kind,
                                                   kube::name_of(object), made.error().message)};
  }
  return Ok{};
}

Result<Time> creators_checked_since(kube::Client& client) {
  constexpr Duration until_in_force = seconds(5);  // API servers read policies now and then
  Time since{0};
  for (const json::value& object : work::creators_policy()) {
    const kube::Resource resource = policy_resource(kube::text_at(object, {"kind"}));
    const auto there = client.send(kube::get_request(resource, "", kube::name_of(object)));
    if (!there) {
      const bool is_missing = there.error().is_not_found();
      return Error{
          is_missing ? Fault::Invalid : Fault::Unavailable,
          fmt::format("{} {}: {}{}", resource.kind, kube::name_of(object), there.error().message,
                      is_missing ? "; run `muster aw install --creators`" : "")};
    }
    const auto made = kube::parse_timestamp(
        kube::text_at(*there, {"metadata", "creationTimestamp"}), "creationTimestamp");
    if (!made) return made.error();
    since = std::max(since, *made + until_in_force);
  }
  return since;
}

}  // namespace muster::api
