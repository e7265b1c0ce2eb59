#include "apps/muster/serve/startup_gate.h"

#include <fmt/format.h>

#include <utility>

#include "api/rest/answers.h"

namespace muster::app {

std::string grouped(std::uint64_t number) {
  std::string text = fmt::format("{}", number);
  for (std::size_t at = text.size(); at > 3;) {
    at -= 3;
    text.insert(at, ",");
  }
  return text;
}

void StartupGate::set_progress(control::RecoveryProgress progress) {
  done_ = progress.done;
  total_ = progress.total;
}

void StartupGate::open(net::Handler handler) {
  handler_ = std::move(handler);
  is_open_.store(true, std::memory_order_release);
}

std::string StartupGate::text() const {
  return fmt::format("recovering: {} of {} entries", grouped(done_), grouped(total_));
}

void StartupGate::handle(net::Request request, net::Responder responder) const {
  if (is_open_.load(std::memory_order_acquire)) {
    handler_(std::move(request), std::move(responder));
    return;
  }
  if (request.path == "/healthz") {
    responder.send({200, {{"Content-Type", "text/plain"}}, "ok\n"});
    return;
  }
  if (request.path == "/readyz") {
    net::Response response =
        net::json_response(503, fmt::format(R"({{"ready":false,"text":"{}"}})", text()));
    response.headers.set("Retry-After", "1");
    responder.send(std::move(response));
    return;
  }
  responder.send(api::fail(request, {.status = 503,
                                     .message = "the server is starting: " + text(),
                                     .fix = "ask again in a second",
                                     .retry_after_s = 1}));
}

}  // namespace muster::app
