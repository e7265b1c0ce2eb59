// `muster whatif job|queue`: questions about what is not so.
#include <fmt/format.h>

#include "cli/cli.h"
#include "cli/job_options.h"
#include "cli/jobs.h"
#include "config/job_file.h"

namespace muster::cli {
namespace {

struct JobQuestion {
  std::string file;
  std::vector<std::string> settings;
  JobOptions job;
};

/// The only job of a file.
Result<json::value> document_in(const Session& session, const JobQuestion& question) {
  const auto content = session.host().read_file(question.file);
  if (!content) return content.error();
  config::JobOptions options;
  options.now = session.host().now();
  options.default_queue = "default";
  for (const std::string& setting : question.settings) {
    const auto pair = config::parse_setting(setting);
    if (!pair) return pair.error();
    options.set[pair->first] = pair->second;
  }
  const config::JobFile file = config::read_job_file(*content, options);
  for (const config::Problem& problem : file.problems) {
    if (problem.severity == config::Severity::Error)
      return invalid(config::to_text(problem, question.file));
  }
  if (file.jobs.size() != 1)
    return invalid(fmt::format("{}: expected one job, found {}", question.file, file.jobs.size()));
  return parse_json(config::to_json(file.jobs.front()));
}

Result<int> would_fit(Session& session, JobQuestion question) {
  if (question.file.empty() && question.job.words.empty()) question.job.words = {"true"};
  auto document =
      question.file.empty() ? document_of(question.job) : document_in(session, question);
  if (!document) return document.error();
  const auto api = session.api();
  if (!api) return api.error();
  const auto answer = (*api)->post("/whatif/job", std::move(*document));
  if (!answer) return answer.error();
  if (session.is_data()) {
    session.print_data(*answer);
    return exit_done;
  }
  session.out(text(*answer, "text") + "\n");
  Sheet sheet;
  sheet.add("waits", text(field(*answer, "verdict"), "text"));
  sheet.add("starts", text(field(*answer, "estimate"), "text"));
  sheet.add("room", text(field(*answer, "when"), "text"));
  session.out(sheet.to_text(session.color()));
  if (!session.is_wide()) return exit_done;
  Table nodes({{"NODE"}, {"PODS", true}});
  for (const json::value& node : list(*answer, "nodes"))
    nodes.add({text(node, "node"), text(node, "pods")});
  session.out(nodes.to_text(session.layout()));
  return exit_done;
}

struct QueueQuestion {
  std::string queue;
  std::string gpus;
  std::string resource = "gpu";
  std::string extra;
};

Result<int> would_start(Session& session, const QueueQuestion& question) {
  if (question.gpus.empty() == question.extra.empty())
    return invalid("how much more: give --gpus N, or --resource NAME --extra AMOUNT");
  const auto api = session.api();
  if (!api) return api.error();
  const bool by_gpus = !question.gpus.empty();
  const json::object ask{{"queue", question.queue},
                         {"resource", by_gpus ? "gpu" : question.resource},
                         {"extra", by_gpus ? question.gpus : question.extra}};
  const auto answer = (*api)->post("/whatif/queue", ask);
  if (!answer) return answer.error();
  if (session.is_data()) {
    session.print_data(*answer);
    return exit_done;
  }
  session.out(text(*answer, "text") + "\n");
  for (const json::value& job : list(*answer, "jobs")) session.out("  " + text(job) + "\n");
  return exit_done;
}

}  // namespace

void add_whatif(CLI::App& app, const SharedHost& host) {
  CLI::App* whatif = add_noun(app, "whatif", "Ask what would be, without changing anything");
  CLI::App* job = add_command(*whatif, "job", "Would this job fit, where and when");
  job->footer(
      "Examples:\n"
      "  muster whatif job --pods 4 --gpus 8 --gpu-type A100\n"
      "  muster whatif job -f train.yaml");
  const auto fit = std::make_shared<JobQuestion>();
  CLI::Option* file = add_option(*job, "-f,--file", fit->file, "a job file with one job");
  add_option(*job, "--set", fit->settings, "value of a parameter of the file: key=value")
      ->needs(file);
  add_job_options(*job, fit->job);
  add_words(*job, fit->job.words, "what it runs, after --; it does not matter here");
  set_body(*job, host, [fit](Session& session) { return would_fit(session, *fit); });

  CLI::App* queue = add_command(*whatif, "queue", "What would start if a queue had more");
  queue->footer("Example: muster whatif queue vision --gpus 64");
  const auto more = std::make_shared<QueueQuestion>();
  add_option(*queue, "QUEUE", more->queue, "its name")->required();
  add_option(*queue, "-g,--gpus", more->gpus, "so many more GPUs");
  add_option(*queue, "--resource", more->resource, "of this: gpu.A100, cpu, memory")
      ->capture_default_str();
  add_option(*queue, "--extra", more->extra, "so much more: 64, 500m, 1Ti");
  set_body(*queue, host, [more](Session& session) { return would_start(session, *more); });
}

}  // namespace muster::cli
