#include "model/selector.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <span>

#include "base/text.h"

namespace muster::model {
namespace {

// In the order of the enum, so that a name is also an index.
constexpr std::array<std::string_view, 6> operators = {"In",           "NotIn", "Exists",
                                                       "DoesNotExist", "Gt",    "Lt"};
constexpr std::array<std::string_view, 3> effects = {"NoSchedule", "PreferNoSchedule", "NoExecute"};

template <typename Enum>
Result<Enum> parse_name(std::string_view text, std::string_view field,
                        std::span<const std::string_view> names) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == text) return static_cast<Enum>(i);
  }
  const std::string near = nearest(text, names);
  return invalid(
      near.empty()
          ? fmt::format("{}: unknown: '{}'; use one of {}", field, text, fmt::join(names, ", "))
          : fmt::format("{}: unknown: '{}'; did you mean {}?", field, text, near));
}

bool contains(const std::vector<std::string>& values, std::string_view value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

/// The sign of value - bound, or nothing unless both are whole numbers and there is one bound.
std::optional<int> compare(const std::vector<std::string>& bounds, std::string_view value) {
  if (bounds.size() != 1) return std::nullopt;
  const std::optional<std::int64_t> left = whole_number(value);
  const std::optional<std::int64_t> right = whole_number(bounds[0]);
  if (!left || !right) return std::nullopt;
  return *left < *right ? -1 : *left > *right ? 1 : 0;
}

bool matches_field(const Requirement& requirement, std::string_view node_name) {
  if (requirement.key != "metadata.name") return false;
  if (requirement.op == Operator::In) return contains(requirement.values, node_name);
  if (requirement.op == Operator::NotIn) return !contains(requirement.values, node_name);
  return false;
}

bool all_match(const std::vector<Requirement>& requirements, const Labels& labels) {
  return std::all_of(requirements.begin(), requirements.end(),
                     [&](const Requirement& r) { return matches(r, labels); });
}

}  // namespace

Result<Operator> parse_operator(std::string_view text, std::string_view field) {
  return parse_name<Operator>(text, field, operators);
}

std::string_view to_text(Operator op) { return operators[static_cast<std::size_t>(op)]; }

std::optional<std::int64_t> whole_number(std::string_view text) {
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('-')) return std::nullopt;
  }
  std::int64_t value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool matches(const Requirement& requirement, const Labels& labels) {
  const auto found = labels.find(requirement.key);
  const bool has = found != labels.end();
  switch (requirement.op) {
    case Operator::In:
      return has && contains(requirement.values, found->second);
    case Operator::NotIn:
      return !has || !contains(requirement.values, found->second);
    case Operator::Exists:
      return has;
    case Operator::DoesNotExist:
      return !has;
    case Operator::Gt:
      return has && compare(requirement.values, found->second) == 1;
    case Operator::Lt:
      return has && compare(requirement.values, found->second) == -1;
  }
  return false;  // not an operator
}

bool matches(const NodeTerm& term, const Labels& labels, std::string_view node_name) {
  if (term.expressions.empty() && term.fields.empty()) return false;
  return all_match(term.expressions, labels) &&
         std::all_of(term.fields.begin(), term.fields.end(),
                     [&](const Requirement& r) { return matches_field(r, node_name); });
}

bool matches(const LabelSelector& selector, const Labels& labels) {
  for (const auto& [key, value] : selector.match_labels) {
    const auto found = labels.find(key);
    if (found == labels.end() || found->second != value) return false;
  }
  return all_match(selector.expressions, labels);
}

Result<TaintEffect> parse_effect(std::string_view text, std::string_view field) {
  return parse_name<TaintEffect>(text, field, effects);
}

std::string_view to_text(TaintEffect effect) { return effects[static_cast<std::size_t>(effect)]; }

bool tolerates(const Toleration& toleration, const Taint& taint) {
  if (!toleration.effect.empty() && toleration.effect != to_text(taint.effect)) return false;
  if (!toleration.key.empty() && toleration.key != taint.key) return false;
  return toleration.exists || toleration.value == taint.value;
}

bool tolerates_all(const std::vector<Toleration>& tolerations, const std::vector<Taint>& taints) {
  return std::all_of(taints.begin(), taints.end(), [&](const Taint& taint) {
    return taint.effect == TaintEffect::PreferNoSchedule ||
           std::any_of(tolerations.begin(), tolerations.end(),
                       [&](const Toleration& toleration) { return tolerates(toleration, taint); });
  });
}

}  // namespace muster::model
