#include "clusters/kubernetes/left_pods.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "clusters/kubernetes/names.h"
#include "kube/json.h"
#include "kube/list.h"
#include "kube/requests.h"

namespace muster::clusters {

namespace {

namespace json = boost::json;
using kube::text_at;

constexpr int depth_most = 5;
constexpr std::size_t owners_most = 200'000;
constexpr std::int64_t page = 500;

bool is_live(const json::value& pod) {
  const std::string_view phase = text_at(pod, {"status", "phase"});
  return phase != "Succeeded" && phase != "Failed";
}

LeftPods::Pod pod_of(const json::value& object) {
  return {std::string(kube::name_of(object)), std::string(kube::uid_of(object))};
}

/// A list that took long to read serves for longer: reading is a small part of all that is done.
Duration lifetime(Duration took) { return std::max(seconds(10), Duration{took.ms * 10}); }

}  // namespace

kube::Reply<std::vector<LeftPods::Pod>> LeftPods::of(const Wanted& wanted) {
  const auto listed = list(wanted.ns, wanted.asked);
  if (!listed) return listed.error();
  std::set<std::size_t> found;  // in the list's order
  for (const std::string& root : wanted.roots) {
    const auto at = (*listed)->by_ancestor.find(root);
    if (at != (*listed)->by_ancestor.end()) found.insert(at->second.begin(), at->second.end());
  }
  auto pods = marked(wanted);
  if (!pods) return pods.error();
  for (const std::size_t index : found) pods->push_back((*listed)->pods[index]);
  return pods;
}

bool LeftPods::distrust(const std::string& ns, Time since) {
  const auto at = lists_.find(ns);
  if (at == lists_.end() || at->second.begun >= since) return false;
  lists_.erase(at);
  return true;
}

kube::Reply<const LeftPods::Listed*> LeftPods::list(const std::string& ns, Time asked) {
  const auto at = lists_.find(ns);
  if (at != lists_.end()) {
    const Listed& known = at->second;
    if (known.begun >= asked && clock_() - known.read <= lifetime(known.read - known.begun))
      return &known;
    lists_.erase(at);
  }
  if (owners_.size() > owners_most) owners_.clear();
  hidden_.clear();
  Listed made;
  made.begun = clock_();
  const auto there =
      kube::list_all(client_, kube::resources::pods(), ns,
                     {.label_selector = fmt::format("!{}", job_label), .limit = page});
  if (!there) return there.error();
  for (const json::value& pod : there->items) {
    if (!is_live(pod)) continue;
    const auto uids = ancestors(pod, ns);
    if (!uids) return uids.error();
    for (const std::string& uid : *uids) made.by_ancestor[uid].push_back(made.pods.size());
    made.pods.push_back(pod_of(pod));
  }
  made.read = clock_();
  return &(lists_[ns] = std::move(made));
}

/// Nobody has the job in his books yet, so what has its mark was made for it by an earlier server.
kube::Reply<std::vector<LeftPods::Pod>> LeftPods::marked(const Wanted& wanted) {
  const auto there = kube::list_all(
      client_, kube::resources::pods(), wanted.ns,
      {.label_selector = fmt::format("{}={}", job_label, label_value(wanted.job)), .limit = page});
  if (!there) return there.error();
  std::vector<Pod> found;
  for (const json::value& pod : there->items) {
    if (!is_live(pod)) continue;
    const auto uids = ancestors(pod, wanted.ns);
    if (!uids) return uids.error();
    const bool is_ours = std::any_of(uids->begin(), uids->end(), [&](const std::string& uid) {
      return wanted.roots.contains(uid);
    });
    if (is_ours) found.push_back(pod_of(pod));
  }
  return found;
}

kube::Reply<LeftPods::Uids> LeftPods::ancestors(const json::value& object, const std::string& ns) {
  Uids found;
  const auto done = climb(owners_of(object), ns, 0, found);
  if (!done) return done.error();
  return found;
}

kube::Reply<Ok> LeftPods::climb(const Owners& owners, const std::string& ns, int depth,
                                Uids& found) {
  for (const Owner& owner : owners) {
    if (!found.insert(owner.uid).second || depth == depth_most) continue;
    auto above = look_up(owner, ns);
    if (!above) return above.error();
    if (const auto done = climb(*above, ns, depth + 1, found); !done) return done;
  }
  return Ok{};
}

/// None of what is not there, or may not be seen.
kube::Reply<LeftPods::Owners> LeftPods::look_up(const Owner& owner, const std::string& ns) {
  if (const auto known = owners_.find(owner.uid); known != owners_.end()) return known->second;
  if (hidden_.contains(owner.uid)) return Owners{};
  const auto kind = kinds_.find(owner.api_version, owner.kind);
  if (!kind && kind.error().is_not_found()) {
    hidden_.insert(owner.uid);
    return Owners{};
  }
  if (!kind) return kind.error();
  Owners above;
  if (kind->is_namespaced) {  // else a Node, of its own pods
    const auto there = client_.send(kube::get_request(*kind, ns, owner.name));
    const bool is_hidden = !there && (there.error().is_not_found() || there.error().is_forbidden());
    if (!there && !is_hidden) return there.error();
    if (is_hidden || kube::uid_of(*there) != owner.uid) {
      hidden_.insert(owner.uid);
      return Owners{};
    }
    above = owners_of(*there);
  }
  owners_[owner.uid] = above;
  return above;
}

LeftPods::Owners LeftPods::owners_of(const json::value& object) {
  Owners owners;
  for (const json::value& one : kube::items_at(object, {"metadata", "ownerReferences"}))
    owners.push_back({std::string(text_at(one, {"apiVersion"})),
                      std::string(text_at(one, {"kind"})), std::string(text_at(one, {"name"})),
                      std::string(text_at(one, {"uid"}))});
  return owners;
}

}  // namespace muster::clusters
