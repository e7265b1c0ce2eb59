#include "manifest/pod_sets.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cstdint>
#include <limits>
#include <set>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "kube/json.h"
#include "manifest/pod_resources.h"

namespace muster::manifest {

namespace {

namespace json = boost::json;
using kube::integer_at;
using kube::items_at;
using kube::map_at;
using kube::text_at;

constexpr std::int64_t pods_max = 100'000;
constexpr std::size_t objects_max = 1000;

std::string_view group_of(const json::value& object) {
  const std::string_view version = text_at(object, {"apiVersion"});
  const std::size_t slash = version.find('/');
  return slash == std::string_view::npos ? "" : version.substr(0, slash);
}

/// A count that may be multiplied with another one.
std::int64_t bounded(std::int64_t count) { return std::clamp<std::int64_t>(count, 0, 1 << 30); }

/// Of a Job's spec: as many as run at a time.
std::int64_t job_pods(const json::value& spec) {
  const std::int64_t parallelism = integer_at(spec, {"parallelism"}, 1);
  return std::min(parallelism, integer_at(spec, {"completions"}, parallelism));
}

/// Templates of one object, as they are found.
class Found {
 public:
  explicit Found(const json::value& object) : object_(object) {}

  /// Nothing if the path leads nowhere, or makes no pods.
  void add(std::string set, std::int64_t count, Path path) {
    if (count <= 0 || at(object_, path) == nullptr) return;
    PodTemplate& one = templates_.emplace_back();
    one.path = std::move(path);
    one.set = std::move(set);
    one.count = count;
  }
  /// Of the set that was added last, if it was: fewer pods will do to begin with.
  void make_elastic(const std::string& set, std::int64_t least, Path replicas_at,
                    std::int64_t pods_a_replica) {
    if (templates_.empty() || templates_.back().set != set) return;
    PodTemplate& one = templates_.back();
    one.least = std::min(std::max<std::int64_t>(least, 1), one.count);
    one.lowest = std::min(least, one.count);
    one.replicas_at = std::move(replicas_at);
    one.pods_a_replica = pods_a_replica;
  }
  /// Of the set that was added last, if it was.
  void make_later(const std::string& set) {
    if (!templates_.empty() && templates_.back().set == set) templates_.back().comes_later = true;
  }
  /// To the pods of the set that was added last, if it was.
  void add_container(const std::string& set, json::value container) {
    if (templates_.empty() || templates_.back().set != set) return;
    templates_.back().added.push_back(std::move(container));
  }
  std::vector<PodTemplate> take() { return std::move(templates_); }

 private:
  const json::value& object_;
  std::vector<PodTemplate> templates_;
};

void add_job_set(const json::value& object, Found& found) {
  const json::array& jobs = items_at(object, {"spec", "replicatedJobs"});
  std::set<std::string_view> later;  // they depend only on those before them
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const json::value* spec = kube::find(jobs[i], {"template", "spec"});
    if (spec == nullptr) continue;
    const std::string_view name = text_at(jobs[i], {"name"});
    found.add(std::string(name),
              bounded(integer_at(jobs[i], {"replicas"}, 1)) * bounded(job_pods(*spec)),
              {"spec", "replicatedJobs", i, "template", "spec", "template"});
    const json::array& needed = items_at(jobs[i], {"dependsOn"});
    const bool is_later = std::any_of(needed.begin(), needed.end(), [&](const json::value& one) {
      return text_at(one, {"status"}) == "Complete" || later.contains(text_at(one, {"name"}));
    });
    if (!is_later) continue;
    later.insert(name);
    found.make_later(std::string(name));
  }
}

/// What KubeRay puts beside the head of a cluster that scales itself. Resources that are given
/// replace its own altogether, also where they say less.
json::value ray_autoscaler(const json::value& cluster) {
  const json::value* given = kube::find(cluster, {"autoscalerOptions", "resources"});
  const bool is_given = given != nullptr && given->is_object();
  const json::value own = {{"cpu", "500m"}, {"memory", "512Mi"}};
  return {{"name", "autoscaler"},
          {"resources", is_given ? *given : json::value{{"requests", own}, {"limits", own}}}};
}

/// A Ray cluster at `to`: the head, and the workers of each group.
void add_ray(const json::value& object, const Path& to, Found& found) {
  const auto below = [&](std::initializer_list<Path::value_type> more) {
    Path path = to;
    path.insert(path.end(), more.begin(), more.end());
    return path;
  };
  found.add("head", 1, below({"headGroupSpec", "template"}));
  const json::value* cluster = at(object, to);
  if (cluster == nullptr) return;
  // Ray's autoscaler adds and removes workers between these bounds: the gang is its lower one.
  const bool scales_itself = kube::flag_at(*cluster, {"enableInTreeAutoscaling"});
  if (scales_itself) found.add_container("head", ray_autoscaler(*cluster));
  const json::array& groups = items_at(*cluster, {"workerGroupSpecs"});
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (kube::flag_at(groups[i], {"suspend"})) continue;
    const std::string name(text_at(groups[i], {"groupName"}));
    const std::int64_t hosts = bounded(integer_at(groups[i], {"numOfHosts"}, 1));
    // KubeRay keeps the wish between the bounds; where those contradict each other the upper holds.
    const std::int64_t most =
        bounded(integer_at(groups[i], {"maxReplicas"}, std::numeric_limits<std::int32_t>::max()));
    const std::int64_t least = std::min(bounded(integer_at(groups[i], {"minReplicas"}, 0)), most);
    const std::int64_t wanted = bounded(integer_at(groups[i], {"replicas"}, least));
    const std::int64_t replicas = std::clamp(wanted, least, most);
    found.add(name, replicas * hosts, below({"workerGroupSpecs", i, "template"}));
    if (scales_itself)
      found.make_elastic(name, least * hosts, below({"workerGroupSpecs", i}), hosts);
  }
}

