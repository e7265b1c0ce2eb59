// What an API server puts into the pods of a RuntimeClass, and into no template.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "model/amount.h"
#include "model/selector.h"

namespace muster::model {

struct RuntimeClass {
  Resources overhead = {};  // beside what the containers ask for
  Labels node_selector = {};
  std::vector<Toleration> tolerations = {};
  friend bool operator==(const RuntimeClass&, const RuntimeClass&) = default;
};

using RuntimeClasses = std::map<std::string, RuntimeClass>;  // by name

/// Of another cluster too. Who does not know yet in which of them a pod will be counts the most of
/// their overheads, and goes by what both select and tolerate.
void add(RuntimeClasses& into, const RuntimeClasses& of_another);

}  // namespace muster::model
