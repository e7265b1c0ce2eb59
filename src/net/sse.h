// Server-sent events (text/event-stream): writing and reading them. Pure: bytes in, events out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace muster::net {

struct SseEvent {
  std::string id;                             // "" keeps the reader's last id
  std::string type;                           // "" reads as "message"
  std::string data;                           // may have several lines
  std::optional<std::int64_t> retry_ms = {};  // how long the reader waits before it comes again
  friend bool operator==(const SseEvent&, const SseEvent&) = default;
};

/// The event on the wire, ending in an empty line. Line breaks and zero bytes in id and type cannot
/// be written and are left out; carriage returns in data become line feeds.
std::string to_text(const SseEvent& event);
/// A comment that readers skip: keeps a quiet connection alive.
std::string sse_comment(std::string_view text);

/// Reads a stream in pieces of any size, as the HTML standard says. An event whose lines exceed
/// event_bytes_max is an error, after which the parser reads nothing more.
class SseParser {
 public:
  using Sink = std::function<void(SseEvent)>;
  explicit SseParser(Sink sink, std::size_t event_bytes_max = 16U << 20)
      : sink_(std::move(sink)), event_bytes_max_(event_bytes_max) {}

  Status feed(std::string_view bytes);
  /// To resume after the connection broke: the header Last-Event-ID. Only of events delivered.
  const std::string& last_event_id() const { return last_id_; }

 private:
  Status take_line(std::string_view line);
  void dispatch();

  Sink sink_;
  std::size_t event_bytes_max_;
  std::size_t event_bytes_ = 0;
  std::string line_;  // begun, not ended yet
  bool at_start_ = true;
  bool after_cr_ = false;
  bool failed_ = false;
  bool has_data_ = false;
  SseEvent event_;
  std::string pending_id_;
  std::string last_id_;
};

}  // namespace muster::net
