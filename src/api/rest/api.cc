#include "api/rest/api.h"

#include <utility>

#include "api/rest/answers.h"

namespace muster::api {
namespace {

bool is_open_to_all(const std::string& path) { return path == "/healthz" || path == "/readyz"; }

}  // namespace

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
