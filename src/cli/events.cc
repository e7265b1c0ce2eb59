// `muster events`: what happens, or what happened to a job.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "cli/cli.h"
#include "cli/jobs.h"
#include "cli/words.h"

namespace muster::cli {
namespace {

struct Options {
  std::string job;
  bool follow = false;
  std::string from;
  std::vector<std::string> kinds;
};

std::string line_of(const Session& session, const json::value& event) {
  const Time at = time_of(event, "at_ms");
  const std::string kind = text(event, "kind");
  return fmt::format("{:>8}  {}  {}{}  {}\n", text(event, "sequence"), moment(at),
                     painted(kind, Paint::Bold, session.color()),
                     std::string(kind.size() < 18 ? 18 - kind.size() : 0, ' '),
                     one_line(text(event, "text")));
}

/// What the cluster said about the pods of a job, as events of the stream.
Result<json::array> notes_of(Api& api, const json::value& job) {
  const auto answer = api.get(job_path(job) + "/notes", {{"limit", "1000"}});
  if (!answer) return answer.error();
  return list(*answer, "notes");
}

/// Events as they come, and what clusters said, each once. What happened is put in its order before
/// anything is written; what comes is written at once.
class Timeline {
 public:
  Timeline(Session& session, bool follow) : session_(session), follow_(follow) {}

  void take(const json::value& event) {
    if (text(event, "kind") == "note" && !keys_.insert(key_of(event)).second) return;
    if (!follow_ || is_past_) {
      past_.emplace(time_of(event, "at_ms"), event);
    } else {
      write(event);
    }
  }
  /// The past is over.
  void write_past() {
    is_past_ = false;
    json::array all;
    for (const auto& [at, event] : std::exchange(past_, {})) all.push_back(event);
    if (session_.is_data() && !follow_) return session_.print_data(all);
    for (const json::value& event : all) write(event);
  }
  bool is_past() const { return is_past_; }

 private:
  static std::string key_of(const json::value& note) {
    return fmt::format("{} {} {}", text(note, "job"), text(note, "attempt"), text(note, "key"));
  }
  void write(const json::value& event) const {
    if (!session_.is_data()) return session_.out(line_of(session_, event));
    session_.print_next(event);  // for programs that read along
  }

  Session& session_;
  const bool follow_;
  bool is_past_ = true;
  std::multimap<Time, json::value> past_;  // of one moment in the order they came
  std::set<std::string> keys_;
};

Result<int> show_events(Session& session, const Options& options) {
  const auto api = session.api();
  if (!api) return api.error();
  net::QueryPairs query;
  std::string from = options.from;
  bool follow = options.follow;
  json::value job;
  if (!options.job.empty()) {
    auto found = find_job(**api, options.job);
    if (!found) return found.error();
    job = std::move(*found);
    query.emplace_back("job", text(job, "id"));
    if (from.empty()) from = std::to_string(number(job, "sequence").value_or(1));
  } else if (from.empty()) {
    follow = true;  // without a beginning there is only what comes
  }
  if (!from.empty()) query.emplace_back("from", from);
  if (!options.kinds.empty())
    query.emplace_back("kind", fmt::format("{}", fmt::join(options.kinds, ",")));
  query.emplace_back("follow", follow ? "true" : "false");
  const bool with_notes =
      !job.is_null() && options.from.empty() &&
      (options.kinds.empty() ||
       std::find(options.kinds.begin(), options.kinds.end(), "note") != options.kinds.end());
  Timeline timeline(session, follow);
  const auto end_past = [&] {
    // Asked for last: of what is said meanwhile nothing is missed.
    const auto notes = with_notes ? notes_of(**api, job) : Result<json::array>(json::array());
    for (const json::value& note : notes ? *notes : json::array()) timeline.take(note);
    timeline.write_past();
  };
  int quiet = 0;  // pauses without an event: what happened has been sent
  Follower follower;
  follower.on_event = [&](const net::SseEvent& event) {
    quiet = 0;
    const auto data = parse_json(event.data);
    if (data && !event.data.empty()) timeline.take(*data);
    return Next::GoOn;
  };
  follower.on_pause = [&] {
    if (follow && timeline.is_past() && ++quiet > 1) end_past();
    return Next::GoOn;
  };
  const Status read = (*api)->follow({.path = "/events", .query = query}, follower);
  if (timeline.is_past()) end_past();
  if (!read) return read.error();
  return exit_done;
}

}  // namespace

void add_events(CLI::App& app, const SharedHost& host) {
  CLI::App* command = add_command(
      app, "events", "Show what happened to a job, or what happens from now on everywhere");
  const auto options = std::make_shared<Options>();
  add_option(*command, "JOB", options->job, "id, the beginning of one, or a name (the newest)");
  add_flag(*command, "-f,--follow", options->follow, "go on with what comes");
  add_option(*command, "--from", options->from, "from this sequence number on")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000'000'000'000}));
  add_option(*command, "--kind", options->kinds, "only of these kinds: placed, finished, note, ...")
      ->delimiter(',')
      ->allow_extra_args(false);
  set_body(*command, host, [options](Session& session) { return show_events(session, *options); });
}

}  // namespace muster::cli
