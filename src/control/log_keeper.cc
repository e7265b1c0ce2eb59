#include "control/log_keeper.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

namespace muster::control {
namespace {

std::size_t number(ports::Stream stream) { return static_cast<std::size_t>(stream); }

/// Adds the lines of these bytes, but for the first `skip` of them.
void add_lines(const ports::OutputChunk& chunk, const std::string& pod, std::uint64_t skip,
               std::vector<ports::LogLine>& lines) {
  std::string_view rest = chunk.bytes;
  rest.remove_prefix(std::min<std::uint64_t>(skip, rest.size()));
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size() - 1) + 1;
    lines.push_back({chunk.at, pod, chunk.stream, std::string(rest.substr(0, end)), 0});
    rest.remove_prefix(end);
  }
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
  const std::string name = fmt::format("{}", pod.pod);
  State state;  // the store has exactly what was counted: nothing is skipped
  for (const ports::Stream stream : {ports::Stream::Note, ports::Stream::Out, ports::Stream::Err}) {
    const auto appended = logs_.appended(attempt, name, stream);
    if (!appended) return appended.error();
    state.bytes[number(stream)] = *appended;
  }
  ports::LastKept last;
  const auto newest = logs_.read(attempt, {.tail = 1, .pod = name});
  if (!newest) return newest.error();
  if (!newest->lines.empty()) {
    last.at = newest->lines.back().at;
    const auto same = logs_.read(
        attempt, {.since = last.at, .pod = name, .limit = std::numeric_limits<std::size_t>::max()});
    if (!same) return same.error();
    for (const ports::LogLine& line : same->lines) {
      // What Muster said itself is not the pod's.
      if (line.at == last.at && line.stream != ports::Stream::Note) last.bytes += line.text.size();
    }
  }
  const std::lock_guard lock(mutex_);
  states_[pod] = state;
  return last;
}

Status LogKeeper::append(const ports::PodOutput& pod, std::span<const ports::OutputChunk> chunks) {
  State state;
  {
    const std::lock_guard lock(mutex_);
    state = states_[pod];
  }
  const ports::Attempt attempt{pod.job, pod.attempt};
  const std::string name = fmt::format("{}", pod.pod);
  std::array<std::uint64_t, 3> skip{};
  if (state.in_doubt) {
    for (const ports::Stream stream :
         {ports::Stream::Note, ports::Stream::Out, ports::Stream::Err}) {
      const auto appended = logs_.appended(attempt, name, stream);
      if (!appended) return appended.error();
      skip[number(stream)] = *appended - std::min(*appended, state.bytes[number(stream)]);
    }
  }
  std::vector<ports::LogLine> lines;
  for (const ports::OutputChunk& chunk : chunks) {
    if (chunk.position <= state.position) continue;
    std::uint64_t& left = skip[number(chunk.stream)];
    add_lines(chunk, name, left, lines);
    left -= std::min<std::uint64_t>(left, chunk.bytes.size());
    state.bytes[number(chunk.stream)] += chunk.bytes.size();
    state.position = chunk.position;
  }
  const Status status = lines.empty() ? Status(Ok{}) : logs_.append(attempt, lines);
  const std::lock_guard lock(mutex_);
  if (!status) {
    states_[pod].in_doubt = true;
    return status;
  }
  state.in_doubt =
      std::any_of(skip.begin(), skip.end(), [](std::uint64_t left) { return left > 0; });
  states_[pod] = state;
  return status;
}

}  // namespace muster::control
