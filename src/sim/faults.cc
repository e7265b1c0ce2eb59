#include "sim/faults.h"

#include <fmt/format.h>

namespace muster::sim {

FaultMix draw_faults(Prng& prng) {
  const auto chance = [&](int most) {
    return prng.chance(50) ? static_cast<int>(prng.between(1, most)) : 0;
  };
  const auto mean = [&](Duration low, Duration high) {
    return prng.chance(50) ? milliseconds(prng.between(low.ms, high.ms)) : Duration{0};
  };
  FaultMix mix;
  mix.watch_dropped = chance(200);
  mix.watch_doubled = chance(200);
  mix.watch_late = chance(300);
  mix.watch_stale = chance(100);
  mix.apply_slow = chance(300);
  mix.apply_refused = chance(100);
  mix.reply_lost = chance(200);
  mix.store_busy = chance(50);
  mix.crash = chance(10);
  mix.tiny_inbox = chance(64);
  mix.node_flap = mean(minutes(1), minutes(20));
  mix.partition = mean(minutes(5), minutes(40));
  mix.clock_step = mean(minutes(5), minutes(40));
  mix.bound_elsewhere = chance(400);
  return mix;
}

std::string to_text(const FaultMix& mix) {
  std::string text;
  const auto add = [&](bool on, const char* name) {
    if (on) text += fmt::format("{}{}", text.empty() ? "" : ", ", name);
  };
  add(mix.watch_dropped > 0, "watch dropped");
  add(mix.watch_doubled > 0, "watch doubled");
  add(mix.watch_late > 0, "watch late");
  add(mix.watch_stale > 0, "watch stale");
  add(mix.apply_slow > 0, "apply slow");
  add(mix.apply_refused > 0, "apply refused");
  add(mix.reply_lost > 0, "reply lost");
  add(mix.store_busy > 0, "store busy");
  add(mix.crash > 0, "crash");
  add(mix.tiny_inbox > 0, "tiny inbox");
  add(mix.bound_elsewhere > 0, "bound elsewhere");
  add(mix.node_flap.ms > 0, "node flap");
  add(mix.partition.ms > 0, "partition");
  add(mix.clock_step.ms > 0, "clock step");
  return text.empty() ? "none" : text;
}

bool Faults::hits(int per_mille, const char* kind) {
  if (!on_ || per_mille == 0) return false;
  if (prng_.below(1000) >= static_cast<std::uint64_t>(per_mille)) return false;
  count(kind);
  return true;
}

Fate Faults::watch() {
  if (hits(mix_.watch_dropped, "watch dropped")) return Fate::Drop;
  if (hits(mix_.watch_doubled, "watch doubled")) return Fate::Double;
  if (hits(mix_.watch_late, "watch late")) return Fate::Late;
  if (hits(mix_.watch_stale, "watch stale")) return Fate::Stale;
  return Fate::Deliver;
}

Duration Faults::slow() {
  if (!hits(mix_.apply_slow, "apply slow")) return Duration{0};
  return milliseconds(prng_.between(100, 60'000));
}

}  // namespace muster::sim
