// Several streams of bytes over one WebSocket: the first byte of a message names the channel, as
// Kubernetes does it for commands in containers (v5.channel.k8s.io). Pure.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace muster::net {

enum class Channel : std::uint8_t {
  Stdin = 0,
  Stdout = 1,
  Stderr = 2,
  Error = 3,   // how it ended
  Resize = 4,  // of the terminal
  Close = 255  // the channel named by the next byte has no more to come
};

inline std::string channel_message(Channel channel, std::string_view bytes) {
  std::string message(1, static_cast<char>(channel));
  message += bytes;
  return message;
}

inline std::string resize_message(int columns, int rows) {
  return channel_message(Channel::Resize,
                         fmt::format(R"({{"Width":{},"Height":{}}})", columns, rows));
}

inline std::string close_message(Channel channel) {
  return channel_message(Channel::Close, std::string(1, static_cast<char>(channel)));
}

}  // namespace muster::net
