// GET /jobs/{job}/logs: a page, or a stream.
#include <boost/json.hpp>
#include <limits>
#include <utility>

#include "api/rest/answers.h"
#include "api/rest/api.h"
#include "base/text.h"

namespace muster::api {
namespace {

namespace json = boost::json;

constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max() / 4;
constexpr std::int64_t lines_most = 10'000;  // in a page
constexpr std::int64_t tail_most = 1'000'000'000;

struct LogAsk {
  std::uint32_t attempt = 0;
  ports::LogQuery query;
  bool follow = false;
};

/// "attempt:offset" of a followed log.
Status resume(std::string_view id, LogAsk& ask) {
  const std::size_t colon = id.find(':');
  if (colon == std::string_view::npos)
    return invalid("last_event_id: it is not the id of a line of a followed log");
  const auto attempt = parse_int(id.substr(0, colon), "last_event_id", 1, 1'000'000'000);
  const auto offset = parse_int(id.substr(colon + 1), "last_event_id", 0, most);
  if (!attempt) return attempt.error();
  if (!offset) return offset.error();
  ask.attempt = static_cast<std::uint32_t>(*attempt);
  ask.query.from = static_cast<std::uint64_t>(*offset);
  ask.query.tail.reset();
  return Ok{};
}

Result<LogAsk> ask_of(const net::Request& request) {
  LogAsk ask;
  if (Status known = only_query(
          request, {"attempt", "tail", "since_ms", "search", "pod", "from", "limit", "follow"});
      !known)
    return known.error();
  const auto attempt = query_int(request, "attempt", 1, 1'000'000'000, 0);
  if (!attempt) return attempt.error();
  const auto tail = query_int(request, "tail", 0, tail_most, -1);
  if (!tail) return tail.error();
  const auto since = query_int(request, "since_ms", 0, most, 0);
  if (!since) return since.error();
  const auto from = query_int(request, "from", 0, most, 0);
  if (!from) return from.error();
  const auto limit = query_int(request, "limit", 1, lines_most, 1000);
  if (!limit) return limit.error();
  const auto follow = query_bool(request, "follow", false);
  if (!follow) return follow.error();
  ask.attempt = static_cast<std::uint32_t>(*attempt);
  ask.query.from = static_cast<std::uint64_t>(*from);
  if (*tail >= 0) ask.query.tail = static_cast<std::size_t>(*tail);
  ask.query.since = Time{*since};
  ask.query.contains = request.query_value("search");
  ask.query.pod = request.query_value("pod");
  ask.query.limit = static_cast<std::size_t>(*limit);
  ask.follow = *follow;
  if (const std::string_view last = request.headers.get("Last-Event-ID");
      ask.follow && !last.empty()) {
    if (Status status = resume(last, ask); !status) return status.error();
  }
  return ask;
}

/// On a worker. A page is answered, a stream begun.
Status logs(Backend& backend, const CallPtr& call) {
  auto ask = ask_of(call->request);
  if (!ask) return ask.error();
  const std::string job(call->request.param("job"));
  if (const auto row = backend.store.job(job); !row) return row.error();
  if (ask->follow) {
    backend.follower.follow({job, ask->attempt, std::move(ask->query)},
                            call->responder.event_stream());
    return Ok{};
  }
  const auto attempts = backend.logs.attempts(job);
  if (!attempts) return attempts.error();
  if (ask->attempt == 0 && !attempts->empty()) ask->attempt = attempts->back();
  const auto page = backend.logs.read({job, ask->attempt}, ask->query);
  if (!page) return page.error();
  json::array numbers;
  for (const std::uint32_t attempt : *attempts) numbers.emplace_back(attempt);
  std::string lines;
  for (const ports::LogLine& line : page->lines) {
    if (!lines.empty()) lines += ',';
    lines += log_line_json(line, ask->attempt);
  }
  call->answer(200,
               fmt::format(R"({{"attempt":{},"attempts":{},"lines":[{}],"next":{},"end":{}}})",
                           ask->attempt, json::serialize(numbers), lines, page->next, page->end));
  return Ok{};
}

}  // namespace

void add_log_routes(net::Router& router, Backend& backend) {
  add_route(router, "GET", "/jobs/{job}/logs", [&backend](const CallPtr& call) {
    on_worker(backend.work, call, [&backend, call] { return logs(backend, call); });
  });
}

}  // namespace muster::api
