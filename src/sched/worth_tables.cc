#include "sched/worth_tables.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "sched/worth_math.h"

namespace muster::sched::worth {
namespace {

/// Fully idle GPUs are marked down by this much. Any pod may claim one at once, also one that
/// wastes part of it (a pod of 810 leaves 190 nobody wants) and a pod that fits must be placed, so
/// a GPU already open for small shares is safer.
constexpr std::int64_t whole_markdown = 28 * ticks_per_milli;

std::size_t size_of(const PodShape& s) {
  if (s.num_gpu != 1) return static_cast<std::size_t>(s.num_gpu);
  return static_cast<std::size_t>((s.gpu_milli + slot_milli - 1) / slot_milli);
}

}  // namespace

PricePair prices_of(const Mix& mix, std::size_t table) {
  const std::size_t i = table % Mix::tables_per_class;
  return {mix.cpu_price[i / Mix::mem_prices], mix.mem_price[i % Mix::mem_prices]};
}

Offering::Offering(const Mix& mix, std::size_t model) {
  for (std::size_t i = 0; i < mix.kinds.size(); ++i) {
    const PodShape& shape = mix.kinds[i].shape;
    if (shape.admits(model)) items_.push_back({0, shape.cpu_milli, shape.memory_mib, i});
  }
  const auto key = [&](const Item& item) {
    const PodShape& shape = mix.kinds[item.kind].shape;
    return std::tuple(shape.num_gpu != 1, size_of(shape), item.kind);
  };
  std::ranges::sort(items_, {}, key);
  for (std::size_t i = 0; i < items_.size(); ++i) {
    const PodShape& shape = mix.kinds[items_[i].kind].shape;
    const bool single = shape.num_gpu == 1;
    const bool same = !groups_.empty() && groups_.back().size == size_of(shape) &&
                      single == (singles_ == groups_.size());
    if (!same) {
      groups_.push_back({size_of(shape), i, i});
      if (single) ++singles_;
    }
    groups_.back().last = i + 1;
  }
  reached_[0] = true;
  for (std::size_t f = 1; f <= slots_max; ++f) {
    for (std::size_t g = 0; g < singles_ && groups_[g].size <= f; ++g) {
      reached_[f] = reached_[f] || reached_[f - groups_[g].size];
    }
  }
}

void Offering::take_prices(const Mix& mix) {
  for (Item& item : items_) {
    const Mix::Kind& kind = mix.kinds[item.kind];
    item.gain = kind.shape.total_milli() * ticks_per_milli + kind.rarity - kind.price;
  }
}

void Offering::offers(const PricePair& prices, std::vector<std::int64_t>& out) const {
  out.resize(groups_.size());
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    SoftMax best;
    for (std::size_t i = groups_[g].first; i < groups_[g].last; ++i) {
      best.add(profit(items_[i], prices));
    }
    out[g] = best.value();
  }
}

std::int64_t one_whole(const Mix::Table& table) {
  return std::max<std::int64_t>(0, table.share[slots_max] - whole_markdown);
}

Mix::Table fill_table(const Offering& offering, const std::vector<std::int64_t>& offers) {
  Mix::Table t;
  const std::vector<Offering::Group>& groups = offering.groups();
  const std::size_t singles = offering.singles();
  for (std::size_t f = 1; f <= slots_max; ++f) {
    if (!offering.reaches(f)) {
      t.share[f] = t.share[f - 1];
      continue;
    }
    SoftMax fill;
    fill.add(0);
    for (std::size_t g = 0; g < singles && groups[g].size <= f; ++g) {
      fill.add(offers[g] + t.share[f - groups[g].size]);
    }
    t.share[f] = static_cast<std::int32_t>(fill.value());
  }
  for (std::size_t n = 1; n <= gpus_max; ++n) {
    SoftMax fill;
    fill.add(one_whole(t) + t.whole[n - 1]);
    for (std::size_t g = singles; g < groups.size() && groups[g].size <= n; ++g) {
      fill.add(offers[g] + t.whole[n - groups[g].size]);
    }
    t.whole[n] = static_cast<std::int32_t>(fill.value());
  }
  return t;
}

Room room_of(const Mix& mix, const NodeState& node) {
  Room room;
  room.cls = mix.class_of_model[std::min<std::size_t>(node.model, models_max - 1)];
  room.cpu = node.cpu_milli;
  room.memory = node.memory_mib;
  room.partial = node.gpus;
  while (room.partial > 0 && node.free[room.partial - 1] == whole_milli) --room.partial;
  room.whole = node.gpus - room.partial;
  for (std::size_t i = 0; i < room.partial; ++i) {
    room.slots[i] = static_cast<std::uint8_t>(node.free[i] / slot_milli);
  }
  return room;
}

std::int64_t worth_under(const Mix& mix, const Room& room, std::size_t table) {
  const PricePair prices = prices_of(mix, table);
  const Mix::Table& t = mix.tables[table];
  std::int64_t sum = (prices.cpu * room.cpu + prices.mem * room.memory) >> price_bits;
  sum += t.whole[room.whole];
  for (std::size_t i = 0; i < room.partial; ++i) sum += t.share[room.slots[i]];
  return sum;
}

Valuation valuate(const Mix& mix, const Room& room) {
  return valuate_by(mix, room, std::numeric_limits<std::int64_t>::max(),
                    [&](std::size_t table) -> const Mix::Table& { return mix.tables[table]; });
}

}  // namespace muster::sched::worth
