#include "net/websocket.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <utility>
#include <vector>

#include "base/text.h"
#include "net/websocket_session.h"

namespace muster::net {

bool WebSocket::send(std::string_view message, bool is_text) const {
  return session_ && session_->send(is_text ? Opcode::Text : Opcode::Binary, message);
}

void WebSocket::close(int code, std::string_view reason) const {
  if (session_) session_->close(code, reason);
}

std::size_t WebSocket::pending_bytes() const { return session_ ? session_->pending_bytes() : 0; }

void WebSocket::hold() const {
  if (session_) session_->set_held(true);
}
void WebSocket::release() const {
  if (session_) session_->set_held(false);
}

Status check_websocket_request(const Request& request) {
  const bool asks = request.method == "GET" && request.version >= 11 &&
                    has_token(request.headers.get("Connection"), "upgrade") &&
                    has_token(request.headers.get("Upgrade"), "websocket");
  if (!asks) return invalid("this is a WebSocket: send a GET with Upgrade: websocket");
  if (request.headers.get("Sec-WebSocket-Version") != "13")
    return invalid("Sec-WebSocket-Version: version 13 is spoken here");
  if (request.headers.get("Sec-WebSocket-Key").empty())
    return invalid("Sec-WebSocket-Key: it is missing");
  return Ok{};
}

// --- from any thread ---------------------------------------------------------------------------

bool WebSocketSession::send(Opcode opcode, std::string_view payload) {
  const std::lock_guard lock(mutex_);
  if (is_closing_ || is_over_) return false;
  append(opcode, payload);
  wake();
  return true;
}

void WebSocketSession::close(int code, std::string_view reason) {
  const std::lock_guard lock(mutex_);
  if (is_closing_ || is_over_) return;
  append(Opcode::Close, close_payload(code, reason));
  is_closing_ = true;
  is_held_ = false;  // the peer's close frame is waited for
  wake();
}

/// Under the mutex.
void WebSocketSession::append(Opcode opcode, std::string_view payload) {
  if (side_ == Side::Client) return append_frame(queue_, opcode, payload, random_frame_mask());
  append_frame(queue_, opcode, payload);
}

void WebSocketSession::set_held(bool is_held) {
  const std::lock_guard lock(mutex_);
  const bool was_held = std::exchange(is_held_, is_held && !is_closing_);
  if (was_held && !is_held_ && !is_over_) wake();
}

bool WebSocketSession::is_held() const {
  const std::lock_guard lock(mutex_);
  return is_held_;
}

std::size_t WebSocketSession::pending_bytes() const {
  const std::lock_guard lock(mutex_);
  return queue_.size() + writing_bytes_;
}

void WebSocketSession::wake() {
  post_([self = shared_from_this()] {
    if (self->transport_ == nullptr) return;
    self->reader_wakes_->cancel();
    if (self->is_writing_) return;
    self->is_writing_ = true;
    asio::co_spawn(self->io_, [self] { return self->write_all(); }, asio::detached);
  });
}

// --- on the I/O thread -------------------------------------------------------------------------

void WebSocketSession::add_headers(Headers& headers) const {
  headers.set("Upgrade", "websocket");
  headers.set("Sec-WebSocket-Version", "13");
  headers.set("Sec-WebSocket-Key", key_);
  std::string protocols;
  for (const std::string& protocol : options_.protocols) {
    protocols += (protocols.empty() ? "" : ", ") + protocol;
  }
  if (!protocols.empty()) headers.set("Sec-WebSocket-Protocol", protocols);
}

Status WebSocketSession::check(const Response& head) const {
  const auto refused = [](std::string message) {
    return Error{Fault::Unavailable, std::move(message)};
  };
  if (head.status != 101) {
    return refused(fmt::format("no WebSocket: {} {}", head.status, reason_phrase(head.status)));
  }
  if (!has_token(head.headers.get("Upgrade"), "websocket") ||
      head.headers.get("Sec-WebSocket-Accept") != websocket_accept(key_)) {
    return refused("no WebSocket: the answer does not fit the request");
  }
  const std::string_view chosen = head.headers.get("Sec-WebSocket-Protocol");
  const auto& offered = options_.protocols;
  if (!chosen.empty() && std::find(offered.begin(), offered.end(), chosen) == offered.end()) {
    return refused(fmt::format("no WebSocket: protocol '{}' was not offered", chosen));
  }
  return Ok{};
}

Response WebSocketSession::accept(const Request& request) const {
  Response head{101, {{"Upgrade", "websocket"}}, {}};
  head.headers.add("Sec-WebSocket-Accept",
                   websocket_accept(request.headers.get("Sec-WebSocket-Key")));
  const auto& spoken = options_.protocols;
  for (const std::string_view offered : split(request.headers.get("Sec-WebSocket-Protocol"), ',')) {
    const std::string name(trim(offered));
    if (std::find(spoken.begin(), spoken.end(), name) == spoken.end()) continue;
    head.headers.add("Sec-WebSocket-Protocol", name);
    break;
  }
  return head;
}

void WebSocketSession::interrupt() {
  is_interrupted_ = true;
  if (reader_wakes_) reader_wakes_->cancel();
}

void WebSocketSession::refuse(const Error& why) {
  end();
  if (callbacks_.on_close) callbacks_.on_close(why, Response{.status = 0});
}

asio::awaitable<Result<WebSocketClose>> WebSocketSession::run(Transport& transport,
                                                              std::string unread,
                                                              std::string protocol) {
  io_ = co_await asio::this_coro::executor;
  transport_ = &transport;
  heard_at_ = std::chrono::steady_clock::now();
  ping_timer_.emplace(io_);
  writer_ends_.emplace(io_);
  reader_wakes_.emplace(io_, std::chrono::steady_clock::time_point::max());
  if (callbacks_.on_open) callbacks_.on_open(protocol);
  {
    const std::lock_guard lock(mutex_);
    wake();  // what was sent before
  }
  schedule_ping();
  auto how = co_await read_all(transport, std::move(unread));
  co_await finish_writing(how.ok());
  transport_ = nullptr;
  ping_timer_.reset();
  writer_ends_.reset();
  reader_wakes_.reset();
  co_return how;
}

/// In good order our close frame goes out, within a second; then the writer is waited for.
asio::awaitable<void> WebSocketSession::finish_writing(bool is_in_order) {
  ping_timer_->cancel();
  if (!is_in_order) transport_->close();
  writer_ends_->expires_after(std::chrono::seconds(1));
  if (is_in_order && !is_writing_) {
    is_writing_ = true;
    writer_ends_->async_wait([self = shared_from_this()](const error_code& error) {
      if (!error && self->transport_ != nullptr) self->transport_->close();
    });
    co_await write_all();
  }
  while (is_writing_) {
    error_code ignored;
    co_await writer_ends_->async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    transport_->close();
    writer_ends_->expires_after(std::chrono::seconds(1));
  }
  transport_->close();
}

void WebSocketSession::end() {
  const std::lock_guard lock(mutex_);
  is_over_ = true;
}

asio::awaitable<Result<WebSocketClose>> WebSocketSession::read_all(Transport& transport,
                                                                   std::string unread) {
  FrameReader reader(options_.message_bytes_max,
                     side_ == Side::Client ? Side::Server : Side::Client);
  reader.feed(unread);
  std::vector<char> room(32U << 10);
  while (true) {
    FrameReader::Message message;
    while (true) {
      co_await wait_while_held();
      const auto more = reader.next(message);
      if (!more) co_return more.error();
      if (!*more) break;
      WebSocketClose how;
      if (take(message, how)) co_return how;
    }
    error_code error;
    const std::size_t count =
        co_await transport.read_some(asio::buffer(room.data(), room.size()), error);
    if (is_silent_) {
      co_return Error{Fault::Unavailable,
                      fmt::format("websocket: no sign of life of the other side for {} s",
                                  options_.silence_max.ms / 1000)};
    }
    if (error == asio::error::eof) co_return WebSocketClose{};
    if (error) {
      co_return Error{Fault::Unavailable, fmt::format("websocket: {}", error.message())};
    }
    heard_at_ = std::chrono::steady_clock::now();
    reader.feed({room.data(), count});
  }
}

asio::awaitable<void> WebSocketSession::wait_while_held() {
  while (is_held() && !is_interrupted_) {
    error_code ignored;
    co_await reader_wakes_->async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    heard_at_ = std::chrono::steady_clock::now();  // nobody listened
  }
}

bool WebSocketSession::take(const FrameReader::Message& message, WebSocketClose& how) {
  switch (message.opcode) {
    case Opcode::Text:
    case Opcode::Binary:
      if (callbacks_.on_message) {
        callbacks_.on_message(message.payload, message.opcode == Opcode::Text);
      }
      return false;
    case Opcode::Ping:
      send(Opcode::Pong, message.payload);
      return false;
    case Opcode::Close: {
      CloseWords words = parse_close_payload(message.payload);
      how = {words.code, std::move(words.reason)};
      close(words.code == 1005 ? 1000 : words.code, "");
      return true;
    }
    case Opcode::Pong:
    case Opcode::Continuation:
      return false;
  }
  return false;
}

asio::awaitable<void> WebSocketSession::write_all() {
  const auto self = shared_from_this();
  while (transport_ != nullptr) {
    std::string bytes;
    {
      const std::lock_guard lock(mutex_);
      bytes.swap(queue_);
      writing_bytes_ = bytes.size();
    }
    if (bytes.empty()) {
      if (callbacks_.on_drained) callbacks_.on_drained();
      const std::lock_guard lock(mutex_);
      if (queue_.empty()) break;
      continue;
    }
    error_code error;
    const std::array<asio::const_buffer, 1> buffers = {asio::buffer(bytes)};
    co_await transport_->write(buffers, error);
    const std::lock_guard lock(mutex_);
    writing_bytes_ = 0;
    if (error) {  // the reader meets the same end and reports it
      interrupt();
      break;
    }
  }
  // Here and not in a handler of the end: whoever queues from now on starts a new writer.
  is_writing_ = false;
  writer_ends_->cancel();
}

void WebSocketSession::schedule_ping() {
  if (options_.ping.ms <= 0) return;
  ping_timer_->expires_after(std::chrono::milliseconds(options_.ping.ms));
  ping_timer_->async_wait([weak = weak_from_this()](const error_code& error) {
    const auto self = weak.lock();
    if (error || !self || self->transport_ == nullptr) return;
    self->send(Opcode::Ping, "");
    self->check_silence();
    self->schedule_ping();
  });
}

void WebSocketSession::check_silence() {
  const auto silence = std::chrono::steady_clock::now() - heard_at_;
  const bool is_late =
      options_.silence_max.ms > 0 && silence > std::chrono::milliseconds(options_.silence_max.ms);
  if (!is_late || is_held()) return;
  is_silent_ = true;
  transport_->close();
  interrupt();
}

}  // namespace muster::net
