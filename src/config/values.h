// Values of documents that the model does not have as types of their own.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "model/amount.h"

namespace muster::config {

/// A price or a weight with up to three decimals, in thousandths.
struct Milli {
  std::int64_t v = 0;
  friend auto operator<=>(const Milli&, const Milli&) = default;
};

/// Amounts by resource: cpu, memory, gpu, gpu.TYPE, others with a domain (rdma/hca); each in its
/// kept unit.
struct Amounts {
  std::map<std::string, std::int64_t> of;
  bool empty() const { return of.empty(); }
  friend bool operator==(const Amounts&, const Amounts&) = default;
};

model::Scale scale_of(std::string_view resource);

}  // namespace muster::config
