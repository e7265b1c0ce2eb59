#include "model/runtime_class.h"

#include <algorithm>

namespace muster::model {

namespace {

void raise(Resources& into, const Resources& other) {
  into.cpu = std::max(into.cpu, other.cpu);
  into.memory = std::max(into.memory, other.memory);
  for (const auto& [name, amount] : other.extended)
    into.extended[name] = std::max(into.extended[name], amount);
}

void keep_common(RuntimeClass& into, const RuntimeClass& other) {
  std::erase_if(into.node_selector, [&](const auto& label) {
    const auto same = other.node_selector.find(label.first);
    return same == other.node_selector.end() || same->second != label.second;
  });
  std::erase_if(into.tolerations, [&](const Toleration& one) {
    return std::find(other.tolerations.begin(), other.tolerations.end(), one) ==
           other.tolerations.end();
  });
}

}  // namespace

void add(RuntimeClasses& into, const RuntimeClasses& of_another) {
  for (const auto& [name, other] : of_another) {
    const auto [at, is_new] = into.try_emplace(name, other);
    if (is_new) continue;
    raise(at->second.overhead, other.overhead);
    keep_common(at->second, other);
  }
}

}  // namespace muster::model