void add_ray_job(const json::value& object, Found& found) {
  add_ray(object, {"spec", "rayClusterSpec"}, found);
  found.add("submitter", 1, {"spec", "submitterPodTemplate"});
}

/// Kubeflow's training kinds: replica specs by role. The leading roles first, as they are ranked.
void add_replica_specs(const json::value& object, std::string_view key, Found& found) {
  constexpr std::string_view order[] = {"Master", "Chief", "Launcher", "PS", "Worker", "Evaluator"};
  const json::object& specs = map_at(object, {"spec", key});
  std::vector<std::string> roles;
  for (const std::string_view role : order) {
    if (specs.contains(role)) roles.emplace_back(role);
  }
  for (const auto& member : specs) {
    const std::string role(member.key());
    if (std::find(roles.begin(), roles.end(), role) == roles.end()) roles.push_back(role);
  }
  for (const std::string& role : roles) {
    std::string set = role;
    for (char& c : set) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
    found.add(set, integer_at(specs.at(role), {"replicas"}, 1),
              {"spec", std::string(key), role, "template"});
  }
}

void add_leader_workers(const json::value& object, Found& found) {
  const std::int64_t groups = bounded(integer_at(object, {"spec", "replicas"}, 1));
  const std::int64_t size =
      bounded(integer_at(object, {"spec", "leaderWorkerTemplate", "size"}, 1));
  const Path worker = {"spec", "leaderWorkerTemplate", "workerTemplate"};
  const Path leader = {"spec", "leaderWorkerTemplate", "leaderTemplate"};
  const bool has_leader = at(object, leader) != nullptr;
  if (has_leader) found.add("leader", groups, leader);
  found.add("workers", groups * (has_leader ? size - 1 : size), worker);
}

void add_replicas(const json::value& object, Found& found) {
  found.add("pods", integer_at(object, {"spec", "replicas"}, 1), {"spec", "template"});
}

void add_job(const json::value& object, Found& found) {
  const json::value* spec = kube::find(object, {"spec"});
  if (spec != nullptr) found.add("pods", job_pods(*spec), {"spec", "template"});
}

void add_pod(const json::value&, Found& found) { found.add("pods", 1, {}); }

struct Kind {
  std::string_view group;
  std::string_view kind;
  void (*add)(const json::value& object, Found& found);
};
template <const char* key>
void add_training(const json::value& object, Found& found) {
  add_replica_specs(object, key, found);
}
constexpr char pytorch[] = "pytorchReplicaSpecs";
constexpr char tensorflow[] = "tfReplicaSpecs";
constexpr char mpi[] = "mpiReplicaSpecs";
constexpr char xgboost[] = "xgbReplicaSpecs";
constexpr char paddle[] = "paddleReplicaSpecs";
constexpr char jax[] = "jaxReplicaSpecs";

