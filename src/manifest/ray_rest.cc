#include "manifest/ray_rest.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <utility>

#include "kube/json.h"

namespace muster::manifest {

namespace {

namespace json = boost::json;
using kube::text_at;

bool takes_a_cluster_that_is_there(const json::value& object) {
  return !kube::map_at(object, {"spec", "clusterSelector"}).empty();
}

bool is_empty(const json::value& value) {
  return value.is_null() || (value.is_object() && value.get_object().empty()) ||
         (value.is_array() && value.get_array().empty());
}

json::value without_empties(const json::value& value) {
  if (value.is_array()) {
    json::array kept;
    for (const json::value& one : value.get_array()) kept.push_back(without_empties(one));
    return kept;
  }
  if (!value.is_object()) return value;
  json::object kept;
  for (const auto& member : value.get_object()) {
    json::value left = without_empties(member.value());
    if (!is_empty(left)) kept[member.key()] = std::move(left);
  }
  return kept;
}

}  // namespace

bool is_ray_job(const json::value& object) { return text_at(object, {"kind"}) == "RayJob"; }

bool is_told_to_rest(const json::value& object) {
  const bool shuts_down =
      !is_ray_job(object) || kube::flag_at(object, {"spec", "shutdownAfterJobFinishes"});
  return kube::flag_at(object, {"spec", "suspend"}) && shuts_down;
}

void tell_to_rest(json::value& object) {
  kube::set_at(object, {"spec", "suspend"}, true);
  if (is_ray_job(object)) kube::set_at(object, {"spec", "shutdownAfterJobFinishes"}, true);
}

std::string why_it_cannot_rest(const json::value& object) {
  if (!is_ray_job(object)) return "";
  if (takes_a_cluster_that_is_there(object))
    return "spec.clusterSelector: it runs in a RayCluster that is there already; label that one";
  if (text_at(object, {"spec", "submissionMode"}) == "InteractiveMode")
    return "spec.submissionMode: KubeRay does not stop a RayJob of InteractiveMode once it waits "
           "for its job; wrap it in an AppWrapper";
  return "";
}

json::object asked_of(const json::value& object) {
  json::value spec = without_empties(kube::map_at(object, {"spec"}));
  spec.as_object().erase("suspend");
  return std::move(spec.as_object());
}

RayRest rest_of(const json::value& object) {
  const std::string_view word =
      text_at(object, {"status", is_ray_job(object) ? "jobDeploymentStatus" : "state"});
  if (word.empty()) return RayRest::Unseen;
  return word == "suspended" || word == "Suspended" ? RayRest::Rests : RayRest::Busy;
}

bool has_ended(const json::value& object) {
  if (!is_ray_job(object)) return false;
  const std::string_view deployment = text_at(object, {"status", "jobDeploymentStatus"});
  return deployment == "Complete" || deployment == "Failed";
}

std::string_view cluster_made_for(const json::value& ray_job) {
  if (!is_ray_job(ray_job) || takes_a_cluster_that_is_there(ray_job)) return "";
  return text_at(ray_job, {"status", "rayClusterName"});
}

}  // namespace muster::manifest
