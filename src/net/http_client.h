// An HTTP/1.1 client: plain, TLS (with client certificates), Unix sockets, proxies; connections are
// kept and used again. Errors are sentences that name the server and, where there is one, the fix.
//
// One I/O thread per client does everything; all functions may be called from any thread, except
// that the blocking ones must not be called from a callback. Callbacks run on the I/O thread and
// hold it up while they run: whoever does not keep up with a stream slows down its sender.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "net/http.h"
#include "net/proxy.h"
#include "net/tls.h"
#include "net/url.h"
#include "net/websocket.h"

namespace muster::net {

struct ClientOptions {
  Duration connect_timeout = seconds(10);  // name, TCP, proxy and TLS together
  Duration total_timeout = seconds(60);    // of send(); a stream may last. 0: none
  Duration idle_timeout = seconds(60);     // without a byte from the server. 0: none
  std::uint64_t body_bytes_max = 256U << 20;
  int redirects_max = 0;  // of GET and HEAD; credentials do not follow to another origin
  TlsClientOptions tls = {};
  ProxyOptions proxy = {};
  std::string unix_path = {};                  // set: every connection goes to this socket
  std::size_t idle_connections_max = 32;       // kept per origin
  Duration idle_connection_age = seconds(50);  // below what servers allow
  Headers headers = {};                        // of every request: User-Agent, Authorization
};

struct ClientRequest {
  std::string method = "GET";
  std::string url = {};
  Headers headers = {};  // win over those of the client
  Body body = {};
  std::optional<Duration> total_timeout = {};  // instead of the client's
  std::optional<Duration> idle_timeout = {};
};

struct ClientResponse {
  int status = 0;
  Headers headers = {};
  std::string body;          // of a stream: only when the status is not 2xx
  std::string url = {};      // that answered, after redirects
  bool was_stopped = false;  // a callback returned false before the end
};

/// What a stream gives out, in this order. Returning false ends it, without an error.
struct StreamCallbacks {
  std::function<bool(const ClientResponse&)> on_head = {};  // may be empty
  std::function<bool(std::string_view)> on_bytes = {};      // of a 2xx answer
};

class HttpClient {
 public:
  using Done = std::function<void(Result<ClientResponse>)>;

  /// A request under way.
  class Call {
   public:
    /// Ends it soon, with Fault::Unavailable "cancelled"; nothing if it is over. Any thread.
    void cancel() const;

   private:
    friend class HttpClient;
    std::weak_ptr<void> core_;
    std::weak_ptr<void> state_;
  };

  /// An error of the TLS files.
  static Result<std::unique_ptr<HttpClient>> make(ClientOptions options = ClientOptions());
  /// Calls under way end as cancelled; their callbacks have run when it returns.
  ~HttpClient();

  /// Waits for the whole answer. An answer of any status is a result; no answer is an error.
  Result<ClientResponse> send(ClientRequest request);
  /// Waits for the end of the stream. There is no total timeout unless the request has one.
  Result<ClientResponse> stream(ClientRequest request, StreamCallbacks callbacks);

  /// done is called exactly once, on the I/O thread.
  Call send_later(ClientRequest request, Done done);
  Call stream_later(ClientRequest request, StreamCallbacks callbacks, Done done);

  /// Begins a WebSocket; the callbacks say whether there is one. Cancelling the call cuts it off.
  struct OpenSocket;
  OpenSocket open_websocket(ClientRequest request, WebSocketOptions options,
                            WebSocketCallbacks callbacks);

  /// Runs the function on the I/O thread after that time; with true, and soon, when the client
  /// goes away before.
  void run_after(Duration wait, std::function<void(bool is_stopping)> function);

  /// Other files or certificates for the connections to come; kept ones are dropped. On an error
  /// all stays as it is.
  Status set_tls(TlsClientOptions options);

  /// Whether this is the thread that calls back.
  bool is_io_thread() const;

 private:
  class Core;
  struct CallState;
  explicit HttpClient(std::shared_ptr<Core> core);
  Call start(ClientRequest request, std::optional<StreamCallbacks> callbacks, Done done);
  Result<ClientResponse> wait(ClientRequest request, std::optional<StreamCallbacks> callbacks);
  std::shared_ptr<Core> core_;
};

struct HttpClient::OpenSocket {
  WebSocket socket;
  Call call;
};

}  // namespace muster::net