constexpr Kind kinds[] = {
    {"", "Pod", add_pod},
    {"", "ReplicationController", add_replicas},
    {"batch", "Job", add_job},
    {"apps", "Deployment", add_replicas},
    {"apps", "StatefulSet", add_replicas},
    {"apps", "ReplicaSet", add_replicas},
    {"jobset.x-k8s.io", "JobSet", add_job_set},
    {"ray.io", "RayCluster",
     [](const json::value& object, Found& found) { add_ray(object, {"spec"}, found); }},
    {"ray.io", "RayJob", add_ray_job},
    {"ray.io", "RayService",
     [](const json::value& object, Found& found) {
       add_ray(object, {"spec", "rayClusterConfig"}, found);
     }},
    {"kubeflow.org", "PyTorchJob", add_training<pytorch>},
    {"kubeflow.org", "TFJob", add_training<tensorflow>},
    {"kubeflow.org", "MPIJob", add_training<mpi>},
    {"kubeflow.org", "XGBoostJob", add_training<xgboost>},
    {"kubeflow.org", "PaddleJob", add_training<paddle>},
    {"kubeflow.org", "JAXJob", add_training<jax>},
    {"leaderworkerset.x-k8s.io", "LeaderWorkerSet", add_leader_workers},
};

struct Refused {
  std::string_view group;
  std::string_view kind;
  std::string_view why;
};
constexpr Refused refused[] = {
    {"apps", "DaemonSet", "it has a pod on every node, which is no gang"},
    {"batch", "CronJob", "it starts jobs by itself; submit the job it makes"},
    {"workload.codeflare.dev", "AppWrapper", "submit what it wraps"},
    {"trainer.kubeflow.org", "TrainJob",
     "its pods are in its runtime; submit the JobSet that the runtime makes"},
};

bool has_containers(const json::value* pod) {
  return pod != nullptr && !items_at(*pod, {"spec", "containers"}).empty();
}

/// Whoever gives the path to a template does not know what its controller adds.
json::array added_at(const json::value& object, const Path& path) {
  const auto inferred = infer_templates(object);
  if (!inferred) return {};
  for (const PodTemplate& one : *inferred) {
    if (one.path == path) return one.added;
  }
  return {};
}

/// podSets of a wrapped object.
Result<std::vector<PodTemplate>> given_templates(const json::value& object,
                                                 const json::array& given) {
  std::vector<PodTemplate> templates;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const std::string field = fmt::format("podSets[{}]", i);
    auto path = parse_path(text_at(given[i], {"path"}));
    if (!path) return invalid(fmt::format("{}.path: {}", field, path.error().message));
    const std::int64_t replicas = integer_at(given[i], {"replicas"}, 1);
    if (replicas < 0) return invalid(fmt::format("{}.replicas: {} is below 0", field, replicas));
    if (!has_containers(at(object, *path))) {
      return invalid(fmt::format("{}.path: '{}' does not lead to a pod template with containers",
                                 field, text_at(given[i], {"path"})));
    }
    if (replicas <= 0) continue;
    PodTemplate& one = templates.emplace_back();
    one.path = std::move(*path);
    one.set = fmt::format("set{}", i);
    one.count = replicas;
    one.added = added_at(object, one.path);
  }
  return templates;
}

/// Whether the resources that were given are those of the templates, one each.
bool belong(const std::vector<PodResources>& given, const std::vector<PodTemplate>& templates) {
  return given.size() == templates.size() &&
         std::equal(given.begin(), given.end(), templates.begin(),
                    [](const PodResources& pods, const PodTemplate& one) {
                      return pods.replicas == one.count;
                    });
}

/// Sets that have no template, for what was given instead.
std::vector<PodTemplate> sets_without_template(const std::vector<PodResources>& given) {
  std::vector<PodTemplate> sets;
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (given[i].replicas == 0) continue;
    PodTemplate& one = sets.emplace_back();
    one.set = fmt::format("pods{}", i);
    one.count = given[i].replicas;
    one.requests = given[i].counted();
    one.has_template = false;
  }
  return sets;
}

bool is_list(const json::value& item) {
  return text_at(item, {"kind"}).ends_with("List") && kube::find(item, {"items"}) != nullptr;
}

void add_objects(json::value& item, std::vector<json::value*>& found) {
  json::object& map = item.as_object();
  if (is_list(item)) {
    json::array* items = map.at("items").if_array();
    for (std::size_t i = 0; items != nullptr && i < items->size(); ++i)
      add_objects((*items)[i], found);
    return;
  }
  const bool has_kind = kube::find(item, {"kind"}) != nullptr;
  const bool is_wrapped = !has_kind && kube::find(item, {"template"}) != nullptr;
  if (is_wrapped) found.push_back(&map.at("template"));
  if (has_kind) found.push_back(&item);  // else it is room that is kept
}

