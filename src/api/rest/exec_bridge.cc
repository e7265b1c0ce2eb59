#include "api/rest/exec_bridge.h"

#include <boost/json.hpp>
#include <utility>

#include "base/time.h"
#include "view/event_json.h"

namespace muster::api {
namespace {

namespace json = boost::json;
using net::Channel;

constexpr std::size_t pending_most = 1U << 20;  // bytes on their way to a side before it is slowed
constexpr std::size_t message_most = 1U << 20;

/// 0: it is not said, or nonsense.
int size_of(const json::value& body, const char* name) {
  const json::object* object = body.if_object();
  const json::value* value = object == nullptr ? nullptr : object->if_contains(name);
  const std::int64_t* number = value == nullptr ? nullptr : value->if_int64();
  return number != nullptr && *number > 0 && *number < 65536 ? static_cast<int>(*number) : 0;
}

std::string end_message(const Result<int>& exit_code) {
  json::object end;
  if (exit_code) {
    end["exit_code"] = *exit_code;
  } else {
    end["error"] = view::valid_utf8(exit_code.error().message);
  }
  return net::channel_message(Channel::Error, json::serialize(end));
}

}  // namespace

ports::PodCommandCallbacks ExecBridge::command_callbacks() {
  const auto self = shared_from_this();
  ports::PodCommandCallbacks on;
  on.on_output = [self](std::string_view bytes) {
    self->send(net::channel_message(Channel::Stdout, bytes));
  };
  on.on_errors = [self](std::string_view bytes) {
    self->send(net::channel_message(Channel::Stderr, bytes));
  };
  on.on_exit = [self](const Result<int>& exit_code) { self->end(exit_code); };
  on.on_drained = [self] { self->command_drained(); };
  return on;
}

void ExecBridge::open(const std::shared_ptr<ports::PodCommandSession>& command,
                      const net::Request& request, const net::Responder& responder) {
  {
    const std::lock_guard lock(mutex_);
    if (!has_ended_) command_ = command;
  }
  const auto self = shared_from_this();
  net::WebSocketCallbacks on;
  on.on_message = [self](std::string_view message, bool) { self->take(message); };
  on.on_drained = [self] { self->client_drained(); };
  on.on_close = [self](const Result<net::WebSocketClose>&, const net::Response&) { self->close(); };
  // Not under the lock: a client that is gone closes it at once.
  const net::WebSocket socket = responder.websocket(request,
                                                    {.protocols = {std::string(exec_protocol)},
                                                     .message_bytes_max = message_most,
                                                     .ping = seconds(15),
                                                     .silence_max = seconds(60)},
                                                    std::move(on));
  const std::lock_guard lock(mutex_);
  if (is_closed_) return;
  socket_ = socket;
  for (const std::string& message : std::exchange(early_, {})) socket.send(message);
  if (has_ended_) socket.close();
}

std::shared_ptr<ports::PodCommandSession> ExecBridge::command() const {
  const std::lock_guard lock(mutex_);
  return command_;
}

// --- from the command ---------------------------------------------------------------------------

void ExecBridge::send(std::string message) {
  const std::lock_guard lock(mutex_);
  if (is_closed_) return;
  if (!socket_) {
    early_.push_back(std::move(message));
    return;
  }
  socket_->send(message);
  if (!command_ || is_output_held_ || socket_->pending_bytes() <= pending_most) return;
  command_->hold_output(true);
  is_output_held_ = socket_->pending_bytes() > 0;
  if (!is_output_held_) command_->hold_output(false);  // drained in between
}

void ExecBridge::end(const Result<int>& exit_code) {
  send(end_message(exit_code));
  std::shared_ptr<ports::PodCommandSession> ended;  // goes when the lock is gone
  const std::lock_guard lock(mutex_);
  has_ended_ = true;
  ended.swap(command_);
  if (socket_) socket_->close();
  if (is_closed_) seat_.reset();
}

void ExecBridge::command_drained() {
  const std::lock_guard lock(mutex_);
  if (socket_) socket_->release();
}

// --- from the client ----------------------------------------------------------------------------

void ExecBridge::take(std::string_view message) {
  const auto command = this->command();
  if (!command || message.empty()) return;
  const std::string_view bytes = message.substr(1);
  switch (static_cast<Channel>(static_cast<unsigned char>(message[0]))) {
    case Channel::Stdin:
      write(bytes);
      return;
    case Channel::Close:
      if (!bytes.empty() && static_cast<Channel>(bytes[0]) == Channel::Stdin) command->end_input();
      return;
    case Channel::Resize: {
      json::error_code wrong;
      const json::value size = json::parse(bytes, wrong);
      const int columns = size_of(size, "Width");
      const int rows = size_of(size, "Height");
      if (!wrong && columns > 0 && rows > 0) command->resize(columns, rows);
      return;
    }
    case Channel::Stdout:
    case Channel::Stderr:
    case Channel::Error:
      return;
  }
}

void ExecBridge::write(std::string_view bytes) {
  const auto command = this->command();
  if (!command || bytes.empty()) return;
  command->write(bytes);
  if (command->pending_bytes() <= pending_most) return;
  const std::lock_guard lock(mutex_);
  if (!socket_) return;
  socket_->hold();
  if (command->pending_bytes() == 0) socket_->release();  // drained in between
}

void ExecBridge::client_drained() {
  const std::lock_guard lock(mutex_);
  if (!std::exchange(is_output_held_, false) || !command_) return;
  command_->hold_output(false);
}

void ExecBridge::close() {
  std::shared_ptr<ports::PodCommandSession> abandoned;
  {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
    socket_.reset();
    early_.clear();
    abandoned = command_;
    if (has_ended_) seat_.reset();
  }
  if (abandoned) abandoned->cancel();
}

}  // namespace muster::api
