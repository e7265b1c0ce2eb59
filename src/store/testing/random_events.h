// Events of every kind with random contents, for tests of the codec.
#pragma once

#include <cstddef>
#include <variant>

#include "base/prng.h"
#include "model/event.h"

namespace muster::store {

constexpr std::size_t event_kinds = std::variant_size_v<model::AnyEvent>;

/// What events had when the golden journal of that version was written. Eighth is all of today.
enum class Fields { First, Second, Third, Fourth, Fifth, Sixth, Seventh, Eighth, All = Eighth };

/// `kind`: index in model::EventBody.
model::Event random_event(Prng& prng, std::size_t kind, Fields fields = Fields::All);

bool same(const model::Event& a, const model::Event& b);

}  // namespace muster::store
