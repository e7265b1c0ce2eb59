#include "sched/decay.h"

#include <array>

namespace muster::sched {
namespace {

// Entry i is 2^(-1/2^(i+1)) in units of 2^-32: the factor for bit i of the fraction of a half-life,
// from the top.
constexpr std::array<std::uint64_t, 32> roots = {
    3037000500, 3611622603, 3938502376, 4112874773, 4202935003, 4248701965, 4271771996, 4283353945,
    4289156690, 4292061010, 4293513907, 4294240540, 4294603903, 4294785595, 4294876445, 4294921870,
    4294944583, 4294955939, 4294961618, 4294964457, 4294965876, 4294966586, 4294966941, 4294967119,
    4294967207, 4294967252, 4294967274, 4294967285, 4294967290, 4294967293, 4294967295, 4294967295};

}  // namespace

std::uint64_t decay(Duration elapsed, Duration half_life) {
  if (half_life.ms <= 0) return 0;
  if (elapsed.ms <= 0) return fixed_one;
  const std::int64_t whole = elapsed.ms / half_life.ms;
  if (whole >= 32) return 0;
  __extension__ using Wide = unsigned __int128;
  const auto fraction = static_cast<std::uint64_t>(
      (static_cast<Wide>(elapsed.ms % half_life.ms) << 32) / static_cast<Wide>(half_life.ms));
  std::uint64_t factor = fixed_one;
  for (std::size_t i = 0; i < roots.size(); ++i) {
    if ((fraction >> (31 - i)) & 1u) factor = (factor * roots[i]) >> 32;
  }
  return factor >> whole;
}

}  // namespace muster::sched
