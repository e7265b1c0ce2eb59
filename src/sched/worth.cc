#pragma clang diagnostic ignored "-Wsign-conversion"
#pragma clang diagnostic ignored "-Wshorten-64-to-32"
#pragma clang diagnostic ignored "-Wimplicit-int-conversion"
#include "sched/worth.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

namespace muster::sched::worth {
namespace {

// ---- Fixed point
// -----------------------------------------------------------------------------------------------------
// All worths are in ticks. The soft maximum below has base 2, and kOctave ticks of worth make a
// choice twice as likely; taking a power of two makes a logarithm in ticks the same thing as a
// worth in ticks.
constexpr std::int64_t kTicks = 256;  // per GPU milli
constexpr int kOctaveBits = 12;
constexpr std::int64_t kOctave = std::int64_t{1}
                                 << kOctaveBits;  // = 16 GPU milli: the softness of a choice
constexpr int kPriceBits = 16;                    // fraction bits of the prices of CPU and memory
constexpr int kOneBits = 32;                      // exp2_neg(0) = 2^32
constexpr int kProbBits = 24;                     // probabilities in the usage pass
constexpr int kCountBits = 16;                    // expected counts in the usage pass
constexpr std::int64_t kNever = -(std::int64_t{1} << 40);

// ---- The policy's constants: one set for all mixes, all relative to the fleet and the mix
// ---------------------------- Fully idle GPUs are marked down by this much. Any pod may claim one
// at once, also one that wastes part of it (a pod of 810 leaves 190 nobody wants) and a pod that
// fits must be placed, so a GPU already open for small shares is safer.
constexpr std::int64_t kWholeMarkdown = 32 * kTicks;
// A kind's price may fall this far below zero, so that kinds we cannot refuse but would not choose
// are still foreseen.
constexpr std::int64_t kPriceFloor = -32 * kTicks;
// Demand to plan for: the idle GPU plus this part (in 1/64) of the whole fleet.
constexpr std::int64_t kOverload64 = 6;
// Scores closer than this are a tie, so that the node order decides and load stays concentrated.
constexpr int kTieBits = 10;  // 1024 ticks = 4 GPU milli
constexpr int kRoundsCold = 20;
constexpr int kRoundsWarm = 5;
// Prices of CPU and memory tried for a node, in 1/16 of the mix's mean GPU per CPU (per memory).
constexpr std::array<std::int64_t, Mix::kCpuPrices> kCpuGrid = {0,  3,  5,  8,  11, 14,
                                                                18, 24, 36, 56, 176};
constexpr std::array<std::int64_t, Mix::kMemPrices> kMemGrid = {0, 3, 5, 9, 14, 26, 66};
constexpr std::int64_t kGridUnit = 16;

constexpr std::array<std::uint64_t, 256> make_exp2_table() {
  std::array<std::uint64_t, 256> table{};
  std::uint64_t value = std::uint64_t{1} << kOneBits;
  for (auto& entry : table) {
    entry = value;
    value = (value * 4283353945ULL) >> 32;  // 2^(-1/256) with 32 fraction bits
  }
  return table;
}
constexpr std::array<std::uint64_t, 256> kExp2 = make_exp2_table();

// 2^(-ticks/kOctave) with kOneBits fraction bits. Slight negatives come from rounding and mean
// zero.
constexpr std::uint64_t exp2_neg(std::int64_t ticks) {
  if (ticks <= 0) return kExp2[0];
  if (ticks >= kOctave * kOneBits) return 0;
  return kExp2[(ticks >> (kOctaveBits - 8)) & 255] >> (ticks >> kOctaveBits);
}

// log2(x) in ticks, x > 0: the whole part from the bit width, the fraction by repeated squaring.
constexpr std::int64_t log2_ticks(std::uint64_t x) {
  const int top = std::bit_width(x) - 1;
  std::uint64_t m = top >= 31 ? x >> (top - 31) : x << (31 - top);  // in [2^31, 2^32)
  std::int64_t log = top;
  for (int i = 0; i < kOctaveBits; ++i) {
    m = (m * m) >> 31;
    log <<= 1;
    if (m >> 32) {
      log |= 1;
      m >>= 1;
    }
  }
  return log;
}

// Soft maximum: kOctave * log2(sum of 2^(v/kOctave)), one value at a time.
class SoftMax {
 public:
  explicit SoftMax(std::int64_t first) : top_(first), sum_(kExp2[0]) {}
  void add(std::int64_t v) {
    if (v <= top_) {
      sum_ += exp2_neg(top_ - v);
      return;
    }
    sum_ = ((sum_ >> 16) * (exp2_neg(v - top_) >> 16)) + kExp2[0];
    top_ = v;
  }
  std::int64_t value() const { return top_ + log2_ticks(sum_) - kOneBits * kOctave; }

