#include "cli/submitter.h"

#include <fmt/format.h>

#include <map>
#include <random>
#include <utility>

#include "cli/batches.h"
#include "cli/progress_line.h"
#include "config/job_file.h"

namespace muster::cli {
namespace {

Ask submit_ask(json::value body) {
  Ask ask{.method = "POST", .path = "/jobs", .body = std::move(body)};
  ask.headers.set("Idempotency-Key", fresh_key());
  return ask;
}

struct Checked {
  config::JobFile file;
  json::value body;         // {file, set}
  std::size_t at_once = 0;  // jobs that the server takes in a request
};

Result<Checked> check_file(Session& session, Api& api, const FileToSubmit& file) {
  const auto info = api.get("/info");
  if (!info) return info.error();
  config::JobOptions options;
  options.now = session.host().now();
  options.default_queue = text(field(*info, "defaults"), "queue");
  if (options.default_queue.empty()) options.default_queue = "default";
  json::object settings;
  for (const std::string& setting : file.settings) {
    const auto pair = config::parse_setting(setting);
    if (!pair) return pair.error();
    options.set[pair->first] = pair->second;
    settings[pair->first] = pair->second;
  }
  const auto limit = number(field(*info, "limits"), "jobs_per_submit");
  Checked checked{config::read_job_file(file.text, options), json::value(),
                  static_cast<std::size_t>(limit && *limit > 0 ? *limit : 1000)};
  const config::Problem* first = nullptr;
  for (const config::Problem& problem : checked.file.problems) {
    const bool is_error = problem.severity == config::Severity::Error;
    if (is_error && first == nullptr)
      first = &problem;  // said last, as the command's error
    else
      session.note(config::to_text(problem, file.name));
  }
  if (first != nullptr) return invalid(config::to_text(*first, file.name));
  if (checked.file.jobs.empty()) return invalid(fmt::format("{}: no jobs in it", file.name));
  checked.body = json::object{{"file", file.text}, {"set", std::move(settings)}};
  return checked;
}

std::string bar(std::size_t done, std::size_t all) {
  constexpr std::size_t width = 30;
  const std::size_t filled = done * width / all;
  return fmt::format("[{}{}] {} of {} jobs", std::string(filled, '#'),
                     std::string(width - filled, '.'), done, all);
}

Result<std::vector<std::string>> submit_in_parts(Session& session, Api& api,
                                                 std::vector<config::Submission> jobs,
                                                 std::size_t at_once) {
  std::vector<std::string> ids(jobs.size());
  std::size_t done = 0;
  ProgressLine progress(session.host());
  for (const std::vector<std::size_t>& batch : cut_batches(jobs, at_once)) {
    json::array documents;
    for (const std::size_t i : batch) {
      for (const std::size_t on : jobs[i].after) jobs[i].spec.depends_on.push_back(ids[on]);
      jobs[i].after.clear();
      auto document = parse_json(config::to_json(jobs[i]));
      if (!document) return document.error();
      documents.push_back(std::move(*document));
    }
    auto made = submit_jobs(api, json::object{{"jobs", std::move(documents)}});
    if (!made || made->size() != batch.size()) {
      const Error error =
          made ? Error{Fault::Unavailable, "the server answered with another number of ids"}
               : made.error();
      if (done == 0) return error;
      return Error{error.fault, fmt::format("{} of {} jobs are submitted, the rest is not: {}",
                                            done, jobs.size(), error.message)};
    }
    for (std::size_t i = 0; i < batch.size(); ++i) ids[batch[i]] = std::move((*made)[i]);
    done += batch.size();
    progress.show(bar(done, jobs.size()));
  }
  return ids;
}

}  // namespace

std::string fresh_key() {
  std::random_device random;
  return fmt::format("cli-{:08x}{:08x}{:08x}", random(), random(), random());
}

Result<std::vector<std::string>> submit_jobs(Api& api, json::value body, Output output) {
  Ask ask = submit_ask(std::move(body));
  if (output == Output::Followed) ask.query.emplace_back("followed", "true");
  const auto answer = api.send_patiently(ask);
  if (!answer) return answer.error();
  std::vector<std::string> ids;
  for (const json::value& id : list(*answer, "ids")) ids.push_back(text(id));
  if (ids.empty()) return Error{Fault::Unavailable, "the server named no job it accepted"};
  return ids;
}

Result<json::value> submit_dry(Api& api, json::value body) {
  Ask ask{.method = "POST", .path = "/jobs", .body = std::move(body)};
  ask.query.emplace_back("dry_run", "true");
  auto answer = api.send(ask);
  if (!answer) return answer.error();
  return field(*answer, "jobs");
}

Result<std::vector<std::string>> submit_file(Session& session, const FileToSubmit& file) {
  const auto api = session.api();
  if (!api) return api.error();
  auto checked = check_file(session, **api, file);
  if (!checked) return checked.error();
  if (checked->file.jobs.size() <= checked->at_once)
    return submit_jobs(**api, std::move(checked->body));
  return submit_in_parts(session, **api, std::move(checked->file.jobs), checked->at_once);
}

Result<json::value> submit_file_dry(Session& session, const FileToSubmit& file) {
  const auto api = session.api();
  if (!api) return api.error();
  auto checked = check_file(session, **api, file);
  if (!checked) return checked.error();
  return submit_dry(**api, std::move(checked->body));
}

}  // namespace muster::cli
