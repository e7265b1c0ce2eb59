#include "apps/muster/bench_appwrapper/wrapper_objects.h"

#include <boost/json.hpp>

#include "api/appwrapper/facts.h"
#include "api/appwrapper/status_v1beta1.h"
#include "api/appwrapper/wrapper_watch.h"
#include "apps/muster/bench_kube/parts.h"

namespace muster::app {
namespace {

namespace json = boost::json;

constexpr std::int64_t milli_cpu = 100;

kube::Resource wrappers() { return api::appwrappers(api::WrapperGroup::Workload); }

/// Runs until it is deleted, or made to succeed, as kwok plays it.
json::value job_object(const std::string& name, PodSize size) {
  const std::string_view cpu = size == PodSize::Fits ? "100m" : "1000";
  const json::value container = {{"name", "main"},
                                 {"image", bench_image},
                                 {"command", json::array({"sleep", "inf"})},
                                 {"resources", {{"requests", {{"cpu", cpu}}}}}};
  return {{"apiVersion", "batch/v1"},
          {"kind", "Job"},
          {"metadata", {{"name", name}}},
          {"spec",
           {{"parallelism", 2},
            {"completions", 2},
            {"backoffLimit", 0},
            {"template",
             {{"spec", {{"restartPolicy", "Never"}, {"containers", json::array({container})}}}}}}}};
}

}  // namespace

kube::ApiRequest create_wrapper(const std::string& name, PodSize size) {
  const json::value item = {{"replicas", 1},
                            {"completionstatus", "Complete"},
                            {"generictemplate", job_object(name, size)}};
  const json::value wrapper = {{"apiVersion", wrappers().api_version()},
                               {"kind", "AppWrapper"},
                               {"metadata", {{"name", name}}},
                               {"spec", {{"resources", {{"GenericItems", json::array({item})}}}}}};
  return kube::create_request(wrappers(), bench_namespace, wrapper);
}

kube::ApiRequest create_wrapper_v1beta2(const std::string& name, PodSize size) {
  kube::Resource resource = wrappers();
  resource.version = "v1beta2";
  const json::value component = {{"template", job_object(name, size)}};
  const json::value wrapper = {{"apiVersion", resource.api_version()},
                               {"kind", "AppWrapper"},
                               {"metadata", {{"name", name}}},
                               {"spec", {{"components", json::array({component})}}}};
  return kube::create_request(resource, bench_namespace, wrapper);
}

kube::ApiRequest create_wrapped_job(const std::string& name) {
  return kube::create_request(kube::resources::jobs(), bench_namespace,
                              job_object(name, PodSize::Fits));
}

kube::ApiRequest patch_dispatched(const std::string& name) {
  static const std::string job = "aw-01234567-01234567-0123-0123-0123-0123456789ab";
  api::WrapperFacts facts;
  facts.job = &job;
  facts.ask.names_its_end = true;
  facts.ask.totals.milli_cpu = 2 * milli_cpu;
  model::JobCourse& row = facts.row.emplace();
  row.queue = "default";
  row.state = model::JobState::Running;
  row.attempt = 1;
  row.cluster = "kube-1";
  row.started = Time{1};
  facts.sight = ports::AttemptSight{.attempt = {job, 1}, .cluster = row.cluster, .is_made = true};
  const json::value patch = {{"status", api::status_v1beta1({}, facts, Time{1'800'000'000'000})}};
  return kube::patch_request(wrappers(), bench_namespace, name, kube::Patch::Merge, patch,
                             {.field_manager = "muster"}, "status");
}

kube::ApiRequest delete_wrapper(const std::string& name) {
  return kube::delete_request(wrappers(), bench_namespace, name, {.propagation = "Background"});
}

kube::ApiRequest patch_succeeded(const std::string& pod) {
  const json::value ended = {
      {"terminated",
       {{"exitCode", 0}, {"reason", "Completed"}, {"finishedAt", "2030-01-01T00:00:00Z"}}}};
  const json::value status = {{"phase", "Succeeded"},
                              {"containerStatuses", json::array({{{"name", "main"},
                                                                  {"image", bench_image},
                                                                  {"imageID", ""},
                                                                  {"ready", false},
                                                                  {"started", false},
                                                                  {"restartCount", 0},
                                                                  {"state", ended}}})}};
  return kube::patch_request(kube::resources::pods(), bench_namespace, pod, kube::Patch::Merge,
                             {{"status", status}}, {}, "status");
}

}  // namespace muster::app
