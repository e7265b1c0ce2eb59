// An object that a pod names and cannot run without, in its own namespace.
#pragma once

#include <compare>
#include <string>
#include <string_view>

namespace muster::model {

struct NamedObject {
  enum class Kind { Secret, ConfigMap, ServiceAccount, VolumeClaim };
  Kind kind = Kind::Secret;
  std::string name = {};
  bool is_optional = false;  // the pod runs without it too
  friend auto operator<=>(const NamedObject&, const NamedObject&) = default;
};

/// As Kubernetes calls it.
constexpr std::string_view to_text(NamedObject::Kind kind) {
  switch (kind) {
    case NamedObject::Kind::Secret:
      return "Secret";
    case NamedObject::Kind::ConfigMap:
      return "ConfigMap";
    case NamedObject::Kind::ServiceAccount:
      return "ServiceAccount";
    case NamedObject::Kind::VolumeClaim:
      break;
  }
  return "PersistentVolumeClaim";
}

/// "Secret registry", for messages.
inline std::string to_text(const NamedObject& one) {
  return std::string(to_text(one.kind)) + " " + one.name;
}

}  // namespace muster::model
