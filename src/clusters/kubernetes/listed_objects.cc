#include "clusters/kubernetes/listed_objects.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <map>
#include <set>
#include <utility>

#include "base/hash.h"
#include "base/text.h"
#include "clusters/job_environment.h"
#include "clusters/kubernetes/in_place.h"
#include "clusters/kubernetes/names.h"
#include "clusters/kubernetes/pod_asks.h"
#include "kube/json.h"
#include "manifest/named_objects.h"
#include "manifest/pod_sets.h"
#include "manifest/ray_submitter.h"

namespace muster::clusters {

namespace {

namespace json = boost::json;
using kube::find;
using kube::items_at;
using kube::map_at;
using kube::set_at;
using kube::text_at;

json::string text(std::string_view from) { return json::string(from.data(), from.size()); }

/// What a server wrote when the object was exported.
constexpr std::string_view of_the_server[] = {
    "uid",           "resourceVersion", "generation",       "creationTimestamp",
    "managedFields", "selfLink",        "deletionTimestamp"};

class ListMaker {
 public:
  ListMaker(const ports::Action& action, const model::Command& command,
            const ObjectOptions& options, manifest::ObjectList list)
      : attempt_(action.attempt), command_(command), options_(options), list_(std::move(list)) {
    for (const model::PodPlace& place : action.pods) {
      nodes_[place.set].insert(place.node);
      ++placed_[place.set];
    }
    for (const auto& [set, placed] : placed_) {
      const manifest::PodTemplate& one = list_.templates[set];
      if (!one.has_template || one.comes_later) continue;
      pods_ += placed;
      least_pods_ += one.least > 0 ? std::min(one.lowest, placed) : placed;
    }
    for (const manifest::PodTemplate& one : list_.templates) {
      if (one.object != manifest::no_object) makers_.insert(one.object);
    }
    for (const manifest::PodTemplate& one : list_.covered) {
      pods_ += one.count;
      least_pods_ += one.count;
    }
    is_own_root_ = list_.objects.size() == 1 && makers_.contains(0) &&
                   text_at(list_.objects[0], {"kind"}) == "Job" &&
                   text_at(list_.objects[0], {"apiVersion"}) == "batch/v1" &&
                   (!command_.hub || is_at_hub(*command_.hub));
    workloads_ = makers_;
    for (std::size_t i = 0; i < list_.objects.size(); ++i) {
      if (find(list_.objects[i], {"metadata", "annotations", complete_when_annotation}) != nullptr)
        workloads_.insert(i);
    }
  }

  Result<ListedObjects> make() {
    ListedObjects made;
    made.root = root();
    made.is_own_root = is_own_root_;
    made.takes_existing = command_.care.takes_existing;
    made.misses_all = command_.care.missing_fails;
    for (std::size_t i = 0; i < list_.templates.size(); ++i) {
      const manifest::PodTemplate& one = list_.templates[i];
      if (!one.has_template) continue;
      const auto set = static_cast<std::uint32_t>(i);
      put_into_template(one, one.set, nodes_[set]);
      set_at(*manifest::at(list_.objects[one.object], one.path),
             {"metadata", "annotations", set_index_annotation}, text(std::to_string(i)));
      if (one.least > 0) lower_replicas(one, placed_[set]);
    }
    for (const manifest::PodTemplate& one : list_.covered) put_into_covered(one);
    for (std::size_t i = 0; i < list_.objects.size(); ++i) {
      json::value& object = list_.objects[i];
      const std::string_view ns = kube::namespace_of(object);
      if (!ns.empty() && ns != options_.pod.ns) {
        return invalid(fmt::format(
            "{}: its namespace is '{}', the job is made in '{}'; allowed are {}",
            manifest::title_of(object), ns, options_.pod.ns, allowed_namespaces(options_)));
      }
      put_into_object(object, i);
      made.is_workload.push_back(workloads_.contains(i));
    }
    made.objects = std::move(list_.objects);
    made.templates = std::move(list_.templates);
    std::erase_if(made.templates, [](const auto& one) { return !one.has_template; });
    made.templates.insert(made.templates.end(), list_.covered.begin(), list_.covered.end());
    return made;
  }

