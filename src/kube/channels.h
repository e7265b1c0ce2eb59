// Exec, attach and port-forward over WebSockets with channels (net/channels.h): the requests, and
// how a command ended. Pure.
#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "kube/api_error.h"
#include "kube/requests.h"
#include "net/channels.h"

namespace muster::kube {

using net::Channel;  // Error carries a Status; Close is known since v5
using net::channel_message;
using net::close_message;
using net::resize_message;

/// Newest first, for the handshake.
inline constexpr std::string_view channel_v5 = "v5.channel.k8s.io";
inline constexpr std::string_view channel_v4 = "v4.channel.k8s.io";

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
