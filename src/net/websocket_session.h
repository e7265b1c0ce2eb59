// Inside of net: a WebSocket between its callers' threads and the I/O thread of its client.
#pragma once

#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "net/transport.h"
#include "net/websocket.h"
#include "net/websocket_frames.h"

namespace muster::net {

class WebSocketSession : public std::enable_shared_from_this<WebSocketSession> {
 public:
  WebSocketSession(WebSocketOptions options, WebSocketCallbacks callbacks, asio::any_io_executor io)
      : options_(std::move(options)),
        callbacks_(std::move(callbacks)),
        key_(random_websocket_key()),
        io_(std::move(io)) {}

  // From any thread.
  bool send(Opcode opcode, std::string_view payload);
  void close(int code, std::string_view reason);
  std::size_t pending_bytes() const;

  // From the I/O thread.
  void add_headers(Headers& headers) const;
  /// Whether the answer agrees to the upgrade.
  Status check(const Response& head) const;
  /// Until it ends. `unread` came together with the answer.
  asio::awaitable<Result<WebSocketClose>> run(Transport& transport, std::string unread,
                                              std::string protocol);
  /// It is over, or never was: from now on nothing reaches the client, which may go away.
  void end();
  const WebSocketCallbacks& callbacks() const { return callbacks_; }

 private:
  void wake();  // under the mutex, so that end() means it
  asio::awaitable<void> finish_writing(bool is_in_order);
  void schedule_ping();
  asio::awaitable<void> write_all();
  asio::awaitable<Result<WebSocketClose>> read_all(Transport& transport, std::string unread);
  /// True: the peer closed, `how` says how.
  bool take(const FrameReader::Message& message, WebSocketClose& how);

  const WebSocketOptions options_;
  const WebSocketCallbacks callbacks_;
  const std::string key_;
  const asio::any_io_executor io_;

  mutable std::mutex mutex_;
  std::string queue_;              // frames; guarded by mutex_, as all up to the blank line
  std::size_t writing_bytes_ = 0;  // taken from the queue and on their way
  bool is_closing_ = false;        // a close frame is in the queue or gone: nothing may follow
  bool is_over_ = false;

  // Of the I/O thread.
  Transport* transport_ = nullptr;  // while run() is under way
  bool is_writing_ = false;
  std::optional<asio::steady_timer> ping_timer_;   // while run() is under way
  std::optional<asio::steady_timer> writer_ends_;  // cancelled when the writer ends; as above
};

}  // namespace muster::net
