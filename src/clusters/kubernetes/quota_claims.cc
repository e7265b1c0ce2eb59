#include "clusters/kubernetes/quota_claims.h"

#include <algorithm>
#include <utility>

namespace muster::clusters {

void QuotaClaims::claim(const ports::Attempt& attempt, const std::string& ns, QuotaAsks asks,
                        std::int64_t pods) {
  release(attempt);
  const auto [at, is_new] = claims_.emplace(attempt, Claim{ns, std::move(asks), pods});
  count(at->second, 1);
}

void QuotaClaims::objects_made(const ports::Attempt& attempt) {
  const auto at = claims_.find(attempt);
  if (at == claims_.end()) return;
  count(at->second, -1);
  at->second.has_objects = false;
  count(at->second, 1);
}

void QuotaClaims::pods_seen(const ports::Attempt& attempt, std::int64_t pods) {
  const auto at = claims_.find(attempt);
  if (at == claims_.end() || pods <= at->second.seen) return;
  if (pods >= at->second.pods) return release(attempt);
  count(at->second, -1);
  at->second.seen = pods;
  count(at->second, 1);
}

void QuotaClaims::release(const ports::Attempt& attempt) {
  const auto at = claims_.find(attempt);
  if (at == claims_.end()) return;
  count(at->second, -1);
  claims_.erase(at);
}

/// Which of its pods are missing is not known: each counts as the same part of all.
void QuotaClaims::count(const Claim& claim, std::int64_t sign) {
  QuotaAmounts& sums = sums_[claim.ns];
  const std::int64_t missing = claim.pods - claim.seen;
  for (const auto& [word, amount] : claim.asks.by_pods) {
    const std::int64_t each = claim.pods > 0 ? amount / claim.pods : 0;
    sums[word] += sign * (missing == claim.pods ? amount : each * missing);
  }
  for (const auto& [word, amount] : claim.asks.by_objects) {
    if (claim.has_objects) sums[word] += sign * amount;
  }
  std::erase_if(sums, [](const auto& one) { return one.second == 0; });
  if (sums.empty()) sums_.erase(claim.ns);
}

void QuotaClaims::add_to(const std::string& ns, std::vector<QuotaSight>& quotas) const {
  const auto sums = sums_.find(ns);
  if (sums == sums_.end()) return;
  for (QuotaSight& quota : quotas) {
    const auto first = sums->second.lower_bound({quota.name, ""});
    for (auto at = first; at != sums->second.end() && at->first.first == quota.name; ++at)
      quota.used[at->first.second] += at->second;
  }
}

}  // namespace muster::clusters
