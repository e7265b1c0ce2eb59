#include "clusters/kubernetes/in_place.h"

#include <boost/json/object.hpp>
#include <string>

#include "clusters/kubernetes/names.h"
#include "kube/json.h"
#include "manifest/ray_rest.h"

namespace muster::clusters {

namespace {

namespace json = boost::json;
using kube::find;
using kube::map_at;
using kube::set_at;
using kube::text_at;

/// All that it carries while an attempt has it. The rest of its metadata is its author's.
constexpr std::string_view label_marks[] = {job_label, attempt_label, server_label};
constexpr std::string_view annotation_marks[] = {job_annotation, workloads_annotation,
                                                 makes_pods_annotation, epoch_annotation,
                                                 force_after_annotation};

json::object without(const json::value& object, std::string_view key, const auto& marks) {
  json::object left = map_at(object, {"metadata", key});
  for (const std::string_view mark : marks) left.erase(mark);
  return left;
}

json::object with(const json::value& object, std::string_view key, const auto& marks,
                  const json::value& from) {
  json::object all = without(object, key, marks);
  for (const std::string_view mark : marks) {
    if (const json::value* value = find(from, {"metadata", key, mark})) all[mark] = *value;
  }
  return all;
}

}  // namespace

bool is_in_place(const model::Command& command) { return command.hub && command.hub->is_work; }

bool is_marked(const json::value& there, const ports::Attempt& attempt) {
  return text_at(there, {"metadata", "labels", job_label}) == label_value(attempt.job) &&
         text_at(there, {"metadata", "labels", attempt_label}) == std::to_string(attempt.number);
}

bool is_marked(const json::value& there) {
  return find(there, {"metadata", "labels", job_label}) != nullptr;
}

bool is_as_queued(const json::value& there, const json::value& queued) {
  return queued.is_null() || manifest::asked_of(there) == manifest::asked_of(queued);
}

json::value started(const json::value& there, const json::value& dressed) {
  json::value made = there;
  set_at(made, {"metadata", "labels"}, with(there, "labels", label_marks, dressed));
  set_at(made, {"metadata", "annotations"}, with(there, "annotations", annotation_marks, dressed));
  set_at(made, {"spec"}, map_at(dressed, {"spec"}));
  set_at(made, {"spec", "suspend"}, false);
  return made;
}

json::value stopped(const json::value& there, const json::value& queued) {
  json::value made = there;
  set_at(made, {"metadata", "labels"}, without(there, "labels", label_marks));
  set_at(made, {"metadata", "annotations"}, without(there, "annotations", annotation_marks));
  if (!queued.is_null()) set_at(made, {"spec"}, map_at(queued, {"spec"}));
  manifest::tell_to_rest(made);
  return made;
}

}  // namespace muster::clusters
