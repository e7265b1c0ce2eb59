// Inside of net: a WebSocket between its callers' threads and the I/O thread of its connection,
// which a client opened or a server accepted.
#pragma once

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
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
  /// Runs a function on the I/O thread, soon.
  using Post = std::function<void(std::function<void()>)>;

  WebSocketSession(Side side, WebSocketOptions options, WebSocketCallbacks callbacks, Post post)
      : side_(side),
        options_(std::move(options)),
        callbacks_(std::move(callbacks)),
        key_(side == Side::Client ? random_websocket_key() : ""),
        post_(std::move(post)) {}

  // From any thread.
  bool send(Opcode opcode, std::string_view payload);
  void close(int code, std::string_view reason);
  std::size_t pending_bytes() const;
  void set_held(bool is_held);

  // Of a client, from the I/O thread.
  void add_headers(Headers& headers) const;
  /// Whether the answer agrees to the upgrade.
  Status check(const Response& head) const;

  // Of a server: the answer to a request that was checked.
  Response accept(const Request& request) const;

  // From the I/O thread.
  /// Until it ends. `unread` came together with the answer.
  asio::awaitable<Result<WebSocketClose>> run(Transport& transport, std::string unread,
                                              std::string protocol);
  /// The transport was closed, or broke: a hold keeps nobody from hearing of it.
  void interrupt();
  /// It is over, or never was: from now on nothing reaches the I/O thread, which may go away.
  void end();
  /// It never came to be: ends it and tells so.
  void refuse(const Error& why);
  const WebSocketCallbacks& callbacks() const { return callbacks_; }

 private:
  void wake();  // under the mutex, so that end() means it
  void append(Opcode opcode, std::string_view payload);
  bool is_held() const;
  asio::awaitable<void> finish_writing(bool is_in_order);
  void schedule_ping();
  asio::awaitable<void> write_all();
  asio::awaitable<Result<WebSocketClose>> read_all(Transport& transport, std::string unread);
  asio::awaitable<void> wait_while_held();
  void check_silence();
  /// True: the peer closed, `how` says how.
  bool take(const FrameReader::Message& message, WebSocketClose& how);

  const Side side_;
  const WebSocketOptions options_;
  const WebSocketCallbacks callbacks_;
  const std::string key_;
  const Post post_;

  mutable std::mutex mutex_;
  std::string queue_;              // frames; guarded by mutex_, as all up to the blank line
  std::size_t writing_bytes_ = 0;  // taken from the queue and on their way
  bool is_closing_ = false;        // a close frame is in the queue or gone: nothing may follow
  bool is_over_ = false;
  bool is_held_ = false;

  // Of the I/O thread.
  Transport* transport_ = nullptr;  // while run() is under way
  asio::any_io_executor io_;        // as above, as all timers
  bool is_writing_ = false;
  bool is_interrupted_ = false;
  bool is_silent_ = false;  // the peer, for too long
  std::chrono::steady_clock::time_point heard_at_;
  std::optional<asio::steady_timer> ping_timer_;
  std::optional<asio::steady_timer> writer_ends_;   // cancelled when the writer ends
  std::optional<asio::steady_timer> reader_wakes_;  // cancelled when a hold may be over
};

}  // namespace muster::net
