#include "apps/muster/serve/mcad_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <filesystem>
#include <initializer_list>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "base/text.h"
#include "cli/options.h"
#include "kube/files.h"
#include "kube/json.h"
#include "kube/kubeconfig.h"
#include "kube/self_contained.h"
#include "kube/yaml.h"

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

bool is_in_pod(const McadFlags& flags, const Variable& variable) {
  return flags.kubeconfig.empty() && variable("KUBERNETES_SERVICE_HOST") != nullptr &&
         variable("KUBECONFIG") == nullptr;
}

/// As MCAD finds it: the flag, KUBECONFIG, the cluster it runs in.
Result<kube::Access> own_cluster(const McadFlags& flags, const Variable& variable) {
  if (is_in_pod(flags, variable)) return kube::in_cluster_access(variable);
  const auto config = flags.kubeconfig.empty() ? kube::load_kubeconfigs(variable)
                                               : kube::load_kubeconfig(flags.kubeconfig);
  if (!config) return config.error();
  return kube::access_of(*config);
}

std::string cluster_yaml(const std::string& name, const kube::Access& access) {
  return fmt::format("- {{name: {}, type: kubernetes, namespaces: ['*'], kubeconfig_inline: {}}}\n",
                     quoted(name), quoted(kube::kubeconfig_of(access)));
}

/// MCAD looks for the kubeconfigs of its agents in one folder, into which its chart mounts them.
std::string agent_file(const std::string& file) {
  constexpr std::string_view folder = "/root/kubernetes/";
  std::error_code unknown;
  if (file.find('/') != std::string::npos || std::filesystem::exists(file, unknown)) return file;
  return std::string(folder) + file;
}