class ListReader {
 public:
  Status read(const json::value& item, const std::string& field) {
    if (!item.is_object()) return invalid(field + ": not a map");
    if (is_list(item)) {
      const json::array& items = items_at(item, {"items"});
      for (std::size_t i = 0; i < items.size(); ++i) {
        if (Status s = read(items[i], fmt::format("{}.items[{}]", field, i)); !s) return s;
      }
      return Ok{};
    }
    const json::value* wrapped = kube::find(item, {"template"});
    const bool has_kind = kube::find(item, {"kind"}) != nullptr;
    const json::value* resources = has_kind ? nullptr : kube::find(item, {"podResources"});
    std::optional<std::vector<PodResources>> given;
    if (resources != nullptr) {
      auto read = read_pod_resources(items_at(item, {"podResources"}), field + ".podResources");
      if (!read) return read.error();
      given = std::move(*read);
    }
    if (wrapped == nullptr && given) return keep_room(*given, field);
    if (wrapped == nullptr || has_kind) return read_object(item, json::array(), given, field);
    return read_object(*wrapped, items_at(item, {"podSets"}), given, field);
  }

  /// Names of sets are short where there is no doubt: that of the only set, of the object with one
  /// set, or of both.
  ObjectList take() {
    std::set<std::string> seen;
    for (PodTemplate& one : list_.templates) {
      const std::string name(one.object == no_object ? ""
                                                     : kube::name_of(list_.objects[one.object]));
      const auto sets =
          std::count_if(list_.templates.begin(), list_.templates.end(),
                        [&](const PodTemplate& other) { return other.object == one.object; });
      const bool is_only = list_.templates.size() == static_cast<std::size_t>(sets);
      std::string set = sets == 1                 ? (is_only || name.empty() ? "main" : name)
                        : is_only || name.empty() ? one.set
                                                  : fmt::format("{}-{}", name, one.set);
      const std::string base = set;
      for (int i = 2; !seen.insert(set).second; ++i) set = fmt::format("{}-{}", base, i);
      one.set = std::move(set);
    }
    return std::move(list_);
  }

 private:
  static Status check(const json::value& object, const std::string& field) {
    for (const std::string_view key : {"apiVersion", "kind"}) {
      if (text_at(object, {key}).empty())
        return invalid(fmt::format("{}: '{}' is missing", field, key));
    }
    if (kube::name_of(object).empty() && text_at(object, {"metadata", "generateName"}).empty())
      return invalid(fmt::format("{}.metadata: needs a name or a generateName", field));
    return Ok{};
  }

  Status read_object(const json::value& object, const json::array& pod_sets,
                     const std::optional<std::vector<PodResources>>& given,
                     const std::string& field) {
    if (Status s = check(object, field); !s) return s;
    const std::string title = fmt::format("{} ({})", field, title_of(object));
    auto templates = pod_sets.empty() ? infer_templates(object) : given_templates(object, pod_sets);
    // Who says what pods there are may wrap what cannot be a gang by itself.
    if (!templates && given && pod_sets.empty()) templates = std::vector<PodTemplate>();
    if (!templates) return invalid(fmt::format("{}: {}", title, templates.error().message));
    const bool are_theirs = given && belong(*given, *templates);
    for (std::size_t i = 0; i < templates->size(); ++i) {
      PodTemplate& one = (*templates)[i];
      if (are_theirs) one.requests = (*given)[i].counted();
      auto& into = are_theirs || !given ? list_.templates : list_.covered;
      if (Status s = add(object, std::move(one), title, into); !s) return s;
    }
    if (given && !are_theirs) {
      for (PodTemplate& one : sets_without_template(*given)) {
        if (Status s = add(object, std::move(one), title, list_.templates); !s) return s;
      }
    }
    list_.objects.push_back(object);
    if (list_.objects.size() > objects_max)
      return invalid(fmt::format("more than {} objects", objects_max));
    return Ok{};
  }

  Status keep_room(const std::vector<PodResources>& given, const std::string& field) {
    if (sets_without_template(given).empty())
      return invalid(field + ".podResources: no pods; give at least one");
    for (PodTemplate& one : sets_without_template(given)) {
      one.object = no_object;
      list_.templates.push_back(std::move(one));
    }
    return Ok{};
  }

  Status add(const json::value& object, PodTemplate one, const std::string& title,
             std::vector<PodTemplate>& into) {
    if (one.has_template && !has_containers(at(object, one.path))) {
      return invalid(fmt::format("{}: {} has no containers", title,
                                 one.path.empty() ? "it" : to_text(one.path)));
    }
    if (one.count > pods_max) return invalid(fmt::format("{}: more than {} pods", title, pods_max));
    one.object = list_.objects.size();
    into.push_back(std::move(one));
    return Ok{};
  }

