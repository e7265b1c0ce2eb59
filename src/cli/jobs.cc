#include "cli/jobs.h"

#include <fmt/format.h>

#include "cli/words.h"
#include "model/amount.h"

namespace muster::cli {
namespace {

/// At most one job with an id that begins so; a second is an error.
Result<json::value> find_by_prefix(Api& api, std::string_view reference) {
  json::value found;
  std::string cursor;
  constexpr int pages_max = 10;
  for (int page = 0; page < pages_max; ++page) {
    net::QueryPairs query = {{"limit", "1000"}};
    if (!cursor.empty()) query.emplace_back("cursor", cursor);
    const auto answer = api.get("/jobs", query);
    if (!answer) return answer.error();
    for (const json::value& job : list(*answer, "jobs")) {
      if (!text(job, "id").starts_with(reference)) continue;
      if (!found.is_null())
        return Error{Fault::NotFound, fmt::format("{} is the beginning of several ids: give more "
                                                  "of it",
                                                  reference)};
      found = job;
    }
    cursor = text(*answer, "next");
    if (cursor.empty()) break;
  }
  return found;
}

}  // namespace

Result<json::value> find_job(Api& api, std::string_view reference) {
  if (reference.empty()) return invalid("an empty text is no job: give an id or a name");
  auto whole = api.get("/jobs/" + segment(reference));
  if (whole || whole.error().fault != Fault::NotFound) return whole;
  const auto named = api.get("/jobs", {{"name", std::string(reference)}, {"limit", "1000"}});
  if (!named) return named.error();
  for (const json::value& job : list(*named, "jobs")) {
    if (text(job, "name") == reference) return api.get(job_path(job));
  }
  const auto begun = find_by_prefix(api, reference);
  if (!begun) return begun.error();
  if (!begun->is_null()) return api.get(job_path(*begun));
  return Error{Fault::NotFound,
               fmt::format("no job {}; `muster list --all` shows those there are", reference)};
}

std::string job_path(const json::value& job) { return "/jobs/" + segment(text(job, "id")); }

std::string amount(const json::value& value) {
  const std::string written = text(value);
  if (written.ends_with("Ki")) {  // what machines have is seldom a whole number of anything larger
    const auto bytes = model::parse_quantity(written, "amount", model::Scale::Whole);
    constexpr double mebi = 1 << 20;
    if (!bytes || static_cast<double>(*bytes) < 10 * mebi) return written;
    const double whole = static_cast<double>(*bytes) / mebi;
    return whole < 10'240 ? fmt::format("{:.0f}Mi", whole) : fmt::format("{:.1f}Gi", whole / 1024);
  }
  if (!written.ends_with('m')) return written;
  const auto milli = model::parse_quantity(written, "amount", model::Scale::Milli);
  if (!milli) return written;
  std::string out = fmt::format("{}.{:03}", *milli / 1000, *milli % 1000);
  while (out.ends_with('0')) out.pop_back();
  return out;
}

std::string amounts(const json::object& by_resource) {
  std::string out;
  for (const auto& member : by_resource) {
    const std::string_view name(member.key().data(), member.key().size());
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", name, amount(member.value()));
  }
  return out;
}

std::string labels(const json::object& pairs) {
  std::string out;
  for (const auto& member : pairs) {
    const std::string_view name(member.key().data(), member.key().size());
    out += fmt::format("{}{}={}", out.empty() ? "" : ", ", name, text(member.value()));
  }
  return out;
}

void print_notes(const Session& session, const json::value& job) {
  const json::array& notes = list(job, "notes");
  if (!notes.empty()) session.out("what its cluster says:\n");
  for (const json::value& note : notes)
    session.out(
        fmt::format("- {}: {}\n", session.when(note, "at_ms"), one_line(text(note, "text"))));
}

Table job_table(const Session& session, const json::array& jobs) {
  std::vector<Column> columns = {
      {"ID"},         {"NAME", false, true}, {"USER", false, true}, {"QUEUE"},   {"STATE"},
      {"PRIO", true}, {"PODS", true},        {"GPUS", true},        {"CLUSTER"}, {"SUBMITTED"}};
  if (session.is_wide()) {
    for (const char* heading : {"STARTED", "FINISHED", "ATTEMPT", "EXIT", "LABELS", "WHY"})
      columns.push_back({heading});
  }
  Table table(std::move(columns));
  for (const json::value& job : jobs) {
    const std::string state = text(job, "state");
    const bool is_somewhere = state != "Waiting" && state != "Held";  // not where it was before
    std::vector<Cell> row = {text(job, "id"),
                             text(job, "name"),
                             text(job, "user"),
                             text(job, "queue"),
                             Cell(lower(state), paint_of_state(state)),
                             text(job, "priority"),
                             text(job, "pods"),
                             amount(field(job, "gpus")),
                             is_somewhere ? text(job, "cluster") : "",
                             session.when(job, "submitted_ms")};
    if (session.is_wide()) {
      const std::string why = text(field(job, "verdict"), "text");
      row.emplace_back(session.when(job, "started_ms"));
      row.emplace_back(session.when(job, "finished_ms"));
      row.emplace_back(text(job, "attempt"));
      row.emplace_back(text(job, "exit_code"));
      row.emplace_back(labels(members(job, "labels")));
      row.emplace_back(!why.empty() ? why : text(job, "reason"));
    }
    table.add(std::move(row));
  }
  return table;
}

int exit_code_of_job(const json::value& job) {
  const auto code = number(job, "exit_code");
  const std::string state = text(job, "state");
  if (state == "Succeeded") return exit_done;
  // A job that failed never looks like one that went well.
  if (state == "Failed" && code && *code > 0 && *code < 256) return static_cast<int>(*code);
  return state == "Failed" && code ? exit_refused : exit_no_code;
}

Result<int> ask_exit_code(Api& api, const std::string& id) {
  const auto job = api.get("/jobs/" + segment(id));
  if (!job) return job.error();
  if (text(*job, "state") != "Failed" || number(*job, "exit_code")) return exit_code_of_job(*job);
  json::value last = *job;
  Follower follower;
  follower.on_event = [&](const net::SseEvent& event) {
    const auto data = parse_json(event.data);
    if (data && number(*data, "exit_code"))
      last.as_object()["exit_code"] = *number(*data, "exit_code");
    return Next::GoOn;
  };
  const std::string from = std::to_string(number(*job, "sequence").value_or(1));
  const Status read = api.follow(
      {.path = "/events",
       .query = {{"from", from}, {"job", id}, {"kind", "finished"}, {"follow", "false"}}},
      follower);
  if (!read && read.error().fault == Fault::Unavailable) return read.error();
  return exit_code_of_job(last);
}

}  // namespace muster::cli