/// "file:uncordon,other:uncordon", as MCAD's dispatcher takes them.
Result<std::string> agents_yaml(const std::string& agents, std::set<std::string>& names) {
  std::string yaml;
  for (const std::string_view agent : split(agents, ',')) {
    std::string file(trim(agent.substr(0, agent.rfind(':'))));
    if (file.empty()) continue;
    file = agent_file(file);
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

using Data = std::map<std::string, std::string>;

/// As a volume of a pod has it: a file for each key, beside links that begin with "..".
Result<Data> mounted_data(const std::string& folder) {
  Data data;
  std::error_code wrong;
  std::filesystem::directory_iterator entry(folder, wrong);
  for (const auto end = std::filesystem::end(entry); !wrong && entry != end;
       entry.increment(wrong)) {
    const std::string key = entry->path().filename();
    std::error_code unknown;
    if (key.starts_with("..") || !entry->is_regular_file(unknown)) continue;
    const auto text = kube::read_small_file(entry->path());
    if (!text)
      return Error{text.error().fault,
                   fmt::format("config-map: {}: {}", entry->path().string(), text.error().message)};
    data[key] = trim(*text);
  }
  if (wrong) return invalid(fmt::format("config-map: {}: {}", folder, wrong.message()));
  return data;
}

/// Of MCAD's ConfigMap; nothing if there is none.
Result<Data> config_map_data(const std::string& path) {
  if (path.empty()) return Data();
  std::error_code unknown;
  if (std::filesystem::is_directory(path, unknown)) return mounted_data(path);
  const auto text = kube::read_small_file(path);
  if (!text)
    return Error{text.error().fault, fmt::format("config-map: {}: {}", path, text.error().message)};
  const auto objects = kube::parse_yaml(*text);
  if (!objects) return invalid(fmt::format("config-map: {}: {}", path, objects.error().message));
  Data data;
  for (const boost::json::value& object : *objects) {
    for (const auto& member : kube::map_at(object, {"data"})) {
      if (member.value().is_string())
        data[std::string(member.key())] = trim(std::string_view(member.value().get_string()));
    }
  }
  if (data.empty()) return invalid(fmt::format("config-map: {}: no ConfigMap with data", path));
  return data;
}

void note_what_has_no_effect(const McadFlags& flags, const Variable& variable,
                             std::vector<std::string>& notes) {
  const auto note = [&](const std::string& flag, const char* name, std::string_view why) {
    if (!given(flag, variable, name).empty()) notes.push_back(fmt::format("{}: {}", name, why));
  };
  note(flags.back_off_time, "BACKOFFTIME",
       "jobs are looked at when something changes, not after a while");
  note(flags.dynamic_priority, "DYNAMICPRIORITY",
       "priorities do not grow with time; true only means, as with MCAD, that nobody is evicted");
  note(flags.head_of_line_holding_time, "HEADOFLINEHOLDINGTIME", "MCAD does not read it either");
  note(flags.quota_url, "QUOTA_REST_URL", "MCAD does not read it either");
  note(flags.reservation_timeout, "DISPATCH_RESOURCE_RESERVATION_TIMEOUT",
       "MCAD does not read it either");
  for (const auto& [name, value] : flags.klog) {
    if (!value.empty()) notes.push_back(name + ": Muster writes its own log");
  }
}

/// A switch of Go: alone it is true, `--x=false` is false. `--x false` is taken as well.
CLI::Option* add_switch(CLI::App& serve, const std::string& name, std::string& value,
                        const std::string& help) {
  return cli::add_option(serve, name, value, help)->expected(0, 1)->default_str("true");
}

/// What klog takes, which every controller has: files and charts of MCAD set some of them. They are
/// not in the help, as they do nothing.
void add_klog_flags(CLI::App& serve, McadFlags& flags) {
  for (const char* name : {"--logtostderr", "--alsologtostderr", "--skip_headers",
                           "--skip_log_headers", "--add_dir_header", "--one_output"})
    add_switch(serve, name, flags.klog[name], "no effect")->group("");
  for (const char* name : {"--v", "--vmodule", "--stderrthreshold", "--log_dir", "--log_file",
                           "--log_file_max_size", "--log_backtrace_at"})
    cli::add_option(serve, name, flags.klog[name], "no effect")->group("");
}

}  // namespace

std::shared_ptr<McadFlags> add_mcad_flags(CLI::App& serve) {
  auto flags = std::make_shared<McadFlags>();
  const char* group = "With --profile mcad, as MCAD has them";
  const auto add = [&](const char* name, std::string McadFlags::* value, const char* help) {
    cli::add_option(serve, name, (*flags).*value, help)->group(group);
  };
  const auto add_bool = [&](const char* name, std::string McadFlags::* value, const char* help) {
    add_switch(serve, name, (*flags).*value, help)->group(group);
  };
  add("--kubeconfig", &McadFlags::kubeconfig, "the hub; none: KUBECONFIG, or the cluster around");
  add_bool("--quotaEnabled", &McadFlags::quota_enabled,
           "true: QuotaSubtrees count (QUOTA_ENABLED)");
  add_bool("--preemption", &McadFlags::preemption,
           "true: jobs of lower priority may be evicted (PREEMPTION)");
  add_bool("--dispatcher", &McadFlags::dispatcher,
           "true: dispatch to --agentconfigs (DISPATCHER_MODE)");
  add("--agentconfigs", &McadFlags::agent_configs,
      "kubeconfigs of clusters to dispatch to, FILE:uncordon,... (DISPATCHER_AGENT_CONFIGS)");
  add("--healthProbeListenAddr", &McadFlags::health_address,
      "where /healthz is served as well; none: :8081 in a pod");
  add("--config-map", &McadFlags::config_map,
      "MCAD's ConfigMap: the folder where it is mounted, or its manifest; the environment goes "
      "before it");
  add("--master", &McadFlags::master, "no effect: the kubeconfig says it");
  add_bool("--dynamicpriority", &McadFlags::dynamic_priority,
           "true: no evictions (DYNAMICPRIORITY); priorities do not grow");
  add("--backofftime", &McadFlags::back_off_time, "no effect: nothing waits for a time");
  add("--headoflineholdingtime", &McadFlags::head_of_line_holding_time, "no effect");
  add("--quotaURL", &McadFlags::quota_url, "no effect");
  add("--secure-port", &McadFlags::secure_port, "no effect");
  add("--dispatchResourceReservationTimeout", &McadFlags::reservation_timeout, "no effect");
  add_klog_flags(serve, *flags);
  return flags;
}

Result<McadSetup> mcad_setup(const McadFlags& flags, const Variable& environment) {
  const auto data = config_map_data(flags.config_map);
  if (!data) return data.error();
  const Variable variable = [&](const char* name) -> const char* {
    const char* value = environment(name);
    const auto found = data->find(name);
    return value != nullptr || found == data->end() ? value : found->second.c_str();
  };
  McadSetup setup;
  setup.health_address = flags.health_address;
  if (setup.health_address.empty() && is_in_pod(flags, variable)) setup.health_address = ":8081";
  const auto access = own_cluster(flags, variable);
  if (!access) return access.error();
  const std::string hub = access->context.empty() ? "hub" : kube::plain_name(access->context);
  const auto quota = truth(given(flags.quota_enabled, variable, "QUOTA_ENABLED"), "quotaEnabled");
  if (!quota) return quota.error();
  const auto preemption = truth(given(flags.preemption, variable, "PREEMPTION"), "preemption");
  if (!preemption) return preemption.error();
  const auto dynamic =
      truth(given(flags.dynamic_priority, variable, "DYNAMICPRIORITY"), "dynamicpriority");
  if (!dynamic) return dynamic.error();
  const auto dispatcher = truth(given(flags.dispatcher, variable, "DISPATCHER_MODE"), "dispatcher");
  if (!dispatcher) return dispatcher.error();
  setup.yaml = "clusters:\n" + cluster_yaml(hub, *access);
  if (*dispatcher) {
    std::set<std::string> names = {hub};
    const auto agents =
        agents_yaml(given(flags.agent_configs, variable, "DISPATCHER_AGENT_CONFIGS"), names);
    if (!agents) return agents.error();
    setup.yaml += *agents;
  } else if (!given(flags.agent_configs, variable, "DISPATCHER_AGENT_CONFIGS").empty()) {
    setup.notes.emplace_back(
        "DISPATCHER_AGENT_CONFIGS: without DISPATCHER_MODE everything runs in this cluster");
  }
  setup.yaml += fmt::format("appwrappers: {{cluster: {}, profile: mcad, quota: {}}}\n", quoted(hub),
                            *quota ? "true" : "false");
  setup.yaml += "queues: [{name: default, strategy: skip_ahead}]\n";
  if (!*preemption || *dynamic) setup.yaml += "scheduling: {evictions_per_round: 0}\n";
  note_what_has_no_effect(flags, variable, setup.notes);
  return setup;
}

}  // namespace muster::app
