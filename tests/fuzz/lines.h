// Mutations for inputs made of lines and words: a line is moved, doubled or dropped, a number or a
// word is changed. Half of the time the bytes are libFuzzer's own to change.
#pragma once

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"

// NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace muster::fuzz {

using Lines = std::vector<std::string>;
using Dice = std::minstd_rand;

inline std::size_t below(Dice& dice, std::size_t n) { return n == 0 ? 0 : dice() % n; }

inline Lines lines_of(const std::uint8_t* data, std::size_t size) {
  Lines lines;
  const std::string text(data, data + size);
  for (const std::string_view line : split(text, '\n')) lines.emplace_back(line);
  return lines;
}

inline std::size_t write_lines(const Lines& lines, std::uint8_t* data, std::size_t max_size) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  const std::size_t size = std::min(text.size() - 1, max_size);
  std::memcpy(data, text.data(), size);
  return size;
}

/// Numbers and texts at which readers go wrong.
constexpr std::array<std::string_view, 26> edges = {"0",
                                                    "1",
                                                    "-1",
                                                    "2",
                                                    "3",
                                                    "16",
                                                    "17",
                                                    "99",
                                                    "100",
                                                    "500",
                                                    "999",
                                                    "1001",
                                                    "4096",
                                                    "65536",
                                                    "1000000000",
                                                    "4294967297",
                                                    "36028797018963967",
                                                    "36028797018963968",
                                                    "9223372036854775807",
                                                    "0.5",
                                                    "",
                                                    "a",
                                                    "1h",
                                                    "100000000000d",
                                                    "1e17",
                                                    "500m"};

/// Puts an edge where a number, or the rest of a word, stands.
inline void change_word(std::string& line, Dice& dice) {
  const std::size_t from = below(dice, line.size());
  const auto ends = [&](std::size_t at) { return at >= line.size() || line[at] == ' '; };
  std::size_t begin = from;
  while (begin < line.size() && std::isdigit(static_cast<unsigned char>(line[begin])) == 0) ++begin;
  std::size_t end = begin;
  while (end < line.size() && std::isdigit(static_cast<unsigned char>(line[end])) != 0) ++end;
  if (below(dice, 4) == 0) {
    begin = from;
    end = from;
    while (!ends(end)) ++end;
  }
  line.replace(begin, end - begin, edges[below(dice, edges.size())]);
}

inline void mutate_lines(Lines& lines, Dice& dice) {
  const std::size_t at = below(dice, lines.size());
  const std::size_t other = below(dice, lines.size());
  switch (below(dice, 5)) {
    case 0:
      lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(other), std::string(lines[at]));
      return;
    case 1:
      if (lines.size() > 1) lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(at));
      return;
    case 2:
      std::swap(lines[at], lines[other]);
      return;
    default:
      change_word(lines[at], dice);
  }
}

/// The body of LLVMFuzzerCustomMutator.
inline std::size_t mutate(std::uint8_t* data, std::size_t size, std::size_t max_size,
                          unsigned seed) {
  Dice dice(seed);
  if (below(dice, 2) == 0) return LLVMFuzzerMutate(data, size, max_size);
  Lines lines = lines_of(data, size);
  for (std::size_t n = below(dice, 4) + 1; n > 0; --n) mutate_lines(lines, dice);
  return write_lines(lines, data, max_size);
}

/// The body of LLVMFuzzerCustomCrossOver: some lines of the second input come into the first.
inline std::size_t cross(Lines lines, const Lines& others, std::uint8_t* out, std::size_t max_size,
                         unsigned seed) {
  Dice dice(seed);
  const std::size_t first = below(dice, others.size());
  const std::size_t count = std::min(below(dice, 8) + 1, others.size() - first);
  const auto from = others.begin() + static_cast<std::ptrdiff_t>(first);
  lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(below(dice, lines.size() + 1)), from,
               from + static_cast<std::ptrdiff_t>(count));
  return write_lines(lines, out, max_size);
}

}  // namespace muster::fuzz

// A fuzzer that includes this header mutates by lines.

// NOLINTNEXTLINE(readability-identifier-naming, misc-definitions-in-headers): libFuzzer's
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t max_size, unsigned seed) {
  return muster::fuzz::mutate(data, size, max_size, seed);
}

// NOLINTNEXTLINE(readability-identifier-naming, misc-definitions-in-headers): libFuzzer's
extern "C" std::size_t LLVMFuzzerCustomCrossOver(const std::uint8_t* one, std::size_t one_size,
                                                 const std::uint8_t* two, std::size_t two_size,
                                                 std::uint8_t* out, std::size_t max_size,
                                                 unsigned seed) {
  return muster::fuzz::cross(muster::fuzz::lines_of(one, one_size),
                             muster::fuzz::lines_of(two, two_size), out, max_size, seed);
}
