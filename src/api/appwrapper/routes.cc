#include "api/appwrapper/routes.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/rest/call.h"

namespace muster::api {

namespace {

namespace json = boost::json;

json::object json_of(const WrapperRow& row) {
  json::object made = {{"namespace", row.key.ns},
                       {"name", row.key.name},
                       {"version", row.is_v1beta2 ? "v1beta2" : "v1beta1"},
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
  if (row.key.group == WrapperGroup::McadIbm) made["group"] = "mcad.ibm.com";
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

void list(AppWrapperHub* hub, const CallPtr& call) {
  if (hub == nullptr) {
    call->answer(200, R"({"appwrappers":[],"warnings":["the server takes no AppWrappers: its )"
                      R"(configuration has no `appwrappers`"]})");
    return;
  }
  const auto ns = call->request.query.find("namespace");
  hub->list(ns == call->request.query.end() ? "" : ns->second,
            [call](const std::vector<WrapperRow>& rows) {
              json::array all;
              for (const WrapperRow& row : rows) all.push_back(json_of(row));
              call->answer(200, json::serialize(json::object{{"appwrappers", std::move(all)}}));
            });
}

void show(AppWrapperHub* hub, control::Reads& reads, const CallPtr& call) {
  const std::string ns(call->request.param("namespace"));
  const std::string name(call->request.param("name"));
  const Error unknown{Fault::NotFound, fmt::format("there is no AppWrapper {}/{}", ns, name)};
  if (hub == nullptr) return call->answer(unknown);
  hub->list(ns, [&reads, call, name, unknown](const std::vector<WrapperRow>& rows) {
    const auto at = std::find_if(rows.begin(), rows.end(),
                                 [&](const WrapperRow& row) { return row.key.name == name; });
    if (at == rows.end()) return call->answer(unknown);
    read(reads, call,
         [row = *at](const sched::World& world, const sched::Agenda&, const sched::Policy&,
                     Time) -> Result<std::string> {
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
