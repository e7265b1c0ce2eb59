// One watch on AppWrappers of a group: see object_watch.h.
#pragma once

#include <boost/json/value.hpp>
#include <compare>
#include <functional>
#include <memory>
#include <string>

#include "api/appwrapper/object_watch.h"
#include "kube/client.h"

namespace muster::api {

/// AppWrappers are served under two groups: those of MCAD's first years are another resource.
enum class WrapperGroup { Workload, McadIbm };
kube::Resource appwrappers(WrapperGroup group);

struct WrapperKey {
  WrapperGroup group = WrapperGroup::Workload;
  std::string ns = {};
  std::string name = {};
  friend auto operator<=>(const WrapperKey&, const WrapperKey&) = default;
};

struct WrapperChange {
  WrapperKey key = {};
  std::string uid = {};
  /// Null: it is gone.
  std::shared_ptr<const boost::json::value> object = {};
};

class WrapperWatch {
 public:
  struct Handlers {
    std::function<void(WrapperChange)> on_change;
    std::function<void()> on_synced;   // all there was is told; once
    std::function<void()> on_missing;  // there is no such resource; as often as it is looked for
    std::function<void(const std::string&)> on_failure;  // "" when it is over
  };
  /// The client must outlive it.
  WrapperWatch(kube::Client& client, WrapperGroup group, const std::string& ns, Handlers handlers);

 private:
  ObjectWatch watch_;
};

}  // namespace muster::api
