#include "control/pod_timeline.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace muster::control {
namespace {

constexpr std::size_t lines_most = 1000;
constexpr std::string_view too_many = "TooManyEvents";

/// As a part of a line.
std::string part_of(std::string_view text, std::size_t bytes_most) {
  std::string part(text.substr(0, bytes_most));
  std::replace_if(
      part.begin(), part.end(), [](char c) { return c == '\t' || c == '\n' || c == '\r'; }, ' ');
  return part;
}

/// "warning <tab> key <tab> reason <tab> message"; the object is the line's pod.
ports::LogLine line_of(const model::PodNote& note, std::size_t bytes_most) {
  return {note.at, note.object, ports::Stream::Note,
          fmt::format("{}\t{}\t{}\t{}\n", note.is_warning ? '!' : '.', part_of(note.key, 200),
                      part_of(note.reason, 200), part_of(note.message, bytes_most)),
          0};
}

/// None: a line of another hand.
std::optional<model::PodNote> note_of(const ports::Attempt& attempt, const ports::LogLine& line) {
  std::string_view text = line.text;
  if (text.ends_with('\n')) text.remove_suffix(1);
  const std::vector<std::string_view> parts = split(text, '\t');
  if (parts.size() != 4) return std::nullopt;
  model::PodNote note;
  note.job = attempt.job;
  note.attempt = attempt.number;
  note.at = line.at;
  note.key = parts[1];
  note.object = line.pod;
  note.reason = parts[2];
  note.message = parts[3];
  note.is_warning = parts[0] == "!";
  return note;
}

Result<std::vector<model::PodNote>> read(const ports::LogStore& store,
                                         const ports::Attempt& attempt) {
  const auto page = store.read(attempt, {.limit = lines_most});
  if (!page) return page.error();
  std::vector<model::PodNote> notes;
  for (const ports::LogLine& line : page->lines) {
    if (auto note = note_of(attempt, line)) notes.push_back(std::move(*note));
  }
  return notes;
}

}  // namespace

/// Null: what the store has of it cannot be read now. Under the lock.
PodTimeline::Known* PodTimeline::known_of(const ports::Attempt& attempt) {
  if (const auto it = known_.find(attempt); it != known_.end()) return &it->second;
  const auto notes = read(store_, attempt);
  if (!notes) return nullptr;
  if (known_.size() >= limits_.attempts_known) known_.clear();  // the store has them all
  Known& known = known_[attempt];
  for (const model::PodNote& note : *notes) {
    known.keys.insert(note.key);
    ++known.reasons[note.reason];
  }
  return &known;
}

void PodTimeline::note(const model::PodNote& note) {
  model::PodNote kept = note;
  kept.key = part_of(note.key, 200);
  kept.message = part_of(note.message, limits_.message_bytes);
  const ports::Attempt attempt{note.job, note.attempt};
  {
    const std::lock_guard lock(mutex_);
    Known* known = known_of(attempt);
    if (known == nullptr || known->keys.contains(kept.key)) return;
    if (known->keys.size() > limits_.attempt || known->reasons[kept.reason] >= limits_.reason)
      return;
    if (known->keys.size() == limits_.attempt) {
      kept.key = kept.reason = too_many;
      kept.message = "what else the cluster says about this attempt is not kept";
    }
    const ports::LogLine line = line_of(kept, limits_.message_bytes);
    if (!store_.append(attempt, std::span(&line, 1))) return;  // it comes again
    known->keys.insert(kept.key);
    ++known->reasons[kept.reason];
  }
  if (told_) told_(kept);
}

Result<std::vector<model::PodNote>> PodTimeline::of(const std::string& job,
                                                    std::optional<std::uint32_t> attempt,
                                                    std::size_t most) const {
  std::vector<std::uint32_t> attempts;
  if (attempt) {
    attempts.push_back(*attempt);
  } else {
    auto all = store_.attempts(job);
    if (!all) return all.error();
    attempts = std::move(*all);
  }
  // The newest first, until there are enough.
  std::vector<model::PodNote> notes;
  for (auto it = attempts.rbegin(); it != attempts.rend() && notes.size() < most; ++it) {
    auto of_one = read(store_, {job, *it});
    if (!of_one) return of_one.error();
    notes.insert(notes.begin(), std::make_move_iterator(of_one->begin()),
                 std::make_move_iterator(of_one->end()));
  }
  if (notes.size() > most)
    notes.erase(notes.begin(), notes.end() - static_cast<std::ptrdiff_t>(most));
  return notes;
}

}  // namespace muster::control
