#include "api/appwrapper/quota_watch.h"

#include <algorithm>
#include <string>
#include <utility>

#include "kube/watch.h"

namespace muster::api {

namespace {

namespace json = boost::json;

kube::Resource subtrees_of(std::string group, std::string version) {
  kube::Resource resource;
  resource.group = std::move(group);
  resource.version = std::move(version);
  resource.plural = "quotasubtrees";
  resource.kind = "QuotaSubtree";
  return resource;
}

}  // namespace

QuotaWatch::QuotaWatch(kube::Client& client, Handlers handlers)
    : client_(client), on_(std::move(handlers)) {
  watch(groups_[0], subtrees_of("quota.codeflare.dev", "v1alpha1"));
  watch(groups_[1], subtrees_of("ibm.com", "v1"));
}

QuotaWatch::~QuotaWatch() {
  for (Group& group : groups_) group.informer->stop();
}

bool QuotaWatch::has_answered() const {
  return std::all_of(std::begin(groups_), std::end(groups_),
                     [](const Group& group) { return group.has_answered.load(); });
}

std::vector<json::value> QuotaWatch::subtrees() const {
  std::vector<json::value> all;
  for (const Group& group : groups_) {
    for (const auto& one : group.informer->store().all()) all.push_back(*one);
  }
  return all;
}

void QuotaWatch::watch(Group& group, const kube::Resource& resource) {
  using Value = std::shared_ptr<const json::value>;
  kube::InformerHandlers<json::value> on;
  const auto changed = [this, &group] {
    if (group.has_answered) on_.on_change();
  };
  on.on_add = [changed](const std::string&, const Value&) { changed(); };
  on.on_update = [changed](const std::string&, const Value&, const Value&) { changed(); };
  on.on_delete = [changed](const std::string&, const Value&) { changed(); };
  on.on_synced = [this, &group] {
    group.has_answered = true;
    on_.on_change();
  };
  on.on_failure = [this, &group, name = resource.group](const kube::ApiError& error, int) {
    if (!error.is_not_found()) return on_.on_trouble(name, error.message);
    on_.on_trouble(name, "");
    group.has_answered = true;
    on_.on_change();
  };
  on.on_recovery = [this, name = resource.group] { on_.on_trouble(name, ""); };
  kube::ReflectorOptions options;
  options.resource = resource;
  group.informer = std::make_unique<kube::Informer<json::value>>(client_, options, kube::own_copy,
                                                                 std::move(on));
}

}  // namespace muster::api
