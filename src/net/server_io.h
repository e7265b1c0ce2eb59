// Inside of net: the I/O threads of the server and the connections that live on them.
//
// Everything of a connection happens on its thread. Other threads reach it through wake() and
// wake_soon(), which put it on a list of the thread. Deadlines are looked at in one walk over all
// connections of a thread, a few times a second, which is cheaper than a timer per operation.
#pragma once

#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_set>
#include <vector>

#include "base/prng.h"
#include "net/exchange.h"
#include "net/http_server.h"
#include "net/transport.h"
#include "net/wire.h"

namespace muster::net {

using SteadyTime = std::chrono::steady_clock::time_point;

/// What all threads of a server share.
struct ServerCore {
  ServerOptions options;
  Handler handler;
  ParseLimits limits;
  std::atomic<std::int64_t> connections = 0;
  std::atomic<std::int64_t> streams = 0;
  std::atomic<std::uint64_t> requests = 0;
  std::atomic<std::uint64_t> refused = 0;
  std::atomic<std::uint64_t> dropped = 0;
  std::mutex mutex;
  std::condition_variable gone;  // a connection went away
};

class Connection;

class IoThread {
 public:
  explicit IoThread(std::shared_ptr<ServerCore> core);
  void start();
  void join();

  asio::io_context& io() { return io_; }
  ServerCore& core() { return *core_; }

  // From any thread.
  void wake(std::shared_ptr<Connection> connection);
  void wake_soon(std::shared_ptr<Connection> connection);
  void post(std::function<void()> run);
  /// Ends what is idle or endless; the rest ends with its answer.
  void begin_stop();
  /// Cuts what is left, and lets run() return.
  void cut();

  // From this thread.
  void add(Connection* connection);
  void remove(Connection* connection);
  bool is_stopping() const { return is_stopping_; }
  std::string_view date();
  std::string new_request_id();

 private:
  void sweep();
  void wake_listed();
  void gather();
  void wake_gathered();

  const std::shared_ptr<ServerCore> core_;
  asio::io_context io_{1};
  std::optional<asio::executor_work_guard<asio::io_context::executor_type>> work_;
  asio::steady_timer sweep_timer_{io_};
  asio::steady_timer gather_timer_{io_};
  SteadyTime gathered_at_{};
  std::chrono::milliseconds sweep_interval_{};
  std::unordered_set<Connection*> connections_;
  bool is_stopping_ = false;
  std::time_t date_of_ = 0;
  std::string date_;
  Prng prng_;
  std::thread thread_;

  std::mutex mutex_;
  std::vector<std::shared_ptr<Connection>> woken_;  // guarded by mutex_, as all that follows
  std::vector<std::shared_ptr<Connection>> woken_soon_;
  bool is_cut_ = false;
};

struct Peer {
  std::string address;
  std::uint16_t port = 0;
  bool is_loopback = false;
  bool is_tls = false;
  bool is_refused = false;  // one too many: its first request is answered with 503
};

class Connection final : public Waker, public std::enable_shared_from_this<Connection> {
 public:
  Connection(std::shared_ptr<IoThread> thread, std::unique_ptr<Transport> transport, Peer peer);

  /// Serves until the end; keeps itself alive meanwhile.
  static void spawn(const std::shared_ptr<Connection>& connection);

  // From any thread.
  void wake() override { thread_->wake(shared_from_this()); }
  void wake_soon() override { thread_->wake_soon(shared_from_this()); }
  void post(std::function<void()> run) override { thread_->post(std::move(run)); }

  // From its thread.
  void look();
  void check_deadline(SteadyTime now);
  void begin_stop();
  void cut();

 private:
  enum class Reading { Done, Failed, Closed };
  enum class Phase { Idle, Busy, Streaming, Leaving };

  asio::awaitable<void> serve();
  asio::awaitable<bool> serve_one();
  asio::awaitable<Reading> read_request(RequestParser& parser);
  asio::awaitable<void> offer_continue();
  asio::awaitable<Exchange::Answer> await_answer(std::shared_ptr<Exchange> exchange);
  asio::awaitable<bool> respond(Response response, bool keep_alive);
  asio::awaitable<void> run_stream(Exchange::Answer answer);
  asio::awaitable<void> run_websocket(Exchange::Answer answer);
  asio::awaitable<StreamEnd> pump(StreamState& stream, bool chunked);
  asio::awaitable<bool> write_batch(const StreamState::Batch& batch, bool chunked);
  asio::awaitable<void> watch_client(std::shared_ptr<Connection> self);
  asio::awaitable<bool> write(std::span<const asio::const_buffer> bytes);
  asio::awaitable<void> wait_for_wake();
  asio::awaitable<void> linger();

  void start_request(Request& request);
  void log_access(const Exchange* exchange);
  void set_deadline(Duration after);
  Response failure_response(const RequestParser& parser);

  const std::shared_ptr<IoThread> thread_;
  const std::unique_ptr<Transport> transport_;
  const Peer peer_;
  ReadBuffer buffer_;
  asio::steady_timer event_;
  bool is_woken_ = false;
  bool is_expired_ = false;  // a deadline passed and what was under way got cancelled
  bool is_gone_ = false;     // the client, while it is sent a stream
  bool is_cut_ = false;
  SteadyTime deadline_ = SteadyTime::max();
  Phase phase_ = Phase::Idle;
  std::string peer_name_;

  // Of the request being served.
  std::shared_ptr<StreamState> stream_;
  std::shared_ptr<WebSocketSession> websocket_;
  SteadyTime heartbeat_at_ = SteadyTime::max();
  SteadyTime started_at_{};
  Access access_;
  int version_ = 11;
  bool is_head_ = false;
  std::string out_;
};

}  // namespace muster::net
