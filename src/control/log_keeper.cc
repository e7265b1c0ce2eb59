#include "control/log_keeper.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

namespace muster::control {
namespace {

constexpr std::array streams = {ports::Stream::Note, ports::Stream::Out, ports::Stream::Err};

std::size_t number(ports::Stream stream) { return static_cast<std::size_t>(stream); }

std::string name_of(const ports::PodOutput& pod) { return fmt::format("{}", pod.pod); }

/// How much of a line that is too long is its first part: no character is cut in two.
std::size_t part_of(std::string_view line) {
  constexpr std::size_t character_most = 4;
  std::size_t end = ports::log_line_max;
  const auto is_inside = [&] { return (static_cast<unsigned char>(line[end]) & 0xc0) == 0x80; };
  while (is_inside() && end + character_most > ports::log_line_max) --end;
  return is_inside() ? ports::log_line_max : end;  // no UTF-8: anywhere
}

}  // namespace

Result<std::uint64_t> LogKeeper::taken(const ports::PodOutput& pod) {
  const std::lock_guard lock(mutex_);
  const auto [it, is_new] = states_.try_emplace(pod);
  if (is_new) it->second.in_doubt = true;
  return it->second.position;
}

Result<ports::LastKept> LogKeeper::last_kept(const ports::PodOutput& pod) {
  const ports::Attempt attempt{pod.job, pod.attempt};
  const std::string name = name_of(pod);
  auto state = state_of_kept(pod);
  if (!state) return state.error();
  ports::LastKept last;
  const auto newest = logs_.read(attempt, {.tail = 1, .pod = name});
  if (!newest) return newest.error();
  if (!newest->lines.empty()) {
    const ports::LogLine& line = newest->lines.back();
    last.at = line.at;
    state->sources[number(line.stream)].is_inside = !line.text.ends_with('\n');
    const auto same = logs_.read(
        attempt, {.since = last.at, .pod = name, .limit = std::numeric_limits<std::size_t>::max()});
    if (!same) return same.error();
    for (const ports::LogLine& kept : same->lines) {
      // What Muster said itself is not the pod's.
      if (kept.at == last.at && kept.stream != ports::Stream::Note) last.bytes += kept.text.size();
    }
  }
  const std::lock_guard lock(mutex_);
  states_[pod] = std::move(*state);
  return last;
}

Status LogKeeper::append(const ports::PodOutput& pod, std::span<const ports::OutputChunk> chunks) {
  auto state = state_of(pod);
  if (!state) return state.error();
  const std::string name = name_of(pod);
  Lines lines;
  for (const ports::OutputChunk& chunk : chunks) {
    if (chunk.position <= state->position) continue;
    take(chunk, name, state->sources[number(chunk.stream)], lines);
    state->position = chunk.position;
  }
  return put(pod, std::move(*state), lines);
}

Result<bool> LogKeeper::release(const ports::PodOutput& pod) {
  if (!holds_back(pod)) return false;
  auto state = state_of(pod);
  if (!state) return state.error();
  Lines lines;
  for (const ports::Stream stream : streams) {
    Source& source = state->sources[number(stream)];
    if (std::exchange(source.was_seen, true) && !source.held.empty())
      keep_held(stream, name_of(pod), source, source.held.size(), lines);
  }
  if (Status status = put(pod, std::move(*state), lines); !status) return status.error();
  return !lines.empty();
}

Status LogKeeper::finish(const ports::PodOutput& pod) {
  if (holds_back(pod)) {
    auto state = state_of(pod);
    if (!state) return state.error();
    Lines lines;
    for (const ports::Stream stream : streams) {
      Source& source = state->sources[number(stream)];
      if (!source.held.empty()) keep_held(stream, name_of(pod), source, source.held.size(), lines);
    }
    if (Status status = put(pod, std::move(*state), lines); !status) return status;
  }
  const std::lock_guard lock(mutex_);
  states_.erase(pod);
  return Ok{};
}

std::size_t LogKeeper::pods() const {
  const std::lock_guard lock(mutex_);
  return states_.size();
}

bool LogKeeper::holds_back(const ports::PodOutput& pod) const {
  const std::lock_guard lock(mutex_);
  const auto it = states_.find(pod);
  return it != states_.end() &&
         std::any_of(it->second.sources.begin(), it->second.sources.end(),
                     [](const Source& source) { return !source.held.empty(); });
}

Result<LogKeeper::State> LogKeeper::state_of(const ports::PodOutput& pod) {
  std::optional<State> state;
  {
    const std::lock_guard lock(mutex_);
    if (const auto it = states_.find(pod); it != states_.end()) state = it->second;
  }
  if (!state) {  // nobody asked how far it was taken, or it was finished and goes on
    auto kept = state_of_kept(pod);
    if (!kept) return kept.error();
    const std::lock_guard lock(mutex_);
    return states_[pod] = std::move(*kept);
  }
  if (Status status = find_doubled(pod, *state); !status) return status.error();
  return std::move(*state);
}

Result<LogKeeper::State> LogKeeper::state_of_kept(const ports::PodOutput& pod) const {
  State state;
  for (const ports::Stream stream : streams) {
    const auto appended = logs_.appended({pod.job, pod.attempt}, name_of(pod), stream);
    if (!appended) return appended.error();
    state.sources[number(stream)].bytes = *appended;
  }
  return state;
}

/// What the store has beyond what was given to it: that comes again, and is skipped.
Status LogKeeper::find_doubled(const ports::PodOutput& pod, State& state) const {
  if (!state.in_doubt) return Ok{};
  for (const ports::Stream stream : streams) {
    Source& source = state.sources[number(stream)];
    const auto appended = logs_.appended({pod.job, pod.attempt}, name_of(pod), stream);
    if (!appended) return appended.error();
    const std::uint64_t given = source.bytes - source.held.size();
    source.skip = *appended - std::min(*appended, given);
  }
  return Ok{};
}

void LogKeeper::take(const ports::OutputChunk& chunk, const std::string& pod, Source& source,
                     Lines& lines) {
  source.bytes += chunk.bytes.size();
  std::string_view rest = chunk.bytes;
  while (!rest.empty()) {
    const std::size_t newline = rest.find('\n');
    const std::size_t end = newline == std::string_view::npos ? rest.size() : newline + 1;
    if (source.held.empty()) {
      source.held_at = chunk.at;
      source.was_seen = false;
    }
    source.held += rest.substr(0, end);
    rest.remove_prefix(end);
    while (source.held.size() > ports::log_line_max)
      keep_held(chunk.stream, pod, source, part_of(source.held), lines);
    if (newline != std::string_view::npos)
      keep_held(chunk.stream, pod, source, source.held.size(), lines);
  }
}

/// Adds the first `bytes` of what is held back, but for what the store has of them.
void LogKeeper::keep_held(ports::Stream stream, const std::string& pod, Source& source,
                          std::size_t bytes, Lines& lines) {
  std::string text = std::exchange(
      source.held, bytes < source.held.size() ? source.held.substr(bytes) : std::string());
  text.resize(bytes);
  const auto skipped = static_cast<std::size_t>(std::min<std::uint64_t>(source.skip, bytes));
  if (skipped > 0) {
    source.is_inside = text[skipped - 1] != '\n';
    source.skip -= skipped;
    text.erase(0, skipped);
  }
  if (text.empty()) return;
  const bool is_whole = text.ends_with('\n');
  lines.push_back({source.held_at, pod, stream, std::move(text), 0,
                   std::exchange(source.is_inside, !is_whole)});
}

/// The lines, and the state with them, or neither.
Status LogKeeper::put(const ports::PodOutput& pod, State state, const Lines& lines) {
  const Status status = lines.empty() ? Status(Ok{}) : logs_.append({pod.job, pod.attempt}, lines);
  const std::lock_guard lock(mutex_);
  if (!status) {
    states_[pod].in_doubt = true;
    return status;
  }
  state.in_doubt = std::any_of(state.sources.begin(), state.sources.end(),
                               [](const Source& source) { return source.skip > 0; });
  states_[pod] = std::move(state);
  return status;
}

}  // namespace muster::control
