// Rows of the tables and events of the journal as JSON, for lists and for the event stream. Fields
// are only ever added. Times are milliseconds since the epoch, null for never.
//
// Pure. Thread contract: none needed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/event.h"
#include "model/job_row.h"
#include "model/pod_note.h"

namespace muster::view {

/// One object.
std::string job_row_json(const model::JobRow& row);

/// The kind of an event as the stream names it: "placed", "queue-set"; "" for what is never
/// streamed.
std::string_view event_kind(const model::EventBody& body);
/// All that are streamed; the last one is that of notes.
std::vector<std::string_view> event_kinds();
/// The state of the job after this event, where the event alone decides it.
std::optional<model::JobState> state_after(const model::EventBody& body);
/// One object with sequence, at_ms, kind, text, and what the kind has.
std::string event_json(const model::Event& event, std::uint64_t sequence,
                       std::optional<model::JobState> state);

/// What a cluster said about a pod, in the form of an event of the stream; `sequence` is that of
/// the newest event before it, 0 if that is not known.
inline constexpr std::string_view note_kind = "note";
std::string note_json(const model::PodNote& note, std::uint64_t sequence);
/// A list of them, without sequences.
std::string notes_json(const std::vector<model::PodNote>& notes);

/// The text as JSON may hold it: what is not UTF-8 becomes a replacement character.
std::string valid_utf8(std::string_view text);

}  // namespace muster::view
