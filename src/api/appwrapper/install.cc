#include "api/appwrapper/install.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

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

namespace {

/// As a whole: applied, lists would keep what somebody else put into them.
kube::ApiRequest replaced_spec(const kube::Resource& resource, const json::value& object) {
  json::array patch;
  patch.push_back({{"op", "replace"}, {"path", "/spec"}, {"value", *kube::find(object, {"spec"})}});
  return kube::patch_request(resource, "", kube::name_of(object), kube::Patch::Json, patch);
}

}  // namespace

Status install_creators_policy(kube::Client& client) {
  for (const json::value& object : work::creators_policy()) {
    const kube::Resource resource = policy_resource(kube::text_at(object, {"kind"}));
    auto made = client.send(replaced_spec(resource, object));
    if (!made && made.error().is_not_found())
      made = client.send(kube::apply_request(resource, object, "muster", /*force=*/true));
    if (!made)
      return Error{Fault::Unavailable, fmt::format("{} {}: {}", resource.kind,
                                                   kube::name_of(object), made.error().message)};
  }
  return Ok{};
}

namespace {

/// Each of its objects is asked for in turn.
struct CreatorsQuestion {
  kube::Client& client;
  std::function<void(const Result<CreatorsCheck>&)> then;
  std::vector<json::value> objects = work::creators_policy();
  std::size_t next = 0;
  CreatorsCheck found = {};
};

Status add_found(const json::value& wanted, const kube::Reply<json::value>& there,
                 CreatorsCheck& found) {
  const auto wrong = [&](Fault fault, std::string_view why, std::string_view hint) {
    return Error{fault, fmt::format("{} {}: {}{}", kube::text_at(wanted, {"kind"}),
                                    kube::name_of(wanted), why, hint)};
  };
  constexpr std::string_view install = "; run `muster aw install --creators`";
  if (!there) {
    const kube::ApiError& error = there.error();
    return wrong(error.fault(), error.message, error.is_not_found() ? install : "");
  }
  if (!work::is_as_installed(*there, wanted))
    return wrong(Fault::Invalid, "it is not as Muster installs it", install);
  const auto made = kube::parse_timestamp(kube::text_at(*there, {"metadata", "creationTimestamp"}),
                                          "creationTimestamp");
  if (!made) return made.error();
  Time changed = *made;
  for (const json::value& writer : kube::items_at(*there, {"metadata", "managedFields"})) {
    if (!kube::text_at(writer, {"subresource"}).empty()) continue;
    const auto at = kube::parse_timestamp(kube::text_at(writer, {"time"}), "time");
    if (at) changed = std::max(changed, *at);
  }
  found.since = std::max(found.since, changed + CreatorsCheck::until_in_force);
  found.mark += fmt::format("{}/{} ", kube::uid_of(*there),
                            kube::integer_at(*there, {"metadata", "generation"}));
  return Ok{};
}

void ask_next(const std::shared_ptr<CreatorsQuestion>& question) {
  if (question->next == question->objects.size()) return question->then(question->found);
  const json::value& wanted = question->objects[question->next++];
  question->client.send_later(kube::get_request(policy_resource(kube::text_at(wanted, {"kind"})),
                                                "", kube::name_of(wanted)),
                              [question, &wanted](const kube::Reply<json::value>& there) {
                                const Status done = add_found(wanted, there, question->found);
                                if (!done) return question->then(done.error());
                                ask_next(question);
                              });
}

}  // namespace

void check_creators(kube::Client& client, std::function<void(const Result<CreatorsCheck>&)> then) {
  ask_next(std::make_shared<CreatorsQuestion>(CreatorsQuestion{client, std::move(then)}));
}

}  // namespace muster::api
