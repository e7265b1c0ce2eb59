#include "work/labelled/labelled_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/text.h"
#include "kube/json.h"
#include "manifest/pod_sets.h"
#include "manifest/pod_shape.h"
#include "manifest/ray_rest.h"
#include "manifest/ray_submitter.h"

namespace muster::work {

namespace {

namespace json = boost::json;
using kube::find;
using kube::text_at;

constexpr std::string_view kueue_label = "kueue.x-k8s.io/queue-name";
constexpr std::string_view our_operator = "ray.io/kuberay-operator";  // in spec.managedBy
// As clusters write them, on what an attempt has.
constexpr std::string_view job_label = "muster.dev/job";
constexpr std::string_view job_annotation = "muster.dev/job-id";
/// A copy of the whole object, in an annotation of it.
constexpr std::string_view applied_annotation = "kubectl.kubernetes.io/last-applied-configuration";

std::string label(const json::value& object, std::string_view name) {
  return std::string(text_at(object, {"metadata", "labels", name}));
}

/// As text, members in the order of their names: servers do not keep that of clients.
std::string in_order(const json::value& value) {
  std::string text;
  if (value.is_object()) {
    std::map<std::string, std::string> members;
    for (const auto& member : value.get_object())
      members[std::string(member.key())] = in_order(member.value());
    for (const auto& [name, member] : members) text += fmt::format("{}:{},", name, member);
    return "{" + text + "}";
  }
  if (!value.is_array()) return json::serialize(value);
  for (const json::value& one : value.get_array()) text += in_order(one) + ",";
  return "[" + text + "]";
}

/// As its author wrote it, with the pod that submits a RayJob.
json::value plain(const json::value& object) {
  json::value made = json::object();
  for (const std::string_view key : {"apiVersion", "kind", "spec"}) {
    if (const json::value* value = find(object, {key})) kube::set_at(made, {key}, *value);
  }
  for (const std::string_view key : {"name", "namespace", "labels", "annotations"}) {
    if (const json::value* value = find(object, {"metadata", key}))
      kube::set_at(made, {"metadata", key}, *value);
  }
  json::object notes = kube::map_at(made, {"metadata", "annotations"});
  if (notes.erase(applied_annotation) > 0)
    kube::set_at(made, {"metadata", "annotations"}, std::move(notes));
  manifest::write_submitter(made);
  return made;
}

Result<int> read_priority(const json::value& object, int otherwise,
                          std::vector<std::string>& warnings) {
  const std::string text = label(object, priority_label);
  if (text.empty()) return otherwise;
  const std::string field = fmt::format("metadata.labels.{}", priority_label);
  const auto read = parse_int(text, field, std::numeric_limits<std::int32_t>::min(),
                              std::numeric_limits<std::int32_t>::max());
  if (!read) return read.error();
  const auto used = std::clamp<std::int64_t>(*read, model::priority_min, model::priority_max);
  if (used != *read)
    warnings.push_back(fmt::format("{}: {} is beyond the limit; {} is used", field, *read, used));
  return static_cast<int>(used);
}

/// What it is started for is judged as a gang: all its pods, or none. What ended stays.
model::ObjectCare care() {
  model::ObjectCare made;
  made.keep_ended = true;
  return made;
}

}  // namespace

Result<WrappedJob> labelled_job(const json::value& object, const LabelledOptions& options) {
  if (const std::string why = manifest::why_it_cannot_rest(object); !why.empty())
    return invalid(why);
  WrappedJob job;
  const json::array entries{plain(object)};
  const auto list = manifest::read_objects(entries);
  if (!list) return list.error();
  auto sets = manifest::pod_sets_of(*list, options.gpus);
  if (!sets) return sets.error();
  if (sets->empty()) return invalid("spec: it has no pods");
  job.spec.gang.sets = std::move(*sets);
  if (options.is_mcad) {
    for (model::PodSet& set : job.spec.gang.sets) flatten_as_mcad(set.pod);
  }
  job.warnings = manifest::unweighed_wishes(*list);
  const auto priority = read_priority(object, options.priority, job.warnings);
  if (!priority) return priority.error();
  job.spec.priority = *priority;
  job.spec.name = kube::name_of(object);
  job.spec.user = label(object, user_label);
  job.spec.queue = label(object, labelled_queue);
  job.spec.gang.clusters = {options.hub};
  job.command.name = job.spec.name;
  job.command.user = job.spec.user;
  job.command.objects = json::serialize(entries);
  job.command.container.ns = kube::namespace_of(object);
  job.command.care = care();
  for (const model::PodSet& set : job.spec.gang.sets)
    job.command.sets.push_back({set.name, {}, {}, {}, {}});
  job.command.hub = model::HubObject{options.hub,
                                     std::string(text_at(object, {"apiVersion"})),
                                     std::string(text_at(object, {"kind"})),
                                     std::string(kube::namespace_of(object)),
                                     job.spec.name,
                                     std::string(kube::uid_of(object)),
                                     true};
  for (const auto& [name, value] : kube::map_at(object, {"metadata", "labels"})) {
    if (value.is_string()) job.labels[std::string(name)] = std::string(value.get_string());
  }
  job.spec.id = "-";
  if (const Status s = model::validate(job.spec); !s) return s.error();
  if (const Status s = model::validate(job.command); !s) return s.error();
  job.spec.id.clear();
  return job;
}

Result<int> asked_priority(const json::value& object, const LabelledOptions& options) {
  std::vector<std::string> ignored;
  return read_priority(object, options.priority, ignored);
}

std::string followed_text(int priority, std::string_view job) {
  return fmt::format("{} {}", priority, job);
}

std::optional<int> followed_priority(const json::value& object, std::string_view job) {
  const std::string_view text = text_at(object, {"metadata", "annotations", followed_annotation});
  const std::size_t space = text.find(' ');
  if (space == std::string_view::npos || text.substr(space + 1) != job) return std::nullopt;
  const auto read = parse_int(text.substr(0, space), followed_annotation, model::priority_min,
                              model::priority_max);
  return read ? std::optional(static_cast<int>(*read)) : std::nullopt;
}

json::value queued_object(const model::Command& command) {
  return manifest::only_object(command.objects);
}

std::uint64_t content_of(const json::value& object) {
  Hasher hash;
  hash.add(std::string_view(in_order(manifest::asked_of(object))));
  hash.add(label(object, labelled_queue));
  return hash.value() | 1U;
}

bool is_of_others(const json::value& object, bool has_kueue) {
  for (const json::value& owner : kube::items_at(object, {"metadata", "ownerReferences"})) {
    // What Muster makes of a list belongs to a ConfigMap.
    if (kube::flag_at(owner, {"controller"}) || text_at(owner, {"kind"}) == "ConfigMap")
      return true;
  }
  const std::string_view manager = text_at(object, {"spec", "managedBy"});
  return (!manager.empty() && manager != our_operator) ||
         (has_kueue && !label(object, kueue_label).empty());
}

bool is_started_for(const json::value& object, std::string_view job) {
  return text_at(object, {"metadata", "annotations", job_annotation}) == job &&
         !label(object, job_label).empty();
}

bool is_resting(const json::value& object) { return manifest::is_told_to_rest(object); }

bool can_rest(const json::value& object) { return manifest::why_it_cannot_rest(object).empty(); }

bool has_ended(const json::value& object) { return manifest::has_ended(object); }

bool is_noted_as_ended(const json::value& object) {
  return find(object, {"metadata", "annotations", ended_annotation}) != nullptr;
}

json::value rest_patch(const json::value& object) {
  json::value made = json::object();
  kube::set_at(made, {"kind"}, json::string(text_at(object, {"kind"})));
  manifest::tell_to_rest(made);
  made.as_object().erase("kind");
  kube::set_at(made, {"metadata", "uid"}, json::string(kube::uid_of(object)));
  kube::set_at(made, {"metadata", "resourceVersion"}, json::string(kube::version_of(object)));
  if (!label(object, job_label).empty()) {
    kube::set_at(made, {"metadata", "labels"}, json::object{{job_label, nullptr}});
    kube::set_at(made, {"metadata", "annotations"}, json::object{{job_annotation, nullptr}});
  }
  return made;
}

}  // namespace muster::work
