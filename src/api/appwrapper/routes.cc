#include "api/appwrapper/routes.h"

#include <fmt/format.h>

#include <boost/json.hpp>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/rest/answers.h"
#include "api/rest/call.h"
#include "base/text.h"

namespace muster::api {

namespace {

namespace json = boost::json;

json::object json_of(const WrapperRow& row) {
  json::object made = {{"kind", row.key.kind},
                       {"namespace", row.key.ns},
                       {"name", row.key.name},
                       {"version", row.version},
                       {"state", row.state},
                       {"queue", row.queue},
                       {"reason", row.reason},
                       {"cluster", row.cluster},
                       {"job", row.job},
                       {"attempt", row.attempt},
                       {"priority", row.priority},
                       {"pods",
                        {{"pending", row.pods.pending},
                         {"running", row.pods.running},
                         {"succeeded", row.pods.succeeded},
                         {"failed", row.pods.failed}}}};
  if (!row.key.group.empty()) made["group"] = row.key.group;
  if (!row.trouble.empty()) made["trouble"] = row.trouble;
  if (!row.warnings.empty()) {
    json::array& all = made["warnings"].emplace_array();
    for (const std::string& one : row.warnings) all.emplace_back(one);
  }
  return made;
}

/// How many of its queue would be looked at before it, and itself; 0: it waits in no line.
std::size_t position_of(const sched::World& world, const std::string& id) {
  const sched::JobSlot slot = world.find_job(id);
  if (slot.is_none() || world.job(slot).state != model::JobState::Waiting) return 0;
  const sched::Job& job = world.job(slot);
  if (job.line.is_none()) return 0;  // it pauses before the next try, and stands in no line
  const sched::Line& mine = world.line(job.line);
  std::size_t before = 0;
  for (const sched::LineRank& rank : world.lines_of(mine.queue)) {
    const sched::Line& line = world.line(rank.line);
    if (line.priority < mine.priority) break;
    if (line.priority > mine.priority) {
      before += line.jobs.size();
      continue;
    }
    const auto end = line.jobs.lower_bound({job.seq, job.id});
    before += static_cast<std::size_t>(std::distance(line.jobs.begin(), end));
  }
  return before + 1;
}

constexpr std::int64_t page_most = 1000;
constexpr const char* takes_none =
    "the server takes no AppWrappers: its configuration has no `appwrappers`";

std::string cursor_of(const RowKey& key) {
  return fmt::format("{}/{}/{}/{}", key.kind, key.group, key.ns, key.name);
}
Result<RowKey> key_of(std::string_view cursor) {
  const std::vector<std::string_view> parts = split(cursor, '/');
  if (parts.size() != 4) return invalid("cursor: not the `next` of a page");
  return RowKey{std::string(parts[0]), std::string(parts[1]), std::string(parts[2]),
                std::string(parts[3])};
}

Result<WrapperFilter> filter_of(const net::Request& request) {
  const auto text = [&](const char* name) {
    const auto at = request.query.find(name);
    return at == request.query.end() ? std::string() : at->second;
  };
  WrapperFilter filter;
  filter.kind = text("kind");
  filter.ns = text("namespace");
  filter.name = text("name");
  filter.queue = text("queue");
  const std::string states = text("state");
  for (const std::string_view state : split(states, ',')) {
    if (!state.empty()) filter.states.emplace_back(state);
  }
  const auto limit = query_int(request, "limit", 1, page_most, page_most);
  if (!limit) return limit.error();
  filter.limit = static_cast<std::size_t>(*limit);
  if (const std::string cursor = text("cursor"); !cursor.empty()) {
    const auto key = key_of(cursor);
    if (!key) return key.error();
    filter.after = *key;
  }
  return filter;
}

void list(AppWrapperHub* hub, const CallPtr& call) {
  if (hub == nullptr) {
    const json::object none{{"appwrappers", json::array()}, {"warnings", {takes_none}}};
    return call->answer(200, json::serialize(none));
  }
  const auto filter = filter_of(call->request);
  if (!filter) return call->answer(filter.error());
  hub->list(*filter, [call](const WrapperPage& page) {
    json::array all;
    for (const WrapperRow& row : page.rows) all.push_back(json_of(row));
    json::object made{{"appwrappers", std::move(all)}};
    if (page.has_more) made["next"] = cursor_of(page.rows.back().key);
    if (!page.warning.empty()) made["warnings"] = json::array{json::string(page.warning)};
    call->answer(200, json::serialize(made));
  });
}

void show(AppWrapperHub* hub, control::Reads& reads, const CallPtr& call) {
  WrapperFilter filter;
  const auto kind = call->request.query.find("kind");
  if (kind != call->request.query.end()) filter.kind = kind->second;
  filter.ns = std::string(call->request.param("namespace"));
  filter.name = std::string(call->request.param("name"));
  filter.limit = 1;
  const Error unknown{Fault::NotFound, fmt::format("there is no {} {}/{}",
                                                   filter.kind.empty() ? wrapper_kind : filter.kind,
                                                   filter.ns, filter.name)};
  const auto unknown_as = [unknown](const std::string& why) {
    return Error{unknown.fault,
                 why.empty() ? unknown.message : fmt::format("{}: {}", unknown.message, why)};
  };
  const Error not_yet{Fault::Unavailable,
                      fmt::format("nobody knows {}/{} yet", filter.ns, filter.name)};
  if (hub == nullptr) return call->answer(unknown_as(takes_none));
  if (filter.ns.empty() || filter.name.empty()) return call->answer(unknown);
  hub->list(filter, [&reads, call, unknown_as, not_yet](const WrapperPage& page) {
    if (page.rows.empty() && page.is_early)
      return call->answer(Error{not_yet.fault, not_yet.message + ": " + page.warning});
    if (page.rows.empty()) return call->answer(unknown_as(page.warning));
    read(reads, call,
         [row = page.rows.front()](const sched::World& world, const sched::Agenda&,
                                   const sched::Policy&, Time) -> Result<std::string> {
           json::object made = json_of(row);
           if (const std::size_t position = position_of(world, row.job); position > 0)
             made["position"] = position;
           return json::serialize(made);
         });
  });
}

}  // namespace

void add_appwrapper_routes(net::Router& router, AppWrapperHub* hub, control::Reads& reads) {
  add_route(router, "GET", "/appwrappers", [hub](const CallPtr& call) { list(hub, call); });
  add_route(router, "GET", "/appwrappers/{namespace}/{name}",
            [hub, &reads](const CallPtr& call) { show(hub, reads, call); });
}

}  // namespace muster::api
