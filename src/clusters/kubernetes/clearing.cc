#include "clusters/kubernetes/clearing.h"

#include <fmt/format.h>

#include <algorithm>

namespace muster::clusters {

namespace {

constexpr Duration patience = seconds(30);  // many are deleted in one request

}  // namespace

std::string Clearing::trouble(Time now, const std::string& refusal) const {
  const auto oldest =
      std::min_element(since_.begin(), since_.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  if (oldest == since_.end() || now - oldest->second < patience) return "";
  const auto& [attempt, since] = *oldest;
  const std::size_t others = since_.size() - 1;
  return fmt::format(
      "nothing new is made: attempt {} of job {}{}, which nobody wants any more, could not be "
      "deleted "
      "for {}{}{}",
      attempt.number, attempt.job,
      others == 0 ? "" : fmt::format(" and {} other{}", others, others == 1 ? "" : "s"),
      to_text(now - since), refusal.empty() ? "" : "; ", refusal);
}

}  // namespace muster::clusters
