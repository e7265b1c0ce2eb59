// The framing of exec, attach and port-forward inside of WebSocket messages: the first byte names
// the channel. Pure.
#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "kube/api_error.h"
#include "kube/requests.h"

namespace muster::kube {

enum class Channel : std::uint8_t {
  Stdin = 0,
  Stdout = 1,
  Stderr = 2,
  Error = 3,   // a Status: how it ended
  Resize = 4,  // of the terminal
  Close = 255  // since v5: the channel named by the next byte has no more to come
};

/// Newest first, for the handshake.
inline constexpr std::string_view channel_v5 = "v5.channel.k8s.io";
inline constexpr std::string_view channel_v4 = "v4.channel.k8s.io";

std::string channel_message(Channel channel, std::string_view bytes);
std::string resize_message(int columns, int rows);
std::string close_message(Channel channel);

struct ExecOptions {
  std::string ns = {};
  std::string pod = {};
  std::string container = {};  // "": the only one, or the default
  std::vector<std::string> command = {};
  bool has_stdin = false;
  bool has_tty = false;  // then stderr comes mixed into stdout
};
ApiRequest exec_request(const ExecOptions& options);
ApiRequest port_forward_request(std::string_view ns, std::string_view pod, std::uint16_t port);

/// The exit code a Status on the error channel stands for, or why there is none.
Reply<int> exit_code_of(std::string_view status_json);

}  // namespace muster::kube
