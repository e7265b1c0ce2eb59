#include "api/appwrapper/luggage.h"

#include <fmt/format.h>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <string>
#include <utility>

#include "kube/json.h"
#include "kube/requests.h"

namespace muster::api {

namespace {

namespace json = boost::json;

/// How strict a namespace is with pods: one that is made elsewhere is no less so.
constexpr std::string_view pod_security_prefix = "pod-security.kubernetes.io/";
/// The token of an account is of no use elsewhere, and nobody else's business.
constexpr std::string_view token_type = "kubernetes.io/service-account-token";

json::value space_like(const json::value& ours) {
  json::value made = json::object();
  kube::set_at(made, {"apiVersion"}, "v1");
  kube::set_at(made, {"kind"}, "Namespace");
  kube::set_at(made, {"metadata", "name"}, json::string(kube::name_of(ours)));
  json::object labels{{"app.kubernetes.io/managed-by", "muster"}};
  for (const auto& [name, value] : kube::map_at(ours, {"metadata", "labels"})) {
    if (std::string_view(name).starts_with(pod_security_prefix)) labels[name] = value;
  }
  kube::set_at(made, {"metadata", "labels"}, std::move(labels));
  return made;
}

/// Of those that may travel.
kube::Resource resource_of(model::NamedObject::Kind kind) {
  if (kind == model::NamedObject::Kind::Secret) return kube::resources::secrets();
  if (kind == model::NamedObject::Kind::ConfigMap) return kube::resources::config_maps();
  return kube::resources::service_accounts();
}

/// Why one stays that has to be where the pods run. The others can be done without for a while.
std::string why_it_stays(model::NamedObject::Kind kind, const TravelOptions& options) {
  using Kind = model::NamedObject::Kind;
  if (kind == Kind::VolumeClaim) return "volume claims do not travel, as their data does not";
  if (kind == Kind::ServiceAccount && !options.takes_service_accounts)
    return "the configuration lets no service accounts travel";
  return "";
}

}  // namespace

struct LuggageDesk::Packing {
  ports::Departure departure;
  ports::Departures::Done done;
  ports::Luggage luggage;
  bool has_secrets = false;  // may go
  std::string why_no_secrets;
  std::size_t next = 0;  // of those that are named
};

void LuggageDesk::pack(const ports::Departure& departure, ports::Departures::Done done) {
  auto packing = std::make_shared<Packing>();
  packing->departure = departure;
  packing->done = std::move(done);
  packing->why_no_secrets = "the configuration lets no Secrets travel";
  bool names_secrets = false;
  for (const model::NamedObject& one : departure.named)
    names_secrets |= one.kind == model::NamedObject::Kind::Secret;
  const bool asks = options_.makes_namespaces || (options_.takes_secrets && names_secrets);
  if (asks) return take_space(packing);
  take_next(packing);
}

void LuggageDesk::take_space(const std::shared_ptr<Packing>& packing) {
  const std::string& ns = packing->departure.hub.ns;
  client_.send_later(
      kube::get_request(kube::resources::namespaces(), "", ns),
      [this, packing](const kube::Reply<json::value>& found) {
        const std::string& name = packing->departure.hub.ns;
        if (!found && !found.error().is_forbidden())
          return packing->done(Error{Fault::Unavailable, found.error().message});
        if (found && options_.makes_namespaces)
          packing->luggage.space = json::serialize(space_like(*found));
        const bool is_opted_in =
            found && kube::text_at(*found, {"metadata", "labels", travel_secrets_label}) == "true";
        packing->has_secrets = options_.takes_secrets && is_opted_in;
        if (options_.takes_secrets && !is_opted_in) {
          packing->why_no_secrets =
              found ? fmt::format("namespace {} of the hub has no label {}: \"true\"", name,
                                  travel_secrets_label)
                    : fmt::format("namespace {} of the hub cannot be read: {}", name,
                                  found.error().message);
        }
        take_next(packing);
      });
}

void LuggageDesk::take_next(const std::shared_ptr<Packing>& packing) {
  while (packing->next < packing->departure.named.size()) {
    const model::NamedObject& what = packing->departure.named[packing->next++];
    if (std::string why = why_it_stays(what.kind, options_); !why.empty()) {
      packing->luggage.pieces.push_back({what, "", std::move(why)});
      continue;
    }
    const bool is_secret = what.kind == model::NamedObject::Kind::Secret;
    const bool is_config_map = what.kind == model::NamedObject::Kind::ConfigMap;
    if (is_secret ? packing->has_secrets : !is_config_map || options_.takes_config_maps)
      return read(packing, what);
    packing->luggage.left.emplace_back(
        what, is_secret ? packing->why_no_secrets : "the configuration lets no ConfigMaps travel");
  }
  packing->done(std::move(packing->luggage));
}

void LuggageDesk::read(const std::shared_ptr<Packing>& packing, const model::NamedObject& what) {
  client_.send_later(
      kube::get_request(resource_of(what.kind), packing->departure.hub.ns, what.name),
      [this, packing, what](const kube::Reply<json::value>& found) {
        if (!found && found.error().is_forbidden()) {
          packing->luggage.left.emplace_back(
              what, fmt::format("the hub does not let it be read: {}", found.error().message));
        } else if (!found && !found.error().is_not_found()) {
          return packing->done(Error{Fault::Unavailable, found.error().message});
        } else if (found && kube::text_at(*found, {"type"}) == token_type) {
          packing->luggage.left.emplace_back(what, "it is the token of a service account");
        } else {
          packing->luggage.pieces.push_back({what, found ? json::serialize(*found) : "", ""});
        }
        take_next(packing);
      });
}

}  // namespace muster::api
