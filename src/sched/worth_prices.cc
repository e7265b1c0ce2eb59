// make_mix(): from demand and fleet to priced kinds of pods and their tables.
//   1. Pods asked for become kinds; models open to the same kinds become classes.
//   2. The scarcity prices are searched: value all nodes, run the choices behind the tables forward
//      to see how many pods of each kind the fleet would like to take, and raise the price of kinds
//      it would take more of than will come.
//   3. The tables are filled at the last prices.
#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <utility>

#include "sched/worth.h"
#include "sched/worth_baselines.h"
#include "sched/worth_math.h"
#include "sched/worth_tables.h"

namespace muster::sched::worth {
namespace {

__extension__ using Wide = __int128;

constexpr int probability_bits = 24;
constexpr int count_bits = 16;  // fraction bits of expected counts

// The constants of the search: one set for all mixes, all relative to the fleet and the mix.
/// A kind's price may fall this far below zero, so that kinds we cannot refuse but would not choose
/// are still foreseen.
constexpr std::int64_t price_floor = -30 * ticks_per_milli;
/// Demand to plan for: all idle GPU plus one such part of the whole fleet. The excess lets the
/// prices be choosy.
constexpr std::int64_t overload_part = 16;
/// Rounds of the search, from nothing and from the last prices.
constexpr int rounds_cold = 40;
constexpr int rounds_warm = 5;
/// Up to this many distinct rooms are valued anew in every round; of more, only so many in turn,
/// the others standing under the table that valued them last. Prices move little from round to
/// round.
constexpr std::size_t rooms_all_max = 1280;
constexpr std::size_t rooms_per_round = 512;
/// Likewise so many classes are filled anew in every round.
constexpr std::size_t classes_per_round = 8;
/// Bounds the time to price; the rarest shapes say least about what will come.
constexpr std::size_t kinds_max = 256;
/// Prices of CPU and memory tried for a node, in 1/16 of the mix's mean GPU per CPU (per memory).
constexpr std::array<std::int64_t, Mix::cpu_prices> cpu_grid = {0,  2,  5,  9,  12, 15,
                                                                19, 26, 38, 60, 176};
constexpr std::array<std::int64_t, Mix::mem_prices> mem_grid = {0, 3, 5, 9, 14, 26, 66};
constexpr std::int64_t grid_unit = 16;
/// Keeps a price times an amount inside 64 bits when hardly any pod asks for CPU or memory.
constexpr std::int64_t unit_max = std::int64_t{1} << 34;

// ---- kinds of pods

struct Tally {
  std::int64_t count = 0;
  std::int64_t memory = 0;
};
using Tallies = std::map<PodShape, Tally>;  // key: shape without memory

PodShape without_memory(PodShape s) {
  s.memory_mib = 0;
  return s;
}

PodShape key_of(const Mix::Kind& k) { return without_memory(k.shape); }

Tallies tally(std::span<const ShapeCount> demand) {
  Tallies tallies;
  for (const ShapeCount& d : demand) {
    if (d.count <= 0) continue;
    Tally& t = tallies[without_memory(d.shape)];
    t.count += d.count;
    t.memory += d.count * d.shape.memory_mib;
  }
  return tallies;
}

std::vector<Mix::Typical> pods_of(const Tallies& tallies) {
  std::vector<Mix::Typical> pods;
  for (const auto& [shape, t] : tallies) {
    pods.push_back({shape.cpu_milli, shape.num_gpu, shape.gpu_milli, shape.models, t.count});
  }
  return pods;
}

/// CPU-only pods are no kind: they fill no GPU, and simply go where the CPU they take is needed
/// least.
bool fills_gpu(const PodShape& s) {
  return s.num_gpu > 0 && s.num_gpu <= static_cast<std::int32_t>(gpus_max) && s.gpu_milli > 0 &&
         s.gpu_milli <= whole_milli;
}

std::int64_t log2_of(std::int64_t x) {
  return log2_ticks(static_cast<std::uint64_t>(std::max<std::int64_t>(x, 1)));
}

void add_kinds(Mix& mix, const Tallies& tallies, const Mix* previous) {
  for (const auto& [shape, t] : tallies) {
    if (!fills_gpu(shape)) continue;
    mix.kinds.push_back({.shape = shape, .count = t.count});
    mix.kinds.back().shape.memory_mib = t.memory / t.count;
  }
  if (mix.kinds.size() > kinds_max) {
    const auto commoner = [](const Mix::Kind& a, const Mix::Kind& b) {
      return a.count != b.count ? a.count > b.count : key_of(a) < key_of(b);
    };
    std::ranges::nth_element(mix.kinds, mix.kinds.begin() + kinds_max, commoner);
    mix.kinds.resize(kinds_max);
    std::ranges::sort(mix.kinds, {}, key_of);
  }
  std::int64_t pods = 0;
  for (const Mix::Kind& k : mix.kinds) pods += k.count;
  for (Mix::Kind& k : mix.kinds) k.rarity = log2_of(k.count) - log2_of(pods);
  if (previous == nullptr) return;
  for (Mix::Kind& k : mix.kinds) {
    const auto it = std::ranges::lower_bound(previous->kinds, key_of(k), {}, key_of);
    if (it != previous->kinds.end() && key_of(*it) == key_of(k)) k.price = it->price;
  }
}

/// Models that the same kinds may use are worth the same and share their tables. Returns how many
/// classes, the first ones, have GPUs in the fleet.
std::size_t add_classes(Mix& mix, std::span<const NodeCount> fleet) {
  std::array<bool, models_max> seen{};
  for (const NodeCount& n : fleet) {
    if (n.state.gpus > 0) seen[n.state.model] = true;
  }
  using Open = std::array<std::uint64_t, kinds_max / 64>;  // a bit for each kind
  std::map<Open, std::uint8_t> known;
  const auto classify = [&](std::size_t model) {
    Open open{};
    for (std::size_t i = 0; i < mix.kinds.size(); ++i)
      open[i / 64] |= std::uint64_t{mix.kinds[i].shape.admits(model)} << (i % 64);
    const auto [it, fresh] = known.emplace(open, std::uint8_t(known.size()));
    if (fresh) mix.model_of_class.push_back(static_cast<std::uint8_t>(model));
    mix.class_of_model[model] = it->second;
  };
  for (std::size_t model = 0; model < models_max; ++model) {
    if (seen[model]) classify(model);
  }
  const std::size_t in_fleet = known.size();
  for (std::size_t model = 0; model < models_max; ++model) {
    if (!seen[model]) classify(model);
  }
  return in_fleet;
}

/// The natural unit of a CPU price is the mix's mean GPU per CPU: at that price its pods are worth
/// just what they cost.
void add_price_grid(Mix& mix) {
  std::int64_t gpu = 0;
  std::int64_t cpu = 0;
  std::int64_t memory = 0;
  for (const Mix::Kind& kind : mix.kinds) {
    gpu += kind.count * kind.shape.total_milli();
    cpu += kind.count * kind.shape.cpu_milli;
    memory += kind.count * kind.shape.memory_mib;
  }
  const auto unit = [gpu](std::int64_t other) -> std::int64_t {
    if (other <= 0) return 0;
    const Wide exact = (Wide{gpu} * ticks_per_milli << price_bits) / other;
    return static_cast<std::int64_t>(std::min<Wide>(exact, unit_max));
  };
  for (std::size_t i = 0; i < Mix::cpu_prices; ++i) {
    mix.cpu_price[i] = unit(cpu) * cpu_grid[i] / grid_unit;
  }
  for (std::size_t i = 0; i < Mix::mem_prices; ++i) {
    mix.mem_price[i] = unit(memory) * mem_grid[i] / grid_unit;
  }
}

// ---- scarcity prices

/// How many GPUs (fleet-wide) of each free size, and how many blocks of whole GPUs, are valued by
/// one table.
struct Openings {
  std::uint64_t rooms = 0;
  std::array<std::uint64_t, slots_max + 1> share{};
  std::array<std::uint64_t, gpus_max + 1> whole{};
};

std::uint64_t probability(std::int64_t part, std::int64_t all) {
  return exp2_neg(all - part) >> (one_bits - probability_bits);
}

class PriceSearch {
 public:
  PriceSearch(Mix& mix, std::span<const NodeCount> fleet);
  void run(int rounds);

