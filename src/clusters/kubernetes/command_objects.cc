#include "clusters/kubernetes/command_objects.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <map>
#include <set>
#include <utility>

#include "clusters/job_environment.h"
#include "clusters/kubernetes/names.h"
#include "clusters/kubernetes/pod_asks.h"
#include "kube/json.h"
#include "model/amount.h"

namespace muster::clusters {

namespace {

namespace json = boost::json;
using kube::set_at;

constexpr std::string_view own_folder = "/muster";  // of a pod, when the command brings files
constexpr std::string_view index_annotation = "batch.kubernetes.io/job-completion-index";

json::string text(std::string_view from) { return json::string(from.data(), from.size()); }

/// The pods of one set.
struct SetPlan {
  std::uint32_t index = 0;
  const model::CommandSet* command = nullptr;
  std::string name;
  std::int64_t count = 0;
  std::int64_t first_rank = 0;
  int gpus = 0;                 // of one pod
  std::set<std::string> nodes;  // planned for any of them
};

Result<std::vector<SetPlan>> plan_sets(const ports::Action& action, const model::Command& command) {
  if (Status s = model::validate(command); !s) return s.error();
  if (action.pods.empty()) return invalid("pods: the placement has none");
  std::map<std::uint32_t, SetPlan> sets;
  for (const model::PodPlace& place : action.pods) {
    if (place.set >= command.sets.size()) {
      return invalid(fmt::format("sets: the placement has a pod of set {}, the command has {} sets",
                                 place.set, command.sets.size()));
    }
    SetPlan& set = sets[place.set];
    ++set.count;
    set.gpus = std::popcount(place.devices);
    set.nodes.insert(place.node);
    if (place.devices != 0 && place.each != 1000) {
      return invalid(
          fmt::format("sets[{}].gpus: a share of a GPU cannot be given to a pod of this "
                      "cluster; ask for whole ones",
                      place.set));
    }
  }
  std::vector<SetPlan> planned;
  std::int64_t rank = 0;
  for (auto& [index, set] : sets) {
    set.index = index;
    set.command = &command.sets[index];
    set.name = set.command->name.empty() ? fmt::format("set{}", index) : set.command->name;
    set.first_rank = std::exchange(rank, rank + set.count);
    planned.push_back(std::move(set));
  }
  return planned;
}

class Maker {
 public:
  Maker(const ports::Action& action, const model::Command& command, const ObjectOptions& options,
        std::vector<SetPlan> sets)
      : attempt_(action.attempt),
        command_(command),
        options_(options),
        sets_(std::move(sets)),
        pods_(static_cast<std::int64_t>(action.pods.size())) {}

  std::vector<json::value> make() const {
    std::vector<json::value> objects;
    if (!command_.files.empty()) objects.push_back(files_secret());
    for (const SetPlan& set : sets_) objects.push_back(job(set));
    return objects;
  }

 private:
  std::string job_name(const SetPlan& set) const {
    return object_name(attempt_, std::to_string(set.index));
  }

  json::object labels(const SetPlan* set) const {
    json::object made;
    for (const auto& [name, value] : options_.pod.labels) made[name] = text(value);
    made[job_label] = text(label_value(attempt_.job));
    made[attempt_label] = text(std::to_string(attempt_.number));
    if (!options_.server.empty()) made[server_label] = text(options_.server);
    if (set == nullptr) return made;
    if (pods_ > 1) made[peers_label] = text(peers_name(attempt_, options_.server));
    made[set_label] = text(label_value(set->name));
    for (const auto& [name, value] : set->command->pod.labels) made.emplace(name, text(value));
    return made;
  }

  json::object annotations() const {
    json::object made;
    for (const auto& [name, value] : options_.pod.annotations) made[name] = text(value);
    made[job_annotation] = text(attempt_.job);
    made[sets_annotation] = text(std::to_string(sets_.size()));
    if (!options_.epoch.empty()) made[epoch_annotation] = text(options_.epoch);
    return made;
  }

