#include "kube/exec.h"

#include <fmt/format.h>

#include <future>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/text.h"

namespace muster::kube {

namespace {

/// A socket that may not be open yet: what is sent before waits.
class Outlet {
 public:
  bool send(std::string message) {
    const std::lock_guard lock(mutex_);
    if (is_over_) return false;
    if (socket_) return socket_->send(message);
    waiting_.push_back(std::move(message));
    return true;
  }
  void open(const net::WebSocket& socket) {
    const std::lock_guard lock(mutex_);
    for (const std::string& message : waiting_) socket.send(message);
    waiting_.clear();
    if (is_held_) socket.hold();
    if (is_closing_) socket.close();
    socket_ = socket;
  }
  void hold(bool is_held) {
    const std::lock_guard lock(mutex_);
    is_held_ = is_held;
    if (!socket_) return;
    if (is_held) {
      socket_->hold();
    } else {
      socket_->release();
    }
  }
  void close() {
    const std::lock_guard lock(mutex_);
    is_closing_ = true;
    if (socket_) socket_->close();
  }
  void end() {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
    socket_.reset();
    waiting_.clear();
  }
  std::size_t pending_bytes() const {
    const std::lock_guard lock(mutex_);
    std::size_t bytes = socket_ ? socket_->pending_bytes() : 0;
    for (const std::string& message : waiting_) bytes += message.size();
    return bytes;
  }

 private:
  mutable std::mutex mutex_;
  std::optional<net::WebSocket> socket_;  // guarded by mutex_, as all that follows
  std::vector<std::string> waiting_;
  bool is_closing_ = false;
  bool is_held_ = false;
  bool is_over_ = false;
};

ApiError cut_off(std::string_view what) {
  ApiError error;
  error.message = what;
  return error;
}

}  // namespace

// --- exec --------------------------------------------------------------------------------------

struct ExecSession::State {
  ExecCallbacks callbacks;
  Outlet outlet;
  std::mutex mutex;
  Client::Call call;                  // guarded by mutex until exec_later() returns
  std::string protocol;               // guarded by mutex; "" before it is open
  bool closes_stdin = false;          // guarded by mutex: as soon as it is open
  bool is_cut = false;                // guarded by mutex: the call is to be cancelled
  std::optional<Reply<int>> verdict;  // of the error channel; of the I/O thread

