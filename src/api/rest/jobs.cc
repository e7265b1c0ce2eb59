// Jobs: list, show, change, cancel, hold, release, checkpoint.
#include <algorithm>
#include <boost/json.hpp>
#include <utility>

#include "api/rest/answers.h"
#include "api/rest/api.h"
#include "api/rest/job_queues.h"
#include "base/text.h"
#include "net/url.h"
#include "sched/plan.h"
#include "sched/whatif.h"
#include "view/event_json.h"
#include "view/json.h"
#include "view/state_word.h"

namespace muster::api {
namespace {

namespace json = boost::json;
using model::JobState;

constexpr std::size_t labels_most = 16;  // in a filter

// ---- list

Result<std::vector<JobState>> states_of(std::string_view text) {
  std::vector<JobState> states;
  if (text.empty()) return states;
  for (const std::string_view word : split(text, ',')) {
    const auto all = model::all_states();
    const auto it = std::find_if(all.begin(), all.end(), [&](JobState state) {
      return net::equals_ignoring_case(model::to_text(state), word);
    });
    if (it == all.end())
      return invalid(
          fmt::format("state: \"{}\" is none of Held, Waiting, Starting, Running, "
                      "Stopping, Succeeded, Failed, Cancelled",
                      word));
    states.push_back(*it);
  }
  return states;
}

/// Of each `label=key=value` of the query: a job must have them all.
Result<model::Labels> labels_of(const net::Request& request) {
  model::Labels labels;
  const std::size_t mark = request.target.find('?');
  if (mark == std::string::npos) return labels;
  const auto pairs = net::parse_query(std::string_view(request.target).substr(mark + 1));
  if (!pairs) return pairs.error();
  for (const auto& [name, text] : *pairs) {
    if (name != "label") continue;
    const std::size_t equals = text.find('=');
    if (equals == 0 || equals == std::string::npos)
      return invalid(fmt::format("label: \"{}\" is not key=value", text));
    if (labels.size() >= labels_most) return invalid("label: too many of them");
    const std::string value = text.substr(equals + 1);
    const auto [at, is_new] = labels.emplace(text.substr(0, equals), value);
    if (!is_new && at->second != value)
      return invalid(fmt::format("label: {} cannot have two values", at->first));
  }
  return labels;
}

Result<std::string> list(const Backend& backend, const net::Request& request) {
  if (Status known = only_query(
          request, {"state", "queue", "user", "cluster", "name", "label", "limit", "cursor"});
      !known)
    return known.error();
  auto states = states_of(request.query_value("state"));
  if (!states) return states.error();
  const auto limit = query_int(request, "limit", 1, ports::page_max, 100);
  if (!limit) return limit.error();
  const auto before = query_cursor(request);
  if (!before) return before.error();
  auto labels = labels_of(request);
  if (!labels) return labels.error();
  const ports::JobFilter filter{std::move(*states),
                                std::string(request.query_value("queue")),
                                std::string(request.query_value("user")),
                                std::string(request.query_value("cluster")),
                                std::string(request.query_value("name")),
                                std::move(*labels)};
  const auto page = backend.store.jobs(filter, *before, static_cast<std::size_t>(*limit));
  if (!page) return page.error();
  std::string out = "{\"jobs\":[";
  for (std::size_t i = 0; i < page->jobs.size(); ++i) {
    if (i > 0) out += ',';
    out += view::job_row_json(page->jobs[i]);
  }
  out += fmt::format("],\"next\":{}}}", next_json(page->next));
  return out;
}

// ---- show

/// A JSON object with more members at its end.
std::string with_members(std::string object, std::string_view members) {
  object.pop_back();
  object += members;
  return object + "}";
}

constexpr std::size_t notes_shown = 10;
constexpr std::int64_t notes_most = 1000;
constexpr std::string_view finished_members =
    R"(,"placement":null,"nodes":[],"verdict":null,"estimate":null)";

/// The engine does not keep in which pool it was placed, the row does: `pool`, empty for none.
std::string placement_json(const sched::World& world, const sched::Active& active,
                           std::string_view pool) {
  json::array pods;
  for (const sched::PodOn& pod : active.pods) {
    const model::NodeSpec& node = world.fleet.node(pod.node).spec;
    json::object place{{"set", pod.set}, {"node", node.name}};
    if (pod.devices != 0) {
      json::array devices;
      for (int bit = 0; bit < 32; ++bit) {
        if ((pod.devices >> bit) & 1u) devices.emplace_back(bit);
      }
      place["gpu_type"] = node.gpu_type;
      place["devices"] = std::move(devices);
      place["each"] = model::quantity_text(pod.each, model::Scale::Milli);
    }
    pods.push_back(std::move(place));
  }
  json::object placement{{"cluster", world.fleet.cluster(active.cluster).spec.name}};
  if (!pool.empty()) placement["pool"] = view::valid_utf8(pool);
  placement["pods"] = std::move(pods);
  return json::serialize(placement);
}

std::string document_of(const Backend& backend, const model::JobRow& row) {
  if (row.payload.empty()) return "";
  const auto document = backend.store.payload(row.payload);
  return document ? ",\"document\":" + *document : "";
}

/// What only the world knows of a job that is not finished: its placement, or why it waits and when
/// it will start.
std::string live_members(sched::World& world, sched::Agenda& agenda, const sched::Policy& policy,
                         sched::JobSlot slot, const model::JobRow& kept, Time now) {
  view::JobRow row{slot, {}, {}};
  const sched::Job& job = world.job(slot);
  if (job.state == JobState::Held) row.why = sched::verdict(world, agenda, slot, now);
  if (job.state == JobState::Waiting) {
    row.why = sched::fresh_verdict(world, agenda, policy, slot, now);
    row.estimate = sched::expected_start(world, agenda, policy, slot, now);
  }
  // Of another attempt it would be another's pool.
  const std::string_view pool = job.attempt == kept.attempt ? kept.pool : std::string_view();
  return fmt::format(",\"placement\":{},{}",
                     job.active ? placement_json(world, *job.active, pool) : "null",
                     view::live_members_json(world, row, now));
}

/// The row, the document and the newest notes from the stores, the rest from the world.
Status show(Backend& backend, const CallPtr& call) {
  const auto row = backend.store.job(call->request.param("job"));
  if (!row) return row.error();
  std::string text = with_members(view::job_row_json(*row), document_of(backend, *row));
  const auto notes = backend.notes.of(row->id, row->attempt, notes_shown);
  if (notes) text = with_members(text, fmt::format(",\"notes\":{}", view::notes_json(*notes)));
  if (model::is_final(row->state)) {
    call->answer(200, with_members(std::move(text), finished_members));
    return Ok{};
  }
  read(backend.runner.reads(), call,
       [kept = *row, text](sched::World& world, sched::Agenda& agenda, const sched::Policy& policy,
                           Time now) -> Result<std::string> {
         const sched::JobSlot slot = world.find_job(kept.id);
         if (slot.is_none()) return with_members(text, finished_members);
         return with_members(text, live_members(world, agenda, policy, slot, kept, now));
       });
  return Ok{};
}

Status show_notes(Backend& backend, const CallPtr& call) {
  if (Status known = only_query(call->request, {"attempt", "limit"}); !known) return known;
  const auto attempt = query_int(call->request, "attempt", 1, 1'000'000'000, 0);
  if (!attempt) return attempt.error();
  const auto limit = query_int(call->request, "limit", 1, notes_most, 100);
  if (!limit) return limit.error();
  const auto row = backend.store.job(call->request.param("job"));
  if (!row) return row.error();
  std::optional<std::uint32_t> of_one;
  if (*attempt > 0) of_one = static_cast<std::uint32_t>(*attempt);
  const auto notes = backend.notes.of(row->id, of_one, static_cast<std::size_t>(*limit));
  if (!notes) return notes.error();
  call->answer(200, fmt::format(R"({{"notes":{}}})", view::notes_json(*notes)));
  return Ok{};
}

// ---- change

/// What a verb does to a job in this state: the events, or why not.
using Change =
    std::function<Result<std::vector<model::EventBody>>(const sched::World&, const sched::Job&)>;

Error conflict(const sched::Job& job, std::string_view what) {
  return {Fault::Conflict,
          fmt::format("job {} is {}: {}", job.id, view::state_word(job.state), what)};
}

/// Answers with the job's row once the change is durable.
void change_job(Backend& backend, const CallPtr& call, std::string verb, std::string detail,
                Change work) {
  std::string id(call->request.param("job"));
  // By the engine: it is only in the tables, if it ever was.
  const auto forgotten = std::make_shared<bool>(false);
  const bool ends = verb == "cancel";
  change(
      backend.runner.requests(), call,
      [id, forgotten, audit = audit_row(call->request, std::move(verb), id, std::move(detail)),
       work = std::move(work)](const sched::World& world, Time) -> Result<control::Asked> {
        const sched::JobSlot slot = world.find_job(id);
        if (slot.is_none()) {
          *forgotten = true;
          return control::Asked{};
        }
        auto events = work(world, world.job(slot));
        if (!events) return events.error();
        control::Asked asked;
        if (!events->empty()) asked.audit.push_back(audit);
        asked.events = std::move(*events);
        return asked;
      },
      [&backend, call, id, forgotten, ends] {
        on_worker(backend.work, call, [&backend, call, id, forgotten, ends]() -> Status {
          const auto row = backend.store.job(id);
          if (!row) return row.error();
          if (*forgotten && !ends)
            return Error{Fault::Conflict, fmt::format("job {} is {}: it cannot be changed any more",
                                                      id, view::state_word(row->state))};
          call->answer(200, view::job_row_json(*row));
          return Ok{};
        });
      });
}

using Events = Result<std::vector<model::EventBody>>;
std::vector<model::EventBody> one(model::EventBody body) {
  std::vector<model::EventBody> events;
  events.push_back(std::move(body));
  return events;
}

Events cancel(const sched::World&, const sched::Job& job) {
  if (model::is_final(job.state)) return std::vector<model::EventBody>{};
  return one(model::JobCancelled{job.id});
}
/// Work is not lost by accident: what runs is stopped only when that is asked for.
Events hold(const sched::Job& job, bool stops) {
  if (job.state == JobState::Held || (job.active && job.active->held))
    return std::vector<model::EventBody>{};
  const bool ends =
      job.active && (job.active->cancelled ||
                     (job.active->stopping && job.active->stop == model::StopWhy::RunLimit));
  if (ends) return conflict(job, "it is being stopped for good");
  if (job.active && !stops)
    return conflict(job,
                    "only a waiting job can be held; with stop (`muster hold --stop`) it is "
                    "stopped first, and starts over when it is released");
  if (!job.active && job.state != JobState::Waiting)
    return conflict(job, "it cannot be held any more");
  return one(model::JobHeld{job.id, stops});
}
Events release(const sched::World&, const sched::Job& job) {
  if (job.active && job.active->held) return one(model::JobReleased{job.id});
  if (job.state == JobState::Waiting) return std::vector<model::EventBody>{};
  if (job.state != JobState::Held) return conflict(job, "only a held job can be released");
  return one(model::JobReleased{job.id});
}
/// Its owner says that what it did until now is saved: from now on it has less to lose.
Events checkpoint(const sched::World&, const sched::Job& job) {
  if (job.state != JobState::Running) return conflict(job, "only a running job has work to save");
  return one(model::Checkpointed{job.id});
}

/// What PATCH asks for.
struct Patch {
  std::optional<int> priority;
  std::optional<std::string> queue;
};

Result<Patch> patch_of(const std::string& body) {
  boost::system::error_code wrong;
  const json::value value = json::parse(body, wrong);
  const json::object* object = value.if_object();
  if (wrong || object == nullptr)
    return invalid("the body is not a JSON object with priority or queue");
  Patch patch;
  for (const auto& [name, field] : *object) {
    if (name == "priority") {
      const std::int64_t* number = field.if_int64();
      if (number == nullptr || *number < model::priority_min || *number > model::priority_max)
        return invalid(fmt::format("priority: not a number from {} to {}", model::priority_min,
                                   model::priority_max));
      patch.priority = static_cast<int>(*number);
    } else if (name == "queue") {
      if (!field.is_string() || field.get_string().empty())
        return invalid("queue: not the name of a queue");
      patch.queue = std::string(field.get_string());
    } else {
      return invalid(fmt::format("{}: a job's priority and queue can be changed, nothing else",
                                 std::string(name)));
    }
  }
  if (!patch.priority && !patch.queue) return invalid("priority: neither it nor queue is given");
  return patch;
}

Events apply_patch(const Patch& patch, const sched::World& world, const sched::Job& job) {
  if (model::is_final(job.state)) return conflict(job, "it cannot be changed any more");
  std::vector<model::EventBody> events;
  if (patch.queue) {
    if (Status there = check_queue(world, *patch.queue); !there) return there.error();
    if (job.active) return conflict(job, "its queue can be changed while it waits only");
    if (world.quota.find(*patch.queue) != job.queue)
      events.emplace_back(model::QueueChanged{job.id, *patch.queue});
  }
  if (patch.priority && *patch.priority != job.priority)
    events.emplace_back(model::PriorityChanged{job.id, *patch.priority});
  return events;
}

void patch_job(Backend& backend, const CallPtr& call) {
  const auto patch = patch_of(call->request.body);
  if (!patch) {
    call->answer(patch.error());
    return;
  }
  std::string detail;
  if (patch->priority) detail += fmt::format("priority {}", *patch->priority);
  if (patch->queue) detail += fmt::format("{}queue {}", detail.empty() ? "" : ", ", *patch->queue);
  change_job(backend, call, "change", std::move(detail),
             [patch = *patch](const sched::World& world, const sched::Job& job) {
               return apply_patch(patch, world, job);
             });
}

void hold_job(Backend& backend, const CallPtr& call) {
  const auto stops = query_bool(call->request, "stop", false);
  const Status known = only_query(call->request, {"stop"});
  if (!stops || !known) {
    call->answer(stops ? known.error() : stops.error());
    return;
  }
  change_job(
      backend, call, "hold", *stops ? "stop" : "",
      [stops = *stops](const sched::World&, const sched::Job& job) { return hold(job, stops); });
}

}  // namespace

void add_job_routes(net::Router& router, Backend& backend) {
  add_route(router, "GET", "/jobs", [&backend](const CallPtr& call) {
    on_worker(backend.work, call, [&backend, call]() -> Status {
      call->answer(list(backend, call->request));
      return Ok{};
    });
  });
  add_route(router, "GET", "/jobs/{job}", [&backend](const CallPtr& call) {
    on_worker(backend.work, call, [&backend, call] { return show(backend, call); });
  });
  add_route(router, "GET", "/jobs/{job}/notes", [&backend](const CallPtr& call) {
    on_worker(backend.work, call, [&backend, call] { return show_notes(backend, call); });
  });
  add_route(router, "PATCH", "/jobs/{job}",
            [&backend](const CallPtr& call) { patch_job(backend, call); });
  add_route(router, "POST", "/jobs/{job}/hold",
            [&backend](const CallPtr& call) { hold_job(backend, call); });
  const std::pair<const char*, Events (*)(const sched::World&, const sched::Job&)> verbs[] = {
      {"cancel", cancel}, {"release", release}, {"checkpoint", checkpoint}};
  for (const auto& [verb, work] : verbs) {
    add_route(
        router, "POST", fmt::format("/jobs/{{job}}/{}", verb),
        [&backend, verb, work](const CallPtr& call) { change_job(backend, call, verb, "", work); });
  }
}

}  // namespace muster::api
