// `muster explain` and `muster when`: why a job waits, and until when.
#include <fmt/format.h>

#include "cli/cli.h"
#include "cli/jobs.h"
#include "cli/words.h"

namespace muster::cli {
namespace {

std::string scores_text(const Session& session, const json::array& scores) {
  Table table({{"CLUSTER"}, {"GPU TYPE"}, {"TOTAL", true}, {"PARTS"}});
  for (const json::value& score : scores) {
    std::string parts;
    for (const auto& part : members(score, "parts")) {
      const std::string_view name(part.key().data(), part.key().size());
      parts += fmt::format("{}{} {}x{}", parts.empty() ? "" : ", ", name,
                           text(part.value(), "points"), text(part.value(), "weight"));
    }
    if (score.as_object().contains("failed_before")) parts += "; a start failed there";
    table.add({text(score, "cluster"), text(score, "gpu_type"), text(score, "total"), parts});
  }
  return table.to_text(session.layout());
}

}  // namespace

Result<int> explain_job(Session& session, const std::string& reference) {
  const auto api = session.api();
  if (!api) return api.error();
  const auto job = find_job(**api, reference);
  if (!job) return job.error();
  const auto answer = (*api)->get(job_path(*job) + "/explain");
  if (!answer) return answer.error();
  if (session.is_data()) {
    session.print_data(*answer);
    return exit_done;
  }
  const std::string state = text(field(*answer, "job"), "state");
  session.out(fmt::format("{} {} is {}\n", text(*job, "id"), text(*job, "name"),
                          painted(lower(state), paint_of_state(state), session.color())));
  Sheet sheet;
  sheet.add("because", text(field(*answer, "job"), "reason"));
  sheet.add("waits", text(field(*answer, "verdict"), "text"));
  sheet.add("starts", text(field(*answer, "estimate"), "text"));
  session.out(sheet.to_text(session.color()));
  print_notes(session, field(*answer, "job"));
  const json::array& changes = list(*answer, "changes");
  if (!changes.empty()) session.out("what would change it:\n");
  for (const json::value& change : changes)
    session.out(fmt::format("- {}\n", one_line(text(change, "text"))));
  if (session.is_wide()) session.out(scores_text(session, list(*answer, "scores")));
  return exit_done;
}

namespace {

Result<int> tell_when(Session& session, const std::vector<std::string>& references) {
  const auto api = session.api();
  if (!api) return api.error();
  json::array answers;
  Table table({{"ID"}, {"STATE"}, {"EARLIEST"}, {"EXPECTED"}, {"LATEST"}, {"", false, true}});
  for (const std::string& reference : references) {
    const auto job = find_job(**api, reference);
    if (!job) return job.error();
    const auto answer = (*api)->get(job_path(*job) + "/when");
    if (!answer) return answer.error();
    const std::string state = text(*answer, "state");
    const json::value& estimate = field(*answer, "estimate");
    table.add({text(*job, "id"), Cell(lower(state), paint_of_state(state)),
               session.when(estimate, "low_ms"), session.when(estimate, "expected_ms"),
               session.when(estimate, "high_ms"), text(*answer, "text")});
    answers.push_back(*answer);
  }
  session.print(table, answers.size() == 1 ? answers.front() : json::value(answers), "");
  return exit_done;
}

}  // namespace

void add_explain(CLI::App& app, const SharedHost& host) {
  CLI::App* why = add_command(app, "explain", "Say why a job waits, and what would make it start");
  const auto job = std::make_shared<std::string>();
  add_option(*why, "JOB", *job, "id, the beginning of one, or a name (the newest)")->required();
  set_body(*why, host, [job](Session& session) { return explain_job(session, *job); });

  CLI::App* when = add_command(app, "when", "Say when jobs will start");
  const auto jobs = std::make_shared<std::vector<std::string>>();
  add_option(*when, "JOB", *jobs, "id, the beginning of one, or a name (the newest)")->required();
  set_body(*when, host, [jobs](Session& session) { return tell_when(session, *jobs); });
}

}  // namespace muster::cli
