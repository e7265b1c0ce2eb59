#include "manifest/amounts.h"

#include <algorithm>
#include <boost/json/value.hpp>
#include <string_view>

namespace muster::manifest {

namespace {

namespace json = boost::json;

/// A quantity stands as text, and as a bare number where somebody wrote one.
std::int64_t amount_of(const json::value& value, model::Scale scale) {
  if (value.is_int64() || value.is_uint64()) {
    json::error_code error;
    const auto number = value.to_number<std::int64_t>(error);
    if (error || number < 0 || number > model::amount_max / 1000) return 0;
    return scale == model::Scale::Milli ? number * 1000 : number;
  }
  if (!value.is_string()) return 0;
  const std::string_view text(value.get_string().data(), value.get_string().size());
  const auto parsed = model::parse_quantity(text, "quantity", scale);
  return parsed ? *parsed : 0;
}

std::int64_t capped(std::int64_t amount) { return std::min(amount, model::amount_max); }

bool is_gpu(const std::string& resource, const GpuNaming& naming) {
  return std::find(naming.resources.begin(), naming.resources.end(), resource) !=
         naming.resources.end();
}

}  // namespace

model::Scale scale_of(const std::string& resource) {
  return resource == "cpu" ? model::Scale::Milli : model::Scale::Whole;
}

Amounts amounts_of(const json::object& map) {
  Amounts amounts;
  for (const auto& member : map) {
    const std::string name(member.key());
    if (const std::int64_t amount = amount_of(member.value(), scale_of(name)); amount > 0) {
      amounts[name] = amount;
    }
  }
  return amounts;
}

void add(Amounts& into, const Amounts& more) {
  for (const auto& [name, amount] : more) into[name] = capped(into[name] + amount);
}

void raise(Amounts& into, const Amounts& other) {
  for (const auto& [name, amount] : other) into[name] = std::max(into[name], amount);
}

Split split(const Amounts& amounts, const GpuNaming& naming) {
  Split found;
  for (const auto& [name, amount] : amounts) {
    if (name == "cpu") {
      found.resources.cpu.v = amount;
    } else if (name == "memory") {
      found.resources.memory.v = amount;
    } else if (name == "pods") {
      found.pods = amount;
    } else if (is_gpu(name, naming)) {
      found.gpus += static_cast<int>(std::min<std::int64_t>(amount, 1 << 20));
    } else {
      found.resources.extended[name] = amount;
    }
  }
  return found;
}

}  // namespace muster::manifest
