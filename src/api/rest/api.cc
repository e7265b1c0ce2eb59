#include "api/rest/api.h"

#include <utility>

#include "api/rest/answers.h"

namespace muster::api {
namespace {

bool is_open_to_all(const std::string& path) { return path == "/healthz" || path == "/readyz"; }

}  // namespace

void on_worker(Backend& backend, const net::Request& request, const net::Responder& responder,
               std::function<net::Response()> work) {
  const bool taken =
      backend.workers.post([responder, work = std::move(work)] { responder.send(work()); });
  if (taken) return;
  responder.send(fail(request, {.status = 503,
                                .message = "too many requests wait for the store",
                                .fix = "ask again later",
                                .retry_after_s = 1}));
}

void on_loop(Backend& backend, const net::Request& request, const net::Responder& responder,
             control::ReadAsk ask) {
  net::Request short_request;  // what an error needs of it
  short_request.id = request.id;
  const bool taken = backend.runner.reads().put(
      {std::move(ask), [responder, short_request](Result<std::string> answer) {
         responder.send(answer ? net::json_response(200, std::move(*answer))
                               : fail(short_request, answer.error()));
       }});
  if (taken) return;
  responder.send(fail(request, {.status = 503,
                                .message = "too many questions wait for the engine",
                                .fix = "ask again later",
                                .retry_after_s = 1}));
}

net::Handler guard(const net::Router& router, Backend& backend) {
  return [&router, &backend](net::Request request, net::Responder responder) {
    request.headers.erase("X-Muster-User");
    if (!is_open_to_all(request.path)) {
      const Caller caller = backend.identify(request);
      if (caller.refused != 0) {
        responder.send(fail(request, {.status = caller.refused, .message = caller.message}));
        return;
      }
      responder.set_user(caller.user);
      request.headers.set("X-Muster-User", caller.user);
    }
    const net::Match match = router.match(request.method, request.segments);
    if (match.handler == nullptr && request.method != "OPTIONS") {
      const bool known = !match.allowed.empty();
      net::Response response =
          fail(request, {.status = known ? 405 : 404,
                         .message = known ? fmt::format("{} is not possible here: {}",
                                                        request.method, match.allowed)
                                          : fmt::format("there is nothing at {}", request.path)});
      if (known) response.headers.set("Allow", match.allowed);
      responder.send(std::move(response));
      return;
    }
    router.dispatch(std::move(request), std::move(responder));
  };
}

}  // namespace muster::api
