#include "net/websocket_frames.h"

#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

#include "base/check.h"
#include "net/base64.h"

namespace muster::net {

namespace {

Error broken(std::string message) { return {Fault::Unavailable, std::move(message)}; }

bool is_control(Opcode opcode) { return static_cast<int>(opcode) >= 8; }

bool is_known(int opcode) { return opcode <= 2 || (opcode >= 8 && opcode <= 10); }

std::string random_bytes(std::size_t count) {
  std::string bytes(count, '\0');
  const int done =
      RAND_bytes(reinterpret_cast<unsigned char*>(bytes.data()), static_cast<int>(count));
  MUSTER_CHECK(done == 1, "no random bytes");
  return bytes;
}

/// Opcode and length, with the bit that says whether a mask follows.
void append_head(std::string& out, Opcode opcode, std::size_t size, unsigned mask_bit) {
  out += static_cast<char>(0x80 | static_cast<int>(opcode));
  const auto append_size = [&](int bytes) {
    for (int shift = (bytes - 1) * 8; shift >= 0; shift -= 8) {
      out += static_cast<char>(size >> shift & 0xff);
    }
  };
  if (size < 126) {
    out += static_cast<char>(mask_bit | size);
  } else if (size <= 0xffff) {
    out += static_cast<char>(mask_bit | 126U);
    append_size(2);
  } else {
    out += static_cast<char>(mask_bit | 127U);
    append_size(8);
  }
}

void apply_mask(std::string& bytes, std::size_t from, FrameMask mask) {
  for (std::size_t i = from; i < bytes.size(); ++i) {
    bytes[i] = static_cast<char>(static_cast<unsigned char>(bytes[i]) ^ mask[(i - from) % 4]);
  }
}

}  // namespace

void append_frame(std::string& out, Opcode opcode, std::string_view payload, FrameMask mask) {
  append_head(out, opcode, payload.size(), 0x80);
  out.append(reinterpret_cast<const char*>(mask.data()), mask.size());
  const std::size_t start = out.size();
  out += payload;
  apply_mask(out, start, mask);
}

void append_frame(std::string& out, Opcode opcode, std::string_view payload) {
  append_head(out, opcode, payload.size(), 0);
  out += payload;
}

FrameMask random_frame_mask() {
  const std::string bytes = random_bytes(4);
  FrameMask mask;
  for (std::size_t i = 0; i < mask.size(); ++i) mask[i] = static_cast<unsigned char>(bytes[i]);
  return mask;
}

std::string websocket_accept(std::string_view key) {
  const std::string text = std::string(key) + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  const int done = EVP_Digest(text.data(), text.size(), digest, &size, EVP_sha1(), nullptr);
  MUSTER_CHECK(done == 1, "SHA-1 is not available");
  return base64_encode({reinterpret_cast<const char*>(digest), size});
}

std::string random_websocket_key() { return base64_encode(random_bytes(16)); }

std::string close_payload(int code, std::string_view reason) {
  std::string payload;
  payload += static_cast<char>(code >> 8 & 0xff);
  payload += static_cast<char>(code & 0xff);
  payload += reason.substr(0, 123);
  return payload;
}

CloseWords parse_close_payload(std::string_view payload) {
  if (payload.size() < 2) return {};
  const int code =
      static_cast<unsigned char>(payload[0]) << 8 | static_cast<unsigned char>(payload[1]);
  return {code, std::string(payload.substr(2))};
}

struct FrameReader::Head {
  bool is_last = false;
  Opcode opcode = Opcode::Binary;
  std::uint64_t size = 0;
  std::size_t bytes = 0;  // of the head itself
  FrameMask mask = {};    // of a client
};

Result<bool> FrameReader::read_head(Head& head) const {
  const std::string_view bytes = std::string_view(unread_).substr(begin_);
  if (bytes.size() < 2) return false;
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(bytes[at]); };
  if ((byte(0) & 0x70) != 0) return broken("websocket: an extension that was not agreed");
  const int opcode = byte(0) & 0x0f;
  if (!is_known(opcode)) return broken(fmt::format("websocket: unknown opcode {}", opcode));
  const bool is_masked = (byte(1) & 0x80) != 0;
  if (is_masked && peer_ == Side::Server) return broken("websocket: a masked frame of a server");
  if (!is_masked && peer_ == Side::Client) return broken("websocket: a frame without a mask");
  head.is_last = (byte(0) & 0x80) != 0;
  head.opcode = static_cast<Opcode>(opcode);
  const int short_size = byte(1) & 0x7f;
  const std::size_t more = short_size == 126 ? 2 : short_size == 127 ? 8 : 0;
  head.bytes = 2 + more + (is_masked ? head.mask.size() : 0);
  if (bytes.size() < head.bytes) return false;
  for (std::size_t i = 0; is_masked && i < head.mask.size(); ++i) head.mask[i] = byte(2 + more + i);
  head.size = static_cast<std::uint64_t>(short_size);
  if (more > 0) {
    head.size = 0;
    for (std::size_t i = 0; i < more; ++i) head.size = head.size << 8 | byte(2 + i);
  }
  if (is_control(head.opcode) && (head.size > 125 || !head.is_last)) {
    return broken("websocket: a control frame that is too long or in parts");
  }
  return true;
}

Result<bool> FrameReader::take(const Head& head, Message& message) {
  std::string payload = unread_.substr(begin_ + head.bytes, static_cast<std::size_t>(head.size));
  if (peer_ == Side::Client) apply_mask(payload, 0, head.mask);
  if (is_control(head.opcode)) {
    message = {head.opcode, std::move(payload)};
    return true;
  }
  const bool continues = head.opcode == Opcode::Continuation;
  if (continues != in_message_) return broken("websocket: parts of messages out of order");
  if (!continues) partial_ = {head.opcode, {}};
  partial_.payload += payload;
  in_message_ = !head.is_last;
  if (in_message_) return false;
  message = std::move(partial_);
  partial_ = {};
  return true;
}

Result<bool> FrameReader::next(Message& message) {
  while (true) {
    Head head;
    const auto has_head = read_head(head);
    if (!has_head) return has_head;
    if (*has_head &&
        head.size > message_bytes_max_ - std::min(message_bytes_max_, partial_.payload.size())) {
      return broken(fmt::format("websocket: a message exceeds {} bytes", message_bytes_max_));
    }
    if (!*has_head || unread_.size() - begin_ < head.bytes + head.size) {
      unread_.erase(0, begin_);
      begin_ = 0;
      return false;
    }
    const auto taken = take(head, message);
    begin_ += head.bytes + static_cast<std::size_t>(head.size);
    if (!taken || *taken) return taken;
  }
}

}  // namespace muster::net
