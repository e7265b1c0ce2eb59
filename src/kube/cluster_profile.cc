#include "kube/cluster_profile.h"

#include <fmt/format.h>

#include <boost/json/serialize.hpp>
#include <map>
#include <utility>

#include "kube/json.h"

namespace muster::kube {

namespace {

namespace json = boost::json;

constexpr std::string_view args_extension =
    "clusterprofiles.multicluster.x-k8s.io/exec/additional-args";
constexpr std::string_view env_extension =
    "clusterprofiles.multicluster.x-k8s.io/exec/additional-envs";
constexpr std::string_view config_extension = "client.authentication.k8s.io/exec";

/// The way of that name that the profile offers; of the two lists the new one counts.
const json::value* offered(const json::value& profile, std::string_view name) {
  for (const std::string_view list : {"accessProviders", "credentialProviders"}) {
    for (const json::value& one : items_at(profile, {"status", list})) {
      if (text_at(one, {"name"}) == name) return &one;
    }
  }
  return nullptr;
}

const json::value* extension(const json::value& way, std::string_view name) {
  for (const json::value& one : items_at(way, {"cluster", "extensions"})) {
    if (text_at(one, {"name"}) == name) return find(one, {"extension"});
  }
  return nullptr;
}

Status put_args(const json::value& provider, const json::value& way, json::object& exec) {
  const std::string_view policy = text_at(provider, {"profileSourcedCLIArgsPolicy"});
  if (policy.empty() || policy == "Ignore") return Ok{};
  if (policy != "Append")
    return invalid(fmt::format("profileSourcedCLIArgsPolicy: '{}' is not known", policy));
  const json::value* more = extension(way, args_extension);
  if (more == nullptr) return Ok{};
  if (!more->is_array()) return invalid(fmt::format("{}: must be a list", args_extension));
  json::array args = items_at(json::value(exec), {"args"});
  for (const json::value& arg : more->get_array()) {
    if (!arg.is_string()) return invalid(fmt::format("{}: must be texts", args_extension));
    args.push_back(arg);
  }
  exec["args"] = std::move(args);
  return Ok{};
}

Status put_env(const json::value& provider, const json::value& way, json::object& exec) {
  const std::string_view policy = text_at(provider, {"profileSourcedEnvVarsPolicy"});
  if (policy.empty() || policy == "Ignore") return Ok{};
  if (policy != "AppendIfNotExists" && policy != "Replace")
    return invalid(fmt::format("profileSourcedEnvVarsPolicy: '{}' is not known", policy));
  const json::value* more = extension(way, env_extension);
  if (more == nullptr) return Ok{};
  if (!more->is_object()) return invalid(fmt::format("{}: must be a map", env_extension));
  std::map<std::string, json::value> all;
  const json::value given(exec);
  for (const json::value& one : items_at(given, {"env"}))
    all[std::string(text_at(one, {"name"}))] = json::value(text_at(one, {"value"}));
  for (const auto& member : more->get_object()) {
    if (!member.value().is_string())
      return invalid(fmt::format("{}: must be texts", env_extension));
    if (policy == "Replace" || !all.contains(std::string(member.key())))
      all[std::string(member.key())] = member.value();
  }
  json::array env;
  for (const auto& [name, value] : all)
    env.push_back(json::object{{"name", name}, {"value", value}});
  exec["env"] = std::move(env);
  return Ok{};
}

/// Of the profile's cluster, as it is written in a kubeconfig, what may come from others: no files.
json::object cluster_of(const json::value& way) {
  json::object cluster;
  for (const std::string_view key :
       {"server", "tls-server-name", "certificate-authority-data", "proxy-url"}) {
    if (const std::string_view text = text_at(way, {"cluster", key}); !text.empty())
      cluster[key] = text;
  }
  if (const json::value* config = extension(way, config_extension))
    cluster["extensions"] =
        json::array{json::object{{"name", config_extension}, {"extension", *config}}};
  return cluster;
}

}  // namespace

Resource cluster_profiles() {
  Resource resource;
  resource.group = "multicluster.x-k8s.io";
  resource.version = "v1alpha1";
  resource.plural = "clusterprofiles";
  resource.kind = "ClusterProfile";
  return resource;
}

Result<std::string> kubeconfig_of_profile(const json::value& profile,
                                          const json::value& providers) {
  const std::string name(name_of(profile));
  for (const json::value& provider : items_at(providers, {"providers"})) {
    const json::value* way = offered(profile, text_at(provider, {"name"}));
    if (way == nullptr) continue;
    const std::string where = fmt::format("provider {}", text_at(provider, {"name"}));
    json::object exec = map_at(provider, {"execConfig"});
    if (exec.empty()) return invalid(where + ": execConfig: is missing");
    exec["interactiveMode"] = "Never";
    for (const auto put : {put_args, put_env}) {
      if (Status done = put(provider, *way, exec); !done)
        return invalid(fmt::format("{}: {}", where, done.error().message));
    }
    const json::object document{
        {"current-context", name},
        {"clusters", json::array{json::object{{"name", name}, {"cluster", cluster_of(*way)}}}},
        {"users",
         json::array{json::object{{"name", name}, {"user", json::object{{"exec", exec}}}}}},
        {"contexts",
         json::array{json::object{{"name", name},
                                  {"context", json::object{{"cluster", name}, {"user", name}}}}}}};
    return json::serialize(document);
  }
  return Error{Fault::NotFound,
               fmt::format("ClusterProfile {} offers none of the providers", name)};
}

}  // namespace muster::kube
