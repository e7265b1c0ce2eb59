#include "clusters/kubernetes/runtime_class_watch.h"

#include <string>
#include <utility>

#include "kube/informer.h"
#include "manifest/pod_use.h"

namespace muster::clusters {

namespace {

namespace json = boost::json;

struct RuntimeClass {
  std::string name;
  json::object overhead;
};

RuntimeClass read_class(const json::value& object) {
  return {std::string(kube::name_of(object)), kube::map_at(object, {"overhead", "podFixed"})};
}

kube::ReflectorOptions options() {
  kube::ReflectorOptions made;
  made.resource = kube::resources::runtime_classes();
  made.backoff_max = minutes(5);  // of those who may not read them
  return made;
}

}  // namespace

struct RuntimeClassWatch::Core {
  Core(kube::Client& client, manifest::GpuNaming naming)
      : gpus(std::move(naming)), classes(client, options(), read_class) {}

  const manifest::GpuNaming gpus;
  kube::Informer<RuntimeClass> classes;
};

RuntimeClassWatch::RuntimeClassWatch(kube::Client& client, manifest::GpuNaming gpus)
    : core_(std::make_unique<Core>(client, std::move(gpus))) {}

RuntimeClassWatch::~RuntimeClassWatch() { core_->classes.stop(); }

model::Overheads RuntimeClassWatch::overheads() const {
  model::Overheads all;
  for (const auto& one : core_->classes.store().all()) {
    if (one->overhead.empty()) continue;
    all[one->name] = manifest::split(manifest::amounts_of(one->overhead), core_->gpus).resources;
  }
  return all;
}

json::object RuntimeClassWatch::overhead_of(const json::value& pod) const {
  const std::string name = manifest::runtime_class_of(pod);
  const auto found = name.empty() ? nullptr : core_->classes.store().get(name);
  return found == nullptr ? json::object() : found->overhead;
}

}  // namespace muster::clusters
