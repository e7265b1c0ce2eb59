// The server itself: health, readiness, who the caller is, documents, audit.
#include <boost/json.hpp>
#include <limits>
#include <utility>

#include "api/rest/answers.h"
#include "api/rest/api.h"
#include "api/rest/openapi.h"
#include "config/config.h"
#include "config/job_file.h"
#include "view/event_json.h"

namespace muster::api {
namespace {

namespace json = boost::json;

Result<ports::AuditFilter> audit_filter_of(const net::Request& request) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max() / 4;
  const auto since = query_int(request, "since_ms", 0, most, 0);
  if (!since) return since.error();
  const auto until = query_int(request, "until_ms", 0, most, -1);
  if (!until) return until.error();
  return ports::AuditFilter{.user = std::string(request.query_value("user")),
                            .verb = std::string(request.query_value("verb")),
                            .object = std::string(request.query_value("object")),
                            .since = Time{*since},
                            .until = *until < 0 ? Time::never() : Time{*until}};
}

Result<std::string> audit(const Backend& backend, const net::Request& request) {
  if (Status known = only_query(
          request, {"user", "verb", "object", "since_ms", "until_ms", "limit", "cursor"});
      !known)
    return known.error();
  const auto limit = query_int(request, "limit", 1, ports::page_max, 100);
  if (!limit) return limit.error();
  const auto before = query_cursor(request);
  if (!before) return before.error();
  const auto filter = audit_filter_of(request);
  if (!filter) return filter.error();
  const auto page = backend.store.audit(*filter, *before, static_cast<std::size_t>(*limit));
  if (!page) return page.error();
  json::array rows;
  for (const ports::AuditRow& row : page->rows) {
    rows.push_back(json::object{{"number", row.number},
                                {"at_ms", row.at.ms},
                                {"user", row.user},
                                {"request_id", row.request},
                                {"verb", row.verb},
                                {"object", row.object},
                                {"detail", row.detail}});
  }
  return fmt::format("{{\"rows\":{},\"next\":{}}}", json::serialize(rows), next_json(page->next));
}

json::object info(const Backend& backend, const net::Request& request) {
  const std::shared_ptr<const Settings> settings = backend.settings();
  const Settings& s = *settings;
  return {{"version", s.version},
          {"user", view::valid_utf8(user_of(request))},
          {"now_ms", backend.clock().ms},
          {"limits", json::object{{"jobs_per_submit", s.jobs_per_submit},
                                  {"request_bytes", s.request_bytes}}},
          {"defaults", json::object{{"queue", s.default_queue}, {"priority", s.default_priority}}}};
}

/// With `world=true` also what the books come to, to be compared before and after a restart.
void answer_info(Backend& backend, const CallPtr& call) {
  const auto world = query_bool(call->request, "world", false);
  if (!world) {
    call->answer(world.error());
    return;
  }
  json::object out = info(backend, call->request);
  if (!*world) {
    call->answer(200, json::serialize(out));
    return;
  }
  read(backend.runner.reads(), call,
       [out = std::move(out)](const sched::World& books, sched::Agenda&, const sched::Policy&,
                              Time) -> Result<std::string> {
         json::object whole = out;
         whole["world"] = json::object{{"hash", fmt::format("{:016x}", books.books_hash())},
                                       {"jobs", books.live_jobs()},
                                       {"waiting", books.waiting()}};
         return json::serialize(whole);
       });
}

net::Response ready(const Backend& backend) {
  std::optional<std::string> waits = backend.not_ready();
  if (!waits && backend.runner.requests().store_refusal()) waits = "the store takes no writes";
  net::Response response = net::json_response(
      waits ? 503 : 200,
      json::serialize(json::object{{"ready", !waits}, {"text", waits.value_or("ready")}}));
  if (waits) response.headers.set("Retry-After", "1");
  return response;
}

net::AnswerNow document(std::string text) {
  return [bytes = net::share(std::move(text))](const net::Request&) {
    return net::json_response(200, bytes);
  };
}

}  // namespace

void add_server_routes(net::Router& router, Backend& backend) {
  router.add("GET", "/healthz", net::AnswerNow([](const net::Request&) {
               return net::Response{200, {{"Content-Type", "text/plain"}}, "ok\n"};
             }));
  router.add("GET", "/readyz",
             net::AnswerNow([&backend](const net::Request&) { return ready(backend); }));
  const std::string base = "/api/muster/v1";
  add_route(router, "GET", "/info",
            [&backend](const CallPtr& call) { answer_info(backend, call); });
  router.add("GET", base + "/openapi.json", document(std::string(openapi_json())));
  router.add("GET", base + "/schemas/job.json", document(config::job_schema()));
  router.add("GET", base + "/schemas/config.json", document(config::config_schema()));
  add_route(router, "GET", "/audit", [&backend](const CallPtr& call) {
    on_worker(backend.work, call, [&backend, call]() -> Status {
      call->answer(audit(backend, call->request));
      return Ok{};
    });
  });
}

}  // namespace muster::api
