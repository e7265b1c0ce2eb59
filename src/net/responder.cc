#include "net/responder.h"

#include <utility>

#include "net/exchange.h"
#include "net/refusal.h"
#include "net/websocket_session.h"

namespace muster::net {

std::string_view to_text(StreamEnd end) {
  switch (end) {
    case StreamEnd::Finished:
      return "finished";
    case StreamEnd::ClientGone:
      return "client gone";
    case StreamEnd::TooSlow:
      return "client too slow";
    case StreamEnd::ServerStopping:
      return "server stopping";
  }
  return "?";
}

// --- Stream: the handle and its state -------------------------------------------------------

struct Stream::Handle {
  explicit Handle(std::shared_ptr<StreamState> s) : state(std::move(s)) {}
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() { state->finish(); }
  std::shared_ptr<StreamState> state;
};

Stream::Stream(std::shared_ptr<StreamState> state)
    : handle_(std::make_shared<Handle>(std::move(state))) {}

bool Stream::send(SharedBytes bytes) const { return handle_->state->send(std::move(bytes)); }
void Stream::finish() const { handle_->state->finish(); }
bool Stream::is_open() const { return handle_->state->is_open(); }
std::size_t Stream::pending_bytes() const { return handle_->state->pending_bytes(); }
void Stream::on_end(std::function<void(StreamEnd)> callback) const {
  handle_->state->on_end(std::move(callback));
}

void StreamState::wake(bool at_once) {
  const std::shared_ptr<Waker> waker = waker_.lock();
  if (!waker) return;
  if (at_once) {
    waker->wake();
  } else {
    waker->wake_soon();
  }
}

bool StreamState::send(SharedBytes bytes) {
  if (bytes->empty()) return is_open();
  bool over = false;
  {
    const std::lock_guard lock(mutex_);
    if (ended_ || finishing_ || over_) return false;
    // One piece larger than the limit still goes out when nothing else is pending.
    over = pending_bytes_ > 0 && pending_bytes_ + bytes->size() > options_.pending_bytes_max;
    if (over) {
      over_ = true;
      queue_.clear();
    } else {
      pending_bytes_ += bytes->size();
      queue_.push_back(std::move(bytes));
      if (is_woken_) return true;
    }
    is_woken_ = true;
  }
  wake(over);
  return !over;
}

void StreamState::finish() {
  {
    const std::lock_guard lock(mutex_);
    if (ended_ || finishing_ || over_) return;
    finishing_ = true;
  }
  wake(true);
}

bool StreamState::is_open() const {
  const std::lock_guard lock(mutex_);
  return !ended_ && !finishing_ && !over_;
}

bool StreamState::is_over() const {
  const std::lock_guard lock(mutex_);
  return over_;
}

std::size_t StreamState::pending_bytes() const {
  const std::lock_guard lock(mutex_);
  return pending_bytes_;
}

void StreamState::on_end(std::function<void(StreamEnd)> callback) {
  {
    const std::lock_guard lock(mutex_);
    if (!ended_) {
      on_end_ = std::move(callback);
      return;
    }
  }
  callback(*ended_);  // never changes once set
}

StreamState::Batch StreamState::take() {
  const std::lock_guard lock(mutex_);
  Batch batch;
  is_woken_ = false;
  batch.pieces.swap(queue_);
  for (const SharedBytes& piece : batch.pieces) batch.bytes += piece->size();
  batch.is_last = finishing_;
  batch.is_over = over_;
  return batch;
}

void StreamState::wrote(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  pending_bytes_ -= bytes;
}

void StreamState::end(StreamEnd how) {
  std::function<void(StreamEnd)> callback;
  std::vector<SharedBytes> unsent;
  {
    const std::lock_guard lock(mutex_);
    if (ended_) return;
    ended_ = how;
    callback.swap(on_end_);
    unsent.swap(queue_);
    pending_bytes_ = 0;
  }
  if (callback) callback(how);
}

// --- Responder: the handle and its exchange -------------------------------------------------

struct Responder::Handle {
  explicit Handle(std::shared_ptr<Exchange> e) : exchange(std::move(e)) {}
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() {
    exchange->answer(
        refusal(500, "the server lost this request; try again", exchange->request_id()));
  }
  std::shared_ptr<Exchange> exchange;
};

Responder::Responder(std::shared_ptr<Exchange> exchange)
    : handle_(std::make_shared<Handle>(std::move(exchange))) {}

bool Responder::send(Response response) const {
  return handle_->exchange->answer(std::move(response));
}

Stream Responder::stream(Response head, StreamOptions options) const {
  return Stream(handle_->exchange->begin_stream(std::move(head), std::move(options)));
}

Stream Responder::event_stream(Duration heartbeat) const {
  Response head{200, {{"Content-Type", "text/event-stream"}, {"Cache-Control", "no-store"}}, {}};
  head.headers.add("X-Accel-Buffering", "no");  // proxies that collect responses must not
  StreamOptions options;
  options.heartbeat = heartbeat;
  return stream(std::move(head), std::move(options));
}

WebSocket Responder::websocket(const Request& request, WebSocketOptions options,
                               WebSocketCallbacks callbacks) const {
  return WebSocket(
      handle_->exchange->begin_websocket(request, std::move(options), std::move(callbacks)));
}

void Responder::set_route(std::string pattern) const {
  handle_->exchange->set_route(std::move(pattern));
}
void Responder::set_user(std::string name) const { handle_->exchange->set_user(std::move(name)); }
const std::string& Responder::request_id() const { return handle_->exchange->request_id(); }

bool Exchange::put(Answer answer) {
  {
    const std::lock_guard lock(mutex_);
    if (is_answered_ || is_abandoned_) return false;
    is_answered_ = true;
    answer_ = std::move(answer);
  }
  if (const std::shared_ptr<Waker> waker = waker_.lock()) waker->wake();
  return true;
}

bool Exchange::answer(Response response) { return put({.response = std::move(response)}); }

std::shared_ptr<StreamState> Exchange::begin_stream(Response head, StreamOptions options) {
  auto stream = std::make_shared<StreamState>(waker_, std::move(options));
  if (!put({.response = std::move(head), .stream = stream})) stream->end(StreamEnd::ClientGone);
  return stream;
}

std::shared_ptr<WebSocketSession> Exchange::begin_websocket(const Request& request,
                                                            WebSocketOptions options,
                                                            WebSocketCallbacks callbacks) {
  auto session =
      std::make_shared<WebSocketSession>(Side::Server, std::move(options), std::move(callbacks),
                                         [weak = waker_](std::function<void()> run) {
                                           if (const std::shared_ptr<Waker> waker = weak.lock())
                                             waker->post(std::move(run));
                                         });
  const Answer answer{.response = session->accept(request), .websocket = session};
  if (!put(answer)) answer.drop();
  return session;
}

void Exchange::Answer::drop() const {
  if (stream) stream->end(StreamEnd::ClientGone);
  if (websocket) websocket->refuse({Fault::Unavailable, "the client is gone"});
}

std::optional<Exchange::Answer> Exchange::take() {
  const std::lock_guard lock(mutex_);
  std::optional<Answer> answer;
  answer.swap(answer_);
  return answer;
}

void Exchange::abandon() {
  std::optional<Answer> unseen;
  {
    const std::lock_guard lock(mutex_);
    is_abandoned_ = true;
    unseen.swap(answer_);
  }
  if (unseen) unseen->drop();
}

void Exchange::set_route(std::string pattern) {
  const std::lock_guard lock(mutex_);
  route_ = std::move(pattern);
}

void Exchange::set_user(std::string name) {
  const std::lock_guard lock(mutex_);
  user_ = std::move(name);
}

std::string Exchange::route() const {
  const std::lock_guard lock(mutex_);
  return route_;
}

std::string Exchange::user() const {
  const std::lock_guard lock(mutex_);
  return user_;
}

}  // namespace muster::net
