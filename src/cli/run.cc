// `muster run`: submit, follow the output, end as the job ends.
#include <fmt/format.h>

#include "cli/cli.h"
#include "cli/follow_log.h"
#include "cli/job_options.h"
#include "cli/jobs.h"
#include "cli/submitter.h"
#include "cli/words.h"

namespace muster::cli {
namespace {

/// What happens beside the output: why the job still waits is said on a line that goes away when
/// there is output, and Ctrl-C is asked about before it cancels.
class Beside {
 public:
  Beside(Session& session, Api& api, std::string id)
      : session_(session), api_(api), id_(std::move(id)), asked_(session.host().now()) {}

  Next on_pause() {
    const int pressed = session_.host().interrupts();
    if (pressed > seen_) {
      seen_ = pressed;
      if (on_interrupt() == Next::Stop) return Next::Stop;
    }
    show_state();
    return Next::GoOn;
  }

  void clear() {
    if (!shown_.empty()) session_.host().err("\r\x1b[K");
    shown_.clear();
    has_output_ = true;
  }
  bool is_cancelled() const { return is_cancelled_; }

 private:
  Next on_interrupt() {
    const Time now = session_.host().now();
    clear();
    if (is_cancelled_) return Next::Stop;  // a third press: do not wait for the end
    const bool is_sure = !session_.host().in_is_terminal || now < sure_until_;
    if (!is_sure) {
      sure_until_ = now + seconds(5);
      session_.note(fmt::format("press Ctrl-C again to cancel job {}", id_));
      return Next::GoOn;
    }
    is_cancelled_ = true;
    session_.note(fmt::format("cancelling job {}", id_));
    const auto answer = api_.post(fmt::format("/jobs/{}/cancel", segment(id_)));
    if (answer || answer.error().fault == Fault::Conflict) return Next::GoOn;
    session_.note(fmt::format("muster: {}", one_line(answer.error().message)));
    return Next::Stop;
  }

  void show_state() {
    const Time now = session_.host().now();
    if (has_output_ || !session_.host().err_is_terminal || now < asked_ + seconds(1)) return;
    asked_ = now;
    const auto job = api_.get("/jobs/" + segment(id_));
    if (!job) return;
    std::string line = lower(text(*job, "state"));
    if (const std::string why = text(field(*job, "verdict"), "text"); !why.empty())
      line += ": " + one_line(why);
    line = cut(line, static_cast<std::size_t>(std::max(20, session_.host().columns() - 1)));
    if (line == shown_) return;
    session_.host().err("\r\x1b[K" + line);
    shown_ = line;
  }

  Session& session_;
  Api& api_;
  const std::string id_;
  Time asked_;
  Time sure_until_{0};
  int seen_ = 0;
  bool is_cancelled_ = false;
  bool has_output_ = false;
  std::string shown_;
};

/// Why a job failed, unless its exit code says it all: a program that cannot be found, a memory
/// limit and a signal leave nothing in the output.
void say_why(Session& session, Api& api, const std::string& id, int code) {
  const auto job = api.get("/jobs/" + segment(id));
  const std::string state = job ? lower(text(*job, "state")) : "ended";
  const std::string reason = job ? text(*job, "reason") : "";
  if (code == exit_no_code) {
    session.note(fmt::format("muster: job {} {}: {}", id, state,
                             job ? text(*job, "why") : "it has no exit code"));
  } else if (!reason.empty() && !reason.ends_with(fmt::format("exited with code {}", code))) {
    session.note(fmt::format("muster: job {} {}: {}", id, state, one_line(reason)));
  }
}

Result<int> run(Session& session, const JobOptions& options) {
  if (options.words.empty())
    return invalid("nothing to run: give it after --, as in muster run -- python train.py");
  auto document = document_of(options);
  if (!document) return document.error();
  const auto api = session.api();
  if (!api) return api.error();
  session.host().interrupts();  // from now on Ctrl-C is ours
  const auto ids = submit_jobs(**api, *document, Output::Followed);
  if (!ids) return ids.error();
  const std::string& id = ids->front();
  if (session.host().err_is_terminal) session.note(fmt::format("job {}", id));
  const bool several = number(*document, "pods").value_or(1) > 1;
  LogPrinter printer(session.host(), {.pods = several});
  Beside beside(session, **api, id);
  LogFollower follower;
  follower.path = "/jobs/" + segment(id);
  follower.on_pause = [&] { return beside.on_pause(); };
  follower.on_line = [&] { beside.clear(); };
  const auto end = follow_log(**api, printer, std::move(follower));
  beside.clear();
  if (!end)
    return Error{end.error().fault,
                 fmt::format("{}; job {} goes on: muster logs -f {}", end.error().message, id, id)};
  if (beside.is_cancelled()) return exit_interrupted;
  if (!*end) {
    session.note(
        fmt::format("the server ended the stream; job {} goes on: muster wait {}", id, id));
    return exit_unavailable;
  }
  const auto code = ask_exit_code(**api, id);
  if (!code) return code.error();
  if (*code != exit_done) say_why(session, **api, id, *code);
  return code;
}

}  // namespace

void add_run(CLI::App& app, const SharedHost& host) {
  CLI::App* command =
      add_command(app, "run", "Submit a command, show its output, end with its exit code");
  command->footer(
      "Ctrl-C asks once, then cancels the job.\n"
      "Exit codes: that of the job; 125 if it ended without one (cancelled, run limit); 130 when\n"
      "interrupted; 1 refused, 2 wrong use, 3 no server.\n\n"
      "Examples:\n"
      "  muster run -- sh -c 'echo hello; exit 3'\n"
      "  muster run --gpus 1 --run-limit 1h -- python train.py --lr 0.1");
  const auto options = std::make_shared<JobOptions>();
  add_job_options(*command, *options);
  add_words(*command, options->words, "what to run, after --");
  set_body(*command, host, [options](Session& session) { return run(session, *options); });
}

}  // namespace muster::cli
