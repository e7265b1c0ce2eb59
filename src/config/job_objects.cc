#include "config/job_objects.h"

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "base/text.h"
#include "kube/json.h"
#include "manifest/kinds.h"
#include "manifest/pod_sets.h"
#include "manifest/pod_shape.h"
#include "manifest/ray_submitter.h"

namespace muster::config {
namespace {

namespace json = boost::json;

constexpr std::string_view queue_label = "muster.dev/queue";
constexpr std::string_view priority_label = "muster.dev/priority";

void add(model::Resources& requests, const model::Resources& overhead) {
  requests.cpu = requests.cpu + overhead.cpu;
  requests.memory = requests.memory + overhead.memory;
  for (const auto& [name, amount] : overhead.extended) requests.extended[name] += amount;
}

void put_into(model::PodShape& pod, const manifest::PodRuntime& named,
              const model::RuntimeClass& runtime) {
  if (!named.has_overhead) add(pod.requests, runtime.overhead);
  pod.node_selector.insert(runtime.node_selector.begin(), runtime.node_selector.end());
  pod.tolerations.insert(pod.tolerations.end(), runtime.tolerations.begin(),
                         runtime.tolerations.end());
}

/// Of each of its sets; none if there is nothing to look for.
std::vector<manifest::PodRuntime> runtimes_of(const model::Command& command) {
  if (command.objects.find("runtimeClassName") == std::string::npos) return {};
  json::error_code wrong;
  const json::value read = json::parse(command.objects, wrong);
  if (wrong) return {};
  const auto list = manifest::read_objects(read);
  return list ? manifest::runtimes_of(*list) : std::vector<manifest::PodRuntime>();
}

}  // namespace

Result<ListedJob> read_listed(const std::vector<RawMap>& objects) {
  ListedJob job;
  job.json = "[";
  for (const RawMap& object : objects) {
    if (job.json.size() > 1) job.json += ',';
    job.json += object.json;
  }
  job.json += ']';
  json::error_code wrong;
  json::value read = json::parse(job.json, wrong);
  if (wrong) return invalid("cannot be read: " + wrong.message());
  bool is_completed = false;
  for (json::value& object : read.as_array()) is_completed |= manifest::write_submitter(object);
  if (is_completed) job.json = json::serialize(read);
  const auto list = manifest::read_objects(read);
  if (!list) return list.error();
  auto sets = manifest::pod_sets_of(*list, {});
  if (!sets) return sets.error();
  job.sets = std::move(*sets);
  job.kinds = manifest::kinds_to_serve(list->objects);
  const std::size_t first = list->templates[0].object;
  job.name = kube::name_of(list->objects[first == manifest::no_object ? 0 : first]);
  for (const json::value& object : list->objects) {
    const auto label = [&](std::string_view name) {
      return kube::text_at(object, {"metadata", "labels", name});
    };
    if (job.queue.empty()) job.queue = label(queue_label);
    const std::string_view priority = label(priority_label);
    if (priority.empty() || job.priority) continue;
    const auto number =
        parse_int(priority, priority_label, model::priority_min, model::priority_max);
    if (!number) return number.error();
    job.priority = static_cast<int>(*number);
  }
  return job;
}

void add_runtime_classes(const std::function<model::RuntimeClasses()>& known, Submission& job) {
  const std::vector<manifest::PodRuntime> named = runtimes_of(job.command);
  if (!known || named.size() != job.spec.gang.sets.size()) return;
  const model::RuntimeClasses classes = known();
  model::JobSpec made = job.spec;
  for (std::size_t i = 0; i < named.size(); ++i) {
    const auto found = classes.find(named[i].name);
    if (found != classes.end()) put_into(made.gang.sets[i].pod, named[i], found->second);
  }
  if (made.id.empty()) made.id = "new";                             // it gets its own later
  if (model::validate(made)) job.spec.gang = std::move(made.gang);  // else amounts are absurd
}

std::vector<RawMap> split_listed(const std::string& text) {
  std::vector<RawMap> objects;
  if (text.empty()) return objects;
  const Parsed parsed = parse_json(text);
  if (parsed.roots.empty()) return objects;
  for (const Node& item : parsed.roots[0].items())
    objects.push_back({to_json(item, JsonStyle::Compact)});
  return objects;
}

bool is_manifest(const Node& root) {
  return root.kind == Node::Kind::Map && root.find("apiVersion") != nullptr &&
         root.find("kind") != nullptr;
}

}  // namespace muster::config
