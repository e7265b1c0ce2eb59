// Inside of worth: what the GPUs of a node are expected to be filled with when CPU and memory have
// given prices, and the prices a node itself would pay. Used by worth.cc (valuing single nodes) and
// worth_prices.cc (valuing the whole fleet, round after round).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "sched/worth.h"

namespace muster::sched::worth {

constexpr int price_bits = 16;  // fraction bits of the prices of CPU and memory

struct PricePair {
  std::int64_t cpu = 0;
  std::int64_t mem = 0;
};

PricePair prices_of(const Mix& mix, std::size_t table);

/// The kinds open to one class of models, those that take the same GPU side by side.
class Offering {
 public:
  /// Kinds of one GPU by slots, ascending, then kinds of several whole GPUs by their number.
  struct Group {
    std::size_t size = 0;   // slots, or whole GPUs
    std::size_t first = 0;  // members are a range of items()
    std::size_t last = 0;
  };
  struct Item {
    std::int64_t gain = 0;  // its GPU, less its scarcity; rare kinds are less likely to turn up
    std::int64_t cpu = 0;
    std::int64_t memory = 0;
    std::size_t kind = 0;
  };

  Offering(const Mix& mix, std::size_t model);
  void take_prices(const Mix& mix);

  const std::vector<Item>& items() const { return items_; }
  const std::vector<Group>& groups() const { return groups_; }
  /// How many groups, the first ones, are of one GPU.
  std::size_t singles() const { return singles_; }
  /// Whether pods of one GPU can add up to exactly so many slots. Between two such numbers nothing
  /// more fits, so the fill stays the same.
  bool reaches(std::size_t slots) const { return reached_[slots]; }

  /// What each group brings at these prices: the soft maximum over its members.
  void offers(const PricePair& prices, std::vector<std::int64_t>& out) const;
  /// What one pod brings: its gain, less the CPU and memory it burns.
  static std::int64_t profit(const Item& item, const PricePair& prices) {
    return item.gain - ((prices.cpu * item.cpu + prices.mem * item.memory) >> price_bits);
  }

 private:
  std::vector<Item> items_;
  std::vector<Group> groups_;
  std::size_t singles_ = 0;
  std::array<bool, slots_max + 1> reached_{};
};

/// A fully idle GPU taken on its own, by one pod or by several shares.
std::int64_t one_whole(const Mix::Table& table);

/// One GPU is filled by one pod after another, or left as it is (0); whole GPUs one by one or by
/// blocks. `offers` are those of the offering at the table's prices.
Mix::Table fill_table(const Offering& offering, const std::vector<std::int64_t>& offers);

/// A node as the tables see it.
struct Room {
  std::size_t cls = 0;
  std::int64_t cpu = 0;
  std::int64_t memory = 0;
  std::size_t whole = 0;                       // fully idle GPUs
  std::size_t partial = 0;                     // all others
  std::array<std::uint8_t, gpus_max> slots{};  // free on each of the others

  friend auto operator<=>(const Room&, const Room&) = default;
};

Room room_of(const Mix& mix, const NodeState& node);

struct Valuation {
  std::int64_t worth = std::numeric_limits<std::int64_t>::max();
  std::size_t table = 0;
};

/// What the room is worth under the prices of one table.
std::int64_t worth_under(const Mix& mix, const Room& room, std::size_t table);

/// The least over all tables, the first of equals. `bound` must not be below it; the closer, the
/// faster. `table_at` gives a table by its place in the mix; most are not asked for.
///
/// The node's CPU and memory are shared by its GPUs: the fill is bounded by (GPU fill at a price) +
/// (CPU, memory at that price) for every price, so the least over the prices is the node's worth,
/// and the minimiser its own price of CPU and memory.
template <typename TableAt>
Valuation valuate_by(const Mix& mix, const Room& room, std::int64_t bound,
                     const TableAt& table_at) {
  Valuation best;
  const std::size_t first = room.cls * Mix::tables_per_class;
  for (std::size_t m = 0; m < Mix::mem_prices; ++m) {
    const std::int64_t memory = mix.mem_price[m] * room.memory;
    for (std::size_t c = 0; c < Mix::cpu_prices; ++c) {
      std::int64_t sum = (mix.cpu_price[c] * room.cpu + memory) >> price_bits;
      // Prices ascend and fills are never negative: the rest of the row is no better.
      if (sum >= best.worth || sum > bound) break;
      const std::size_t table = first + c * Mix::mem_prices + m;
      const Mix::Table& t = table_at(table);
      sum += t.whole[room.whole];
      for (std::size_t i = 0; i < room.partial; ++i) sum += t.share[room.slots[i]];
      if (sum < best.worth) best = {sum, table};
    }
  }
  return best;
}

/// The same, of a mix whose tables are all filled.
Valuation valuate(const Mix& mix, const Room& room);

}  // namespace muster::sched::worth
