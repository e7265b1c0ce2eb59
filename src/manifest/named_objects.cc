#include "manifest/named_objects.h"

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "kube/json.h"

namespace muster::manifest {

namespace {

namespace json = boost::json;
using kube::find;
using kube::items_at;
using kube::text_at;
using model::NamedObject;
using Kind = NamedObject::Kind;

/// Every namespace has it by itself.
constexpr std::string_view root_ca = "kube-root-ca.crt";
constexpr std::string_view own_account = "default";

class Names {
 public:
  void add_pod(const json::value& spec) {
    for (const json::value& volume : items_at(spec, {"volumes"})) add_volume(volume);
    for (const std::string_view key : {"initContainers", "containers"}) {
      for (const json::value& container : items_at(spec, {key})) add_container(container);
    }
    for (const json::value& one : items_at(spec, {"imagePullSecrets"}))
      add(Kind::Secret, text_at(one, {"name"}), true);
    const std::string_view account = text_at(spec, {"serviceAccountName"});
    add(Kind::ServiceAccount, account.empty() ? text_at(spec, {"serviceAccount"}) : account, false);
  }
  void drop(Kind kind, std::string_view name) { names_.erase({kind, std::string(name)}); }

  std::vector<NamedObject> take() const {
    std::vector<NamedObject> all;
    for (const auto& [key, is_optional] : names_)
      all.push_back({key.first, key.second, is_optional});
    return all;
  }

 private:
  void add(Kind kind, std::string_view name, bool is_optional) {
    const bool is_everywhere = (kind == Kind::ConfigMap && name == root_ca) ||
                               (kind == Kind::ServiceAccount && name == own_account);
    if (name.empty() || is_everywhere) return;
    const auto [at, is_new] = names_.try_emplace({kind, std::string(name)}, is_optional);
    if (!is_new) at->second = at->second && is_optional;
  }
  /// {name: x, optional: true}, under this key; null: not there.
  void add_reference(Kind kind, const json::value* from, std::string_view name_key = "name") {
    if (from == nullptr) return;
    add(kind, text_at(*from, {name_key}), kube::flag_at(*from, {"optional"}));
  }
  void add_volume(const json::value& volume) {
    add_reference(Kind::Secret, find(volume, {"secret"}), "secretName");
    add_reference(Kind::ConfigMap, find(volume, {"configMap"}));
    add(Kind::VolumeClaim, text_at(volume, {"persistentVolumeClaim", "claimName"}), false);
    for (const json::value& source : items_at(volume, {"projected", "sources"})) {
      add_reference(Kind::Secret, find(source, {"secret"}));
      add_reference(Kind::ConfigMap, find(source, {"configMap"}));
    }
  }
  void add_container(const json::value& container) {
    for (const json::value& one : items_at(container, {"envFrom"})) {
      add_reference(Kind::Secret, find(one, {"secretRef"}));
      add_reference(Kind::ConfigMap, find(one, {"configMapRef"}));
    }
    for (const json::value& one : items_at(container, {"env"})) {
      add_reference(Kind::Secret, find(one, {"valueFrom", "secretKeyRef"}));
      add_reference(Kind::ConfigMap, find(one, {"valueFrom", "configMapKeyRef"}));
    }
  }

  std::map<std::pair<Kind, std::string>, bool> names_;  // whether it is optional
};

}  // namespace

std::vector<NamedObject> named_objects(const ObjectList& list) {
  Names names;
  for (const auto* templates : {&list.templates, &list.covered}) {
    for (const PodTemplate& one : *templates) {
      if (!one.has_template || one.object == no_object) continue;
      const json::value* pod = at(list.objects[one.object], one.path);
      const json::value* spec = pod == nullptr ? nullptr : find(*pod, {"spec"});
      if (spec != nullptr) names.add_pod(*spec);
    }
  }
  for (const json::value& object : list.objects) {
    if (text_at(object, {"apiVersion"}) != "v1") continue;
    for (const Kind kind :
         {Kind::Secret, Kind::ConfigMap, Kind::ServiceAccount, Kind::VolumeClaim}) {
      if (text_at(object, {"kind"}) == model::to_text(kind))
        names.drop(kind, kube::name_of(object));
    }
  }
  return names.take();
}

}  // namespace muster::manifest
