// `muster submit`: jobs from a file or from the command line.
#include <fmt/format.h>

#include "cli/cli.h"
#include "cli/job_options.h"
#include "cli/submitter.h"

namespace muster::cli {
namespace {

struct Options {
  std::string file;
  std::vector<std::string> settings;
  bool dry_run = false;
  JobOptions job;
};

Result<int> print_dry(Session& session, const json::value& documents) {
  if (session.is_data()) {
    session.print_data(documents);
    return exit_done;
  }
  const json::array* jobs = documents.if_array();
  const std::size_t count = jobs == nullptr ? 0 : jobs->size();
  for (std::size_t i = 0; i < count; ++i) session.out((i > 0 ? "---\n" : "") + yaml((*jobs)[i]));
  session.note(fmt::format("{} {} would be submitted", count, count == 1 ? "job" : "jobs"));
  return exit_done;
}

Result<int> print_ids(Session& session, const std::vector<std::string>& ids) {
  if (session.is_data()) {
    session.print_data(json::object{{"ids", json::array(ids.begin(), ids.end())}});
    return exit_done;
  }
  for (const std::string& id : ids) session.out(id + "\n");
  if (ids.size() > 1) session.note(fmt::format("{} jobs submitted", ids.size()));
  return exit_done;
}

Result<int> submit(Session& session, const Options& options) {
  if (options.file.empty() == options.job.words.empty())
    return invalid(
        "give either -f FILE, or what to run after --: muster submit -- python train.py");
  if (!options.file.empty()) {
    auto text = session.host().read_file(options.file);
    if (!text) return text.error();
    const FileToSubmit file{options.file == "-" ? "standard input" : options.file, std::move(*text),
                            options.settings};
    if (options.dry_run) {
      const auto documents = submit_file_dry(session, file);
      return documents ? print_dry(session, *documents) : documents.error();
    }
    const auto ids = submit_file(session, file);
    return ids ? print_ids(session, *ids) : ids.error();
  }
  auto document = document_of(options.job);
  if (!document) return document.error();
  const auto api = session.api();
  if (!api) return api.error();
  if (options.dry_run) {
    const auto documents = submit_dry(**api, std::move(*document));
    return documents ? print_dry(session, *documents) : documents.error();
  }
  const auto ids = submit_jobs(**api, std::move(*document));
  return ids ? print_ids(session, *ids) : ids.error();
}

}  // namespace

void add_submit(CLI::App& app, const SharedHost& host) {
  CLI::App* command = add_command(app, "submit", "Submit jobs and return at once");
  command->footer(
      "Examples:\n"
      "  muster submit --gpus 8 --queue vision -- python train.py\n"
      "  muster submit -f sweep.yaml --set data=/data/imagenet\n"
      "  muster submit -f sweep.yaml --dry-run");
  const auto options = std::make_shared<Options>();
  CLI::Option* file =
      add_option(*command, "-f,--file", options->file, "job file (YAML); - is the standard input");
  add_option(*command, "--set", options->settings, "value of a parameter of the file: key=value")
      ->allow_extra_args(false)
      ->needs(file);
  add_flag(*command, "--dry-run", options->dry_run, "check and show what would be submitted");
  add_job_options(*command, options->job);
  add_words(*command, options->job.words, "what to run, after --");
  set_body(*command, host, [options](Session& session) { return submit(session, *options); });
}

}  // namespace muster::cli
