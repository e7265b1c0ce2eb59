#include "clusters/kubernetes/runtime_class_watch.h"

#include <string>
#include <utility>

#include "kube/informer.h"
#include "kube/watch.h"
#include "manifest/pod_shape.h"

namespace muster::clusters {

namespace {

namespace json = boost::json;

struct SeenClass {
  std::string name;
  json::object overhead;
  model::RuntimeClass planned;
};

SeenClass seen_class(const json::value& object, const manifest::GpuNaming& gpus) {
  SeenClass seen{std::string(kube::name_of(object)), {}, {}};
  const json::value* fixed = kube::find(object, {"overhead", "podFixed"});
  if (fixed != nullptr && fixed->is_object())
    seen.overhead = kube::own_copy(*fixed).as_object();  // the page it came in goes
  json::value pod = json::object();  // of which all that the class says is the whole
  kube::set_at(pod, {"spec", "overhead"}, seen.overhead);
  for (const std::string_view key : {"nodeSelector", "tolerations"}) {
    if (const json::value* said = kube::find(object, {"scheduling", key}))
      kube::set_at(pod, {"spec", key}, *said);
  }
  auto shape = manifest::pod_shape_of(pod, gpus);
  if (!shape) return seen;
  seen.planned = {std::move(shape->requests), std::move(shape->node_selector),
                  std::move(shape->tolerations)};
  return seen;
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
      : classes(client, options(), [gpus = std::move(naming)](const json::value& object) {
          return seen_class(object, gpus);
        }) {}

  kube::Informer<SeenClass> classes;
};

RuntimeClassWatch::RuntimeClassWatch(kube::Client& client, manifest::GpuNaming gpus)
    : core_(std::make_unique<Core>(client, std::move(gpus))) {}

RuntimeClassWatch::~RuntimeClassWatch() { core_->classes.stop(); }

model::RuntimeClasses RuntimeClassWatch::all() const {
  model::RuntimeClasses all;
  for (const auto& one : core_->classes.store().all()) all[one->name] = one->planned;
  return all;
}

json::object RuntimeClassWatch::overhead_of(const json::value& pod) const {
  const manifest::PodRuntime runtime = manifest::runtime_of(pod);
  if (runtime.name.empty() || runtime.has_overhead) return {};
  const auto found = core_->classes.store().get(runtime.name);
  return found == nullptr ? json::object() : found->overhead;
}

}  // namespace muster::clusters
