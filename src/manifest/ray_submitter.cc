#include "manifest/ray_submitter.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <string_view>
#include <utility>

#include "kube/json.h"

namespace muster::manifest {

namespace {

namespace json = boost::json;
using kube::text_at;

/// Its submitter is a Kubernetes Job, of a Ray cluster that is made for it.
bool gets_submitter(const json::value& object) {
  const bool is_ray_job = text_at(object, {"apiVersion"}).starts_with("ray.io/") &&
                          text_at(object, {"kind"}) == "RayJob";
  if (!is_ray_job) return false;
  const std::string_view mode = text_at(object, {"spec", "submissionMode"});
  const bool has_own = kube::find(object, {"spec", "submitterPodTemplate"}) != nullptr;
  const bool makes_cluster = kube::find(object, {"spec", "rayClusterSpec"}) != nullptr &&
                             kube::map_at(object, {"spec", "clusterSelector"}).empty();
  return makes_cluster && !has_own && (mode.empty() || mode == "K8sJobMode");
}

}  // namespace

bool write_submitter(json::value& object) {
  if (!gets_submitter(object)) return false;
  const json::array& head = kube::items_at(
      object, {"spec", "rayClusterSpec", "headGroupSpec", "template", "spec", "containers"});
  if (head.empty()) return false;  // KubeRay refuses it
  const json::value container = {{"name", "ray-job-submitter"},
                                 {"image", text_at(head.front(), {"image"})},
                                 {"resources",
                                  {{"limits", {{"cpu", "1"}, {"memory", "1Gi"}}},
                                   {"requests", {{"cpu", "500m"}, {"memory", "200Mi"}}}}}};
  json::value pod = json::object();
  kube::set_at(pod, {"spec", "containers"}, json::array{container});
  kube::set_at(pod, {"spec", "restartPolicy"}, "Never");
  kube::set_at(object, {"spec", "submitterPodTemplate"}, std::move(pod));
  return true;
}

void drop_written_submitter(json::value& object) {
  if (kube::find(object, {"spec", "submitterPodTemplate"}) == nullptr) return;
  json::value without = object;
  without.at("spec").as_object().erase("submitterPodTemplate");
  json::value written = without;
  if (write_submitter(written) && written == object) object = std::move(without);
}

json::value only_object(std::string_view list) {
  json::error_code wrong;
  json::value read = json::parse(list, wrong);
  if (wrong || !read.is_array() || read.get_array().size() != 1) return nullptr;
  json::value object = std::move(read.get_array().front());
  drop_written_submitter(object);
  return object;
}

}  // namespace muster::manifest
