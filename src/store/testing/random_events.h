// Events of every kind with random contents, for tests of the codec.
#pragma once

#include <cstddef>
#include <variant>

#include "base/prng.h"
#include "model/event.h"

namespace muster::store {

constexpr std::size_t event_kinds = std::variant_size_v<model::EventBody>;
/// Kinds there were when the golden journal was written; later ones have greater indexes.
constexpr std::size_t golden_kinds = 28;
constexpr std::size_t golden_events = 10 * golden_kinds;

/// All that events have today, or what they had when the golden journal was written.
enum class Fields { All, First };

/// `kind`: index in model::EventBody. The golden journal holds what this makes of the first fields.
model::Event random_event(Prng& prng, std::size_t kind, Fields fields = Fields::All);

bool same(const model::Event& a, const model::Event& b);

}  // namespace muster::store
