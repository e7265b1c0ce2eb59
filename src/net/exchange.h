// Inside of net: the place where the threads of handlers and the I/O thread of a connection meet.
// Each object has one mutex; the connection is woken through a Waker, never while it is held.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "net/responder.h"

namespace muster::net {

/// A connection, seen from other threads.
class Waker {
 public:
  virtual ~Waker() = default;
  /// Look at the exchange now.
  virtual void wake() = 0;
  /// Look at the stream soon: several of these within some milliseconds are one write.
  virtual void wake_soon() = 0;
  /// Runs it on the connection's thread; never if that is gone.
  virtual void post(std::function<void()> run) = 0;
};

class StreamState {
 public:
  StreamState(std::weak_ptr<Waker> waker, StreamOptions options)
      : waker_(std::move(waker)), options_(std::move(options)) {}

  // From any thread.
  bool send(SharedBytes bytes);
  void finish();
  bool is_open() const;
  std::size_t pending_bytes() const;
  void on_end(std::function<void(StreamEnd)> callback);

  // From the connection.
  struct Batch {
    std::vector<SharedBytes> pieces;
    std::size_t bytes = 0;
    bool is_last = false;  // finish() was called: nothing follows
    bool is_over = false;  // too much was pending: pieces are gone, drop the client
  };
  Batch take();
  void wrote(std::size_t bytes);
  void end(StreamEnd how);
  bool is_over() const;
  const StreamOptions& options() const { return options_; }

 private:
  void wake(bool at_once);

  const std::weak_ptr<Waker> waker_;
  const StreamOptions options_;
  mutable std::mutex mutex_;
  std::vector<SharedBytes> queue_;  // guarded by mutex_, as all that follows
  std::size_t pending_bytes_ = 0;   // queued and being written
  bool finishing_ = false;
  bool over_ = false;
  bool is_woken_ = false;  // a wake is under way: take() will come
  std::optional<StreamEnd> ended_;
  std::function<void(StreamEnd)> on_end_;
};

class Exchange {
 public:
  Exchange(std::weak_ptr<Waker> waker, std::string request_id)
      : waker_(std::move(waker)), request_id_(std::move(request_id)) {}

  // From any thread.
  bool answer(Response response);
  std::shared_ptr<StreamState> begin_stream(Response head, StreamOptions options);
  std::shared_ptr<WebSocketSession> begin_websocket(const Request& request,
                                                    WebSocketOptions options,
                                                    WebSocketCallbacks callbacks);
  void set_route(std::string pattern);
  void set_user(std::string name);
  const std::string& request_id() const { return request_id_; }

  // From the connection.
  struct Answer {
    Response response;
    std::shared_ptr<StreamState> stream = nullptr;          // null: the response is whole
    std::shared_ptr<WebSocketSession> websocket = nullptr;  // takes the connection over

    /// Nobody is there to be told.
    void drop() const;
  };
  /// The answer if there is one; given out once.
  std::optional<Answer> take();
  /// Nobody will look any more: answers from now on are refused.
  void abandon();
  std::string route() const;
  std::string user() const;

 private:
  bool put(Answer answer);

  const std::weak_ptr<Waker> waker_;
  const std::string request_id_;
  mutable std::mutex mutex_;
  std::optional<Answer> answer_;  // guarded by mutex_, as all that follows
  bool is_answered_ = false;
  bool is_abandoned_ = false;
  std::string route_;
  std::string user_;
};

}  // namespace muster::net
