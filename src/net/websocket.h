// WebSockets (RFC 6455): messages both ways over a connection that HttpClient made, with its TLS,
// proxies and credentials, or over one that HttpServer was asked to upgrade (Responder).
//
// Callbacks run on the I/O thread of the client or of the connection; on_close is the last one,
// comes exactly once and says how it ended. Functions may be called from any thread; bytes wait in
// memory until they are written (pending_bytes()). Who cannot take more holds the socket: nothing
// is read from it until the release, which slows the sender down.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "net/http.h"

namespace muster::net {

class WebSocketSession;

struct WebSocketClose {
  /// Of the close frame; 1005: the frame had none, 1006: the connection ended without a frame.
  int code = 1006;
  std::string reason = {};
};

struct WebSocketCallbacks {
  /// The subprotocol the server chose, "" for none. May be empty.
  std::function<void(const std::string& protocol)> on_open = {};
  std::function<void(std::string_view message, bool is_text)> on_message = {};
  /// An error: it was never open, or the connection broke. `refusal` is the HTTP answer when there
  /// was one instead of an upgrade; its status is 0 otherwise.
  std::function<void(Result<WebSocketClose> how, const Response& refusal)> on_close = {};
  /// Everything sent so far is written. May be empty.
  std::function<void()> on_drained = {};
};

struct WebSocketOptions {
  std::vector<std::string> protocols = {};
  std::size_t message_bytes_max = 64U << 20;
  Duration ping = seconds(30);  // 0: none
  Duration silence_max = {};    // without a byte of the peer, also no pong; 0: for ever
};

class WebSocket {
 public:
  WebSocket() = default;
  explicit WebSocket(std::shared_ptr<WebSocketSession> session) : session_(std::move(session)) {}

  /// False when it is closed or closing: nobody will read it.
  bool send(std::string_view message, bool is_text = false) const;
  /// Ends it in the agreed way: a close frame after what was sent, then the peer's.
  void close(int code = 1000, std::string_view reason = {}) const;
  /// Queued and not written.
  std::size_t pending_bytes() const;
  /// No further message is given out, and no control frame looked at, until release().
  void hold() const;
  void release() const;

 private:
  std::shared_ptr<WebSocketSession> session_;
};

/// Whether a server may answer the request with a WebSocket: Invalid says what is missing in it.
Status check_websocket_request(const Request& request);

}  // namespace muster::net
