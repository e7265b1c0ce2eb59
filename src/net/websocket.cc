#include "net/websocket.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <vector>

#include "net/websocket_session.h"

namespace muster::net {

bool WebSocket::send(std::string_view message, bool is_text) const {
  return session_ && session_->send(is_text ? Opcode::Text : Opcode::Binary, message);
}

void WebSocket::close(int code, std::string_view reason) const {
  if (session_) session_->close(code, reason);
}

std::size_t WebSocket::pending_bytes() const { return session_ ? session_->pending_bytes() : 0; }

// --- from any thread ---------------------------------------------------------------------------

bool WebSocketSession::send(Opcode opcode, std::string_view payload) {
  const FrameMask mask = random_frame_mask();
  const std::lock_guard lock(mutex_);
  if (is_closing_ || is_over_) return false;
  append_frame(queue_, opcode, payload, mask);
  wake();
  return true;
}

void WebSocketSession::close(int code, std::string_view reason) {
  const FrameMask mask = random_frame_mask();
  const std::lock_guard lock(mutex_);
  if (is_closing_ || is_over_) return;
  append_frame(queue_, Opcode::Close, close_payload(code, reason), mask);
  is_closing_ = true;
  wake();
}

std::size_t WebSocketSession::pending_bytes() const {
  const std::lock_guard lock(mutex_);
  return queue_.size() + writing_bytes_;
}

void WebSocketSession::wake() {
  asio::post(io_, [self = shared_from_this()] {
    if (self->transport_ == nullptr || self->is_writing_) return;
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

asio::awaitable<Result<WebSocketClose>> WebSocketSession::run(Transport& transport,
                                                              std::string unread,
                                                              std::string protocol) {
  transport_ = &transport;
  ping_timer_.emplace(io_);
  writer_ends_.emplace(io_);
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
  FrameReader reader(options_.message_bytes_max);
  reader.feed(unread);
  std::vector<char> room(32U << 10);
  while (true) {
    FrameReader::Message message;
    while (true) {
      const auto more = reader.next(message);
      if (!more) co_return more.error();
      if (!*more) break;
      WebSocketClose how;
      if (take(message, how)) co_return how;
    }
    error_code error;
    const std::size_t count =
        co_await transport.read_some(asio::buffer(room.data(), room.size()), error);
    if (error == asio::error::eof) co_return WebSocketClose{};
    if (error) {
      co_return Error{Fault::Unavailable, fmt::format("websocket: {}", error.message())};
    }
    reader.feed({room.data(), count});
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
    if (error) break;  // the reader meets the same end and reports it
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
    self->schedule_ping();
  });
}

}  // namespace muster::net
