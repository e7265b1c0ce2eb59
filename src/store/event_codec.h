// The bytes of an event in the journal. An event is a frame: its length, its kind, the version in
// which that kind was written, its time and its fields. A kind's number and the meaning of a
// version never change; a new field makes a new version of the kinds that hold it, and the reader
// keeps reading all older ones (tests/store/journal_v*.golden). Numbers are variable-length, text
// is counted, lists and maps are counted and maps ascend, so that equal events are equal bytes.
//
// Reading never trusts: bad bytes are an error, and memory stays in proportion to the input.
// Pure. Thread contract: none needed.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/event.h"

namespace muster::store {

/// Appends the event's frame.
void encode(const model::Event& event, std::string& out);

/// Takes one frame off the front of `bytes`, which are left as they are on failure. An event of a
/// kind or version that this build does not know, because a newer Muster wrote it, is an error that
/// says so.
Result<model::Event> decode(std::string_view& bytes);
/// The same without a copy: events are large, and a restart reads millions.
Status decode_into(std::string_view& bytes, model::Event& event);

/// All frames, in order; each may be moved from.
Status decode_all(std::string_view bytes, const std::function<void(model::Event&)>& each);

}  // namespace muster::store