  ObjectList list_;
};

}  // namespace

Result<Path> parse_path(std::string_view text) {
  const auto wrong = [&] {
    return invalid(
        fmt::format("'{}' is not a path; write for example template.spec.sets[0].template",
                    text.substr(0, 100)));
  };
  Path path;
  bool is_first = true;
  for (std::string_view word : muster::split(text, '.')) {
    const std::size_t bracket = word.find('[');
    const std::string_view key = word.substr(0, bracket);
    if (key.empty() || key.find(']') != std::string_view::npos || (is_first && key != "template"))
      return wrong();
    if (!is_first) path.emplace_back(std::string(key));
    is_first = false;
    while (bracket != std::string_view::npos && !word.empty()) {
      const std::size_t open = word.find('[');
      const std::size_t close = word.find(']');
      if (open == std::string_view::npos) break;
      if (close == std::string_view::npos || close < open) return wrong();
      const auto index = parse_int(word.substr(open + 1, close - open - 1), "", 0, 100'000);
      if (!index) return wrong();
      path.emplace_back(static_cast<std::size_t>(*index));
      word.remove_prefix(close + 1);
      if (!word.empty() && word.front() != '[') return wrong();
    }
  }
  return path;
}

std::string to_text(const Path& path) {
  std::string text = "template";
  for (const auto& step : path) {
    if (const auto* index = std::get_if<std::size_t>(&step)) {
      text += fmt::format("[{}]", *index);
    } else {
      text += "." + std::get<std::string>(step);
    }
  }
  return text;
}

const json::value* at(const json::value& object, const Path& path) {
  const json::value* here = &object;
  for (const auto& step : path) {
    if (const auto* index = std::get_if<std::size_t>(&step)) {
      const json::array* items = here->if_array();
      if (items == nullptr || *index >= items->size()) return nullptr;
      here = &(*items)[*index];
    } else {
      const json::object* map = here->if_object();
      here = map == nullptr ? nullptr : map->if_contains(std::get<std::string>(step));
      if (here == nullptr) return nullptr;
    }
  }
  return here->is_object() ? here : nullptr;
}

json::value* at(json::value& object, const Path& path) {
  return const_cast<json::value*>(at(std::as_const(object), path));
}

Result<std::vector<PodTemplate>> infer_templates(const json::value& object) {
  const std::string_view group = group_of(object);
  const std::string_view kind = text_at(object, {"kind"});
  for (const Refused& one : refused) {
    if (one.group == group && one.kind == kind)
      return invalid(fmt::format("{} cannot be a job: {}", kind, one.why));
  }
  Found found(object);
  for (const Kind& one : kinds) {
    if (one.group == group && one.kind == kind) one.add(object, found);
  }
  return found.take();
}

Result<ObjectList> read_objects(const json::value& list) {
  const json::array* items = list.if_array();
  if (items == nullptr) return invalid("objects: not a list");
  ListReader reader;
  for (std::size_t i = 0; i < items->size(); ++i) {
    if (Status s = reader.read((*items)[i], fmt::format("objects[{}]", i)); !s) return s.error();
  }
  ObjectList read = reader.take();
  if (read.objects.empty()) return invalid("objects: none; give at least one");
  if (read.templates.empty()) {
    return invalid(
        "objects: no pods come of them; of kinds that Muster does not know, say where their pod "
        "templates are: {template: ..., podSets: [{path: template.spec.template, replicas: 1}]}");
  }
  return read;
}

std::vector<json::value*> objects_in(json::value& list) {
  std::vector<json::value*> found;
  for (json::value& item : list.as_array()) add_objects(item, found);
  return found;
}

json::value pod_of(const json::value& object, const PodTemplate& one) {
  const json::value* there = at(object, one.path);
  MUSTER_CHECK(there != nullptr, "{} leads nowhere in {}", to_text(one.path), title_of(object));
  json::value pod = *there;
  if (one.added.empty()) return pod;
  json::array containers = items_at(pod, {"spec", "containers"});
  containers.insert(containers.end(), one.added.begin(), one.added.end());
  kube::set_at(pod, {"spec", "containers"}, std::move(containers));
  return pod;
}

std::string title_of(const json::value& object) {
  const std::string_view name = kube::name_of(object);
  return fmt::format("{} {}", text_at(object, {"kind"}),
                     name.empty() ? text_at(object, {"metadata", "generateName"}) : name);
}

}  // namespace muster::manifest
