#include "api/rest/call.h"

#include <utility>

#include "api/rest/answers.h"

namespace muster::api {
namespace {

constexpr std::int64_t busy_retry_s = 1;

Fail too_busy() {
  return {429, "the server has too much to do; try again in a moment", "", "", busy_retry_s};
}
Fail unavailable(std::string message) { return {503, std::move(message), "", "", 1}; }

}  // namespace

void Call::answer(int status, std::string json) const {
  responder.send(net::json_response(status, std::move(json)));
}
void Call::answer(const Error& error) const { responder.send(fail(request, error)); }
void Call::answer(const Result<std::string>& json) const {
  if (json) {
    answer(200, *json);
  } else {
    answer(json.error());
  }
}

CallPtr make_call(net::Request request, net::Responder responder) {
  return std::make_shared<const Call>(Call{std::move(request), std::move(responder)});
}

void on_worker(const Work& work, const CallPtr& call, std::function<Status()> task) {
  const bool taken = work([call, task = std::move(task)] {
    if (Status done = task(); !done) call->answer(done.error());
  });
  if (!taken) call->responder.send(fail(call->request, too_busy()));
}

void read(control::Reads& reads, const CallPtr& call, control::ReadAsk ask,
          std::function<void(Result<std::string>)> then) {
  if (!reads.put({std::move(ask), std::move(then)}))
    call->responder.send(fail(call->request, too_busy()));
}

void read(control::Reads& reads, const CallPtr& call, control::ReadAsk ask) {
  read(reads, call, std::move(ask),
       [call](const Result<std::string>& text) { call->answer(text); });
}

void change(control::Requests& requests, const CallPtr& call,
            std::function<Result<control::Asked>(const sched::World&, Time)> ask,
            std::function<void()> then) {
  control::Request request;
  request.ask = std::move(ask);
  request.done = [call, then = std::move(then)](const Result<control::Answer>& answer) {
    if (answer) {
      then();
    } else {
      call->answer(answer.error());
    }
  };
  switch (requests.put(std::move(request))) {
    case control::Requests::Put::Taken:
      return;
    case control::Requests::Put::Full:
      call->responder.send(fail(call->request, too_busy()));
      return;
    case control::Requests::Put::StoreRefuses: {
      const Error healed{Fault::Unavailable, "the store takes writes again: try again"};
      call->answer(requests.store_refusal().value_or(healed));
      return;
    }
    case control::Requests::Put::Closed:
      call->responder.send(fail(call->request, unavailable("the server is stopping")));
      return;
  }
}

void add_route(net::Router& router, std::string_view method, std::string_view path,
               std::function<void(const CallPtr&)> handle) {
  router.add(
      method, fmt::format("/api/muster/v1{}", path),
      net::Handler([handle = std::move(handle)](net::Request request, net::Responder responder) {
        handle(make_call(std::move(request), std::move(responder)));
      }));
}

ports::AuditRow audit_row(const net::Request& request, std::string verb, std::string object,
                          std::string detail) {
  return {.number = 0,
          .at = {},
          .user = user_of(request),
          .request = request.id,
          .verb = std::move(verb),
          .object = std::move(object),
          .detail = std::move(detail)};
}

}  // namespace muster::api
