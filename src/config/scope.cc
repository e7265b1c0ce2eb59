#include "config/scope.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace muster::config {

bool is_parameter_name(std::string_view name) {
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  return !name.empty() && letter(name[0]) && name.size() <= 64 &&
         std::all_of(name.begin(), name.end(),
                     [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

void Scope::set(Binding binding) {
  for (Binding& known : bindings_) {
    if (known.name == binding.name) {
      known = std::move(binding);
      return;
    }
  }
  bindings_.push_back(std::move(binding));
}

const Binding* Scope::find(std::string_view name) const {
  for (const Binding& binding : bindings_) {
    if (binding.name == name) return &binding;
  }
  return nullptr;
}

Error Scope::unknown(std::string_view name) const {
  if (!is_parameter_name(name)) {
    return invalid(fmt::format(
        "'${{{0}}}' is not a reference to a parameter; write $${{{0}}} to leave it as it is",
        name.substr(0, 60)));
  }
  std::vector<std::string_view> names;
  for (const Binding& binding : bindings_) names.push_back(binding.name);
  const std::string near = nearest(name, names);
  const std::string advice = near.empty()
                                 ? fmt::format("write $${{{}}} to leave it to the shell", name)
                                 : fmt::format("did you mean '{}'?", near);
  return invalid(fmt::format("unknown parameter '{}'; {}", name, advice));
}

Result<std::string> Scope::replace(std::string_view text, bool& plain) const {
  std::string out;
  plain = false;
  while (true) {
    const std::size_t at = text.find("${");
    if (at == std::string_view::npos) break;
    if (at > 0 && text[at - 1] == '$') {
      out.append(text.substr(0, at - 1)).append("${");
      text.remove_prefix(at + 2);
      continue;
    }
    const std::size_t close = text.find('}', at);
    if (close == std::string_view::npos) {
      return invalid("'${' without '}'; write $${ for a plain ${");
    }
    const std::string_view name = text.substr(at + 2, close - at - 2);
    const Binding* binding = find(name);
    if (binding == nullptr) return unknown(name);
    plain = binding->plain && out.empty() && at == 0 && close + 1 == text.size();
    out.append(text.substr(0, at)).append(binding->text);
    text.remove_prefix(close + 1);
    if (out.size() > text_max) break;
  }
  out.append(text);
  if (out.size() > text_max) {
    return invalid(fmt::format("longer than {} bytes after replacement", text_max));
  }
  return out;
}

}  // namespace muster::config