 private:
  void put_marks(json::value& metadata_of, const std::string& set) const {
    json::object labels = map_at(metadata_of, {"metadata", "labels"});
    for (const auto& [name, value] : options_.pod.labels) labels.emplace(name, text(value));
    labels[job_label] = text(label_value(attempt_.job));
    labels[attempt_label] = text(std::to_string(attempt_.number));
    if (!options_.server.empty()) labels[server_label] = text(options_.server);
    if (!set.empty()) labels[set_label] = text(label_value(set));
    set_at(metadata_of, {"metadata", "labels"}, std::move(labels));
    json::object notes = map_at(metadata_of, {"metadata", "annotations"});
    for (const auto& [name, value] : options_.pod.annotations) notes.emplace(name, text(value));
    notes[job_annotation] = text(attempt_.job);
    notes[workloads_annotation] = text(std::to_string(workloads_.size()));
    if (!options_.epoch.empty()) notes[epoch_annotation] = text(options_.epoch);
    if (const auto& force_after = command_.care.force_after)
      notes[force_after_annotation] = text(std::to_string(force_after->ms));
    set_at(metadata_of, {"metadata", "annotations"}, std::move(notes));
  }

  json::value root() const {
    json::value made = json::object();
    set_at(made, {"apiVersion"}, "v1");
    set_at(made, {"kind"}, "ConfigMap");
    set_at(made, {"metadata", "name"}, text(object_name(attempt_, "")));
    set_at(made, {"metadata", "namespace"}, text(options_.pod.ns));
    put_marks(made, "");
    set_at(made, {"data", "name"}, text(command_.name));
    set_at(made, {"data", "user"}, text(command_.user));
    set_at(made, {"data", "pods"}, text(std::to_string(pods_)));
    if (least_pods_ < pods_) set_at(made, {"data", "leastPods"}, text(std::to_string(least_pods_)));
    if (command_.care != model::ObjectCare{})
      set_at(made, {"data", "care"}, text(care_text(command_.care)));
    if (command_.hub) put_hub(made, *command_.hub);
    return made;
  }

  bool is_at_hub(const model::HubObject& hub) const {
    return hub.cluster == options_.cluster && hub.ns == options_.pod.ns;
  }

  /// In its own namespace of its own cluster the hub object owns the root: whoever deletes it
  /// deletes all, whether Muster runs or not. Elsewhere an owner would be one that is not there.
  void put_hub(json::value& made, const model::HubObject& hub) const {
    set_at(made, {"metadata", "annotations", hub_annotation},
           text(fmt::format("{}/{}/{}/{}", hub.cluster, hub.kind, hub.ns, hub.name)));
    if (!is_at_hub(hub)) return;
    json::value owner = json::object({{"apiVersion", text(hub.api_version)},
                                      {"kind", text(hub.kind)},
                                      {"name", text(hub.name)},
                                      {"uid", text(hub.uid)},
                                      {"controller", true},
                                      {"blockOwnerDeletion", true}});
    json::array owners;
    owners.push_back(std::move(owner));
    set_at(made, {"metadata", "ownerReferences"}, std::move(owners));
  }

  /// One that a server would make up is made up here, the same each time, so that creating twice
  /// meets the first. Of a hub object every attempt has the same: a server that lost its books
  /// counts attempts anew, and makes nothing beside what the last one made.
  std::string made_up_name(const json::value& object, std::size_t index) const {
    const std::uint32_t attempt = command_.hub ? 1 : attempt_.number;
    const auto hash = Hasher().add(attempt_.job).add(attempt).add(index).value();
    return fmt::format("{}{:08x}", made_up_prefix(object), static_cast<std::uint32_t>(hash));
  }

  /// The name stays as it was given.
  void put_into_object(json::value& object, std::size_t index) const {
    json::object& metadata = object.at("metadata").as_object();
    for (const std::string_view key : of_the_server) metadata.erase(key);
    object.as_object().erase("status");
    if (kube::name_of(object).empty()) {
      metadata["name"] = text(made_up_name(object, index));
      metadata.erase("generateName");
    }
    metadata["namespace"] = text(options_.pod.ns);
    std::string set;  // a Pod is its own template, which has one already
    if (const json::value* known = find(object, {"metadata", "labels", set_label}))
      set = known->is_string() ? std::string(known->get_string()) : "";
    put_marks(object, set);
    if (makers_.contains(index))
      set_at(object, {"metadata", "annotations", makes_pods_annotation}, "true");
    // Muster decides when it starts: now.
    if (find(object, {"spec", "suspend"}) != nullptr) set_at(object, {"spec", "suspend"}, false);
    if (find(object, {"spec", "runPolicy", "suspend"}) != nullptr)
      set_at(object, {"spec", "runPolicy", "suspend"}, false);
  }

