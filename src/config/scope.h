// The values that `${name}` stands for in a template, and their replacement in text. `$${` is a
// plain `${`. Strict: an unknown name is an error, with the nearest known one.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster::config {

struct Binding {
  std::string name;
  std::string text;
  bool plain = false;  // a number or truth value; else text
};

class Scope {
 public:
  static constexpr std::size_t text_max = std::size_t{1} << 20;  // after replacement

  void set(Binding binding);
  const Binding* find(std::string_view name) const;
  /// The text with its references replaced. `plain` comes out true if the whole text is one
  /// reference to a plain value, so that "${n}" can be a number.
  Result<std::string> replace(std::string_view text, bool& plain) const;

  static bool has_references(std::string_view text) {
    return text.find("${") != std::string_view::npos;
  }

 private:
  Error unknown(std::string_view name) const;

  std::vector<Binding> bindings_;
};

/// Letters, digits and _, not starting with a digit: what may stand in ${...}.
bool is_parameter_name(std::string_view name);

}  // namespace muster::config
