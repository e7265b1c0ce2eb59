// How a handler answers: once with a whole response, or with a stream that goes on for as long as
// the client listens. Both are handles that may be copied and used from any thread, and that may
// outlive the connection and the server: then they do nothing and say so.
//
// A stream never makes its writer wait. What the client has not taken yet is held as shared bytes,
// so a thousand clients of one event hold one copy of it; a client that falls further behind than
// pending_bytes_max, beside a little that the system holds, is dropped (StreamEnd::TooSlow). Order
// of bytes is order of send().
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/time.h"
#include "net/http.h"
#include "net/websocket.h"

namespace muster::net {

class Exchange;
class StreamState;

enum class StreamEnd {
  Finished,        // finish() was called, or the last handle went away; all bytes were written
  ClientGone,      // the client closed, or its connection broke
  TooSlow,         // the client did not read for too long or fell too far behind
  ServerStopping,  // stop() of the server
};
std::string_view to_text(StreamEnd end);

class Stream {
 public:
  /// False when the client is gone or was dropped: nobody will read what is sent from now on.
  bool send(SharedBytes bytes) const;
  bool send(std::string bytes) const { return send(share(std::move(bytes))); }
  /// Ends the response after what was sent so far. The last handle does it when it goes away.
  void finish() const;
  bool is_open() const;
  std::size_t pending_bytes() const;
  /// Called once, with how it ended: on the I/O thread, or here if it ended already. It must not
  /// wait, and it is the place to give up what feeds the stream.
  void on_end(std::function<void(StreamEnd)> callback) const;

 private:
  friend class Responder;
  explicit Stream(std::shared_ptr<StreamState> state);
  struct Handle;
  std::shared_ptr<Handle> handle_;
};

struct StreamOptions {
  std::size_t pending_bytes_max = 1U << 20;
  Duration heartbeat = {};  // 0: none
  std::string heartbeat_bytes = ": \n\n";
};

class Responder {
 public:
  explicit Responder(std::shared_ptr<Exchange> exchange);

  /// The answer. False when one was given before or nobody waits for it any more. When the last
  /// copy goes away without an answer, the client gets a 500.
  bool send(Response response) const;
  /// Begins an answer of unknown length; the body of head is sent first.
  Stream stream(Response head, StreamOptions options = StreamOptions()) const;
  /// The same for server-sent events (net/sse.h), with their headers and a comment as heartbeat.
  Stream event_stream(Duration heartbeat = seconds(15)) const;
  /// Agrees to the WebSocket that a request asks for which passed check_websocket_request. Of the
  /// protocols the first is taken that the client offers and these options have. Its callbacks
  /// must not wait; silence_max finds clients that are gone without a word.
  WebSocket websocket(const Request& request, WebSocketOptions options,
                      WebSocketCallbacks callbacks) const;

  /// For the access log and metrics. Before the answer.
  void set_route(std::string pattern) const;
  void set_user(std::string name) const;
  const std::string& request_id() const;

 private:
  struct Handle;
  std::shared_ptr<Handle> handle_;
};

}  // namespace muster::net
