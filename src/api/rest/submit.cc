// POST /jobs and POST /jobs/{job}/retry.
#include <boost/json.hpp>
#include <utility>

#include "api/rest/answers.h"
#include "api/rest/api.h"
#include "base/hash.h"

namespace muster::api {
namespace {

namespace json = boost::json;

constexpr std::size_t key_most = 200;

config::JobOptions job_options(const Backend& backend) {
  config::JobOptions options;
  options.default_queue = backend.settings.default_queue;
  options.default_priority = backend.settings.default_priority;
  options.now = backend.clock();
  options.limits.bytes = backend.settings.request_bytes;
  options.limits.jobs = backend.settings.jobs_per_submit;
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

net::Response dry_run(const config::JobFile& file) {
  std::string jobs;
  for (const config::Submission& job : file.jobs) {
    if (!jobs.empty()) jobs += ",";
    jobs += config::to_json(job);
  }
  return net::json_response(200, fmt::format("{{\"ids\":[],\"jobs\":[{}]}}", jobs));
}

net::Response too_busy(const net::Request& request, const std::string& message) {
  return fail(request, {.status = 429,
                        .message = message,
                        .fix = "send it again later, with the same Idempotency-Key",
                        .retry_after_s = 1});
}

void hand_on(Backend& backend, const net::Request& request, const net::Responder& responder,
             Submit submit) {
  net::Request short_request;
  short_request.id = request.id;
  backend.submitter.submit(std::move(submit), [responder, short_request](SubmitOutcome outcome) {
    if (outcome.busy) {
      responder.send(too_busy(short_request, outcome.result.error().message));
    } else if (!outcome.result) {
      responder.send(fail(short_request, outcome.result.error()));
    } else {
      responder.send(
          net::json_response(outcome.result->repeated ? 200 : 201, ids_json(*outcome.result)));
    }
  });
}

/// On a worker. None: it is on its way and answers by itself.
std::optional<net::Response> take_submit(Backend& backend, const net::Request& request,
                                         const net::Responder& responder) {
  const std::string key(request.headers.get("Idempotency-Key"));
  if (key.size() > key_most)
    return fail(request, invalid(fmt::format("idempotency_key: longer than {} bytes", key_most)));
  const auto dry = query_bool(request, "dry_run", false);
  if (!dry) return fail(request, dry.error());
  config::JobFile file = read_jobs(request, job_options(backend));
  if (!file.ok()) return fail(request, file.problems);
  if (*dry) return dry_run(file);
  if (file.jobs.empty()) return fail(request, invalid("jobs: there is none in the body"));
  const auto waiting = static_cast<std::int64_t>(backend.runner.numbers().waiting);
  if (waiting + static_cast<std::int64_t>(file.jobs.size()) > backend.settings.waiting_jobs)
    return too_busy(request, fmt::format("{} jobs wait already", waiting));
  Submit submit{std::move(file.jobs), user_of(request), request.id, key, {}};
  if (!key.empty()) {
    submit.body_hash =
        fmt::format("{:016x}", Hasher().add(request.target).add(request.body).value());
    const auto seen = backend.store.submit_key(submit.user, key, backend.clock());
    if (!seen) return fail(request, seen.error());
    if (*seen && (*seen)->request_hash != submit.body_hash)
      return fail(request,
                  Error{Fault::Conflict, "this Idempotency-Key was used for another submit"});
    if (*seen) return net::json_response(200, ids_json({(*seen)->jobs, true}));
  }
  hand_on(backend, request, responder, std::move(submit));
  return std::nullopt;
}

std::optional<net::Response> take_retry(Backend& backend, const net::Request& request,
                                        const net::Responder& responder) {
  const auto row = backend.store.job(request.param("job"));
  if (!row) return fail(request, row.error());
  if (!model::is_final(row->state))
    return fail(request, {.status = 409,
                          .message = fmt::format("job {} is {}, not finished", row->id,
                                                 model::to_text(row->state)),
                          .fix = "cancel it first, or wait for its end"});
  const auto document = backend.store.payload(row->payload);
  if (!document) return fail(request, document.error());
  config::JobFile file = config::read_job_json(*document, job_options(backend));
  if (!file.ok()) return fail(request, file.problems);
  for (config::Submission& job : file.jobs) {
    job.spec.queue = row->queue;
    job.spec.priority = row->priority;
  }
  hand_on(backend, request, responder,
          {std::move(file.jobs), user_of(request), request.id, "", "", "retry"});
  return std::nullopt;
}

using Take = std::optional<net::Response> (*)(Backend&, const net::Request&, const net::Responder&);

net::Handler on_workers(Backend& backend, Take take) {
  return [&backend, take](net::Request request, net::Responder responder) {
    const auto shared = std::make_shared<net::Request>(std::move(request));
    const bool taken = backend.workers.post([&backend, take, shared, responder] {
      if (auto response = take(backend, *shared, responder)) responder.send(std::move(*response));
    });
    if (!taken) responder.send(too_busy(*shared, "too many requests wait"));
  };
}

}  // namespace

void add_submit_routes(net::Router& router, Backend& backend) {
  router.add("POST", "/api/muster/v1/jobs", on_workers(backend, take_submit));
  router.add("POST", "/api/muster/v1/jobs/{job}/retry", on_workers(backend, take_retry));
}

}  // namespace muster::api
