// Job files, as YAML and as JSON. Whatever is accepted is valid for the engine and reads back to
// the same from its own document.
#include <string>
#include <vector>

#include "base/check.h"
#include "config/job_file.h"
#include "tests/fuzz/input.h"

namespace {

using namespace muster;

config::JobOptions options() {
  config::JobOptions options;
  options.default_queue = "q";
  options.set = {{"p", "7"}};
  options.limits.jobs = 50;
  options.limits.expanded_bytes = 1 << 16;
  return options;
}

void check_same(const config::JobFile& file, const config::Submission& job,
                const std::string& text) {
  MUSTER_CHECK(file.ok() && file.jobs.size() == 1, "{}", text);
  const config::Submission& again = file.jobs[0];
  MUSTER_CHECK(again.spec.gang == job.spec.gang && again.command == job.command, "{}", text);
  MUSTER_CHECK(again.spec.name == job.spec.name && again.spec.queue == job.spec.queue &&
                   again.spec.priority == job.spec.priority &&
                   again.spec.run_limit == job.spec.run_limit &&
                   again.spec.start_after == job.spec.start_after &&
                   again.spec.deadline == job.spec.deadline && again.spec.held == job.spec.held,
               "{}", text);
  MUSTER_CHECK(again.labels == job.labels, "{}", text);
}

void check(config::JobFile file) {
  for (const config::Problem& problem : file.problems) {
    const std::string line = config::to_text(problem, "file");
    MUSTER_CHECK(line.find('\n') == std::string::npos && !problem.message.empty(), "{}", line);
  }
  if (!file.ok()) return;
  MUSTER_CHECK(!file.jobs.empty() && file.jobs.size() <= 50, "{} jobs", file.jobs.size());
  std::vector<std::string> ids;
  for (std::size_t i = 0; i < file.jobs.size(); ++i) ids.push_back(fmt::format("#{}", i));
  config::give_ids(file.jobs, ids);
  config::JobOptions again = options();
  again.set.clear();
  for (config::Submission& job : file.jobs) {
    const Status status = model::validate(job.spec);
    MUSTER_CHECK(status.ok(), "{}", status.error().message);
    MUSTER_CHECK(model::validate(job.command).ok(), "{}", job.spec.name);
    job.spec.depends_on.clear();  // its own name may be among them
    const std::string yaml = config::to_yaml(job);
    check_same(config::read_job_file(yaml, again), job, yaml);
    const std::string json = config::to_json(job);
    check_same(config::read_job_json(json, again), job, json);
  }
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = fuzz::text_of({data, size});
  check(config::read_job_file(text, options()));
  if (text.starts_with('{') || text.starts_with('[')) check(config::read_job_json(text, options()));
  return 0;
}
