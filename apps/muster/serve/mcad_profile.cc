#include "apps/muster/serve/mcad_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <initializer_list>
#include <set>
#include <utility>
#include <vector>

#include "base/text.h"
#include "kube/kubeconfig.h"
#include "kube/self_contained.h"

namespace muster::app {

namespace {

using Variable = std::function<const char*(const char*)>;

std::string quoted(const std::string& text) {
  return boost::json::serialize(boost::json::value(text));
}

/// The flag, or else the variable that MCAD's Helm chart sets.
std::string given(const std::string& flag, const Variable& variable, const char* name) {
  if (!flag.empty()) return flag;
  const char* value = variable(name);
  return value == nullptr ? "" : value;
}

Result<bool> truth(const std::string& text, std::string_view name) {
  // What Go's flags and strconv.ParseBool take.
  const auto is_one_of = [&](std::initializer_list<std::string_view> words) {
    return std::find(words.begin(), words.end(), text) != words.end();
  };
  if (is_one_of({"", "false", "False", "FALSE", "f", "F", "0"})) return false;
  if (is_one_of({"true", "True", "TRUE", "t", "T", "1"})) return true;
  return invalid(fmt::format("{}: '{}' is neither true nor false", name, text));
}

/// As MCAD finds it: the flag, KUBECONFIG, the cluster it runs in.
Result<kube::Access> own_cluster(const McadFlags& flags, const Variable& variable) {
  if (flags.kubeconfig.empty() && variable("KUBERNETES_SERVICE_HOST") != nullptr &&
      variable("KUBECONFIG") == nullptr)
    return kube::in_cluster_access(variable);
  const auto config = flags.kubeconfig.empty() ? kube::load_kubeconfigs(variable)
                                               : kube::load_kubeconfig(flags.kubeconfig);
  if (!config) return config.error();
  return kube::access_of(*config);
}

std::string cluster_yaml(const std::string& name, const kube::Access& access) {
  return fmt::format("- {{name: {}, type: kubernetes, namespaces: ['*'], kubeconfig_inline: {}}}\n",
                     quoted(name), quoted(kube::kubeconfig_of(access)));
}

/// "file:uncordon,other:uncordon", as MCAD's dispatcher takes them; files are paths here.
Result<std::string> agents_yaml(const std::string& agents, std::set<std::string>& names) {
  std::string yaml;
  for (const std::string_view agent : split(agents, ',')) {
    const std::string file(agent.substr(0, agent.rfind(':')));
    if (file.empty()) continue;
    const auto config = kube::load_kubeconfig(file);
    if (!config) return Error{config.error().fault, "agentconfigs: " + config.error().message};
    const auto access = kube::access_of(*config);
    if (!access) return Error{access.error().fault, "agentconfigs: " + access.error().message};
    const std::string name = kube::plain_name(access->context);
    if (!names.insert(name).second)
      return invalid(fmt::format("agentconfigs: {}: cluster {} is there twice", file, name));
    yaml += cluster_yaml(name, *access);
  }
  return yaml;
}

void note_what_has_no_effect(const McadFlags& flags, const Variable& variable,
                             std::vector<std::string>& notes) {
  const auto note = [&](const std::string& flag, const char* name, std::string_view why) {
    if (!given(flag, variable, name).empty()) notes.push_back(fmt::format("{}: {}", name, why));
  };
  note(flags.back_off_time, "BACKOFFTIME",
       "jobs are looked at when something changes, not after a while");
  note(flags.dynamic_priority, "DYNAMICPRIORITY", "priorities do not grow with time");
  note(flags.head_of_line_holding_time, "HEADOFLINEHOLDINGTIME", "MCAD does not read it either");
  note(flags.quota_url, "QUOTA_REST_URL", "MCAD does not read it either");
  note(flags.reservation_timeout, "DISPATCH_RESOURCE_RESERVATION_TIMEOUT",
       "MCAD does not read it either");
}

}  // namespace

std::shared_ptr<McadFlags> add_mcad_flags(CLI::App& serve) {
  auto flags = std::make_shared<McadFlags>();
  const auto add = [&](const char* name, std::string McadFlags::* value, const char* help) {
    serve.add_option(name, (*flags).*value, help)->group("With --profile mcad, as MCAD has them");
  };
  add("--kubeconfig", &McadFlags::kubeconfig, "the hub; none: KUBECONFIG, or the cluster around");
  add("--quotaEnabled", &McadFlags::quota_enabled, "true: QuotaSubtrees count (QUOTA_ENABLED)");
  add("--preemption", &McadFlags::preemption,
      "true: jobs of lower priority may be evicted (PREEMPTION)");
  add("--dispatcher", &McadFlags::dispatcher, "true: dispatch to --agentconfigs (DISPATCHER_MODE)");
  add("--agentconfigs", &McadFlags::agent_configs,
      "kubeconfigs of clusters to dispatch to, FILE:uncordon,... (DISPATCHER_AGENT_CONFIGS)");
  add("--healthProbeListenAddr", &McadFlags::health_address, "where /healthz is served as well");
  add("--master", &McadFlags::master, "no effect: the kubeconfig says it");
  add("--dynamicpriority", &McadFlags::dynamic_priority, "no effect");
  add("--backofftime", &McadFlags::back_off_time, "no effect: nothing waits for a time");
  add("--headoflineholdingtime", &McadFlags::head_of_line_holding_time, "no effect");
  add("--quotaURL", &McadFlags::quota_url, "no effect");
  add("--secure-port", &McadFlags::secure_port, "no effect");
  add("--dispatchResourceReservationTimeout", &McadFlags::reservation_timeout, "no effect");
  return flags;
}

Result<McadSetup> mcad_setup(const McadFlags& flags, const Variable& variable) {
  McadSetup setup;
  const auto access = own_cluster(flags, variable);
  if (!access) return access.error();
  const std::string hub = access->context.empty() ? "hub" : kube::plain_name(access->context);
  const auto quota = truth(given(flags.quota_enabled, variable, "QUOTA_ENABLED"), "quotaEnabled");
  if (!quota) return quota.error();
  const auto preemption = truth(given(flags.preemption, variable, "PREEMPTION"), "preemption");
  if (!preemption) return preemption.error();
  const auto dispatcher = truth(given(flags.dispatcher, variable, "DISPATCHER_MODE"), "dispatcher");
  if (!dispatcher) return dispatcher.error();
  setup.yaml = "clusters:\n" + cluster_yaml(hub, *access);
  if (*dispatcher) {
    std::set<std::string> names = {hub};
    const auto agents =
        agents_yaml(given(flags.agent_configs, variable, "DISPATCHER_AGENT_CONFIGS"), names);
    if (!agents) return agents.error();
    setup.yaml += *agents;
  }
  setup.yaml += fmt::format("appwrappers: {{cluster: {}, profile: mcad, quota: {}}}\n", quoted(hub),
                            *quota ? "true" : "false");
  setup.yaml += "queues: [{name: default, strategy: skip_ahead}]\n";
  if (!*preemption) setup.yaml += "scheduling: {evictions_per_round: 0}\n";
  note_what_has_no_effect(flags, variable, setup.notes);
  return setup;
}

}  // namespace muster::app
