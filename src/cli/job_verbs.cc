// `muster cancel`, `hold`, `release`, `retry`: one request for each job named.
#include <fmt/format.h>

#include "cli/cli.h"
#include "cli/jobs.h"
#include "cli/words.h"

namespace muster::cli {
namespace {

struct Verb {
  const char* name;
  const char* help;
  const char* past;
  bool ends = false;  // leaves alone what has ended already
};

Result<int> act(Session& session, const Verb& verb, const std::vector<std::string>& references) {
  const auto api = session.api();
  if (!api) return api.error();
  json::array answers;
  int code = exit_done;
  for (const std::string& reference : references) {
    const auto job = find_job(**api, reference);
    const auto answer = job ? (*api)->post(fmt::format("{}/{}", job_path(*job), verb.name)) : job;
    if (!answer) {
      // The others are still to be asked; a server that is away is away for all of them.
      if (references.size() == 1 || answer.error().fault == Fault::Unavailable)
        return answer.error();
      session.note(fmt::format("muster: {}", one_line(answer.error().message)));
      code = exit_code_of(answer.error());
      continue;
    }
    answers.push_back(*answer);
    if (session.is_data()) continue;
    const json::array& ids = list(*answer, "ids");
    const std::string now = ids.empty() ? lower(text(*answer, "state")) : text(ids.front());
    const bool too_late = verb.ends && (now == "succeeded" || now == "failed");
    session.out(too_late ? fmt::format("{} has ended already: {}\n", text(*job, "id"), now)
                         : fmt::format("{} {}: {}\n", text(*job, "id"), verb.past, now));
  }
  if (session.is_data())
    session.print_data(answers.size() == 1 ? answers.front() : json::value(answers));
  return code;
}

void add_verb(CLI::App& app, const SharedHost& host, const Verb& verb) {
  CLI::App* command = app.add_subcommand(verb.name, verb.help);
  const auto jobs = std::make_shared<std::vector<std::string>>();
  command->add_option("JOB", *jobs, "id, the beginning of one, or a name (the newest)")->required();
  set_body(*command, host, [jobs, verb](Session& session) { return act(session, verb, *jobs); });
}

}  // namespace

void add_job_verbs(CLI::App& app, const SharedHost& host) {
  add_verb(app, host, {"cancel", "Cancel jobs; those that run are stopped", "cancelled", true});
  add_verb(app, host, {"hold", "Keep waiting jobs from being placed", "held"});
  add_verb(app, host, {"release", "Let held jobs be placed", "released"});
  add_verb(app, host, {"retry", "Submit finished jobs again, as new jobs", "submitted again"});
}

}  // namespace muster::cli