 private:
  /// Equal rooms once, with their number and the table that valued them last.
  struct Stock {
    Room room;
    std::uint64_t count = 0;  // with count_bits
    std::size_t table = 0;
  };

  void gather(std::span<const NodeCount> fleet);
  void take_prices(std::size_t cls);
  const Mix::Table& filled_table(std::size_t at);
  std::size_t table_for(const Room& room, std::int64_t bound);
  void value_stock();
  void stand(const Stock& s);
  void leave(const Stock& s);
  void add_usage(std::size_t at);
  void adjust();

  Mix& mix_;
  std::size_t classes_in_fleet_;
  std::vector<Offering> offerings_;                // by class
  std::vector<std::vector<std::int64_t>> offers_;  // by table
  std::vector<char> filled_;                       // by table: at the prices its class has taken
  std::vector<Stock> stock_;
  std::vector<std::int64_t> supply_;  // by kind: log2 of the pods to come, with count_bits
  std::vector<Openings> openings_;    // by table, of the classes in the fleet
  std::vector<std::uint64_t> use_;    // by kind, with count_bits
  std::size_t next_room_ = 0;         // in stock_, to be valued next
  std::size_t next_class_ = 0;        // to be filled next
};

PriceSearch::PriceSearch(Mix& mix, std::span<const NodeCount> fleet)
    : mix_(mix), classes_in_fleet_(add_classes(mix, fleet)) {
  for (const std::uint8_t model : mix.model_of_class) offerings_.emplace_back(mix, model);
  mix.tables.resize(offerings_.size() * Mix::tables_per_class);
  offers_.resize(mix.tables.size());
  filled_.resize(mix.tables.size());
  openings_.resize(classes_in_fleet_ * Mix::tables_per_class);
  gather(fleet);
  std::int64_t pods_milli = 0;
  for (const Mix::Kind& k : mix.kinds) pods_milli += k.count * k.shape.total_milli();
  const std::int64_t plan = mix.idle_milli + mix.capacity_milli / overload_part;
  for (const Mix::Kind& k : mix.kinds) {
    supply_.push_back(log2_of(plan) + log2_of(k.count) - log2_of(pods_milli) + count_bits * octave);
  }
}

/// Nodes without room on a GPU take no pod of any kind and are left out.
void PriceSearch::gather(std::span<const NodeCount> fleet) {
  std::vector<Stock> all;
  for (const NodeCount& n : fleet) {
    const Room room = room_of(mix_, n.state);
    const bool full = std::all_of(room.slots.begin(), room.slots.end(),
                                  [](std::uint8_t slots) { return slots == 0; });
    if (room.whole == 0 && full) continue;
    all.push_back({room, static_cast<std::uint64_t>(n.count) << count_bits, 0});
  }
  std::ranges::sort(all, {}, &Stock::room);
  for (const Stock& s : all) {
    if (!stock_.empty() && stock_.back().room == s.room) {
      stock_.back().count += s.count;
    } else {
      stock_.push_back(s);
    }
  }
}

void PriceSearch::run(int rounds) {
  for (std::size_t cls = 0; cls < classes_in_fleet_; ++cls) take_prices(cls);
  for (Stock& s : stock_) {
    s.table = table_for(s.room, std::numeric_limits<std::int64_t>::max());
    stand(s);
  }
  if (stock_.empty() || mix_.kinds.empty()) rounds = 0;
  for (int round = 1; round <= rounds; ++round) {
    use_.assign(mix_.kinds.size(), 0);
    for (std::size_t table = 0; table < openings_.size(); ++table) {
      if (openings_[table].rooms > 0) add_usage(table);
    }
    adjust();
    if (round == rounds) break;
    for (std::size_t i = 0; i < std::min(classes_in_fleet_, classes_per_round); ++i) {
      take_prices(next_class_);
      next_class_ = next_class_ + 1 < classes_in_fleet_ ? next_class_ + 1 : 0;
    }
    value_stock();
  }
  for (std::size_t cls = 0; cls < offerings_.size(); ++cls) take_prices(cls);
  for (std::size_t at = 0; at < mix_.tables.size(); ++at) filled_table(at);
}

/// From now on its tables are those at the prices as they stand.
void PriceSearch::take_prices(std::size_t cls) {
  offerings_[cls].take_prices(mix_);
  std::fill_n(filled_.begin() + static_cast<std::ptrdiff_t>(cls * Mix::tables_per_class),
              Mix::tables_per_class, char{0});
}

/// Filled when it is first looked at: between two rounds the rooms of a fleet look at few.
const Mix::Table& PriceSearch::filled_table(std::size_t at) {
  if (!filled_[at]) {
    filled_[at] = 1;
    const Offering& offering = offerings_[at / Mix::tables_per_class];
    offering.offers(prices_of(mix_, at), offers_[at]);
    mix_.tables[at] = fill_table(offering, offers_[at]);
  }
  return mix_.tables[at];
}

std::size_t PriceSearch::table_for(const Room& room, std::int64_t bound) {
  const auto table_at = [&](std::size_t at) -> const Mix::Table& { return filled_table(at); };
  return valuate_by(mix_, room, bound, table_at).table;
}

void PriceSearch::value_stock() {
  const std::size_t count = stock_.size() <= rooms_all_max ? stock_.size() : rooms_per_round;
  for (std::size_t i = 0; i < count; ++i) {
    Stock& s = stock_[next_room_];
    next_room_ = next_room_ + 1 < stock_.size() ? next_room_ + 1 : 0;
    filled_table(s.table);
    const std::size_t now = table_for(s.room, worth_under(mix_, s.room, s.table));
    if (now == s.table) continue;
    leave(s);
    s.table = now;
    stand(s);
  }
}

void PriceSearch::stand(const Stock& s) {
  Openings& open = openings_[s.table];
  ++open.rooms;
  open.whole[s.room.whole] += s.count;
  for (std::size_t i = 0; i < s.room.partial; ++i) open.share[s.room.slots[i]] += s.count;
}

void PriceSearch::leave(const Stock& s) {
  Openings& open = openings_[s.table];
  --open.rooms;
  open.whole[s.room.whole] -= s.count;
  for (std::size_t i = 0; i < s.room.partial; ++i) open.share[s.room.slots[i]] -= s.count;
}

/// Runs the choices behind one table forward: how many pods of each kind the openings are expected
/// to take.
void PriceSearch::add_usage(std::size_t at) {
  const Mix::Table& t = filled_table(at);
  const Offering& offering = offerings_[at / Mix::tables_per_class];
  const std::vector<Offering::Group>& groups = offering.groups();
  const std::vector<std::int64_t>& offers = offers_[at];
  Openings open = openings_[at];
  std::vector<std::uint64_t> taken(groups.size(), 0);
  for (std::size_t n = gpus_max; n >= 1; --n) {
    if (open.whole[n] == 0) continue;
    const auto part = [&](std::int64_t v) {
      return (open.whole[n] * probability(v, t.whole[n])) >> probability_bits;
    };
    const std::uint64_t alone = part(one_whole(t) + t.whole[n - 1]);
    open.share[slots_max] += alone;
    open.whole[n - 1] += alone;
    for (std::size_t g = offering.singles(); g < groups.size() && groups[g].size <= n; ++g) {
      const std::uint64_t pods = part(offers[g] + t.whole[n - groups[g].size]);
      taken[g] += pods;
      open.whole[n - groups[g].size] += pods;
    }
  }
  for (std::size_t f = slots_max; f >= 1; --f) {
    if (open.share[f] == 0) continue;
    for (std::size_t g = 0; g < offering.singles() && groups[g].size <= f; ++g) {
      const std::size_t rest = f - groups[g].size;
      const std::uint64_t p = probability(offers[g] + t.share[rest], t.share[f]);
      const std::uint64_t pods = (open.share[f] * p) >> probability_bits;
      taken[g] += pods;
      open.share[rest] += pods;
    }
  }
  const PricePair prices = prices_of(mix_, at);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    for (std::size_t i = groups[g].first; i < groups[g].last; ++i) {
      const Offering::Item& item = offering.items()[i];
      const std::uint64_t p = probability(Offering::profit(item, prices), offers[g]);
      use_[item.kind] += (taken[g] * p) >> probability_bits;
    }
  }
}

/// Raises the price of kinds the fleet would take more of than will come, and lowers it for kinds
/// it takes too few of.
void PriceSearch::adjust() {
  for (std::size_t j = 0; j < mix_.kinds.size(); ++j) {
    Mix::Kind& k = mix_.kinds[j];
    const std::int64_t gap = log2_ticks(use_[j] + 1) - supply_[j];
    const std::int64_t step = std::clamp(gap, -4 * octave, 4 * octave) * 3 / 4;
    k.price = std::max(price_floor, k.price + step);
  }
}

}  // namespace

Mix make_mix(std::span<const ShapeCount> demand, std::span<const NodeCount> fleet,
             std::int64_t capacity_milli, const Mix* previous) {
  Mix mix;
  mix.capacity_milli = capacity_milli;
  for (const NodeCount& n : fleet) {
    for (std::size_t i = 0; i < n.state.gpus; ++i) mix.idle_milli += n.count * n.state.free[i];
  }
  const Tallies tallies = tally(demand);
  add_typical(mix, pods_of(tallies));
  add_kinds(mix, tallies, previous);
  add_price_grid(mix);
  PriceSearch(mix, fleet).run(previous != nullptr ? rounds_warm : rounds_cold);
  return mix;
}

}  // namespace muster::sched::worth
