#include "store/projection.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace muster::store {
namespace {

using namespace model;

/// Events about a job that its row does not show need no look at it.
bool shows(const EventBody& body) {
  return !std::holds_alternative<JobSubmitted>(body) && !std::holds_alternative<Reserved>(body) &&
         !std::holds_alternative<ReservationDropped>(body) &&
         !std::holds_alternative<Checkpointed>(body) && !std::holds_alternative<Ailing>(body);
}

/// Length of the valid UTF-8 sequence at the front; 0 if there is none. A zero byte is not valid.
std::size_t sequence_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  if (lead != 0 && lead < 0x80) return 1;
  const std::size_t size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < size) return 0;
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  // Overlong forms, surrogates, and beyond the last character.
  const unsigned second = byte(1);
  if ((lead == 0xe0 && second < 0xa0) || (lead == 0xed && second > 0x9f) ||
      (lead == 0xf0 && second < 0x90) || (lead == 0xf4 && second > 0x8f)) {
    return 0;
  }
  return size;
}

}  // namespace

std::string table_text(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t size = sequence_length(text);
    if (size == 0) {
      out += "\xef\xbf\xbd";
    } else {
      out += text.substr(0, size);
    }
    text.remove_prefix(std::max<std::size_t>(size, 1));
  }
  return out;
}

std::vector<std::string_view> Projection::needed() const {
  std::vector<std::string_view> ids;
  for (const Event& event : events_) {
    const std::string* id = job_of(event.body);
    if (id != nullptr && shows(event.body)) ids.emplace_back(*id);
  }
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

void Projection::know(JobRow row) {
  index_.emplace(row.id, seen_.size());
  seen_.push_back({std::move(row), false, false});
}

void Projection::fold(std::uint64_t first) {
  for (std::size_t i = 0; i < events_.size(); ++i) {
    const Event& event = events_[i];
    const std::string* job = job_of(event.body);
    if (job == nullptr) continue;
    const std::string id = table_text(*job);
    const auto it = index_.find(id);
    if (const auto* submitted = std::get_if<JobSubmitted>(&event.body)) {
      if (it != index_.end()) continue;
      index_.emplace(id, seen_.size());
      seen_.push_back({row_of(*submitted, event.at, first + i), true, false});
    } else if (it != index_.end()) {
      Seen& seen = seen_[it->second];
      seen.differs = follow(seen.row, event) || seen.differs;
    }
  }
  for (Seen& seen : seen_) {
    if (!seen.is_new && !seen.differs) continue;
    JobRow& row = seen.row;
    const std::array<std::string*, 8> texts = {&row.id,      &row.name, &row.user,    &row.queue,
                                               &row.cluster, &row.pool, &row.payload, &row.reason};
    for (std::string* text : texts) *text = table_text(*text);
    Labels labels;
    for (const auto& [key, value] : row.labels)
      labels.insert_or_assign(table_text(key), table_text(value));
    row.labels = std::move(labels);
    (seen.is_new ? added_ : changed_).push_back(std::move(row));
  }
}

}  // namespace muster::store
