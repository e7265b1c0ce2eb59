#include "clusters/kubernetes/pod_log_reader.h"

#include <algorithm>
#include <optional>

#include "kube/timestamp.h"

namespace muster::clusters {
namespace {

constexpr std::size_t piece_most = 256U << 10;  // of a line; the rest follows as another chunk
constexpr std::int64_t ns_per_ms = 1'000'000;
constexpr std::int64_t ns_per_s = 1'000'000'000;

/// The nanoseconds of "2026-01-31T12:00:00.123456789Z"; none: it is no time.
std::optional<std::int64_t> nanoseconds_of(std::string_view text) {
  constexpr std::size_t seconds_size = 19;
  if (text.size() <= seconds_size) return std::nullopt;
  const auto time = kube::parse_timestamp(text, "timestamp");
  if (!time) return std::nullopt;
  std::int64_t fraction = 0;
  std::int64_t scale = ns_per_s;
  if (text[seconds_size] == '.') {
    for (std::size_t i = seconds_size + 1; i < text.size(); ++i) {
      if (text[i] < '0' || text[i] > '9' || scale == 1) break;
      scale /= 10;
      fraction += (text[i] - '0') * scale;
    }
  }
  const std::int64_t whole = time->ms - time->ms % 1000;
  return whole * ns_per_ms + fraction;
}

}  // namespace

std::string PodLogReader::since() const {
  const auto read = static_cast<std::int64_t>(position_) / ns_per_ms;
  const Time newest{std::max(read, kept_.at.ms)};
  if (newest.ms <= 0) return "";
  return kube::to_timestamp(newest - seconds(1));  // servers know whole seconds only
}

void PodLogReader::begin_stream() {
  rest_.clear();
  is_inside_ = false;
  stream_position_ = 0;
  stream_at_ = Time{};
}

void PodLogReader::feed(std::string_view bytes, std::vector<ports::OutputChunk>& out) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    const std::size_t room = piece_most - rest_.size();
    const bool is_whole = end != std::string_view::npos && end < room;
    const std::size_t count = is_whole ? end + 1 : std::min(bytes.size(), room);
    rest_ += bytes.substr(0, count);
    bytes.remove_prefix(count);
    if (!is_whole && rest_.size() < piece_most) return;
    take(rest_, is_whole, out);
    rest_.clear();
  }
}

void PodLogReader::end_log(std::vector<ports::OutputChunk>& out) {
  if (!rest_.empty()) take(rest_, false, out);
  begin_stream();
}

ports::OutputChunk PodLogReader::note(std::string text, Time now) {
  last_at_ = std::max(last_at_, now);
  return {ports::Stream::Note, last_at_, std::move(text), ++position_};
}

void PodLogReader::take(std::string_view line, bool is_whole,
                        std::vector<ports::OutputChunk>& out) {
  if (!is_inside_) {
    const std::size_t space = std::min(line.find(' '), line.size());
    if (const auto time = nanoseconds_of(line.substr(0, space))) {
      line.remove_prefix(std::min(space + 1, line.size()));
      stream_position_ = std::max(stream_position_ + 1, static_cast<std::uint64_t>(*time));
      stream_at_ = std::max(stream_at_, Time{*time / ns_per_ms});
    } else {
      ++stream_position_;  // said by the kubelet itself
    }
  } else {
    ++stream_position_;
  }
  is_inside_ = !is_whole;
  if (stream_position_ <= position_) return;
  position_ = stream_position_;
  if (stream_at_ < kept_.at) return;
  if (stream_at_ == kept_.at && kept_.bytes > 0) {
    const std::size_t known = std::min<std::uint64_t>(kept_.bytes, line.size());
    kept_.bytes -= known;
    line.remove_prefix(known);
  }
  if (line.empty()) return;
  last_at_ = std::max(last_at_, stream_at_);
  out.push_back({ports::Stream::Out, last_at_, std::string(line), position_});
}

}  // namespace muster::clusters
