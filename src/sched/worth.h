// Where should a pod go so that the fleet's idle GPUs stay usable?
//
// Pure, integer-only scoring of (node state, pod shape). No clocks, no randomness, no I/O. All
// policies answer the same question through judge(): "how bad is it to put this pod on a node in
// this state, and on which of its GPUs?"
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

namespace muster::sched::worth {

inline constexpr int kMaxGpus = 16;     // per node
inline constexpr int kGpuMilli = 1000;  // one whole GPU
inline constexpr int kSlotMilli = 10;   // shares are valued in steps of 1% of a GPU
inline constexpr int kSlots = kGpuMilli / kSlotMilli;
inline constexpr std::uint64_t kAnyModel = ~std::uint64_t{0};

// Free resources of one node in canonical form: `free` ascends, so nodes that differ only in device
// numbering are equal and everything computed from a state can be memoised by it.
struct NodeState {
  std::int64_t cpu_milli = 0;
  std::int64_t memory_mib = 0;
  std::uint8_t model = 0;  // index below 64
  std::uint8_t gpus = 0;
  std::array<std::int16_t, kMaxGpus> free{};  // milli left per GPU, ascending, unused tail zero

  friend bool operator==(const NodeState&, const NodeState&) = default;
};

struct NodeStateHash {
  std::size_t operator()(const NodeState& s) const noexcept;
};

// What a pod asks for. `milli` is per GPU: below 1000 only with one GPU (a share of one device).
struct PodShape {
  std::int64_t cpu_milli = 0;
  std::int64_t memory_mib = 0;
  std::int32_t num_gpu = 0;
  std::int32_t gpu_milli = 0;
  std::uint64_t models = kAnyModel;  // bit i: model i is allowed

  friend auto operator<=>(const PodShape&, const PodShape&) = default;
  std::int64_t total_milli() const { return std::int64_t{num_gpu} * gpu_milli; }
};

struct ShapeCount {
  PodShape shape;
  std::int64_t count = 0;
};

struct NodeCount {
  NodeState state;
  std::int64_t count = 0;
};

bool fits(const NodeState& node, const PodShape& pod);

// The state after placing `pod`; `device` is a position in node.free and counts only for pods of
// exactly one GPU.
NodeState place(const NodeState& node, const PodShape& pod, int device);

enum class Policy : std::uint8_t { kDefault, kFgd, kBestFit, kRandom };

// Everything a policy knows about demand. A plain value: built by make_mix(), read-only afterwards.
struct Mix {
  static constexpr int kCpuPrices = 11;
  static constexpr int kMemPrices = 7;
  static constexpr int kTablesPerClass = kCpuPrices * kMemPrices;

  // One kind of GPU pod: pods equal in all but memory. Values are in ticks, see worth.cc.
  struct Kind {
    PodShape shape;  // memory: the mean
    std::int64_t count = 0;
    std::int64_t rarity = 0;  // log2 of its part of all GPU pods, in ticks (<= 0)
    std::int64_t price = 0;   // scarcity price: what using up one such pod costs
  };
  // Expected fill under one pair of prices of CPU and memory.
  struct Table {
    std::array<std::int32_t, kSlots + 1> share{};    // of one GPU with that many free slots
    std::array<std::int32_t, kMaxGpus + 1> whole{};  // of that many fully idle GPUs together
  };
  // FGD's "typical pods".
  struct Typical {
    std::int64_t cpu_milli = 0;
    std::int32_t num_gpu = 0;
    std::int32_t gpu_milli = 0;
    std::uint64_t models = kAnyModel;
    std::int64_t count = 0;
  };

  std::vector<Kind> kinds;
  std::array<std::int64_t, kCpuPrices>
      cpu_price{};  // ticks per milli-CPU, 16 fraction bits, ascending from 0
  std::array<std::int64_t, kMemPrices>
      mem_price{};                           // ticks per MiB, 16 fraction bits, ascending from 0
  std::vector<std::uint8_t> class_of_model;  // models open to the same kinds share tables
  std::vector<std::uint8_t> model_of_class;  // one member of each class
  std::vector<Table> tables;                 // [class][cpu price][mem price]
  std::int64_t idle_milli = 0;               // of the fleet when the prices were made
  std::int64_t capacity_milli = 0;

  std::vector<Typical> typical;
  std::int64_t typical_total = 0;
};

// Prices every kind of pod for the fleet as it stands. `previous` (may be null) only warm-starts
// the price search. Deterministic in its arguments. `fleet` may list equal states more than once.
Mix make_mix(std::span<const ShapeCount> demand, std::span<const NodeCount> fleet,
             std::int64_t capacity_milli, const Mix* previous);

// True when the fleet's idle GPU has moved so far that the prices should be made anew.
bool stale(const Mix& mix, std::int64_t idle_milli);

// Expected amount of the node's idle GPU that coming pods will fill, in ticks (256 = one GPU
// milli).
std::int64_t worth(const Mix& mix, const NodeState& node);

// worth() remembered by state; drop it together with its mix.
class WorthMemo {
 public:
  std::int64_t operator()(const Mix& mix, const NodeState& node);
  void clear() { known_.clear(); }

 private:
  std::unordered_map<NodeState, std::int64_t, NodeStateHash> known_;
};

struct Verdict {
  std::int64_t score = 0;  // lower is better; equal scores go to the smallest node name
  int device = 0;          // position in NodeState::free, for pods of exactly one GPU
};

// Nothing when the pod does not fit. `lot` is a hash of (seed, pod, node) and is read by kRandom
// alone: every other policy's verdict depends on (mix, node, pod) only and may be memoised.
std::optional<Verdict> judge(Policy policy, const Mix& mix, WorthMemo& memo, const NodeState& node,
                             const PodShape& pod, std::uint64_t lot);

}  // namespace muster::sched::worth
