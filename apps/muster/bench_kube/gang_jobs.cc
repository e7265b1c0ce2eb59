#include "apps/muster/bench_kube/gang_jobs.h"

#include <fmt/format.h>

#include <utility>

#include "apps/muster/bench_kube/parts.h"
#include "clusters/kubernetes/command_objects.h"
#include "clusters/kubernetes/object_writer.h"
#include "config/job_file.h"
#include "kube/json.h"

namespace muster::app {
namespace {

/// Runs until it is deleted, as kwok plays it.
std::string gang_json(int number, int pods) {
  return fmt::format(R"({{"name":"gang-{}","command":["sleep","inf"],"pods":{},"cpu":"100m"}})",
                     number, pods);
}

clusters::ObjectOptions object_options() {
  clusters::ObjectOptions options;
  options.pod.ns = bench_namespace;
  options.pod.image = bench_image;
  options.server = "0123456789abcdef0123456789abcdef";
  options.epoch = "1800000000000";
  return options;
}

Result<model::Command> command_of(int number, int pods) {
  config::JobOptions options;
  options.default_queue = "default";
  config::JobFile file = config::read_job_json(gang_json(number, pods), options);
  if (!file.ok() || file.jobs.size() != 1) return invalid("the benchmark's own job does not read");
  model::Command command = std::move(file.jobs[0].command);
  const std::vector<model::PodSet>& sets = file.jobs[0].spec.gang.sets;
  for (std::size_t i = 0; i < command.sets.size(); ++i) command.sets[i].pod = sets[i].pod;
  command.user = "somebody";
  return command;
}

}  // namespace

std::string gang_submit_body(int first, int count, int pods) {
  std::string body = R"({"jobs":[)";
  for (int n = first; n < first + count; ++n) {
    if (n > first) body += ",";
    body += gang_json(n, pods);
  }
  return body + "]}";
}

Result<std::vector<kube::ApiRequest>> gang_job_requests(int first, int count, int pods, int nodes) {
  std::vector<kube::ApiRequest> requests;
  const clusters::ObjectOptions options = object_options();
  for (int n = first; n < first + count; ++n) {
    const auto command = command_of(n, pods);
    if (!command) return command.error();
    ports::Action action{ports::Verb::Create, {fmt::format("{:016x}", n), 1}, "kube", {}};
    for (int pod = 0; pod < pods; ++pod) {
      model::PodPlace place;
      place.node = fmt::format("node-{}", (n * pods + pod) % nodes);
      action.pods.push_back(std::move(place));
    }
    const auto objects = clusters::command_objects(action, *command, options);
    if (!objects) return objects.error();
    for (const boost::json::value& object : *objects) {
      if (kube::text_at(object, {"kind"}) != "Job") continue;
      requests.push_back(kube::unread(kube::create_request(kube::resources::jobs(), bench_namespace,
                                                           object, {.field_manager = "muster"})));
    }
  }
  return requests;
}

kube::ApiRequest priority_class_request() {
  return kube::create_request(kube::resources::priority_classes(), "",
                              clusters::priority_class_object(object_options().priority_class));
}

}  // namespace muster::app
