// YAML as Kubernetes tools read it: documents become JSON values. Anchors, aliases and merge keys
// are read, tags are not. Hostile input is expected: size, depth and the number of values (aliases
// counted as what they stand for) are limited.
#pragma once

#include <boost/json/value.hpp>
#include <cstddef>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster::kube {

/// Typed: 1 is a number, true a boolean, as in a manifest. Text: every scalar is a string, for
/// readers whose fields know better (a token may be 1234567).
enum class Scalars { Typed, Text };

struct YamlLimits {
  std::size_t bytes = std::size_t{16} << 20;
  std::size_t values = 2'000'000;
  std::size_t depth = 64;
};

/// One value a document; empty documents are left out. JSON is YAML. Errors begin with the line.
Result<std::vector<boost::json::value>> parse_yaml(std::string_view text,
                                                   Scalars scalars = Scalars::Typed,
                                                   const YamlLimits& limits = YamlLimits());

}  // namespace muster::kube