  json::value object(std::string_view api_version, std::string_view kind, const std::string& name,
                     const SetPlan* set) const {
    json::value made = json::object();
    set_at(made, {"apiVersion"}, text(api_version));
    set_at(made, {"kind"}, text(kind));
    set_at(made, {"metadata", "name"}, text(name));
    set_at(made, {"metadata", "namespace"}, text(options_.pod.ns));
    set_at(made, {"metadata", "labels"}, labels(set));
    set_at(made, {"metadata", "annotations"}, annotations());
    return made;
  }

  json::value files_secret() const {
    json::value secret = object("v1", "Secret", object_name(attempt_, "files"), nullptr);
    for (std::size_t i = 0; i < command_.files.size(); ++i) {
      const std::string key = fmt::format("f{}", i);
      set_at(secret, {"stringData", key}, text(command_.files[i].content));
    }
    return secret;
  }

  json::value job(const SetPlan& set) const {
    json::value made = object("batch/v1", "Job", job_name(set), &set);
    set_at(made, {"spec", "completionMode"}, "Indexed");
    set_at(made, {"spec", "completions"}, set.count);
    set_at(made, {"spec", "parallelism"}, set.count);
    set_at(made, {"spec", "backoffLimit"}, 0);  // Muster decides about another attempt
    json::value pod = json::object();
    set_at(pod, {"metadata", "labels"}, labels(&set));
    set_at(pod, {"metadata", "annotations"}, annotations());
    set_at(pod, {"metadata", "annotations", set_index_annotation}, text(std::to_string(set.index)));
    set_at(pod, {"spec"}, pod_spec(set));
    set_at(made, {"spec", "template"}, std::move(pod));
    return made;
  }

  json::value pod_spec(const SetPlan& set) const {
    const PodDefaults& pod = options_.pod;
    json::value spec = json::object();
    set_at(spec, {"restartPolicy"}, "Never");
    const Duration grace = command_.stop_grace.value_or(model::stop_grace_default);
    set_at(spec, {"terminationGracePeriodSeconds"}, (grace.ms + 999) / 1000);
    const auto set_text = [&](std::string_view key, const std::string& value) {
      if (!value.empty()) set_at(spec, {key}, text(value));
    };
    set_text("serviceAccountName", pod.service_account);
    set_text("runtimeClassName", pod.runtime_class);
    set_text("schedulerName", pod.scheduler_name);
    set_text("priorityClassName", options_.priority_class);
    if (pods_ > 1) set_text("subdomain", peers_name(attempt_, options_.server));
    json::array secrets;
    for (const std::string& name : pod.pull_secrets) {
      secrets.push_back(json::object({{"name", text(name)}}));
    }
    if (!secrets.empty()) set_at(spec, {"imagePullSecrets"}, std::move(secrets));
    if (json::array all = tolerations(set); !all.empty()) set_at(spec, {"tolerations"}, all);
    if (json::array all = volumes(); !all.empty()) set_at(spec, {"volumes"}, all);
    // Planned nodes are what the pod asked for; whoever may go elsewhere must ask again.
    if (options_.binding != NodeBinding::Require) put_asks(spec, set.command->pod);
    bind_to_nodes(spec, set.nodes, options_.binding);
    set_at(spec, {"containers"}, json::array({container(set)}));
    return spec;
  }

  json::array tolerations(const SetPlan& set) const {
    json::array made;
    for (const model::Toleration& one : options_.pod.tolerations) made.push_back(to_json(one));
    for (const model::Toleration& one : set.command->pod.tolerations) made.push_back(to_json(one));
    return made;
  }

  json::array volumes() const {
    json::array made(options_.pod.volumes.begin(), options_.pod.volumes.end());
    if (command_.files.empty()) return made;
    json::value folder = json::object();
    set_at(folder, {"name"}, "muster-folder");
    set_at(folder, {"emptyDir"}, json::object());
    made.push_back(std::move(folder));
    json::value files = json::object();
    set_at(files, {"name"}, "muster-files");
    set_at(files, {"secret", "secretName"}, text(object_name(attempt_, "files")));
    json::array items;
    for (std::size_t i = 0; i < command_.files.size(); ++i) {
      const std::string key = fmt::format("f{}", i);
      const int mode = command_.files[i].executable ? 0755 : 0644;
      items.push_back(json::object({{"key", text(key)}, {"path", text(key)}, {"mode", mode}}));
    }
    set_at(files, {"secret", "items"}, std::move(items));
    made.push_back(std::move(files));
    return made;
  }

