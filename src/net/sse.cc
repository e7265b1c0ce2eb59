#include "net/sse.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace muster::net {

namespace {

constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

std::string one_line(std::string_view text) {
  std::string out;
  std::copy_if(text.begin(), text.end(), std::back_inserter(out),
               [](char c) { return c != '\n' && c != '\r' && c != '\0'; });
  return out;
}

void append_lines(std::string& out, std::string_view prefix, std::string_view text) {
  std::size_t begin = 0;
  while (true) {
    const std::size_t end = std::min(text.find_first_of("\r\n", begin), text.size());
    out += prefix;
    out += text.substr(begin, end - begin);
    out += '\n';
    if (end == text.size()) return;
    begin = end + (text.substr(end).starts_with("\r\n") ? 2 : 1);
  }
}

}  // namespace

std::string to_text(const SseEvent& event) {
  std::string out;
  out.reserve(event.data.size() + event.id.size() + event.type.size() + 32);
  if (!event.id.empty()) out += "id: " + one_line(event.id) + '\n';
  if (!event.type.empty()) out += "event: " + one_line(event.type) + '\n';
  if (event.retry_ms) out += fmt::format("retry: {}\n", std::max<std::int64_t>(*event.retry_ms, 0));
  append_lines(out, "data: ", event.data);
  out += '\n';
  return out;
}

std::string sse_comment(std::string_view text) {
  std::string out;
  append_lines(out, ": ", text);
  out += '\n';
  return out;
}

Status SseParser::feed(std::string_view bytes) {
  if (failed_) return invalid("event stream: an earlier event was too long");
  for (std::size_t i = 0; i < bytes.size();) {
    if (after_cr_) {
      after_cr_ = false;
      if (bytes[i] == '\n') {
        ++i;
        continue;
      }
    }
    const std::size_t end = std::min(bytes.find_first_of("\r\n", i), bytes.size());
    line_ += bytes.substr(i, end - i);
    if (event_bytes_ + line_.size() > event_bytes_max_) {
      failed_ = true;
      return invalid(fmt::format("event stream: an event exceeds {} bytes", event_bytes_max_));
    }
    if (end == bytes.size()) return Ok{};
    after_cr_ = bytes[end] == '\r';
    i = end + 1;
    if (auto taken = take_line(line_); !taken) return taken;
    line_.clear();
  }
  return Ok{};
}

Status SseParser::take_line(std::string_view line) {
  if (at_start_) {
    at_start_ = false;
    if (line.starts_with(byte_order_mark)) line.remove_prefix(byte_order_mark.size());
  }
  if (line.empty()) {
    dispatch();
    return Ok{};
  }
  event_bytes_ += line.size();
  const std::size_t colon = std::min(line.find(':'), line.size());
  const std::string_view name = line.substr(0, colon);
  std::string_view value = colon == line.size() ? std::string_view{} : line.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (name == "data") {
    if (has_data_) event_.data += '\n';
    has_data_ = true;
    event_.data += value;
  } else if (name == "event") {
    event_.type = value;
  } else if (name == "id") {
    if (value.find('\0') == std::string_view::npos) pending_id_ = value;
  } else if (name == "retry") {
    const bool digits = !value.empty() && value.find_first_not_of("0123456789") == value.npos;
    constexpr std::int64_t day_ms = 86'400'000;
    if (digits) {
      const auto parsed = parse_int(value, "retry", 0, day_ms);
      event_.retry_ms = parsed ? *parsed : day_ms;
    }
  }
  return Ok{};
}

void SseParser::dispatch() {
  // The id counts even when no data came with it; a hint to retry alone is passed on too.
  last_id_ = pending_id_;
  event_.id = last_id_;
  if (has_data_ || event_.retry_ms) sink_(std::move(event_));
  event_ = {};
  has_data_ = false;
  event_bytes_ = 0;
}

}  // namespace muster::net
