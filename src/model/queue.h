// A queue is a node of a quota tree.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace muster::model {

/// Limits of one resource. Amounts are in the resource's kept unit: cpu in thousandths, memory in
/// bytes, `gpu` in thousandths of weighted GPUs (weight 1 unless configured), `gpu.TYPE` in
/// thousandths of devices, others in units.
struct Limit {
  std::optional<std::int64_t>
      guaranteed;  // promised; jobs inside it come first and are safe from equals
  std::optional<std::int64_t> maximum;  // never more than this
  std::optional<std::int64_t> borrow;   // at most this much above guaranteed
  std::optional<std::int64_t> lend;     // at most this much of guaranteed to others; missing: all
  friend bool operator==(const Limit&, const Limit&) = default;
};

/// Backfill: the first job that does not fit gets a reservation, later ones start if they do not
/// delay it. SkipAhead: later ones start whenever they fit. Fifo: nothing passes the first.
enum class Strategy { Backfill, SkipAhead, Fifo };

struct QueueSpec {
  std::string name;          // unique over all trees
  std::string parent;        // empty: top of its tree
  std::string tree;          // of a top queue; empty: the main tree, which orders jobs
  std::uint32_t weight = 1;  // 0: served only when nobody with a weight wants the room
  std::map<std::string, Limit> limits;
  Strategy strategy = Strategy::Backfill;
  int priority_cap = 1'000'000'000;
  friend bool operator==(const QueueSpec&, const QueueSpec&) = default;
};

}  // namespace muster::model