  json::array mounts() const {
    json::array made;
    for (const model::VolumeMount& mount : options_.pod.mounts) {
      json::object one({{"name", text(mount.volume)}, {"mountPath", text(mount.path)}});
      if (!mount.sub_path.empty()) one["subPath"] = text(mount.sub_path);
      if (mount.read_only) one["readOnly"] = true;
      made.push_back(std::move(one));
    }
    if (command_.files.empty()) return made;
    made.push_back(json::object({{"name", "muster-folder"}, {"mountPath", text(own_folder)}}));
    for (std::size_t i = 0; i < command_.files.size(); ++i) {
      made.push_back(json::object(
          {{"name", "muster-files"},
           {"mountPath", text(fmt::format("{}/{}", own_folder, command_.files[i].path))},
           {"subPath", text(fmt::format("f{}", i))},
           {"readOnly", true}}));
    }
    return made;
  }

  json::value container(const SetPlan& set) const {
    json::value made = json::object();
    set_at(made, {"name"}, "main");
    const std::string& image = command_.image_of(*set.command);
    set_at(made, {"image"}, text(image.empty() ? options_.pod.image : image));
    if (!options_.pod.image_pull_policy.empty()) {
      set_at(made, {"imagePullPolicy"}, text(options_.pod.image_pull_policy));
    }
    json::array words;
    for (const std::string& word : command_.argv_of(*set.command)) words.push_back(text(word));
    set_at(made, {"command"}, std::move(words));
    const std::string folder = !command_.working_dir.empty() ? command_.working_dir
                               : command_.files.empty()      ? ""
                                                             : std::string(own_folder);
    if (!folder.empty()) set_at(made, {"workingDir"}, text(folder));
    set_at(made, {"env"}, environment(set));
    if (json::array all = mounts(); !all.empty()) set_at(made, {"volumeMounts"}, all);
    if (json::array all = host_ports(set.command->pod); !all.empty()) set_at(made, {"ports"}, all);
    json::object amounts;
    using model::quantity_text;
    using model::Scale;
    if (set.command->cpu.v > 0) {
      amounts["cpu"] = text(quantity_text(set.command->cpu.v, Scale::Milli));
    }
    if (set.command->memory.v > 0) {
      amounts["memory"] = text(quantity_text(set.command->memory.v, Scale::Whole));
    }
    for (const auto& [name, amount] : set.command->pod.requests.extended) {
      amounts[name] = text(quantity_text(amount, Scale::Whole));
    }
    if (set.gpus > 0) amounts[options_.gpu_resource] = text(std::to_string(set.gpus));
    if (!amounts.empty()) {
      set_at(made, {"resources", "requests"}, amounts);
      set_at(made, {"resources", "limits"}, amounts);
    }
    return made;
  }

  json::array environment(const SetPlan& set) const {
    model::Environment all = options_.pod.environment;
    put_over(all, command_.environment);
    put_over(all, set.command->environment);
    add_job(all, attempt_, command_, set.name);
    all["MUSTER_RANK_OFFSET"] = std::to_string(set.first_rank);
    add_peers(all, pods_,
              pods_ > 1 ? fmt::format("{}-0.{}.{}.svc", job_name(sets_.front()),
                                      peers_name(attempt_, options_.server), options_.pod.ns)
                        : "127.0.0.1");
    json::array made;
    const auto from_index = [&](std::string_view name) {
      json::value one = json::object({{"name", text(name)}});
      set_at(one, {"valueFrom", "fieldRef", "fieldPath"},
             text(fmt::format("metadata.annotations['{}']", index_annotation)));
      made.push_back(std::move(one));
      all.erase(std::string(name));
    };
    from_index("MUSTER_POD_INDEX");
    // Of later sets the rank is a sum, which Kubernetes cannot make: MUSTER_RANK_OFFSET and index.
    if (set.first_rank == 0) {
      from_index("RANK");
      from_index("NODE_RANK");
    }
    for (const auto& [name, value] : all) {
      made.push_back(json::object({{"name", text(name)}, {"value", text(value)}}));
    }
    return made;
  }

