// A server on a free port of loopback with the routes of a test.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "net/http_server.h"
#include "net/testing/mailbox.h"
#include "net/testing/raw_client.h"

namespace muster::net::testing {

class Server {
 public:
  explicit Server(const std::function<void(Router&)>& fill, ServerOptions options = {}) {
    fill(router_);
    options.on_access = [this](const Access& access) { accesses.put(access); };
    auto started = HttpServer::start(std::move(options), [this](Request request, Responder answer) {
      router_.dispatch(std::move(request), std::move(answer));
    });
    MUSTER_CHECK(started.ok(), "{}", started.error().message);
    server_ = std::move(*started);
  }
  HttpServer* operator->() { return server_.get(); }
  std::string url(std::string_view path = "") { return server_->url() + std::string(path); }
  RawClient connect() { return RawClient(server_->port()); }
  /// One request on its own connection.
  std::string ask(std::string_view bytes) {
    RawClient client = connect();
    client.send(bytes);
    return client.read_response();
  }

  Mailbox<Access> accesses;

 private:
  Router router_;
  std::unique_ptr<HttpServer> server_;
};

}  // namespace muster::net::testing
