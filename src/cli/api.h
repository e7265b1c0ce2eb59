// The server's REST API as commands use it: paths below /api/muster/v1, JSON in and out, and every
// way of failing turned into one line with its fix. docs/openapi.json is the contract.
//
// Faults tell the exit code (cli/command.h): Invalid, NotFound and Conflict are the server's
// refusals; Unavailable: no server, or one that cannot now.
//
// Thread contract: one thread. Callbacks of follow run on it, too.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/contexts.h"
#include "cli/host.h"
#include "cli/json.h"
#include "net/http_client.h"
#include "net/sse.h"
#include "net/url.h"

namespace muster::cli {

struct Ask {
  std::string method = "GET";
  std::string path = {};  // "/jobs/7", its parts encoded with segment()
  net::QueryPairs query = {};
  json::value body = {};  // null: none
  net::Headers headers = {};
};

/// What a followed stream does next.
enum class Next { GoOn, Stop };

struct Follower {
  std::function<Next(const net::SseEvent&)> on_event;
  std::function<Next()> on_pause = {};  // now and then, also without events; may be empty
  bool resume = true;                   // come again when the connection breaks
};

class Api {
 public:
  static Result<Api> make(const Context& server, const Host& host);

  Result<json::value> get(std::string path, net::QueryPairs query = {});
  Result<json::value> post(std::string path, json::value body = {});
  /// An answer without a body reads as null.
  Result<json::value> send(const Ask& ask);
  /// The same, and again after the time the server asks for while it is too busy. For requests
  /// that may be repeated: those with an idempotency key.
  Result<json::value> send_patiently(const Ask& ask, int tries = 10);
  /// Server-sent events until the stream ends or somebody says stop.
  Status follow(const Ask& ask, const Follower& follower);

  /// A WebSocket with a client, and so an I/O thread, of its own: callbacks may wait for the
  /// command.
  struct Socket {
    std::unique_ptr<net::HttpClient> client;
    net::WebSocket socket;
    net::HttpClient::Call call;
  };
  Result<Socket> open_socket(const Ask& ask, net::WebSocketOptions options,
                             net::WebSocketCallbacks callbacks);
  /// Why a WebSocket did not come to be, or broke: what its on_close was told.
  Error socket_error(const Error& error, const net::Response& refusal) const;

  const std::string& url() const { return server_.url; }

 private:
  struct Answer {
    int status = 0;
    Duration retry_after;
    json::value body;
  };
  Api(Context server, const Host& host, std::unique_ptr<net::HttpClient> client)
      : server_(std::move(server)), host_(&host), client_(std::move(client)) {}
  net::ClientRequest request_of(const Ask& ask) const;
  Result<Answer> exchange(const Ask& ask);
  Error no_answer(const Error& error) const;
  Error refusal(int status, std::string_view body) const;
  struct Round;
  Result<bool> follow_once(const Ask& ask, const Follower& follower, std::string& last_id);

  Context server_;
  const Host* host_;
  std::unique_ptr<net::HttpClient> client_;
};

/// A name as one part of a path.
std::string segment(std::string_view name);

}  // namespace muster::cli
