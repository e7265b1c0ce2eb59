#include "clusters/kubernetes/namespace_watch.h"

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

constexpr std::string_view by_namespace = "namespace";

template <typename Sight>
typename kube::ObjectStore<Sight>::Indexes index_of(std::string (*ns_of)(const Sight&)) {
  typename kube::ObjectStore<Sight>::Indexes indexes;
  indexes[std::string(by_namespace)] = [ns_of](const Sight& sight) {
    return std::vector<std::string>{ns_of(sight)};
  };
  return indexes;
}

using Limits = std::vector<LimitRule>;  // of one LimitRange
std::string namespace_of_quota(const QuotaSight& quota) { return quota.ns; }
std::string namespace_of_limits(const Limits& rules) {
  return rules.empty() ? "" : rules.front().ns;
}

}  // namespace

struct NamespaceWatch::Core {
  Core(kube::Client& client, const std::string& ns)
      : quotas(client, options_of(kube::resources::resource_quotas(), ns), quota_sight_of, {},
               index_of<QuotaSight>(namespace_of_quota)),
        limits(client, options_of(kube::resources::limit_ranges(), ns), limit_rules_of, {},
               index_of<Limits>(namespace_of_limits)) {}

  kube::Informer<QuotaSight> quotas;
  kube::Informer<Limits> limits;
};

NamespaceWatch::NamespaceWatch(kube::Client& client, const std::string& ns)
    : core_(std::make_unique<Core>(client, ns)) {}

NamespaceWatch::~NamespaceWatch() {
  core_->quotas.stop();
  core_->limits.stop();
}

NamespaceRules NamespaceWatch::rules(const std::string& ns) const {
  NamespaceRules rules;
  for (const auto& quota : core_->quotas.store().by_index(by_namespace, ns))
    rules.quotas.push_back(*quota);
  for (const auto& range : core_->limits.store().by_index(by_namespace, ns))
    rules.limits.insert(rules.limits.end(), range->begin(), range->end());
  return rules;
}

}  // namespace muster::clusters
