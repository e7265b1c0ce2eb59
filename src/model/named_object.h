// An object that a pod names and cannot run without, in its own namespace: a Secret or a ConfigMap.
#pragma once

#include <compare>
#include <string>

namespace muster::model {

struct NamedObject {
  enum class Kind { Secret, ConfigMap };
  Kind kind = Kind::Secret;
  std::string name = {};
  bool is_optional = false;  // the pod runs without it too
  friend auto operator<=>(const NamedObject&, const NamedObject&) = default;
};

/// "Secret registry", for messages.
inline std::string to_text(const NamedObject& one) {
  return (one.kind == NamedObject::Kind::Secret ? "Secret " : "ConfigMap ") + one.name;
}

}  // namespace muster::model
