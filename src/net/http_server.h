// An HTTP/1.1 server: plain, with TLS, or on a Unix socket; keep-alive and pipelining, chunked
// bodies both ways, streams (net/responder.h), limits on everything a client can make it hold.
//
// Each connection lives on one of a few I/O threads, which also call the handler: it must not
// wait, it takes its Responder elsewhere to answer later. Clients that send or take bytes too
// slowly are cut off; a client that sends a bad request is told why in JSON and then closed.
// stop() and the destructor must not be called from a handler. Other functions: any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "net/http.h"
#include "net/responder.h"
#include "net/router.h"
#include "net/tls.h"
#include "net/url.h"

namespace muster::net {

/// One answered request, for a log line and for metrics. Called on I/O threads.
struct Access {
  std::string method;  // "" when not even that was readable
  std::string target;
  std::string route;  // the pattern; "" when no route matched
  int status = 0;
  double seconds = 0;  // from the first byte of the request to the last of the answer
  std::uint64_t bytes_in = 0;
  std::uint64_t bytes_out = 0;
  std::string request_id;
  std::string remote_address;
  std::string user;
  std::string user_agent;
  std::optional<StreamEnd> stream_end;  // of a stream: how it ended
  bool client_gone = false;             // the answer could not be delivered whole
};

struct ServerOptions {
  std::vector<Address> listen = {{"127.0.0.1", 0, ""}};  // port 0: any free one
  std::optional<TlsServerOptions> tls = {};              // for all of them but Unix sockets
  int threads = 1;

  std::uint32_t header_bytes_max = 32U << 10;  // 431 beyond
  std::uint64_t body_bytes_max = 16U << 20;    // 413 beyond
  int connections_max = 20'000;                // 503 with Retry-After beyond

  Duration idle_timeout = seconds(75);        // between requests; closed without a word
  Duration header_timeout = seconds(10);      // for TLS and from first byte to end of headers: 408
  Duration body_timeout = seconds(60);        // for the whole body: 408
  Duration answer_timeout = minutes(2);       // for the handler: 503
  Duration write_timeout = seconds(30);       // a client that takes none of our bytes for so long
  Duration stream_gather = milliseconds(10);  // sends to streams within it become one write

  std::function<void(const Access&)> on_access = {};
};

struct ServerStats {
  std::int64_t connections = 0;  // now
  std::int64_t streams = 0;      // now
  std::uint64_t requests = 0;
  std::uint64_t refused_connections = 0;
  std::uint64_t dropped_streams = 0;  // too slow
};

class HttpServer {
 public:
  /// Listens when it returns. Errors name the address or the file.
  static Result<std::unique_ptr<HttpServer>> start(ServerOptions options, Handler handler);
  ~HttpServer();

  /// Of each entry of listen, with the port really taken.
  const std::vector<Address>& addresses() const;
  /// Port of the first TCP address; 0 if there is none.
  std::uint16_t port() const;
  /// "http://127.0.0.1:8080" of the first TCP address, an unspecified host written as localhost.
  std::string url() const;
  ServerStats stats() const;

  /// Reads the certificate files again, for connections to come. On an error the old ones stay.
  Status reload_tls();
  /// No new connections; idle ones and streams are ended, requests under way have the grace to be
  /// answered; then the rest is cut. Returns when all threads are gone. May be called again.
  void stop(Duration grace = seconds(5));

 private:
  class Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster::net