  /// Any pod of its object may stand on any node that was planned for the object.
  void put_into_covered(const manifest::PodTemplate& covered) {
    std::string set;
    std::set<std::string> nodes;
    for (std::size_t i = 0; i < list_.templates.size(); ++i) {
      if (list_.templates[i].object != covered.object) continue;
      if (set.empty()) set = list_.templates[i].set;
      const std::set<std::string>& of_set = nodes_[static_cast<std::uint32_t>(i)];
      nodes.insert(of_set.begin(), of_set.end());
    }
    put_into_template(covered, set, nodes);
  }

  /// What scales by itself begins with as many as there was room for.
  void lower_replicas(const manifest::PodTemplate& one, std::int64_t placed) {
    json::value* group = manifest::at(list_.objects[one.object], one.replicas_at);
    if (group == nullptr || placed >= one.count) return;
    set_at(*group, {"replicas"}, placed / one.pods_a_replica);
  }

  void put_into_template(const manifest::PodTemplate& into, const std::string& set,
                         const std::set<std::string>& nodes) {
    json::value& pod = *manifest::at(list_.objects[into.object], into.path);
    put_marks(pod, set);
    if (is_own_root_) set_at(pod, {"metadata", "annotations", root_annotation}, "");
    json::value& spec = pod.at("spec");
    const PodDefaults& defaults = options_.pod;
    const auto put_missing = [&](std::string_view key, const std::string& value) {
      if (!value.empty() && find(spec, {key}) == nullptr) set_at(spec, {key}, text(value));
    };
    put_missing("serviceAccountName", defaults.service_account);
    put_missing("runtimeClassName", defaults.runtime_class);
    put_missing("schedulerName", defaults.scheduler_name);
    if (!options_.priority_class.empty()) {
      set_at(spec, {"priorityClassName"}, text(options_.priority_class));
      spec.as_object().erase("priority");  // of a class that is not this one
    }
    json::array secrets = items_at(spec, {"imagePullSecrets"});
    for (const std::string& name : defaults.pull_secrets)
      secrets.push_back(json::object({{"name", text(name)}}));
    if (!secrets.empty()) set_at(spec, {"imagePullSecrets"}, std::move(secrets));
    json::array tolerations = items_at(spec, {"tolerations"});
    for (const model::Toleration& one : defaults.tolerations) tolerations.push_back(to_json(one));
    if (!tolerations.empty()) set_at(spec, {"tolerations"}, std::move(tolerations));
    put_environment(spec, set);
    // Where the devices are that a claim is for, only the cluster's own scheduler knows.
    const bool has_claims = !items_at(spec, {"resourceClaims"}).empty();
    const bool may_move = has_claims && options_.binding == NodeBinding::Require;
    bind_to_nodes(spec, nodes, may_move ? NodeBinding::Prefer : options_.binding);
  }

  /// What a container says itself stays.
  void put_environment(json::value& spec, const std::string& set) const {
    model::Environment all = options_.pod.environment;
    add_job(all, attempt_, command_, set);
    for (const std::string_view key : {"initContainers", "containers"}) {
      json::array containers = items_at(spec, {key});
      for (json::value& container : containers) {
        json::array env = items_at(container, {"env"});
        std::set<std::string, std::less<>> known;
        for (const json::value& one : env) known.emplace(text_at(one, {"name"}));
        for (const auto& [name, value] : all) {
          if (!known.contains(name))
            env.push_back(json::object({{"name", text(name)}, {"value", text(value)}}));
        }
        set_at(container, {"env"}, std::move(env));
      }
      if (!containers.empty()) set_at(spec, {key}, std::move(containers));
    }
  }

