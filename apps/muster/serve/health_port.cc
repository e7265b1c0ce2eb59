#include "apps/muster/serve/health_port.h"

#include <utility>

#include "net/router.h"
#include "net/url.h"

namespace muster::app {

Result<std::unique_ptr<net::HttpServer>> open_health_port(const std::string& address) {
  const auto parsed = net::parse_address(address, "healthProbeListenAddr");
  if (!parsed) return parsed.error();
  net::ServerOptions options;
  options.listen = {*parsed};
  options.connections_max = 100;
  auto router = std::make_shared<net::Router>();
  router->add("GET", "/healthz", net::AnswerNow([](const net::Request&) {
                return net::Response{200, {{"Content-Type", "text/plain"}}, "ok\n"};
              }));
  return net::HttpServer::start(std::move(options),
                                [router](net::Request request, net::Responder responder) {
                                  router->dispatch(std::move(request), std::move(responder));
                                });
}

}  // namespace muster::app
