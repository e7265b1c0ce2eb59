// POST /jobs and POST /jobs/{job}/retry.
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/json.hpp>
#include <utility>

#include "api/rest/answers.h"
#include "api/rest/api.h"
#include "base/hash.h"
#include "view/state_word.h"

namespace muster::api {
namespace {

namespace json = boost::json;

constexpr std::size_t key_most = 200;

config::JobOptions job_options(const Backend& backend) {
  const std::shared_ptr<const Settings> settings = backend.settings();
  config::JobOptions options;
  options.default_queue = settings->default_queue;
  options.default_priority = settings->default_priority;
  options.now = backend.clock();
  options.limits.bytes = settings->request_bytes;
  options.limits.jobs = settings->jobs_per_submit;
  return options;
}

bool is_yaml(std::string_view type) { return type.find("yaml") != std::string_view::npos; }

/// {"file": "...", "set": {...}}: none if the body is not of that form.
std::optional<config::JobFile> read_file_form(const std::string& body, config::JobOptions options) {
  if (body.find("\"file\"") == std::string::npos) return std::nullopt;
  boost::system::error_code wrong;
  const json::value value = json::parse(body, wrong);
  const json::object* form = value.if_object();
  if (wrong || form == nullptr || !form->contains("file")) return std::nullopt;
  const json::string* file = form->at("file").if_string();
  if (file == nullptr) return std::nullopt;
  if (const json::value* set = form->if_contains("set"); set != nullptr && set->is_object()) {
    for (const auto& [name, text] : set->get_object())
      options.set[std::string(name)] =
          text.is_string() ? std::string(text.get_string()) : json::serialize(text);
  }
  return config::read_job_file(std::string_view(file->data(), file->size()), options);
}

config::JobFile read_jobs(const net::Request& request, const config::JobOptions& options) {
  if (is_yaml(request.headers.get("Content-Type")))
    return config::read_job_file(request.body, options);
  if (auto file = read_file_form(request.body, options)) return std::move(*file);
  return config::read_job_json(request.body, options);
}

std::string ids_json(const Submitted& submitted) {
  json::array ids;
  for (const std::string& id : submitted.ids) ids.emplace_back(id);
  json::object out{{"ids", std::move(ids)}};
  if (submitted.repeated) out["repeated"] = true;
  return json::serialize(out);
}

std::string dry_run(const config::JobFile& file) {
  std::string jobs;
  for (const config::Submission& job : file.jobs) {
    if (!jobs.empty()) jobs += ",";
    jobs += config::to_json(job);
  }
  return fmt::format("{{\"ids\":[],\"jobs\":[{}]}}", jobs);
}

void too_busy(const CallPtr& call, const std::string& message) {
  call->responder.send(fail(call->request, {.status = 429,
                                            .message = message,
                                            .fix = "send it again later, with the same "
                                                   "Idempotency-Key",
                                            .retry_after_s = 1}));
}

bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

enum class Output { NobodyLooks, Followed };

/// Whoever follows a job's output wants it to run: simulated clusters are left out as long as
/// another could take it, unless it was sent there by name.
void leave_out_simulated(const Settings& settings, config::Submission& job) {
  const model::Gang& gang = job.spec.gang;
  if (!gang.clusters.empty() || !gang.pool.empty()) return;
  std::vector<std::string>& unfit = job.unfit_clusters;
  const bool could_run = std::any_of(
      settings.clusters.begin(), settings.clusters.end(), [&](const std::string& cluster) {
        return !has(settings.simulated, cluster) && !has(unfit, cluster) &&
               !has(gang.excluded_clusters, cluster);
      });
  if (could_run) unfit.insert(unfit.end(), settings.simulated.begin(), settings.simulated.end());
}

/// Images run where containers do, and commands without one where there is one for them. A job that
/// no cluster of today can run would wait for nothing that is going to come.
Status find_unfit(const Settings& settings, config::Submission& job, Output output) {
  std::vector<std::string>& unfit = job.unfit_clusters;
  if (model::needs_containers(job.command)) unfit = settings.without_containers;
  if (model::needs_default_image(job.command)) {
    unfit.insert(unfit.end(), settings.without_image.begin(), settings.without_image.end());
  }
  if (output == Output::Followed) leave_out_simulated(settings, job);
  if (unfit.empty()) return Ok{};
  const std::vector<std::string>& pins = job.spec.gang.clusters;
  const std::vector<std::string>& allowed = pins.empty() ? settings.clusters : pins;
  if (!std::all_of(allowed.begin(), allowed.end(),
                   [&](const std::string& cluster) { return has(unfit, cluster); }))
    return Ok{};
  const bool lacks_image = has(settings.without_image, allowed.front());
  return invalid(fmt::format(
      "{}: {}; {}", lacks_image || job.command.objects.empty() ? "image" : "objects",
      lacks_image ? fmt::format("cluster {} has none for commands", fmt::join(allowed, ", "))
                  : fmt::format("cluster {} runs no containers", fmt::join(allowed, ", ")),
      lacks_image ? "name one" : "choose a cluster that does, or drop it"));
}

/// What can be said against the jobs without asking the world.
Status check_alone(const Settings& settings, std::vector<config::Submission>& jobs, Output output) {
  for (config::Submission& job : jobs) {
    // Whoever names an owner could have others' objects deleted with it.
    if (job.command.hub) return invalid("hub: is written by the server; drop it");
    if (Status fits = find_unfit(settings, job, output); !fits) return fits;
  }
  return Ok{};
}

/// It answers by itself.
void hand_on(Backend& backend, const CallPtr& call, Submit submit,
             Output output = Output::NobodyLooks) {
  const std::shared_ptr<const Settings> settings = backend.settings();
  if (const Status may = check_alone(*settings, submit.jobs, output); !may) {
    call->answer(may.error());
    return;
  }
  submit.unplaced_most = static_cast<std::size_t>(settings->waiting_jobs);
  // The loop has the right number; a flood is turned away before anything is written for it.
  const std::size_t waiting = backend.runner.numbers().unplaced;
  if (waiting + submit.jobs.size() > submit.unplaced_most) {
    too_busy(call, fmt::format("{} jobs wait already", waiting));
    return;
  }
  backend.submitter.submit(std::move(submit), [call](SubmitOutcome outcome) {
    if (outcome.busy) {
      too_busy(call, outcome.result.error().message);
    } else if (!outcome.result) {
      call->answer(outcome.result.error());
    } else {
      call->answer(outcome.result->repeated ? 200 : 201, ids_json(*outcome.result));
    }
  });
}

/// Judged as a submit, by the world as it is, and nothing is kept.
Status try_submit(Backend& backend, const CallPtr& call, config::JobFile file, Output output) {
  std::string answer = dry_run(file);
  if (Status may = check_alone(*backend.settings(), file.jobs, output); !may) return may;
  const FinishedJobs finished = finished_among(backend.store, file.jobs);
  std::vector<std::string> ids;
  for (std::size_t i = 0; i < file.jobs.size(); ++i) ids.push_back(fmt::format("jobs[{}]", i));
  config::give_ids(file.jobs, ids);
  std::vector<model::JobSpec> specs;
  for (config::Submission& job : file.jobs) specs.push_back(std::move(job.spec));
  read(backend.runner.reads(), call,
       [answer = std::move(answer), finished, specs = std::move(specs)](
           const sched::World& world, sched::Agenda&, const sched::Policy&,
           Time) mutable -> Result<std::string> {
         if (Status may = check_jobs(world, specs, finished); !may) return may.error();
         return std::move(answer);
       });
  return Ok{};
}

/// On a worker, as what follows.
Status take_submit(Backend& backend, const CallPtr& call) {
  const net::Request& request = call->request;
  const std::string key(request.headers.get("Idempotency-Key"));
  if (key.size() > key_most)
    return invalid(fmt::format("idempotency_key: longer than {} bytes", key_most));
  if (Status known = only_query(request, {"dry_run", "followed"}); !known) return known;
  const auto dry = query_bool(request, "dry_run", false);
  if (!dry) return dry.error();
  const auto followed = query_bool(request, "followed", false);
  if (!followed) return followed.error();
  config::JobFile file = read_jobs(request, job_options(backend));
  if (!file.ok()) {
    call->responder.send(fail(request, file.problems));
    return Ok{};
  }
  if (file.jobs.empty()) return invalid("jobs: there is none in the body");
  const Output output = *followed ? Output::Followed : Output::NobodyLooks;
  if (*dry) return try_submit(backend, call, std::move(file), output);
  Submit submit{std::move(file.jobs), user_of(request), request.id, key, {}};
  if (!key.empty()) {
    submit.body_hash =
        fmt::format("{:016x}", Hasher().add(request.target).add(request.body).value());
    const auto seen = backend.store.submit_key(submit.user, key, backend.clock());
    if (!seen) return seen.error();
    if (*seen && (*seen)->request_hash != submit.body_hash)
      return Error{Fault::Conflict, "this Idempotency-Key was used for another submit"};
    if (*seen) {
      call->answer(200, ids_json({(*seen)->jobs, true}));
      return Ok{};
    }
  }
  hand_on(backend, call, std::move(submit), output);
  return Ok{};
}

Status take_retry(Backend& backend, const CallPtr& call) {
  const auto row = backend.store.job(call->request.param("job"));
  if (!row) return row.error();
  if (!model::is_final(row->state)) {
    call->responder.send(
        fail(call->request, {.status = 409,
                             .message = fmt::format("job {} is {}, not finished", row->id,
                                                    view::state_word(row->state)),
                             .fix = "cancel it first, or wait for its end"}));
    return Ok{};
  }
  const auto document = backend.store.payload(row->payload);
  if (!document) return document.error();
  config::JobFile file = config::read_job_json(*document, job_options(backend));
  if (!file.ok()) {
    call->responder.send(fail(call->request, file.problems));
    return Ok{};
  }
  for (config::Submission& job : file.jobs) {
    job.spec.queue = row->queue;
    job.spec.priority = row->priority;
  }
  hand_on(backend, call,
          {std::move(file.jobs), user_of(call->request), call->request.id, "", "", "retry"});
  return Ok{};
}

}  // namespace

void add_submit_routes(net::Router& router, Backend& backend) {
  add_route(router, "POST", "/jobs", [&backend](const CallPtr& call) {
    on_worker(backend.work, call, [&backend, call] { return take_submit(backend, call); });
  });
  add_route(router, "POST", "/jobs/{job}/retry", [&backend](const CallPtr& call) {
    on_worker(backend.work, call, [&backend, call] { return take_retry(backend, call); });
  });
}

}  // namespace muster::api
