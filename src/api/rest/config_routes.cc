// The configuration: what holds, what another would change, and the reload of the file.
#include <boost/json.hpp>
#include <utility>

#include "api/rest/admin_routes.h"
#include "api/rest/answers.h"
#include "api/rest/config_preview.h"

namespace muster::api {
namespace {

namespace json = boost::json;

/// A configuration that was read, beside the one that holds.
struct Candidate {
  config::Checked checked;
  config::Diff diff;  // empty if it has errors
};
using CandidatePtr = std::shared_ptr<const Candidate>;

CandidatePtr candidate_of(const AdminParts& parts, std::string_view yaml) {
  auto candidate = std::make_shared<Candidate>();
  candidate->checked = parts.check_config(yaml);
  if (candidate->checked.ok())
    candidate->diff = config::diff(*parts.config().config, candidate->checked.config);
  return candidate;
}

/// Counts on the loop whose jobs it affects and answers with the preview.
void preview(const AdminParts& parts, const CallPtr& call, const CandidatePtr& candidate,
             bool applied) {
  read(parts.reads, call,
       [candidate, applied](const sched::World& world, sched::Agenda&, const sched::Policy&,
                            Time) -> Result<std::string> {
         return preview_json(candidate->checked, candidate->diff,
                             affected_by(world, candidate->diff), applied);
       });
}

void show_config(const AdminParts& parts, const CallPtr& call) {
  const LoadedConfig loaded = parts.config();
  call->answer(200, json::serialize(json::object{
                        {"yaml", config::to_yaml(config::without_secrets(*loaded.config), true)},
                        {"path", loaded.path},
                        {"loaded_ms", loaded.loaded.ms}}));
}

void check_config(const AdminParts& parts, const CallPtr& call) {
  boost::system::error_code bad;
  const json::value parsed = json::parse(call->request.body, bad);
  const json::value* yaml =
      !bad && parsed.is_object() ? parsed.get_object().if_contains("yaml") : nullptr;
  if (yaml == nullptr || !yaml->is_string() || parsed.get_object().size() != 1) {
    call->answer(invalid("the body must be a JSON object {yaml} with the text"));
    return;
  }
  preview(parts, call, candidate_of(parts, std::string_view(yaml->get_string())), false);
}

/// The books first, then what the server itself must do. Whose jobs it affects is counted before
/// anything changes.
void apply(const AdminParts& parts, const CallPtr& call, const CandidatePtr& candidate) {
  const auto affected = std::make_shared<Affected>();
  change(
      parts.requests, call,
      [call, candidate, affected, notes = parts.notes()](const sched::World& world,
                                                         Time) -> Result<control::Asked> {
        *affected = affected_by(world, candidate->diff);
        control::Asked asked;
        asked.events = candidate->diff.events;
        keep_admissions(world, asked.events, notes);
        asked.audit.push_back(audit_row(call->request, "reload", "config",
                                        fmt::format("{} changes", candidate->diff.lines.size())));
        return asked;
      },
      [&parts, call, candidate, affected] {
        on_worker(parts.work, call, [&parts, call, candidate, affected] {
          Status done = parts.reload(candidate->checked.config, candidate->diff);
          if (done)
            call->answer(200, preview_json(candidate->checked, candidate->diff, *affected, true));
          return done;
        });
      });
}

void reload_config(const AdminParts& parts, const CallPtr& call) {
  const auto dry_run = query_bool(call->request, "dry_run", false);
  const Status known = only_query(call->request, {"dry_run"});
  if (!dry_run || !known) {
    call->answer(known ? dry_run.error() : known.error());
    return;
  }
  on_worker(parts.work, call, [&parts, call, dry_run = *dry_run]() -> Status {
    const Result<std::string> text = parts.read_config_file();
    if (!text) return text.error();
    const CandidatePtr candidate = candidate_of(parts, *text);
    if (!dry_run && !candidate->checked.ok()) {
      call->responder.send(fail(call->request, candidate->checked.problems));
    } else if (dry_run || candidate->diff.empty()) {
      preview(parts, call, candidate, !dry_run);
    } else {
      apply(parts, call, candidate);
    }
    return Ok{};
  });
}

}  // namespace

void add_config_routes(net::Router& router, const AdminParts& parts) {
  add_route(router, "GET", "/config", [&parts](const CallPtr& call) { show_config(parts, call); });
  add_route(router, "POST", "/config/check",
            [&parts](const CallPtr& call) { check_config(parts, call); });
  add_route(router, "POST", "/config/reload",
            [&parts](const CallPtr& call) { reload_config(parts, call); });
}

}  // namespace muster::api
