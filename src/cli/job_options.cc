#include "cli/job_options.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "cli/command.h"
#include "config/job_file.h"

namespace muster::cli {
namespace {

Status add_pairs(json::object& document, const char* key, const std::vector<std::string>& given,
                 std::string_view option) {
  json::object pairs;
  for (const std::string& pair : given) {
    const std::size_t equals = pair.find('=');
    if (equals == std::string::npos || equals == 0)
      return invalid(fmt::format("{} {}: expected NAME=VALUE", option, pair));
    pairs[pair.substr(0, equals)] = pair.substr(equals + 1);
  }
  if (!pairs.empty()) document[key] = std::move(pairs);
  return Ok{};
}

/// A number as a number; anything else as a text, for the reader of documents to judge.
json::value scalar(const std::string& text) {
  const auto value = parse_json(text);
  return value && value->is_number() ? *value : json::value(text);
}

}  // namespace

void add_job_options(CLI::App& command, JobOptions& o) {
  const std::string group = "Job";
  const auto add = [&](const char* name, auto& value, const char* help) {
    // One value for each time it is given: the next word is not its second.
    return add_option(command, name, value, help)->allow_extra_args(false)->group(group);
  };
  add("--name", o.name, "what to call it; none: as its program");
  add("-q,--queue", o.queue, "where it waits; none: the server's default");
  add("-p,--priority", o.priority, "higher starts first; none: the server's default");
  add("-g,--gpus", o.gpus, "GPUs of one pod; 0.5 is a share of one");
  add("--gpu-type", o.gpu_types, "any of these types")->delimiter(',');
  add("--pods", o.pods, "how many; they start together, in one cluster");
  add("--cpu", o.cpu, "cores of one pod: 4, 500m");
  add("--memory", o.memory, "of one pod: 16Gi");
  add("--run-limit", o.run_limit, "stop it after so long: 90s, 12h");
  add("--pool", o.pool, "pool or fleet pool");
  add("--cluster", o.clusters, "only in these clusters")->delimiter(',');
  add("-e,--env", o.environment, "NAME=VALUE, as often as needed");
  add("-l,--label", o.labels, "name=value, as often as needed");
  add("--after", o.after, "start when these jobs have succeeded (ids)")->delimiter(',');
  add("--workdir", o.workdir, "where it runs; none: a directory of its own");
  add("--image", o.image, "container image; then it runs in clusters of containers");
  add("--namespace", o.kube_namespace, "of Kubernetes; none: the cluster's");
  add("--service-account", o.service_account, "of Kubernetes; none: the cluster's");
  add("--max-retries", o.max_retries, "try again so often when it fails");
  add_flag(command, "--hold", o.hold, "hold it until it is released")->group(group);
}

Result<json::value> document_of(const JobOptions& o) {
  json::object document;
  const std::array<std::pair<const char*, const std::string*>, 9> texts = {
      {{"name", &o.name},
       {"queue", &o.queue},
       {"memory", &o.memory},
       {"run_limit", &o.run_limit},
       {"pool", &o.pool},
       {"workdir", &o.workdir},
       {"image", &o.image},
       {"namespace", &o.kube_namespace},
       {"service_account", &o.service_account}}};
  for (const auto& [key, value] : texts) {
    if (!value->empty()) document[key] = *value;
  }
  const std::array<std::pair<const char*, const std::string*>, 5> numbers = {
      {{"priority", &o.priority},
       {"gpus", &o.gpus},
       {"pods", &o.pods},
       {"cpu", &o.cpu},
       {"max_retries", &o.max_retries}}};
  for (const auto& [key, value] : numbers) {
    if (!value->empty()) document[key] = scalar(*value);
  }
  const std::array<std::pair<const char*, const std::vector<std::string>*>, 4> lists = {
      {{"gpu_type", &o.gpu_types},
       {"clusters", &o.clusters},
       {"depends_on", &o.after},
       {"command", &o.words}}};
  for (const auto& [key, value] : lists) {
    if (!value->empty()) document[key] = json::array(value->begin(), value->end());
  }
  if (o.hold) document["held"] = true;
  if (Status read = add_pairs(document, "env", o.environment, "--env"); !read) return read.error();
  if (Status read = add_pairs(document, "labels", o.labels, "--label"); !read) return read.error();
  json::value whole(std::move(document));
  if (Status checked = check_document(whole); !checked) return checked.error();
  return whole;
}

Status check_document(const json::value& document) {
  config::JobOptions options;
  options.default_queue = "default";
  const config::JobFile file = config::read_job_json(json::serialize(document), options);
  for (const config::Problem& problem : file.problems) {
    if (problem.severity == config::Severity::Error) return invalid(config::to_text(problem, ""));
  }
  return Ok{};
}

}  // namespace muster::cli
