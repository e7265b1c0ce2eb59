// What can go wrong, drawn per seed: each seed switches on a random part of the kinds with random
// weights (a swarm: seeds that are all faults at once hide more than they find).
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/prng.h"
#include "base/time.h"

namespace muster::sim {

/// Chances are per thousand, times are means; 0 switches the kind off.
struct FaultMix {
  int watch_dropped = 0;  // until the next resync
  int watch_doubled = 0;
  int watch_late = 0;   // overtaken by others
  int watch_stale = 0;  // an old one is said again
  int apply_slow = 0;
  int apply_refused = 0;    // a conflict: StartFailed
  int reply_lost = 0;       // created, but nobody hears that it started
  int store_busy = 0;       // per commit
  int crash = 0;            // per stage of the loop
  int tiny_inbox = 0;       // not a chance: the inbox holds only so many events
  int bound_elsewhere = 0;  // per pod: to another node than planned, as far as one has room
  Duration node_flap;
  Duration partition;
  Duration clock_step;
};

FaultMix draw_faults(Prng& prng);
/// The kinds that are on, by name.
std::string to_text(const FaultMix& mix);

enum class Fate { Deliver, Drop, Double, Late, Stale };

/// Answers "does it go wrong this time?" until faults are switched off.
class Faults {
 public:
  Faults(FaultMix mix, std::uint64_t seed) : mix_(mix), prng_(seed) {}
  bool on() const { return on_; }
  void switch_off() { on_ = false; }
  const FaultMix& mix() const { return mix_; }
  Prng& prng() { return prng_; }

  bool hits(int per_mille, const char* kind);
  Fate watch();
  /// Extra time a call takes.
  Duration slow();
  Duration lateness() { return milliseconds(prng_.between(1, 20'000)); }
  /// Half to one and a half times the mean.
  Duration around(Duration mean) { return milliseconds(mean.ms / 2 + prng_.between(0, mean.ms)); }
  void count(const char* kind) { ++counts_[kind]; }
  const std::map<std::string, int>& counts() const { return counts_; }

 private:
  FaultMix mix_;
  Prng prng_;
  bool on_ = true;
  std::map<std::string, int> counts_;
};

}  // namespace muster::sim
