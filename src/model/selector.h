// Label selectors, node affinity, taints and tolerations with the exact meaning they have in
// Kubernetes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster::model {

using Labels = std::map<std::string, std::string>;

enum class Operator { In, NotIn, Exists, DoesNotExist, Gt, Lt };
Result<Operator> parse_operator(std::string_view text, std::string_view field);
std::string_view to_text(Operator op);

struct Requirement {
  std::string key;
  Operator op = Operator::In;
  std::vector<std::string> values;
  friend bool operator==(const Requirement&, const Requirement&) = default;
};

/// The whole text as Kubernetes reads the numbers of Gt and Lt: decimal, any sign, 64 bits.
std::optional<std::int64_t> whole_number(std::string_view text);

/// Kubernetes' rules: NotIn and DoesNotExist hold for a missing key; Gt and Lt compare whole
/// numbers and fail on others.
bool matches(const Requirement& requirement, const Labels& labels);

/// All requirements, over labels and over the node's name (matchFields knows metadata.name only).
/// An empty term matches nothing, as in Kubernetes.
struct NodeTerm {
  std::vector<Requirement> expressions;
  std::vector<Requirement> fields;
  friend bool operator==(const NodeTerm&, const NodeTerm&) = default;
};
bool matches(const NodeTerm& term, const Labels& labels, std::string_view node_name);

struct PreferredTerm {
  int weight = 1;  // 1 to 100
  NodeTerm term;
  friend bool operator==(const PreferredTerm&, const PreferredTerm&) = default;
};

/// Selects pods: all match_labels and all expressions (In, NotIn, Exists, DoesNotExist). Empty
/// selects every pod.
struct LabelSelector {
  Labels match_labels;
  std::vector<Requirement> expressions;
  friend bool operator==(const LabelSelector&, const LabelSelector&) = default;
};
bool matches(const LabelSelector& selector, const Labels& labels);

enum class TaintEffect { NoSchedule, PreferNoSchedule, NoExecute };
Result<TaintEffect> parse_effect(std::string_view text, std::string_view field);
std::string_view to_text(TaintEffect effect);

struct Taint {
  std::string key;
  std::string value;
  TaintEffect effect = TaintEffect::NoSchedule;
  friend bool operator==(const Taint&, const Taint&) = default;
};

struct Toleration {
  std::string key;  // empty with exists: tolerates everything
  bool exists = false;
  std::string value;
  std::string effect;  // empty: every effect
  friend bool operator==(const Toleration&, const Toleration&) = default;
};
bool tolerates(const Toleration& toleration, const Taint& taint);
/// False if a NoSchedule or NoExecute taint is left over. PreferNoSchedule never forbids.
bool tolerates_all(const std::vector<Toleration>& tolerations, const std::vector<Taint>& taints);

}  // namespace muster::model
