// Fixed point for worth: ticks, powers and logarithms of two, and a soft maximum.
//
// All worths are in ticks. The soft maximum has base 2, and `octave` ticks of worth make a choice
// twice as likely; taking a power of two makes a logarithm in ticks the same thing as a worth in
// ticks. Nothing here rounds differently on another machine: there is no floating point.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace muster::sched::worth {

constexpr std::int64_t ticks_per_milli = 320;  // of a GPU
constexpr int octave_bits = 12;
/// 12.8 GPU milli: the softness of a choice.
constexpr std::int64_t octave = std::int64_t{1} << octave_bits;
constexpr int one_bits = 32;  // fraction bits of exp2_neg()
/// The soft maximum of nothing.
constexpr std::int64_t never = -(std::int64_t{1} << 40);

constexpr std::array<std::uint64_t, 256> make_exp2_steps() {
  std::array<std::uint64_t, 256> steps{};
  std::uint64_t value = std::uint64_t{1} << one_bits;
  for (std::uint64_t& step : steps) {
    step = value;
    value = (value * 4283353945ULL) >> 32;  // 2^(-1/256) with 32 fraction bits
  }
  return steps;
}
inline constexpr std::array<std::uint64_t, 256> exp2_steps = make_exp2_steps();
inline constexpr std::uint64_t exp2_one = exp2_steps[0];

/// 2^(-ticks/octave) with one_bits fraction bits. Slight negatives come from rounding and mean
/// zero.
constexpr std::uint64_t exp2_neg(std::int64_t ticks) {
  if (ticks <= 0) return exp2_one;
  if (ticks >= octave * one_bits) return 0;
  const auto t = static_cast<std::uint64_t>(ticks);
  return exp2_steps[(t >> (octave_bits - 8)) & 255] >> (t >> octave_bits);
}

/// The first `bits` binary digits of log2(m / 2^31), m in [2^31, 2^32), by repeated squaring.
constexpr std::int64_t log2_digits(std::uint64_t m, int bits) {
  std::int64_t log = 0;
  for (int i = 0; i < bits; ++i) {
    m = (m * m) >> 31;
    const std::uint64_t bit = m >> 32;
    log = (log << 1) | static_cast<std::int64_t>(bit);
    m >>= bit;
  }
  return log;
}

struct Chord {
  std::int32_t from = 0;  // log2(1 + i/256), with octave_bits and chord_bits of fraction
  std::int32_t rise = 0;  // from there to the next
};
constexpr int chord_bits = 16;
constexpr std::array<Chord, 256> make_log2_chords() {
  std::array<Chord, 256> chords{};
  std::int64_t to = std::int64_t{1} << (octave_bits + chord_bits);
  for (std::size_t i = 256; i-- > 0;) {
    const std::int64_t from = log2_digits((256 + i) << 23, octave_bits + chord_bits);
    chords[i] = {static_cast<std::int32_t>(from), static_cast<std::int32_t>(to - from)};
    to = from;
  }
  return chords;
}
inline constexpr std::array<Chord, 256> log2_chords = make_log2_chords();

/// log2(x) in ticks, x > 0, rounded down. A chord lies at most 0.011 ticks below the curve, which
/// settles all but one case in sixty; those are squared out. (Filling tables is mostly logarithms.)
constexpr std::int64_t log2_ticks(std::uint64_t x) {
  const int top = static_cast<int>(std::bit_width(x)) - 1;
  const std::uint64_t m = (x << (63 - top)) >> 32;  // in [2^31, 2^32)
  const Chord& chord = log2_chords[(m >> 23) & 255];
  const auto along = static_cast<std::int64_t>(m & 0x7FFFFF);
  const std::int64_t log = chord.from + ((chord.rise * along) >> 23);
  const std::int64_t low = (log - 16) >> chord_bits;
  const std::int64_t high = (log + 1024) >> chord_bits;
  return (std::int64_t{top} << octave_bits) + (low == high ? low : log2_digits(m, octave_bits));
}

/// octave * log2(sum of 2^(v/octave)), one value at a time.
class SoftMax {
 public:
  constexpr void add(std::int64_t v) {
    if (v <= top_) {
      sum_ += exp2_neg(top_ - v);
      return;
    }
    sum_ = ((sum_ >> 16) * (exp2_neg(v - top_) >> 16)) + exp2_one;
    top_ = v;
  }
  /// `never` when nothing was added.
  constexpr std::int64_t value() const {
    if (sum_ == exp2_one) return top_;  // one value, and none near it
    return sum_ == 0 ? never : top_ + log2_ticks(sum_) - one_bits * octave;
  }

 private:
  std::int64_t top_ = never;
  std::uint64_t sum_ = 0;
};

}  // namespace muster::sched::worth