  const ports::Attempt& attempt_;
  const model::Command& command_;
  const ObjectOptions& options_;
  const std::vector<SetPlan> sets_;
  const std::int64_t pods_;
};

}  // namespace

bool has_every_namespace(const ObjectOptions& options) {
  const auto& others = options.namespaces;
  return std::find(others.begin(), others.end(), "*") != others.end();
}

bool is_allowed_namespace(const ObjectOptions& options, std::string_view ns) {
  const auto& others = options.namespaces;
  return ns == options.pod.ns || (!ns.empty() && has_every_namespace(options)) ||
         std::find(others.begin(), others.end(), ns) != others.end();
}

std::string allowed_namespaces(const ObjectOptions& options) {
  if (has_every_namespace(options)) return "all";
  std::string all = fmt::format("'{}'", options.pod.ns);
  for (const std::string& other : options.namespaces) {
    if (other != options.pod.ns) all += fmt::format(", '{}'", other);
  }
  return all;
}

Result<ObjectOptions> options_for(const model::Container& container, ObjectOptions options) {
  PodDefaults& pod = options.pod;
  const auto put = [](std::string& into, const std::string& given) {
    if (!given.empty()) into = given;
  };
  if (!container.ns.empty() && !is_allowed_namespace(options, container.ns)) {
    return invalid(fmt::format("namespace: jobs of this cluster are made in {}, not in '{}'",
                               allowed_namespaces(options), container.ns));
  }
  put(pod.ns, container.ns);
  put(pod.image, container.image);
  put(pod.image_pull_policy, container.pull_policy);
  put(pod.service_account, container.service_account);
  pod.pull_secrets.insert(pod.pull_secrets.end(), container.pull_secrets.begin(),
                          container.pull_secrets.end());
  for (const std::string& volume : container.volumes) {
    json::error_code wrong;
    json::value read = json::parse(volume, wrong);
    if (wrong || !read.is_object()) return invalid("volumes: not a map: " + volume.substr(0, 60));
    pod.volumes.push_back(std::move(read));
  }
  pod.mounts.insert(pod.mounts.end(), container.mounts.begin(), container.mounts.end());
  for (const model::VolumeMount& mount : pod.mounts) {
    const bool is_known = std::any_of(
        pod.volumes.begin(), pod.volumes.end(),
        [&](const json::value& volume) { return kube::text_at(volume, {"name"}) == mount.volume; });
    if (!is_known) return invalid(fmt::format("mounts: there is no volume '{}'", mount.volume));
  }
  return options;
}

/// Without an address of its own: it gives the pods names. They need them before they are ready.
std::optional<json::value> peers_service(const ports::Action& action, std::string_view ns,
                                         const std::string& server) {
  if (action.pods.size() < 2) return std::nullopt;
  const std::string name = peers_name(action.attempt, server);
  json::value made = json::object();
  set_at(made, {"apiVersion"}, "v1");
  set_at(made, {"kind"}, "Service");
  set_at(made, {"metadata", "name"}, text(name));
  set_at(made, {"metadata", "namespace"}, text(ns));
  set_at(made, {"metadata", "labels", peers_label}, text(name));
  if (!server.empty()) set_at(made, {"metadata", "labels", server_label}, text(server));
  set_at(made, {"spec", "clusterIP"}, "None");
  set_at(made, {"spec", "publishNotReadyAddresses"}, true);
  set_at(made, {"spec", "selector", peers_label}, text(name));
  return made;
}

Result<std::vector<json::value>> command_objects(const ports::Action& action,
                                                 const model::Command& command,
                                                 const ObjectOptions& options) {
  auto sets = plan_sets(action, command);
  if (!sets) return sets.error();
  auto all = options_for(command.container, options);
  if (!all) return all.error();
  if (all->pod.image.empty() && model::needs_default_image(command)) {
    return invalid("image: none is given; name one in the job or in the pool's pod defaults");
  }
  return Maker(action, command, *all, std::move(*sets)).make();
}

}  // namespace muster::clusters