  const ports::Attempt& attempt_;
  const model::Command& command_;
  const ObjectOptions& options_;
  manifest::ObjectList list_;
  std::map<std::uint32_t, std::set<std::string>> nodes_;  // by set
  std::map<std::uint32_t, std::int64_t> placed_;          // pods, by set
  std::set<std::size_t> makers_;                          // objects with templates
  std::set<std::size_t> workloads_;                       // and those that say when they are done
  std::int64_t pods_ = 0;                                 // see RootSight, as the next
  std::int64_t least_pods_ = 0;
  bool is_own_root_ = false;
};

}  // namespace

Result<ListedObjects> listed_objects(const ports::Action& action, const model::Command& command,
                                     const ObjectOptions& options) {
  json::error_code wrong;
  const json::value read = json::parse(command.objects, wrong);
  if (wrong) return invalid("objects: not JSON: " + wrong.message());
  auto list = manifest::read_objects(read);
  if (!list) return list.error();
  model::Container container = command.container;
  for (const json::value& object : list->objects) {  // a list may say itself where it belongs
    const std::string_view ns = kube::namespace_of(object);
    if (container.ns.empty() && is_allowed_namespace(options, ns)) container.ns = ns;
  }
  auto all = options_for(container, options);
  if (!all) return all.error();
  for (const model::PodPlace& place : action.pods) {
    if (place.set >= list->templates.size()) {
      return invalid(fmt::format("sets: the placement has a pod of set {}, the objects have {}",
                                 place.set, list->templates.size()));
    }
  }
  std::vector<model::NamedObject> named;  // before the defaults of this cluster are in it
  if (is_from_elsewhere(command, options.cluster)) named = manifest::named_objects(*list);
  auto made = ListMaker(action, command, *all, std::move(*list)).make();
  if (!made) return made;
  made->named = std::move(named);
  if (!is_in_place(command)) return made;
  if (made->objects.size() != 1)
    return invalid(fmt::format("objects: {}; one is started in its place", made->objects.size()));
  made->in_place_uid = command.hub->uid;
  made->queued = manifest::only_object(command.objects);
  return made;
}

std::string_view made_up_prefix(const json::value& object) {
  constexpr std::size_t size_most = 50;  // an API server leaves 58; both fit what follows
  return text_at(object, {"metadata", "generateName"}).substr(0, size_most);
}

bool is_from_elsewhere(const model::Command& command, const std::string& cluster) {
  return command.hub && command.hub->cluster != cluster;
}

void put_requeues(json::value& root, int requeues) {
  if (requeues > 0) set_at(root, {"data", "requeues"}, text(std::to_string(requeues)));
}

void put_own_root(ListedObjects& listed) {
  MUSTER_CHECK(listed.is_own_root, "its {} objects need a root", listed.objects.size());
  json::value& job = listed.objects.front();
  set_at(job, {"metadata", "annotations", root_annotation},
         text(json::serialize(*find(listed.root, {"data"}))));
  for (const std::string_view key : {"annotations", "ownerReferences"}) {
    const json::value* said = find(listed.root, {"metadata", key});
    if (said == nullptr) continue;
    if (said->is_array()) set_at(job, {"metadata", key}, *said);
    if (!said->is_object()) continue;
    for (const auto& [name, value] : said->get_object())
      set_at(job, {"metadata", key, std::string_view(name)}, value);
  }
  // Pods that are taken over are marked as the root is.
  set_at(listed.root, {"metadata", "annotations", root_annotation}, "");
}

namespace {

json::string kinds_text(const std::vector<kube::Resource>& kinds) {
  json::array all;
  std::set<std::string> seen;
  for (const kube::Resource& kind : kinds) {
    if (!seen.insert(kind.api_version() + " " + kind.kind).second) continue;
    all.push_back(json::object({{"apiVersion", text(kind.api_version())},
                                {"kind", text(kind.kind)},
                                {"plural", text(kind.plural)}}));
  }
  return text(json::serialize(all));
}

std::vector<kube::Resource> read_kinds(std::string_view said) {
  std::vector<kube::Resource> all;
  json::error_code wrong;
  const json::value kinds = json::parse(said, wrong);
  if (wrong || !kinds.is_array()) return all;
  for (const json::value& one : kinds.get_array()) {
    const auto version = kube::parse_group_version(text_at(one, {"apiVersion"}));
    kube::Resource& resource = all.emplace_back();
    resource.group = version.group;
    resource.version = version.version;
    resource.plural = text_at(one, {"plural"});
    resource.kind = text_at(one, {"kind"});
  }
  return all;
}

}  // namespace

void put_kinds(json::value& root, const std::vector<kube::Resource>& kinds) {
  set_at(root, {"data", "kinds"}, kinds_text(kinds));
}

void put_others(json::value& root, const std::vector<kube::Resource>& kinds) {
  if (kinds.empty()) return;
  set_at(root, {"data", "others"}, text(std::to_string(kinds.size())));
  set_at(root, {"data", "otherKinds"}, kinds_text(kinds));
}

void put_owner(json::value& object, const json::value& made_root) {
  json::array owners = items_at(object, {"metadata", "ownerReferences"});
  json::value owner = json::object({{"apiVersion", "v1"},
                                    {"kind", "ConfigMap"},
                                    {"name", text(kube::name_of(made_root))},
                                    {"uid", text(kube::uid_of(made_root))},
                                    {"blockOwnerDeletion", true}});
  owners.push_back(std::move(owner));
  set_at(object, {"metadata", "ownerReferences"}, std::move(owners));
}

bool is_same_attempt(const json::value& there, const json::value& ours) {
  for (const std::string_view label : {job_label, attempt_label, server_label}) {
    if (text_at(there, {"metadata", "labels", label}) !=
        text_at(ours, {"metadata", "labels", label}))
      return false;
  }
  return true;
}

namespace {

/// Its marks are in the metadata of one object, the rest may be somewhere else.
RootSight read_root(const json::value& marked, const json::value& data) {
  RootSight sight;
  sight.job = text_at(marked, {"metadata", "annotations", job_annotation});
  sight.name = kube::name_of(marked);
  sight.uid = kube::uid_of(marked);
  sight.is_deleting = find(marked, {"metadata", "deletionTimestamp"}) != nullptr;
  const auto number = [&](std::string_view digits) {
    const auto read = parse_int(digits, "", 0, 0xffffffff);
    return read ? *read : 0;
  };
  sight.attempt =
      static_cast<std::uint32_t>(number(text_at(marked, {"metadata", "labels", attempt_label})));
  sight.workloads = static_cast<std::size_t>(
      number(text_at(marked, {"metadata", "annotations", workloads_annotation})));
  sight.pods = number(text_at(data, {"pods"}));
  const bool scales = find(data, {"leastPods"}) != nullptr;
  sight.least_pods = scales ? number(text_at(data, {"leastPods"})) : sight.pods;
  sight.care.care = parse_care(text_at(data, {"care"}));
  sight.care.has_hub = find(marked, {"metadata", "annotations", hub_annotation}) != nullptr;
  sight.care.has_owner = !items_at(marked, {"metadata", "ownerReferences"}).empty();
  const auto requeues = parse_int(text_at(data, {"requeues"}), "", 0, 1'000'000'000);
  if (requeues) sight.care.requeues = static_cast<int>(*requeues);
  return sight;
}

}  // namespace

RootSight root_sight_of(const json::value& config_map) {
  const json::value* data = find(config_map, {"data"});
  RootSight sight = read_root(config_map, data == nullptr ? json::value() : *data);
  sight.is_root = sight.name == object_name({sight.job, sight.attempt}, "");
  if (!sight.is_root) return sight;
  sight.kinds = read_kinds(text_at(config_map, {"data", "kinds"}));
  const auto others = parse_int(text_at(config_map, {"data", "others"}), "", 0, 1'000'000);
  if (others) sight.others = static_cast<std::size_t>(*others);
  sight.other_kinds = read_kinds(text_at(config_map, {"data", "otherKinds"}));
  return sight;
}

std::optional<RootSight> own_root_of(const json::value& job) {
  const std::string_view said = text_at(job, {"metadata", "annotations", root_annotation});
  if (said.empty()) return std::nullopt;
  json::error_code wrong;
  const json::value data = json::parse(said, wrong);
  if (wrong) return std::nullopt;
  return read_root(job, data);
}

}  // namespace muster::clusters
