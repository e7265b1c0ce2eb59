// What gangs that are being made will take of a namespace's quotas. A quota says what is used by
// pods that exist; between the decision to make a gang and the last of its pods others would be
// promised the same room. Here it is counted until it shows there. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "clusters/kubernetes/namespace_rules.h"
#include "ports/cluster.h"

namespace muster::clusters {

class QuotaClaims {
 public:
  /// The attempt is about to be made; `pods` is how many it will have.
  void claim(const ports::Attempt& attempt, const std::string& ns, QuotaAsks asks,
             std::int64_t pods);
  /// Its objects are there, and counted.
  void objects_made(const ports::Attempt& attempt);
  /// So many of its pods are there, and counted; with the last the claim ends.
  void pods_seen(const ports::Attempt& attempt, std::int64_t pods);
  /// Nothing more is made of it.
  void release(const ports::Attempt& attempt);

  bool has(const ports::Attempt& attempt) const { return claims_.contains(attempt); }
  std::size_t size() const { return claims_.size(); }
  /// The quotas of the namespace with what is claimed as used.
  void add_to(const std::string& ns, std::vector<QuotaSight>& quotas) const;

 private:
  struct Claim {
    std::string ns;
    QuotaAsks asks;
    std::int64_t pods = 0;
    std::int64_t seen = 0;
    bool has_objects = true;  // that do not count yet
  };
  /// What the claim takes now, into the sums or out of them.
  void count(const Claim& claim, std::int64_t sign);

  std::map<ports::Attempt, Claim> claims_;
  std::map<std::string, QuotaAmounts> sums_;  // by namespace
};

}  // namespace muster::clusters
