// Frames of RFC 6455 between bytes and messages, without sockets. Pure but for the random mask.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace muster::net {

enum class Opcode : std::uint8_t {
  Continuation = 0,
  Text = 1,
  Binary = 2,
  Close = 8,
  Ping = 9,
  Pong = 10,
};

enum class Side { Client, Server };

using FrameMask = std::array<unsigned char, 4>;

/// One unfragmented frame of a client.
void append_frame(std::string& out, Opcode opcode, std::string_view payload, FrameMask mask);
/// The same of a server, which masks nothing.
void append_frame(std::string& out, Opcode opcode, std::string_view payload);
FrameMask random_frame_mask();

/// What Sec-WebSocket-Accept must be for a key.
std::string websocket_accept(std::string_view key);
/// 16 random bytes in base64.
std::string random_websocket_key();

/// The payload of a close frame: two bytes of code, then a reason.
std::string close_payload(int code, std::string_view reason);
struct CloseWords {
  int code = 1005;
  std::string reason = {};
};
CloseWords parse_close_payload(std::string_view payload);

/// Puts frames of a peer together to messages. Fed with whatever bytes came.
class FrameReader {
 public:
  explicit FrameReader(std::size_t message_bytes_max, Side peer = Side::Server)
      : message_bytes_max_(message_bytes_max), peer_(peer) {}

  struct Message {
    Opcode opcode = Opcode::Binary;  // never Continuation
    std::string payload = {};
  };
  void feed(std::string_view bytes) { unread_ += bytes; }
  /// True: `message` is filled. False: more bytes are needed. An error: the peer breaks the rules
  /// or the limit, and the connection is of no use any more.
  Result<bool> next(Message& message);

 private:
  struct Head;
  Result<bool> read_head(Head& head) const;
  Result<bool> take(const Head& head, Message& message);

  const std::size_t message_bytes_max_;
  const Side peer_;
  std::string unread_;
  std::size_t begin_ = 0;  // of what was not used yet
  bool in_message_ = false;
  Message partial_;
};

}  // namespace muster::net
