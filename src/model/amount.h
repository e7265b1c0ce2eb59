// Amounts are typed whole numbers: thousandths of a core, bytes, thousandths of a GPU. Parsing caps
// every amount below 2^55 so that sums of thousands of them, and their products with weights, stay
// inside 64 and 128 bits.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace muster::model {

constexpr std::int64_t amount_max = (std::int64_t{1} << 55) - 1;

template <typename Tag>
struct Amount {
  std::int64_t v = 0;
  friend constexpr auto operator<=>(Amount, Amount) = default;
  friend constexpr Amount operator+(Amount a, Amount b) { return {a.v + b.v}; }
  friend constexpr Amount operator-(Amount a, Amount b) { return {a.v - b.v}; }
  friend constexpr Amount operator*(Amount a, std::int64_t n) { return {a.v * n}; }
};
using MilliCpu = Amount<struct MilliCpuTag>;
using Bytes = Amount<struct BytesTag>;
using MilliGpu = Amount<struct MilliGpuTag>;

/// What a pod asks for or a node offers, GPUs apart: they have types and devices of their own.
struct Resources {
  MilliCpu cpu;
  Bytes memory;
  std::map<std::string, std::int64_t> extended;  // by resource name, e.g. rdma/hca; never 0
  friend bool operator==(const Resources&, const Resources&) = default;
};

/// The unit in which a quantity is kept: whole (bytes, devices) or thousandths (cores).
enum class Scale { Whole, Milli };

/// A Kubernetes quantity, exactly: "250m", "1.5", "64Gi", "2e3", "1E". A fraction below the kept
/// unit is rounded up, as Kubernetes does. Negative amounts, garbage and amounts of 2^55 and more
/// are errors that name the field.
Result<std::int64_t> parse_quantity(std::string_view text, std::string_view field, Scale scale);

/// The shortest exact quantity without a fraction that parse_quantity reads back to the same
/// amount: "1500m", "1536Mi". Thousandths take decimal suffixes only. A negative amount is written
/// with its sign, though parse_quantity does not take it.
std::string quantity_text(std::int64_t amount, Scale scale);

}  // namespace muster::model
