#include "clusters/simulated/simulated_pods.h"

#include <array>

#include "base/text.h"
#include "clusters/fields.h"

namespace muster::clusters {
namespace {

constexpr std::array<std::string_view, 4> phases = {"starting", "running", "stopping", "over"};
constexpr std::array<std::string_view, 3> ends = {"finished", "gone", "start_failed"};

template <std::size_t N>
std::optional<std::size_t> index_of(const std::array<std::string_view, N>& words,
                                    std::string_view word) {
  for (std::size_t i = 0; i < N; ++i) {
    if (words[i] == word) return i;
  }
  return std::nullopt;
}

}  // namespace

Time SimulatedPods::due_at(const Entry& entry) {
  if (entry.phase == Phase::Over) return Time::never();
  return entry.phase == Phase::Starting ? entry.starts : entry.ends;
}

void SimulatedPods::set(const ports::Attempt& attempt, Entry entry) {
  const auto [it, is_new] = book_.try_emplace(attempt);
  if (!is_new) due_.erase({due_at(it->second), attempt});
  if (!is_new && is_changing(it->second)) --changing_;
  if (entry.phase != Phase::Over) due_.emplace(due_at(entry), attempt);
  if (is_changing(entry)) ++changing_;
  it->second = std::move(entry);
}

void SimulatedPods::create(const ports::Attempt& attempt, Run run, Time now) {
  if (knows(attempt)) return;
  const Time starts = now + timing_.start;
  set(attempt, {Phase::Starting, starts, starts + run.time, run.exit_code, End::Finished, ""});
}

void SimulatedPods::remove(const ports::Attempt& attempt, Time now) {
  const auto it = book_.find(attempt);
  if (it == book_.end()) {
    set(attempt, {Phase::Over, now, now, 0, End::Gone, ""});
    return;
  }
  Entry entry = it->second;
  if (entry.phase == Phase::Over || entry.phase == Phase::Stopping) return;
  entry.phase = Phase::Stopping;
  entry.ends = now + timing_.stop;
  entry.end = End::Gone;
  set(attempt, entry);
}

void SimulatedPods::refuse(const ports::Attempt& attempt, std::string reason, Time now) {
  if (!knows(attempt))
    set(attempt, {Phase::Over, now, now, 0, End::StartFailed, std::move(reason)});
}

std::vector<model::EventBody> SimulatedPods::pass(Time now) {
  std::vector<model::EventBody> said;
  while (next() <= now) {
    const ports::Attempt attempt = due_.begin()->second;
    Entry entry = book_.at(attempt);
    entry.phase = entry.phase == Phase::Starting ? Phase::Running : Phase::Over;
    set(attempt, entry);
    said.push_back(*how(attempt, now));
  }
  return said;
}

std::optional<model::EventBody> SimulatedPods::how(const ports::Attempt& attempt,
                                                   Time again) const {
  const auto it = book_.find(attempt);
  if (it == book_.end()) return std::nullopt;
  const auto& [job, number] = attempt;
  const Entry& entry = it->second;
  if (entry.phase == Phase::Running) return model::Started{job, number};
  if (entry.phase != Phase::Over) return std::nullopt;
  if (entry.end == End::Gone) return model::Gone{job, number};
  if (entry.end == End::StartFailed) return model::StartFailed{job, number, again, entry.reason};
  if (entry.exit_code == 0) return model::Finished{job, number, true};
  return model::Finished{job, number, false, entry.exit_code,
                         fmt::format("simulated exit code {}", entry.exit_code)};
}

std::vector<ports::Attempt> SimulatedPods::alive() const {
  std::vector<ports::Attempt> attempts;
  for (const auto& [time, attempt] : due_) attempts.push_back(attempt);
  return attempts;
}

void SimulatedPods::forget(Time when) {
  std::erase_if(book_, [&](const auto& item) {
    return item.second.phase == Phase::Over && item.second.ends < when;
  });
}

// ----------------------------------------------------------------------------------------------
// over a restart

std::string SimulatedPods::line_of(const ports::Attempt& attempt) const {
  const Entry& entry = book_.at(attempt);
  return FieldWriter::line(
      phases[static_cast<std::size_t>(entry.phase)],
      fmt::format("{} {} {} {} {} {}", attempt.number, entry.starts.ms, entry.ends.ms,
                  entry.exit_code, ends[static_cast<std::size_t>(entry.end)], attempt.job));
}

std::string SimulatedPods::text() const {
  std::string text;
  for (const auto& [attempt, entry] : book_) text += line_of(attempt);
  return text;
}

void SimulatedPods::read(std::string_view text) {
  const auto lines = split(text.substr(0, text.rfind('\n') + 1), '\n');
  for (const std::string_view line : lines) {
    const auto fields = parse_fields(fmt::format("{}\nend\n", line));
    if (!fields || fields->size() != 1) continue;
    const auto phase = index_of(phases, fields->front().key);
    std::string_view rest = fields->front().value;
    std::array<std::string_view, 5> words;
    for (std::string_view& word : words) {
      word = rest.substr(0, rest.find(' '));
      rest.remove_prefix(std::min(rest.size(), word.size() + 1));
    }
    const auto number = parse_int(words[0], "", 0, 0xffffffffLL);
    const auto starts = parse_int(words[1], "", 0, Time::never().ms);
    const auto until = parse_int(words[2], "", 0, Time::never().ms);
    const auto exit_code = parse_int(words[3], "", 0, 255);
    const auto end = index_of(ends, words[4]);
    if (!phase || !number || !starts || !until || !exit_code || !end || rest.empty()) continue;
    const ports::Attempt attempt{std::string(rest), static_cast<std::uint32_t>(*number)};
    set(attempt, {static_cast<Phase>(*phase), Time{*starts}, Time{*until},
                  static_cast<int>(*exit_code), static_cast<End>(*end), ""});
  }
}

}  // namespace muster::clusters
