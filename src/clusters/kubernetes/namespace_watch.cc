#include "clusters/kubernetes/namespace_watch.h"

#include <algorithm>
#include <vector>

#include "kube/informer.h"

namespace muster::clusters {

namespace {

kube::ReflectorOptions options_of(kube::Resource resource, const std::string& ns) {
  kube::ReflectorOptions options;
  options.resource = std::move(resource);
  options.ns = ns;
  options.backoff_max = minutes(5);  // of those who may not read them
  return options;
}

}  // namespace

struct NamespaceWatch::Core {
  Core(kube::Client& client, const std::string& ns)
      : quotas(client, options_of(kube::resources::resource_quotas(), ns), quota_sight_of),
        limits(client, options_of(kube::resources::limit_ranges(), ns), limit_rules_of) {}

  kube::Informer<QuotaSight> quotas;
  kube::Informer<std::vector<LimitRule>> limits;
};

NamespaceWatch::NamespaceWatch(kube::Client& client, const std::string& ns)
    : core_(std::make_unique<Core>(client, ns)) {}

NamespaceWatch::~NamespaceWatch() {
  core_->quotas.stop();
  core_->limits.stop();
}

NamespaceRules NamespaceWatch::rules() const {
  NamespaceRules rules;
  for (const auto& quota : core_->quotas.store().all()) rules.quotas.push_back(*quota);
  auto ranges = core_->limits.store().all();
  // Stores have no order, and what is said first should not change by itself.
  std::sort(rules.quotas.begin(), rules.quotas.end(),
            [](const QuotaSight& a, const QuotaSight& b) { return a.name < b.name; });
  const auto name_of = [](const auto& range) { return range->empty() ? "" : range->front().range; };
  std::sort(ranges.begin(), ranges.end(),
            [&](const auto& a, const auto& b) { return name_of(a) < name_of(b); });
  for (const auto& range : ranges)
    rules.limits.insert(rules.limits.end(), range->begin(), range->end());
  return rules;
}

}  // namespace muster::clusters
