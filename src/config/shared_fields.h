// The keys of what both the server's configuration and job files contain, in Kubernetes' spelling.
#pragma once

#include <array>
#include <string_view>
#include <utility>

#include "config/codecs.h"
#include "config/config.h"

namespace muster::config {

template <>
struct EnumNames<model::TaintEffect> {
  static constexpr std::array<std::pair<std::string_view, model::TaintEffect>, 3> names = {
      {{"NoSchedule", model::TaintEffect::NoSchedule},
       {"PreferNoSchedule", model::TaintEffect::PreferNoSchedule},
       {"NoExecute", model::TaintEffect::NoExecute}}};
};
template <>
struct EnumNames<TolerationEntry::Op> {
  static constexpr std::array<std::pair<std::string_view, TolerationEntry::Op>, 2> names = {
      {{"Equal", TolerationEntry::Op::Equal}, {"Exists", TolerationEntry::Op::Exists}}};
};

template <>
struct Fields<TaintEntry> {
  static constexpr std::string_view name = "taint";
  template <typename V>
  static void visit(V& v) {
    v.field("key", &TaintEntry::key, "key", Rule{.required = true});
    v.field("value", &TaintEntry::value, "value");
    v.field("effect", &TaintEntry::effect, "what it does to pods that do not tolerate it");
  }
};

template <>
struct Fields<TolerationEntry> {
  static constexpr std::string_view name = "toleration";
  template <typename V>
  static void visit(V& v) {
    v.field("key", &TolerationEntry::key, "key of the taint; none with Exists: every taint");
    v.field("operator", &TolerationEntry::op, "Equal compares the value, Exists does not");
    v.field("value", &TolerationEntry::value, "value of the taint");
    v.field("effect", &TolerationEntry::effect, "effect of the taint; every one if not given");
  }
};

}  // namespace muster::config