  void take(std::string_view message) {
    if (message.empty()) return;
    const std::string_view bytes = message.substr(1);
    switch (static_cast<Channel>(message[0])) {
      case Channel::Stdout:
        if (callbacks.on_stdout && !bytes.empty()) callbacks.on_stdout(bytes);
        break;
      case Channel::Stderr:
        if (callbacks.on_stderr && !bytes.empty()) callbacks.on_stderr(bytes);
        break;
      case Channel::Error:
        if (!bytes.empty()) verdict = exit_code_of(bytes);
        break;
      case Channel::Stdin:
      case Channel::Resize:
      case Channel::Close:
        break;
    }
  }
};

bool ExecSession::write(std::string_view bytes) const {
  return state_->outlet.send(channel_message(Channel::Stdin, bytes));
}

bool ExecSession::close_stdin() const {
  const std::lock_guard lock(state_->mutex);
  if (state_->protocol.empty()) {
    state_->closes_stdin = true;
    return true;
  }
  return state_->protocol == channel_v5 && state_->outlet.send(close_message(Channel::Stdin));
}

void ExecSession::resize(int columns, int rows) const {
  state_->outlet.send(resize_message(columns, rows));
}

void ExecSession::cancel() const { state_->call.cancel(); }
std::size_t ExecSession::pending_bytes() const { return state_->outlet.pending_bytes(); }
void ExecSession::hold_output(bool is_held) const { state_->outlet.hold(is_held); }

ExecSession exec_later(Client& client, const ExecOptions& options, ExecCallbacks callbacks) {
  ExecSession session;
  session.state_ = std::make_shared<ExecSession::State>();
  const auto state = session.state_;
  state->callbacks = std::move(callbacks);
  Client::SocketCallbacks socket;
  socket.on_open = [state](const net::WebSocket& opened, const std::string& protocol) {
    state->outlet.open(opened);
    const std::lock_guard lock(state->mutex);
    state->protocol = protocol;
    if (!state->closes_stdin) return;
    if (protocol == channel_v5) {
      state->outlet.send(close_message(Channel::Stdin));
      return;
    }
    // The command would wait for more input for ever.
    state->verdict = cut_off("exec: servers before 1.30 cannot be told the end of the input");
    state->is_cut = true;
    state->call.cancel();
  };
  socket.on_message = [state](std::string_view message) { state->take(message); };
  socket.on_drained = [state] {
    if (state->callbacks.on_drained) state->callbacks.on_drained();
  };
  socket.on_close = [state](const Reply<net::WebSocketClose>& how) {
    state->outlet.end();
    const auto& on_exit = state->callbacks.on_exit;
    if (!on_exit) return;
    if (state->verdict) return on_exit(*state->verdict);
    if (!how) return on_exit(how.error());
    on_exit(cut_off(fmt::format("exec: the connection ended before the command ({} {})", how->code,
                                how->reason)));
  };
  const Client::Call call = client.open_socket(
      exec_request(options), {std::string(channel_v5), std::string(channel_v4)}, std::move(socket));
  const std::lock_guard lock(state->mutex);
  state->call = call;
  if (state->is_cut) call.cancel();
  return session;
}

Reply<ExecResult> exec(Client& client, const ExecOptions& options) {
  MUSTER_CHECK(!client.is_io_thread(), "a callback must not wait: use exec_later");
  ExecResult result;
  std::promise<Reply<int>> promise;
  ExecCallbacks callbacks;
  callbacks.on_stdout = [&](std::string_view bytes) { result.out += bytes; };
  callbacks.on_stderr = [&](std::string_view bytes) { result.errors += bytes; };
  callbacks.on_exit = [&](Reply<int> code) { promise.set_value(std::move(code)); };
  exec_later(client, options, std::move(callbacks));
  const Reply<int> code = promise.get_future().get();
  if (!code) return code.error();
  result.exit_code = *code;
  return result;
}

// --- ports -------------------------------------------------------------------------------------

/// Of the one port asked for, channel 0 carries bytes and channel 1 errors; the first message of
/// each repeats the port's number.
struct PortConnection::State {
  PortCallbacks callbacks;
  Outlet outlet;
  Client::Call call;
  bool is_begun[2] = {false, false};  // of the I/O thread, as the next
  std::string problem;

  void take(std::string_view message) {
    if (message.empty() || static_cast<unsigned char>(message[0]) > 1) return;
    const int channel = message[0];
    std::string_view bytes = message.substr(1);
    if (!std::exchange(is_begun[channel], true))
      bytes.remove_prefix(std::min<std::size_t>(2, bytes.size()));
    if (bytes.empty()) return;
    if (channel == 1) {
      problem += bytes;
    } else if (callbacks.on_bytes) {
      callbacks.on_bytes(bytes);
    }
  }
};

bool PortConnection::write(std::string_view bytes) const {
  return state_->outlet.send(std::string(1, '\0') + std::string(bytes));
}
void PortConnection::close() const { state_->outlet.close(); }
void PortConnection::cancel() const { state_->call.cancel(); }
std::size_t PortConnection::pending_bytes() const { return state_->outlet.pending_bytes(); }

PortConnection connect_port_later(Client& client, std::string_view ns, std::string_view pod,
                                  std::uint16_t port, PortCallbacks callbacks) {
  PortConnection connection;
  connection.state_ = std::make_shared<PortConnection::State>();
  const auto state = connection.state_;
  state->callbacks = std::move(callbacks);
  Client::SocketCallbacks socket;
  socket.on_open = [state](const net::WebSocket& opened, const std::string&) {
    state->outlet.open(opened);
    if (state->callbacks.on_open) state->callbacks.on_open();
  };
  socket.on_message = [state](std::string_view message) { state->take(message); };
  socket.on_close = [state](const Reply<net::WebSocketClose>& how) {
    state->outlet.end();
    if (!state->callbacks.on_close) return;
    if (!state->problem.empty()) return state->callbacks.on_close(cut_off(trim(state->problem)));
    if (!how) return state->callbacks.on_close(how.error());
    state->callbacks.on_close(Ok{});
  };
  state->call = client.open_socket(port_forward_request(ns, pod, port), {std::string(channel_v4)},
                                   std::move(socket));
  return connection;
}

}  // namespace muster::kube
