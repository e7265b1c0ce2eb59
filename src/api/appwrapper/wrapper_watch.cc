#include "api/appwrapper/wrapper_watch.h"

#include <utility>

namespace muster::api {

namespace {

kube::ReflectorOptions options_of(WrapperGroup group, const std::string& ns) {
  kube::ReflectorOptions options;
  options.resource = appwrappers(group);
  options.ns = ns;
  return options;
}

ObjectWatch::Handlers handlers_of(WrapperGroup group, WrapperWatch::Handlers on) {
  const auto change = [group, told = std::move(on.on_change)](ObjectChange one) {
    told({{group, std::move(one.ns), std::move(one.name)},
          std::move(one.uid),
          std::move(one.object)});
  };
  return {change, std::move(on.on_synced), std::move(on.on_failure), std::move(on.on_missing)};
}

}  // namespace

kube::Resource appwrappers(WrapperGroup group) {
  kube::Resource resource;
  resource.group = group == WrapperGroup::Workload ? "workload.codeflare.dev" : "mcad.ibm.com";
  resource.version = "v1beta1";  // how both are stored: nothing is left out of it
  resource.plural = "appwrappers";
  resource.kind = "AppWrapper";
  return resource;
}

WrapperWatch::WrapperWatch(kube::Client& client, WrapperGroup group, const std::string& ns,
                           Handlers handlers)
    : watch_(client, options_of(group, ns), handlers_of(group, std::move(handlers))) {}

}  // namespace muster::api
