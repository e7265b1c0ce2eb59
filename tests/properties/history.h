// Random histories: lists of scenario lines (src/sim/scenario.h). Small fleets and few queues, so
// that everything is contended; each history switches on a random subset of what can be asked for.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace muster::properties {

using History = std::vector<std::string>;

/// Always the same history for the same seed and length.
History random_history(std::uint64_t seed, int lines);

/// Deletes lines while `fails` stays true: halves first, then smaller pieces, then single lines,
/// then single options of lines.
History shrink(History history, const std::function<bool(const History&)>& fails);

/// The same facts in another order: runs of lines that say independent things (nodes, queues,
/// clusters, foreign pods, pools) are shuffled.
History shuffled(const History& history, std::uint64_t seed);

std::string text_of(const History& history);

}  // namespace muster::properties
