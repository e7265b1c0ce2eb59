// Commands in containers and connections to their ports, over WebSockets.
//
// Callbacks run on the client's I/O thread. Handles may be copied, and used from any thread; the
// session ends when it ends or is closed, not when handles go away.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "kube/api_error.h"
#include "kube/channels.h"
#include "kube/client.h"

namespace muster::kube {

struct ExecCallbacks {
  std::function<void(std::string_view)> on_stdout = {};
  std::function<void(std::string_view)> on_stderr = {};
  /// Exactly once, last: the command's exit code, or why it could not run or was cut off.
  std::function<void(Reply<int> exit_code)> on_exit = {};
  /// Everything written so far is on its way. May be empty.
  std::function<void()> on_drained = {};
};

class ExecSession {
 public:
  /// False: it is over. What is written before the connection stands waits for it.
  bool write(std::string_view bytes) const;
  /// The command reads the end of its input. Servers before 1.30 cannot be told (false); when that
  /// turns out later, as the connection did not stand yet, it ends with an error.
  bool close_stdin() const;
  void resize(int columns, int rows) const;
  /// Cuts it off; on_exit comes with an error that is_cancelled.
  void cancel() const;
  std::size_t pending_bytes() const;
  /// While it is held no output is given out, which slows the command down.
  void hold_output(bool is_held) const;

  struct State;

 private:
  friend ExecSession exec_later(Client&, const ExecOptions&, ExecCallbacks);
  std::shared_ptr<State> state_;
};

ExecSession exec_later(Client& client, const ExecOptions& options, ExecCallbacks callbacks);

struct ExecResult {
  int exit_code = 0;
  std::string out = {};
  std::string errors = {};
};
/// Waits for the end of a command that needs no input.
Reply<ExecResult> exec(Client& client, const ExecOptions& options);

struct PortCallbacks {
  std::function<void()> on_open = {};
  std::function<void(std::string_view)> on_bytes = {};
  /// Exactly once, last: the pod closed the connection (Ok), or it failed.
  std::function<void(Reply<Ok>)> on_close = {};
};

/// One connection to a port of a pod.
class PortConnection {
 public:
  bool write(std::string_view bytes) const;
  void close() const;
  void cancel() const;
  std::size_t pending_bytes() const;

  struct State;

 private:
  friend PortConnection connect_port_later(Client&, std::string_view, std::string_view,
                                           std::uint16_t, PortCallbacks);
  std::shared_ptr<State> state_;
};

PortConnection connect_port_later(Client& client, std::string_view ns, std::string_view pod,
                                  std::uint16_t port, PortCallbacks callbacks);

}  // namespace muster::kube
