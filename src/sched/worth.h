// Where should a pod go so that the fleet's idle GPUs stay usable? docs/placement.md tells the idea
// and the formula; this is the whole interface.
//
// Pure, integer-only scoring of (node state, pod shape). All choices answer the same question
// through judge(): how bad is it to put this pod on a node in this state, and on which of its GPUs?
//   1. make_mix() learns what is usually asked for and prices it for the fleet as it stands.
//   2. worth_of() is the part of a node's idle GPU that coming pods are expected to fill.
//   3. judge() compares the worth before and after (Default), or asks a baseline.
//   4. stale() says when to make the mix anew.
// Invariant: everything depends on the arguments alone; a memo changes time, never an answer.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace muster::sched::worth {

constexpr std::size_t gpus_max = 16;        // per node
constexpr std::int32_t whole_milli = 1000;  // one whole GPU
constexpr std::int32_t slot_milli = 10;     // shares are valued in steps of 1% of a GPU
constexpr std::size_t slots_max = 100;      // of one GPU
constexpr std::size_t models_max = 64;
/// Scores closer than this are a tie, so that the node order decides and load stays concentrated.
constexpr int tie_bits = 11;  // 2048 ticks = 6.4 GPU milli
constexpr std::uint64_t any_model = ~std::uint64_t{0};
/// CPU milli and memory MiB stay at or below this, so that their products with prices fit 64 bits.
constexpr std::int64_t amount_max = (std::int64_t{1} << 24) - 1;

/// Free resources of one node in canonical form: `free` ascends, so nodes that differ only in
/// device numbering are equal and everything computed from a state can be memoised by it.
struct NodeState {
  std::int64_t cpu_milli = 0;                 // 0 .. amount_max
  std::int64_t memory_mib = 0;                // 0 .. amount_max
  std::uint8_t model = 0;                     // below models_max
  std::uint8_t gpus = 0;                      // 0: a CPU node
  std::array<std::int16_t, gpus_max> free{};  // milli left per GPU, ascending, unused tail zero

  friend bool operator==(const NodeState&, const NodeState&) = default;
};

struct NodeStateHash {
  std::size_t operator()(const NodeState& s) const noexcept;
};

/// What a pod asks for. `gpu_milli` is per GPU: below 1000 only with one GPU (a share of a device).
struct PodShape {
  std::int64_t cpu_milli = 0;   // 0 .. amount_max
  std::int64_t memory_mib = 0;  // 0 .. amount_max
  std::int32_t num_gpu = 0;
  std::int32_t gpu_milli = 0;
  std::uint64_t models = any_model;  // bit i: model i is allowed

  friend auto operator<=>(const PodShape&, const PodShape&) = default;
  std::int64_t total_milli() const { return std::int64_t{num_gpu} * gpu_milli; }
  bool admits(std::size_t model) const { return ((models >> model) & 1) != 0; }
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

/// The state after placing `pod`, which must fit. `device` is a position in node.free and counts
/// only for pods of exactly one GPU.
NodeState place(const NodeState& node, const PodShape& pod, std::size_t device);

/// Everything a choice knows about demand. A plain value: built by make_mix(), read-only after.
struct Mix {
  static constexpr std::size_t cpu_prices = 11;
  static constexpr std::size_t mem_prices = 7;
  static constexpr std::size_t tables_per_class = cpu_prices * mem_prices;

  /// One kind of GPU pod: pods equal in all but memory. Values are in ticks, see worth_math.h.
  struct Kind {
    PodShape shape;  // memory: the mean
    std::int64_t count = 0;
    std::int64_t rarity = 0;  // log2 of its part of all GPU pods (<= 0)
    std::int64_t price = 0;   // scarcity price: what using up one such pod costs
  };
  /// Expected fill under one pair of prices of CPU and memory.
  struct Table {
    std::array<std::int32_t, slots_max + 1> share{};  // of one GPU with that many free slots
    std::array<std::int32_t, gpus_max + 1> whole{};   // of that many fully idle GPUs together
  };
  /// FGD's "typical pods".
  struct Typical {
    std::int64_t cpu_milli = 0;
    std::int32_t num_gpu = 0;
    std::int32_t gpu_milli = 0;
    std::uint64_t models = any_model;
    std::int64_t count = 0;
  };

  std::vector<Kind> kinds;  // ascending by shape
  // Ticks per CPU milli and per MiB, with 16 fraction bits, ascending from 0.
  std::array<std::int64_t, cpu_prices> cpu_price{};
  std::array<std::int64_t, mem_prices> mem_price{};
  // Models open to the same kinds share tables; models without a node have theirs too.
  std::array<std::uint8_t, models_max> class_of_model{};
  std::vector<std::uint8_t> model_of_class;  // one member of each class
  std::vector<Table> tables;                 // [class][cpu price][mem price]
  std::int64_t idle_milli = 0;               // of the fleet when the prices were made
  std::int64_t capacity_milli = 0;

  std::vector<Typical> typical;
  std::int64_t typical_total = 0;
};

/// Prices every kind of pod for the fleet as it stands. `previous` (may be null) only warm-starts
/// the price search. `fleet` may be empty and may list equal states more than once.
Mix make_mix(std::span<const ShapeCount> demand, std::span<const NodeCount> fleet,
             std::int64_t capacity_milli, const Mix* previous);

/// True when the fleet's idle GPU has moved so far that the prices should be made anew.
bool stale(const Mix& mix, std::int64_t idle_milli);

/// Expected amount of the node's idle GPU that coming pods will fill, in ticks (320 = one milli).
std::int64_t worth_of(const Mix& mix, const NodeState& node);

/// worth_of() remembered by state; drop it together with its mix. A table of fixed size that stays
/// in the processor's cache: a state that falls on another's place takes it.
class WorthMemo {
 public:
  std::int64_t operator()(const Mix& mix, const NodeState& node);
  void clear() { known_.clear(); }

 private:
  struct Known {
    NodeState state;
    std::int64_t worth = 0;
    bool is_known = false;
  };
  std::vector<Known> known_;
};

/// Default is worth; the others are baselines.
enum class Choice : std::uint8_t { Default, Fgd, BestFit, Random };

struct Verdict {
  std::int64_t score = 0;  // lower is better; equal scores go to the smallest node name
  std::size_t device = 0;  // position in NodeState::free, for pods of exactly one GPU
};

/// Nothing when the pod does not fit. `lot` is a hash of (seed, pod, node) and is read by Random
/// alone: every other verdict depends on (mix, node, pod) only and may be memoised. `worth`: of the
/// node, if it is known already.
std::optional<Verdict> judge(Choice choice, const Mix& mix, WorthMemo& memo, const NodeState& node,
                             const PodShape& pod, std::uint64_t lot,
                             std::optional<std::int64_t> worth = std::nullopt);

}  // namespace muster::sched::worth