 private:
  std::int64_t top_;
  std::uint64_t sum_;
};

std::int64_t soft_max(std::int64_t a, std::int64_t b) {
  SoftMax s(a);
  s.add(b);
  return s.value();
}

// ---- Kinds of pods
// ---------------------------------------------------------------------------------------------------
int slots_of(const PodShape& s) { return (s.gpu_milli + kSlotMilli - 1) / kSlotMilli; }

bool admits(const PodShape& s, int model) { return (s.models >> model) & 1; }

PodShape without_memory(PodShape s) {
  s.memory_mib = 0;
  return s;
}

struct Tally {
  std::int64_t count = 0;
  std::int64_t memory = 0;
};
using Tallies = std::map<PodShape, Tally>;  // key: shape without memory

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

void add_kinds(Mix& mix, const Tallies& tallies, const Mix* previous) {
  std::int64_t pods = 0;
  for (const auto& [shape, t] : tallies)
    if (shape.total_milli() > 0) pods += t.count;
  for (const auto& [shape, t] : tallies) {
    if (shape.total_milli() <= 0)
      continue;  // CPU-only pods fill no GPU; they simply avoid CPU that GPUs need
    Mix::Kind kind{.shape = shape, .count = t.count};
    kind.shape.memory_mib = t.memory / t.count;
    kind.rarity = log2_ticks(static_cast<std::uint64_t>(t.count)) -
                  log2_ticks(static_cast<std::uint64_t>(pods));
    mix.kinds.push_back(kind);
  }
  if (previous == nullptr) return;
  const auto key = [](const Mix::Kind& k) { return without_memory(k.shape); };
  for (Mix::Kind& kind : mix.kinds) {  // both lists ascend by key: they were made from a map
    const auto it = std::ranges::lower_bound(previous->kinds, key(kind), {}, key);
    if (it != previous->kinds.end() && key(*it) == key(kind)) kind.price = it->price;
  }
}

// Models that the same kinds may use are worth the same and share their tables.
void add_classes(Mix& mix, std::span<const NodeCount> fleet) {
  int models = 0;
  for (const NodeCount& n : fleet) models = std::max(models, n.state.model + 1);
  std::map<std::vector<bool>, std::uint8_t> known;
  for (int model = 0; model < models; ++model) {
    std::vector<bool> open;
    for (const Mix::Kind& kind : mix.kinds) open.push_back(admits(kind.shape, model));
    const auto [it, fresh] =
        known.emplace(std::move(open), static_cast<std::uint8_t>(known.size()));
    if (fresh) mix.model_of_class.push_back(static_cast<std::uint8_t>(model));
    mix.class_of_model.push_back(it->second);
  }
}

// The natural unit of a CPU price is the mix's mean GPU per CPU: at that price its pods are worth
// just what they cost.
void add_price_grid(Mix& mix) {
  std::int64_t gpu = 0, cpu = 0, memory = 0;
  for (const Mix::Kind& kind : mix.kinds) {
    gpu += kind.count * kind.shape.total_milli();
    cpu += kind.count * kind.shape.cpu_milli;
    memory += kind.count * kind.shape.memory_mib;
  }
  const auto unit = [&](std::int64_t other) {
    return other <= 0 ? 0 : gpu * kTicks * (1 << kPriceBits) / other;
  };
  for (int i = 0; i < Mix::kCpuPrices; ++i) mix.cpu_price[i] = unit(cpu) * kCpuGrid[i] / kGridUnit;
  for (int i = 0; i < Mix::kMemPrices; ++i)
    mix.mem_price[i] = unit(memory) * kMemGrid[i] / kGridUnit;
}

// ---- Tables: expected fill under given prices
// --------------------------------------------------------------------
struct PricePair {
  std::int64_t cpu, mem;
};

PricePair prices_of(const Mix& mix, std::size_t table) {
  const std::size_t i = table % Mix::kTablesPerClass;
  return {mix.cpu_price[i / Mix::kMemPrices], mix.mem_price[i % Mix::kMemPrices]};
}

// What one pod of this kind brings: its GPU, less its scarcity, less the CPU and memory it burns;
// rare kinds are less likely to turn up at all.
std::int64_t profit(const Mix::Kind& k, const PricePair& p) {
  const std::int64_t burnt = (p.cpu * k.shape.cpu_milli + p.mem * k.shape.memory_mib) >> kPriceBits;
  return k.shape.total_milli() * kTicks + k.rarity - k.price - burnt;
}

// Profits of one class of models, summed softly over the kinds that take the same GPU.
struct Offers {
  std::array<std::int64_t, kSlots + 1> share;    // by slots, pods of one GPU
  std::array<std::int64_t, kMaxGpus + 1> block;  // by number of whole GPUs, from 2
};

Offers offers(const Mix& mix, int model, const PricePair& prices) {
  Offers o;
  o.share.fill(kNever);
  o.block.fill(kNever);
  for (const Mix::Kind& k : mix.kinds) {
    if (!admits(k.shape, model) || k.shape.num_gpu > kMaxGpus) continue;
    std::int64_t& best =
        k.shape.num_gpu == 1 ? o.share[slots_of(k.shape)] : o.block[k.shape.num_gpu];
    best = best == kNever ? profit(k, prices) : soft_max(best, profit(k, prices));
  }
  return o;
}

// One GPU is filled by one pod after another, or left as it is (0); whole GPUs one by one or by
// blocks.
Mix::Table fill_table(const Offers& o) {
  Mix::Table t;
  std::array<int, kSlots + 1> sizes{};
  int n = 0;
  for (int g = 1; g <= kSlots; ++g)
    if (o.share[g] != kNever) sizes[n++] = g;
  for (int f = 1; f <= kSlots; ++f) {
    SoftMax s(0);
    for (int i = 0; i < n && sizes[i] <= f; ++i) s.add(o.share[sizes[i]] + t.share[f - sizes[i]]);
    t.share[f] = static_cast<std::int32_t>(s.value());
  }
  for (int m = 1; m <= kMaxGpus; ++m) {
    SoftMax s(t.share[kSlots] - kWholeMarkdown + t.whole[m - 1]);
    for (int k = 2; k <= m; ++k)
      if (o.block[k] != kNever) s.add(o.block[k] + t.whole[m - k]);
    t.whole[m] = static_cast<std::int32_t>(s.value());
  }
  return t;
}

void fill_tables(Mix& mix) {
  mix.tables.resize(mix.model_of_class.size() * Mix::kTablesPerClass);
  for (std::size_t i = 0; i < mix.tables.size(); ++i)
    mix.tables[i] =
        fill_table(offers(mix, mix.model_of_class[i / Mix::kTablesPerClass], prices_of(mix, i)));
}

int whole_gpus(const NodeState& node) {
  int whole = 0;
  while (whole < node.gpus && node.free[node.gpus - 1 - whole] == kGpuMilli) ++whole;
  return whole;
}

struct Valuation {
  std::int64_t worth = std::numeric_limits<std::int64_t>::max();
  std::size_t table = 0;
};

// The node's CPU and memory are shared by its GPUs: the fill is bounded by (GPU fill at a price) +
// (CPU, memory at that price) for every price, so the least over the prices is the node's worth,
// and the minimiser its own price of CPU.
Valuation valuate(const Mix& mix, const NodeState& node) {
  Valuation best;
  const int whole = whole_gpus(node);
  const std::size_t first = std::size_t{mix.class_of_model[node.model]} * Mix::kTablesPerClass;
  for (int m = 0; m < Mix::kMemPrices; ++m) {
    for (int c = 0; c < Mix::kCpuPrices; ++c) {
      std::int64_t v =
          (mix.cpu_price[c] * node.cpu_milli + mix.mem_price[m] * node.memory_mib) >> kPriceBits;
      if (v >= best.worth) break;  // prices ascend and fills are never negative
      const std::size_t index = first + c * Mix::kMemPrices + m;
      const Mix::Table& t = mix.tables[index];
      v += t.whole[whole];
      for (int i = 0; i < node.gpus - whole; ++i) v += t.share[node.free[i] / kSlotMilli];
      if (v < best.worth) best = {v, index};
    }
  }
  return best;
}

// ---- Scarcity prices
// -------------------------------------------------------------------------------------------------
// How many GPUs (fleet-wide) of each free size, and how many blocks of whole GPUs, are valued by
// one table.
struct Openings {
  std::array<std::uint64_t, kSlots + 1> share{};
  std::array<std::uint64_t, kMaxGpus + 1> whole{};
};

std::uint64_t probability(std::int64_t part, std::int64_t all) {
  return exp2_neg(all - part) >> (kOneBits - kProbBits);
}

// Runs the choices behind one table forward: how many pods of each kind the openings are expected
// to take.
void add_usage(const Mix& mix, std::size_t table, Openings& open, std::vector<std::uint64_t>& use) {
  const Mix::Table& t = mix.tables[table];
  const PricePair prices = prices_of(mix, table);
  const int model = mix.model_of_class[table / Mix::kTablesPerClass];
  const Offers o = offers(mix, model, prices);
  std::array<std::uint64_t, kMaxGpus + 1> blocks{};
  std::array<std::uint64_t, kSlots + 1> shares{};
  for (int m = kMaxGpus; m >= 1; --m) {
    if (open.whole[m] == 0) continue;
    const auto part = [&](std::int64_t v) {
      return (open.whole[m] * probability(v, t.whole[m])) >> kProbBits;
    };
    const std::uint64_t singles = part(t.share[kSlots] - kWholeMarkdown + t.whole[m - 1]);
    open.share[kSlots] += singles;
    open.whole[m - 1] += singles;
    for (int k = 2; k <= m; ++k) {
      if (o.block[k] == kNever) continue;
      const std::uint64_t taken = part(o.block[k] + t.whole[m - k]);
      blocks[k] += taken;
      open.whole[m - k] += taken;
    }
  }
  for (int f = kSlots; f >= 1; --f) {
    if (open.share[f] == 0) continue;
    for (int g = 1; g <= f; ++g) {
      if (o.share[g] == kNever) continue;
      const std::uint64_t taken =
          (open.share[f] * probability(o.share[g] + t.share[f - g], t.share[f])) >> kProbBits;
      shares[g] += taken;
      open.share[f - g] += taken;
    }
  }
  for (std::size_t j = 0; j < mix.kinds.size(); ++j) {
    const Mix::Kind& k = mix.kinds[j];
    if (!admits(k.shape, model) || k.shape.num_gpu > kMaxGpus) continue;
    const bool single = k.shape.num_gpu == 1;
    const int size = single ? slots_of(k.shape) : k.shape.num_gpu;
    const std::uint64_t p = probability(profit(k, prices), single ? o.share[size] : o.block[size]);
    use[j] += ((single ? shares[size] : blocks[size]) * p) >> kProbBits;
  }
}

std::vector<std::uint64_t> expected_usage(const Mix& mix, std::span<const NodeCount> fleet) {
  std::map<std::size_t, Openings> by_table;
  for (const NodeCount& n : fleet) {
    Openings& open = by_table[valuate(mix, n.state).table];
    const std::uint64_t count = static_cast<std::uint64_t>(n.count) << kCountBits;
    const int whole = whole_gpus(n.state);
    open.whole[whole] += count;
    for (int i = 0; i < n.state.gpus - whole; ++i)
      open.share[n.state.free[i] / kSlotMilli] += count;
  }
  std::vector<std::uint64_t> use(mix.kinds.size(), 0);
  for (auto& [table, open] : by_table) add_usage(mix, table, open, use);
  return use;
}

// Raises the price of kinds the fleet would take more of than will come, and lowers it for kinds it
// takes too few of.
void adjust_prices(Mix& mix, std::span<const NodeCount> fleet) {
  std::int64_t pods_milli = 0;
  for (const Mix::Kind& k : mix.kinds) pods_milli += k.count * k.shape.total_milli();
  const std::int64_t plan = mix.idle_milli + mix.capacity_milli * kOverload64 / 64;
  const std::vector<std::uint64_t> use = expected_usage(mix, fleet);
  for (std::size_t j = 0; j < mix.kinds.size(); ++j) {
    Mix::Kind& k = mix.kinds[j];
    const std::int64_t supply =
        log2_ticks(static_cast<std::uint64_t>(std::max<std::int64_t>(plan, 1))) +
        log2_ticks(static_cast<std::uint64_t>(k.count)) -
        log2_ticks(static_cast<std::uint64_t>(pods_milli)) + kCountBits * kOctave;
    const std::int64_t gap = log2_ticks(use[j] + 1) - supply;
    k.price = std::max(kPriceFloor, k.price + std::clamp(gap, -4 * kOctave, 4 * kOctave) / 2);
  }
}

// ---- FGD
// -------------------------------------------------------------------------------------------------------------
constexpr std::int64_t kTypicalPercent = 95;

void add_typical(Mix& mix, const Tallies& tallies) {
  std::int64_t pods = 0;
  for (const auto& [shape, t] : tallies) {
    mix.typical.push_back({shape.cpu_milli, shape.num_gpu, shape.gpu_milli, shape.models, t.count});
    pods += t.count;
  }
  std::ranges::stable_sort(mix.typical, std::ranges::greater{}, &Mix::Typical::count);
  std::size_t kept = 0;
  while (kept < mix.typical.size() && mix.typical_total * 100 < pods * kTypicalPercent)
    mix.typical_total += mix.typical[kept++].count;
  mix.typical.resize(kept);
}

// Idle GPU the typical pods cannot use, times typical_total.
std::int64_t fragmentation(const Mix& mix, const NodeState& node) {
  std::int64_t idle = 0;
  for (int i = 0; i < node.gpus; ++i) idle += node.free[i];
  if (idle == 0) return 0;
  std::int64_t sum = 0;
  for (const Mix::Typical& t : mix.typical) {
    int enough = 0;
    std::int64_t too_small = 0;
    for (int i = 0; i < node.gpus; ++i) {
      if (node.free[i] >= t.gpu_milli)
        ++enough;
      else
        too_small += node.free[i];
    }
    const bool runs = t.num_gpu > 0 && node.cpu_milli >= t.cpu_milli && enough >= t.num_gpu &&
                      ((t.models >> node.model) & 1);
    sum += t.count * (runs ? too_small : idle);
  }
  return sum;
}

// Least growth, in 1e-6 GPU milli, at which floor(100 * sigmoid(growth / 1000)) reaches 51, 52,
// ... 99.
constexpr std::array<std::int64_t, 49> kSigmoidSteps = {
    40005335,   80042708,   120144312,  160342651,  200670696,  241162057,  281851153,
    322773393,  363965378,  405465109,  447312219,  489548226,  532216814,  575364145,
    619039209,  663294218,  708185058,  753771803,  800119301,  847297861,  895384048,
    944461609,  994622576,  1045968556, 1098612289, 1152679510, 1208311206, 1265666374,
    1324925415, 1386294362, 1450010176, 1516347490, 1585627264, 1658228077, 1734601056,
    1815289967, 1900958762, 1992430165, 2090741097, 2197224578, 2313634930, 2442347036,
    2586689345, 2751535314, 2944438980, 3178053831, 3476098690, 3891820299, 4595119851};

// FGD's own quantised score. The coarse steps make ties and ties keep the node order, which FGD
// depends on.
std::int64_t sigmoid_score(std::int64_t growth, std::int64_t total) {
  const std::int64_t micro = growth * 1'000'000 / total;
  const auto reached = [](std::int64_t x) {
    return std::ranges::upper_bound(kSigmoidSteps, x) - kSigmoidSteps.begin();
  };
  if (growth >= 0) return 50 + reached(micro);
  return 49 - reached(-micro);
}

// ---- Baselines
// ---------------------------------------------------------------------------------------------------
constexpr std::int64_t kBestFitCpuMilli =
    128'000;  // BestFit weighs what is left against the largest node
constexpr std::int64_t kBestFitGpuMilli = 8'000;

std::int64_t left_over(const NodeState& node) {
  std::int64_t gpu = 0;
  for (int i = 0; i < node.gpus; ++i) gpu += node.free[i];
  return 50 * node.cpu_milli / kBestFitCpuMilli + 50 * gpu / kBestFitGpuMilli;
}

// Tries the pod on every distinct GPU it fits on and keeps the best, the fullest GPU first on ties.
template <class Cost>
Verdict best_device(const NodeState& node, const PodShape& pod, Cost&& cost) {
  if (pod.num_gpu != 1) return {cost(place(node, pod, 0)), 0};
  Verdict best{std::numeric_limits<std::int64_t>::max(), 0};
  for (int i = 0; i < node.gpus; ++i) {
    if (node.free[i] < pod.gpu_milli || (i > 0 && node.free[i] == node.free[i - 1])) continue;
    const std::int64_t score = cost(place(node, pod, i));
    if (score < best.score) best = {score, i};
  }
  return best;
}

int fullest_device(const NodeState& node, const PodShape& pod) {
  int i = 0;
  while (i + 1 < node.gpus && node.free[i] < pod.gpu_milli) ++i;
  return i;
}

}  // namespace

std::size_t NodeStateHash::operator()(const NodeState& s) const noexcept {
  std::uint64_t h = static_cast<std::uint64_t>(s.cpu_milli) * 0x9E3779B97F4A7C15ULL;
  const auto mixin = [&h](std::uint64_t v) {
    h = (h ^ v) * 0xFF51AFD7ED558CCDULL;
    h ^= h >> 32;
  };
  mixin(static_cast<std::uint64_t>(s.memory_mib));
  mixin(static_cast<std::uint64_t>(s.model) << 8 | s.gpus);
  for (int i = 0; i < s.gpus; i += 4) {
    std::uint64_t four = 0;
    for (int j = i; j < i + 4 && j < kMaxGpus; ++j)
      four = four << 16 | static_cast<std::uint16_t>(s.free[j]);
    mixin(four);
  }
  return h;
}

bool fits(const NodeState& node, const PodShape& pod) {
  if (node.cpu_milli < pod.cpu_milli || node.memory_mib < pod.memory_mib) return false;
  if (pod.num_gpu == 0) return true;
  if (!admits(pod, node.model) || pod.num_gpu > node.gpus) return false;
  return node.free[node.gpus - pod.num_gpu] >=
         pod.gpu_milli;  // ascending: that one and all after it
}

NodeState place(const NodeState& node, const PodShape& pod, int device) {
  NodeState after = node;
  after.cpu_milli -= pod.cpu_milli;
  after.memory_mib -= pod.memory_mib;
  const int first = pod.num_gpu == 1 ? device : node.gpus - pod.num_gpu;
  for (int i = first; i < first + pod.num_gpu; ++i) {
    after.free[i] = static_cast<std::int16_t>(after.free[i] - pod.gpu_milli);
    for (int j = i; j > 0 && after.free[j] < after.free[j - 1]; --j)
      std::swap(after.free[j], after.free[j - 1]);
  }
  return after;
}

Mix make_mix(std::span<const ShapeCount> demand, std::span<const NodeCount> fleet,
             std::int64_t capacity_milli, const Mix* previous) {
  Mix mix;
  mix.capacity_milli = capacity_milli;
  for (const NodeCount& n : fleet)
    for (int i = 0; i < n.state.gpus; ++i) mix.idle_milli += n.count * n.state.free[i];
  const Tallies tallies = tally(demand);
  add_typical(mix, tallies);
  add_kinds(mix, tallies, previous);
  add_classes(mix, fleet);
  add_price_grid(mix);
  fill_tables(mix);
  for (int round = previous ? kRoundsWarm : kRoundsCold; round > 0; --round) {
    adjust_prices(mix, fleet);
    fill_tables(mix);
  }
  return mix;
}

bool stale(const Mix& mix, std::int64_t idle_milli) {
  const std::int64_t moved =
      std::max(idle_milli, mix.idle_milli) - std::min(idle_milli, mix.idle_milli);
  return 5 * moved > std::max(mix.idle_milli, mix.capacity_milli / 32);
}

std::int64_t worth(const Mix& mix, const NodeState& node) { return valuate(mix, node).worth; }

std::int64_t WorthMemo::operator()(const Mix& mix, const NodeState& node) {
  const auto [it, fresh] = known_.try_emplace(node, 0);
  if (fresh) it->second = worth(mix, node);
  return it->second;
}

std::optional<Verdict> judge(Policy policy, const Mix& mix, WorthMemo& memo, const NodeState& node,
                             const PodShape& pod, std::uint64_t lot) {
  if (!fits(node, pod)) return std::nullopt;
  switch (policy) {
    case Policy::kDefault: {
      const std::int64_t before = memo(mix, node);
      return best_device(node, pod, [&](const NodeState& after) {
        return (before - memo(mix, after)) >> kTieBits;
      });
    }
    case Policy::kFgd: {
      const std::int64_t before = fragmentation(mix, node);
      return best_device(node, pod, [&](const NodeState& after) {
        return sigmoid_score(fragmentation(mix, after) - before,
                             std::max<std::int64_t>(mix.typical_total, 1));
      });
    }
    case Policy::kBestFit: {
      const int device = fullest_device(node, pod);
      return Verdict{left_over(place(node, pod, device)), device};
    }
    case Policy::kRandom:
      return Verdict{static_cast<std::int64_t>(lot >> 1), fullest_device(node, pod)};
  }
  return std::nullopt;
}

}  // namespace muster::sched::worth
