// Between a client's WebSocket and a command in a pod: bytes both ways, each side slowed down when
// the other does not keep up. The command's end closes the socket, the socket's end the command.
//
// Messages have channels (net/channels.h): the client sends Stdin, Close of Stdin and Resize, gets
// Stdout, Stderr and, last, Error: {"exit_code":3}, or {"error":"why there is none"}.
//
// Thread contract: any thread. It lives as long as one of the two sides does.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "net/channels.h"
#include "net/responder.h"
#include "net/websocket.h"
#include "ports/pod_commands.h"

namespace muster::api {

/// Of the WebSocket.
inline constexpr std::string_view exec_protocol = "v1.exec.muster.dev";

class ExecBridge : public std::enable_shared_from_this<ExecBridge> {
 public:
  /// `seat` is given back when both sides are over.
  explicit ExecBridge(std::shared_ptr<void> seat) : seat_(std::move(seat)) {}

  /// What the command says; kept until there is a client.
  ports::PodCommandCallbacks command_callbacks();
  /// The command runs, or did: the client is let in.
  void open(const std::shared_ptr<ports::PodCommandSession>& command, const net::Request& request,
            const net::Responder& responder);

 private:
  void send(std::string message);
  void end(const Result<int>& exit_code);
  void take(std::string_view message);
  void write(std::string_view bytes);
  void close();
  void client_drained();
  void command_drained();
  std::shared_ptr<ports::PodCommandSession> command() const;

  mutable std::mutex mutex_;
  std::shared_ptr<void> seat_;  // guarded by mutex_, as all that follows
  std::shared_ptr<ports::PodCommandSession> command_;
  std::optional<net::WebSocket> socket_;
  std::vector<std::string> early_;  // messages before there is a socket
  bool is_output_held_ = false;
  bool has_ended_ = false;  // the command
  bool is_closed_ = false;  // the socket
};

}  // namespace muster::api
