// `muster cancel`, `hold`, `release`, `retry`, `checkpoint`: one request for each job named.
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
  bool ends = false;      // leaves alone what has ended already
  bool can_stop = false;  // and what runs, unless it is asked to stop it
};

/// The request of a verb, and the jobs it is made of.
struct Ask {
  std::vector<std::string> references = {};
  bool stops = false;  // of hold: those that run too
};

Result<int> act(Session& session, const Verb& verb, const Ask& ask) {
  const auto api = session.api();
  if (!api) return api.error();
  json::array answers;
  int code = exit_done;
  for (const std::string& reference : ask.references) {
    const auto job = find_job(**api, reference);
    const auto path = [&] {
      return fmt::format("{}/{}{}", job_path(*job), verb.name, ask.stops ? "?stop=true" : "");
    };
    const auto answer = job ? (*api)->post(path()) : job;
    if (!answer) {
      // The others are still to be asked; a server that is away is away for all of them.
      if (ask.references.size() == 1 || answer.error().fault == Fault::Unavailable)
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
  CLI::App* command = add_command(app, verb.name, verb.help);
  const auto ask = std::make_shared<Ask>();
  add_option(*command, "JOB", ask->references, "id, the beginning of one, or a name (the newest)")
      ->required();
  if (verb.can_stop)
    add_flag(*command, "--stop", ask->stops, "also those that run: they start over when released");
  set_body(*command, host, [ask, verb](Session& session) { return act(session, verb, *ask); });
}

}  // namespace

void add_job_verbs(CLI::App& app, const SharedHost& host) {
  add_verb(app, host, {"cancel", "Cancel jobs; those that run are stopped", "cancelled", true});
  add_verb(app, host, {"hold", "Keep waiting jobs from being placed", "held", false, true});
  add_verb(app, host, {"release", "Let held jobs be placed", "released"});
  add_verb(app, host, {"retry", "Submit finished jobs again, as new jobs", "submitted again"});
  add_verb(app, host,
           {"checkpoint", "Say that running jobs have saved their work", "has saved its work"});
}

}  // namespace muster::cli
