// Cuts bytes that come in pieces into lines, for logs. A line without an end is given out when it
// exceeds line_bytes_max or when the input ends.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace muster::net {

class LineCutter {
 public:
  /// False stops: nothing more is given out. Lines come without their '\n' and a '\r' before it.
  using Sink = std::function<bool(std::string_view)>;
  explicit LineCutter(Sink sink, std::size_t line_bytes_max = 1U << 20)
      : sink_(std::move(sink)), line_bytes_max_(line_bytes_max) {}

  /// False once the sink said so.
  bool feed(std::string_view bytes) {
    while (!is_stopped_ && !bytes.empty()) {
      const std::size_t end = bytes.find('\n');
      const bool ended = end != std::string_view::npos;
      const std::size_t room = line_bytes_max_ - rest_.size();
      const std::size_t count = std::min(ended ? end : bytes.size(), room);
      rest_ += bytes.substr(0, count);
      const bool is_whole = ended && count == end;
      bytes.remove_prefix(count + (is_whole ? 1 : 0));
      if (is_whole || rest_.size() == line_bytes_max_) give_out(is_whole);
    }
    return !is_stopped_;
  }

  void finish() {
    if (!is_stopped_ && !rest_.empty()) give_out(false);
  }

 private:
  void give_out(bool is_whole) {
    if (is_whole && rest_.ends_with('\r')) rest_.pop_back();
    is_stopped_ = !sink_(rest_);
    rest_.clear();
  }

  Sink sink_;
  std::size_t line_bytes_max_;
  std::string rest_;
  bool is_stopped_ = false;
};

}  // namespace muster::net
