#include <fmt/format.h>

#include <array>
#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "net/refusal.h"
#include "net/server_io.h"
#include "net/websocket_session.h"

namespace muster::net {

namespace {

SteadyTime now() { return std::chrono::steady_clock::now(); }

std::chrono::milliseconds chrono_of(Duration d) { return std::chrono::milliseconds(d.ms); }

constexpr Duration last_words = seconds(2);  // for a client to take an error and go
// Of a stream: left to itself the system would hold megabytes for each client that does not read.
constexpr int stream_held_bytes = 128 << 10;

/// Clients that came together must not all be due together, again and again: the first beat of each
/// comes after another part of the pause.
std::chrono::milliseconds first_beat(Duration heartbeat) {
  static std::atomic<std::uint32_t> count{0};
  const std::uint64_t part = (count.fetch_add(1) * std::uint32_t{0x9e3779b9}) >> 16;
  return std::chrono::milliseconds(1 + heartbeat.ms * static_cast<std::int64_t>(part) / 0x10000);
}

bool has_no_body(int status) { return status / 100 == 1 || status == 204 || status == 304; }

}  // namespace

Connection::Connection(std::shared_ptr<IoThread> thread, std::unique_ptr<Transport> transport,
                       Peer peer)
    : thread_(std::move(thread)),
      transport_(std::move(transport)),
      peer_(std::move(peer)),
      event_(thread_->io(), SteadyTime::max()) {}

void Connection::spawn(const std::shared_ptr<Connection>& connection) {
  connection->thread_->add(connection.get());
  asio::co_spawn(
      connection->thread_->io(), [connection] { return connection->serve(); },
      [connection](const std::exception_ptr&) {
        connection->transport_->close();
        connection->thread_->remove(connection.get());
      });
}

// --- what wakes it ------------------------------------------------------------------------------

void Connection::look() {
  is_woken_ = true;
  event_.cancel();
  // A write to somebody who does not read would not end by itself.
  if (stream_ && stream_->is_over()) transport_->abort();
}

void Connection::check_deadline(SteadyTime at) {
  if (stream_ && at >= heartbeat_at_) {
    heartbeat_at_ = at + chrono_of(stream_->options().heartbeat);
    stream_->send(share(stream_->options().heartbeat_bytes));
  }
  if (at < deadline_) return;
  if (is_expired_) {  // not even the last words were taken
    cut();
    return;
  }
  set_deadline(last_words);
  is_expired_ = true;
  transport_->cancel();
  is_woken_ = true;
  event_.cancel();
}

void Connection::begin_stop() {
  if (phase_ == Phase::Idle || phase_ == Phase::Leaving) {
    is_cut_ = true;
    transport_->close();
    look();
  } else if (websocket_) {
    websocket_->close(1001, "the server is stopping");
  } else if (phase_ == Phase::Streaming) {
    look();
  }
}

void Connection::cut() {
  is_cut_ = true;
  transport_->abort();
  if (websocket_) websocket_->interrupt();
  is_woken_ = true;
  event_.cancel();
}

void Connection::set_deadline(Duration after) {
  is_expired_ = false;
  deadline_ = after.ms > 0 ? now() + chrono_of(after) : SteadyTime::max();
}

asio::awaitable<void> Connection::wait_for_wake() {
  while (!is_woken_) {
    error_code ignored;
    co_await event_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  }
  is_woken_ = false;
}

// --- one connection, one request ----------------------------------------------------------------

asio::awaitable<void> Connection::serve() {
  set_deadline(thread_->core().options.header_timeout);
  error_code error;
  co_await transport_->start(error);
  if (error) co_return;
  peer_name_ = transport_->peer_name();
  bool go_on = true;
  while (go_on) go_on = co_await serve_one();
}

asio::awaitable<bool> Connection::serve_one() {
  RequestParser parser(thread_->core().limits);
  access_ = {};
  is_head_ = false;
  const Reading reading = co_await read_request(parser);
  if (reading == Reading::Closed) co_return false;
  ++thread_->core().requests;
  if (reading == Reading::Failed || peer_.is_refused) {
    access_.method = parser.method();
    access_.target = parser.target();
    is_head_ = access_.method == "HEAD";
    access_.request_id = thread_->new_request_id();
    access_.remote_address = peer_.address;
    Response response = failure_response(parser);
    const bool written = co_await respond(std::move(response), false);
    log_access(nullptr);
    if (written) co_await linger();
    co_return false;
  }
  const bool keep_alive = parser.keep_alive();
  Request request = parser.take();
  start_request(request);
  auto exchange = std::make_shared<Exchange>(weak_from_this(), request.id);
  try {
    thread_->core().handler(std::move(request), Responder(exchange));
  } catch (...) {  // its Responder is gone with it, and has answered 500
  }
  Exchange::Answer answer = co_await await_answer(exchange);
  if (is_cut_) {
    answer.drop();
    co_return false;
  }
  if (answer.websocket) {
    co_await run_websocket(std::move(answer));
    log_access(exchange.get());
    co_return false;
  }
  if (answer.stream) {
    co_await run_stream(std::move(answer));
    log_access(exchange.get());
    co_return false;
  }
  const bool last = !keep_alive || thread_->is_stopping() ||
                    has_token(answer.response.headers.get("Connection"), "close");
  const bool written = co_await respond(std::move(answer.response), !last);
  log_access(exchange.get());
  if (written && last && !thread_->is_stopping()) co_await linger();
  co_return written && !last;
}

asio::awaitable<Connection::Reading> Connection::read_request(RequestParser& parser) {
  const ServerOptions& options = thread_->core().options;
  bool in_body = false;
  bool has_offered = false;
  phase_ = Phase::Idle;
  set_deadline(options.idle_timeout);
  if (thread_->is_stopping() && buffer_.unread().empty()) co_return Reading::Closed;
  while (true) {
    while (!parser.has_begun() && buffer_.unread().starts_with("\r\n")) buffer_.drop(2);
    if (!buffer_.unread().empty()) {
      if (!parser.has_begun()) {
        phase_ = Phase::Busy;
        started_at_ = now();
        set_deadline(options.header_timeout);
      }
      const std::size_t used = parser.feed(buffer_.unread());
      buffer_.drop(used);
      access_.bytes_in += used;
      if (parser.failure()) co_return Reading::Failed;
      if (parser.is_done()) co_return Reading::Done;
      if (parser.is_header_done() && !in_body) {
        in_body = true;
        set_deadline(options.body_timeout);
      }
      if (in_body && !has_offered && parser.expects_continue()) {
        has_offered = true;
        co_await offer_continue();
      }
    } else if (!parser.has_begun()) {
      buffer_.relax();
    }
    error_code error;
    const std::size_t count = co_await transport_->read_some(buffer_.room(), error);
    buffer_.grew(count);
    // A read that just succeeded cannot be cancelled any more: the time is over all the same.
    const bool too_slow = is_expired_ && !is_cut_ && phase_ == Phase::Busy;
    if (too_slow) co_return Reading::Failed;
    if (error) co_return Reading::Closed;
  }
}

asio::awaitable<void> Connection::offer_continue() {
  static constexpr std::string_view text = "HTTP/1.1 100 Continue\r\n\r\n";
  const std::array<asio::const_buffer, 1> bytes = {asio::buffer(text)};
  error_code ignored;  // the next read fails too
  co_await transport_->write(bytes, ignored);
}

Response Connection::failure_response(const RequestParser& parser) {
  if (peer_.is_refused) {
    Response response = refusal(503, "too many connections; try again soon", access_.request_id);
    response.headers.add("Retry-After", "1");
    return response;
  }
  if (parser.failure())
    return refusal(parser.failure()->status, parser.failure()->message, access_.request_id);
  return refusal(408, "the request did not arrive in time", access_.request_id);
}

void Connection::start_request(Request& request) {
  const std::string_view given = request.headers.get("X-Request-Id");
  request.id = is_sane_request_id(given) ? std::string(given) : thread_->new_request_id();
  request.remote_address = peer_.address;
  request.remote_port = peer_.port;
  request.is_loopback = peer_.is_loopback;
  request.is_tls = peer_.is_tls;
  request.peer_name = peer_name_;
  version_ = request.version;
  is_head_ = request.method == "HEAD";
  access_.method = request.method;
  access_.target = request.target;
  access_.request_id = request.id;
  access_.remote_address = peer_.address;
  access_.user_agent = request.headers.get("User-Agent");
}

asio::awaitable<Exchange::Answer> Connection::await_answer(std::shared_ptr<Exchange> exchange) {
  set_deadline(thread_->core().options.answer_timeout);
  while (true) {
    std::optional<Exchange::Answer> answer = exchange->take();
    if (answer) co_return std::move(*answer);
    if (is_expired_ || is_cut_) break;
    co_await wait_for_wake();
  }
  exchange->abandon();
  Exchange::Answer late{.response =
                            refusal(503, "no answer in time; try again later", access_.request_id)};
  late.response.headers.add("Retry-After", "1");
  co_return late;
}

asio::awaitable<bool> Connection::write(std::span<const asio::const_buffer> bytes) {
  set_deadline(thread_->core().options.write_timeout);
  error_code error;
  access_.bytes_out += co_await transport_->write(bytes, error);
  if (error) access_.client_gone = true;
  co_return !error;
}

asio::awaitable<bool> Connection::respond(Response response, bool keep_alive) {
  access_.status = response.status;
  HeadOptions head{.length = response.body.size(),
                   .keep_alive = keep_alive,
                   .version = version_,
                   .date = thread_->date()};
  if (has_no_body(response.status)) head.framing = Framing::None;
  if (!response.headers.has("X-Request-Id")) {
    response.headers.add("X-Request-Id", access_.request_id);
  }
  out_.clear();
  append_response_head(out_, response.status, response.headers, head);
  const bool has_body = !is_head_ && head.framing == Framing::Length;
  const std::string_view body = has_body ? response.body.view() : std::string_view{};
  const std::array<asio::const_buffer, 2> bytes = {asio::buffer(out_),
                                                   asio::buffer(body.data(), body.size())};
  co_return co_await write(bytes);
}

/// Closing while bytes of the client are unread would reset the connection, and the client might
/// never see the answer: first wait, not for long, until it closes its side.
asio::awaitable<void> Connection::linger() {
  phase_ = Phase::Leaving;
  set_deadline(last_words);
  co_await transport_->finish_writing();
  constexpr std::size_t patience_bytes = 1U << 20;
  for (std::size_t seen = 0; seen < patience_bytes;) {
    buffer_.drop(buffer_.unread().size());
    error_code error;
    const std::size_t count = co_await transport_->read_some(buffer_.room(), error);
    if (error) co_return;
    seen += count;
  }
}

void Connection::log_access(const Exchange* exchange) {
  const auto& callback = thread_->core().options.on_access;
  if (!callback) return;
  access_.seconds = std::chrono::duration<double>(now() - started_at_).count();
  if (exchange != nullptr) {
    access_.route = exchange->route();
    access_.user = exchange->user();
  }
  callback(access_);
}

// --- streams ------------------------------------------------------------------------------------

asio::awaitable<void> Connection::run_stream(Exchange::Answer answer) {
  Response& head = answer.response;
  access_.status = head.status;
  const bool chunked = version_ >= 11;
  HeadOptions options{.framing = chunked ? Framing::Chunked : Framing::UntilClose,
                      .keep_alive = false,
                      .version = version_,
                      .date = thread_->date()};
  if (!head.headers.has("X-Request-Id")) head.headers.add("X-Request-Id", access_.request_id);
  out_.clear();
  append_response_head(out_, head.status, head.headers, options);
  const std::array<asio::const_buffer, 1> bytes = {asio::buffer(out_)};
  const bool written = co_await write(bytes);
  StreamEnd how = written ? StreamEnd::Finished : StreamEnd::ClientGone;
  if (written && !is_head_) {
    buffer_.release();
    out_ = {};
    transport_->hold_at_most(stream_held_bytes);
    phase_ = Phase::Streaming;
    stream_ = answer.stream;
    ++thread_->core().streams;
    asio::co_spawn(thread_->io(), watch_client(shared_from_this()), asio::detached);
    bool sent = true;
    if (!head.body.empty()) {
      StreamState::Batch first;
      first.pieces = {share(std::string(head.body.view()))};
      first.bytes = head.body.size();
      sent = co_await write_batch(first, chunked);
    }
    const Duration heartbeat = stream_->options().heartbeat;
    if (heartbeat.ms > 0) heartbeat_at_ = now() + first_beat(heartbeat);
    how = sent ? co_await pump(*stream_, chunked) : StreamEnd::ClientGone;
    --thread_->core().streams;
  }
  access_.stream_end = how;
  if (how == StreamEnd::TooSlow) ++thread_->core().dropped;
  stream_.reset();
  answer.stream->end(how);
  if (how == StreamEnd::Finished || how == StreamEnd::ServerStopping) {
    phase_ = Phase::Leaving;
    set_deadline(last_words);
    co_await transport_->finish_writing();
    const bool waits = !is_head_ && !thread_->is_stopping();
    while (waits && !is_gone_ && !is_expired_ && !is_cut_) co_await wait_for_wake();
  }
}

/// From here on the session decides how long it lasts, and who is silent for too long.
asio::awaitable<void> Connection::run_websocket(Exchange::Answer answer) {
  Response& head = answer.response;
  access_.status = head.status;
  const std::string protocol(head.headers.get("Sec-WebSocket-Protocol"));
  head.headers.add("X-Request-Id", access_.request_id);
  out_.clear();
  append_response_head(out_, head.status, head.headers,
                       {.framing = Framing::None, .date = thread_->date()});
  out_.insert(out_.size() - 2, "Connection: Upgrade\r\n");
  const std::array<asio::const_buffer, 1> bytes = {asio::buffer(out_)};
  if (!co_await write(bytes)) {
    answer.drop();
    co_return;
  }
  std::string unread(buffer_.unread());
  buffer_.release();
  out_ = {};
  transport_->hold_at_most(stream_held_bytes);
  phase_ = Phase::Streaming;
  set_deadline({});
  websocket_ = answer.websocket;
  if (thread_->is_stopping()) websocket_->close(1001, "the server is stopping");
  ++thread_->core().streams;
  const auto how = co_await websocket_->run(*transport_, std::move(unread), protocol);
  --thread_->core().streams;
  const std::shared_ptr<WebSocketSession> ended = std::move(websocket_);
  ended->end();
  if (ended->callbacks().on_close) ended->callbacks().on_close(how, Response{.status = 0});
}

asio::awaitable<StreamEnd> Connection::pump(StreamState& stream, bool chunked) {
  while (true) {
    const StreamState::Batch batch = stream.take();
    if (batch.is_over) co_return StreamEnd::TooSlow;
    if (is_cut_) co_return StreamEnd::ServerStopping;
    if (is_gone_) co_return StreamEnd::ClientGone;
    if (!batch.pieces.empty()) {
      const bool written = co_await write_batch(batch, chunked);
      stream.wrote(batch.bytes);
      if (written) continue;
      if (is_expired_ || stream.is_over()) co_return StreamEnd::TooSlow;
      co_return is_cut_ ? StreamEnd::ServerStopping : StreamEnd::ClientGone;
    }
    if (batch.is_last || thread_->is_stopping()) {
      static constexpr std::string_view end = "0\r\n\r\n";
      const std::array<asio::const_buffer, 1> bytes = {asio::buffer(end)};
      const bool written = !chunked || co_await write(bytes);
      if (!written) co_return StreamEnd::ClientGone;
      co_return batch.is_last ? StreamEnd::Finished : StreamEnd::ServerStopping;
    }
    set_deadline({});
    co_await wait_for_wake();
  }
}

/// The pieces of a batch are one chunk; their bytes are written from where they are.
asio::awaitable<bool> Connection::write_batch(const StreamState::Batch& batch, bool chunked) {
  const std::string size = fmt::format("{:x}\r\n", batch.bytes);
  std::vector<asio::const_buffer> bytes;
  bytes.reserve(batch.pieces.size() + 2);
  if (chunked) bytes.push_back(asio::buffer(size));
  for (const SharedBytes& piece : batch.pieces) bytes.push_back(asio::buffer(*piece));
  if (chunked) bytes.push_back(asio::buffer("\r\n", 2));
  const Duration heartbeat = stream_->options().heartbeat;
  if (heartbeat.ms > 0) heartbeat_at_ = now() + chrono_of(heartbeat);
  co_return co_await write(bytes);
}

/// Nothing is expected from a client that listens: an end means that it went away.
asio::awaitable<void> Connection::watch_client(std::shared_ptr<Connection> self) {
  std::array<char, 256> bytes;
  error_code error;
  while (!error) co_await transport_->read_some(asio::buffer(bytes), error);
  is_gone_ = true;
  self->look();
}

}  // namespace muster::net
