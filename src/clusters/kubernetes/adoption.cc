#include "clusters/kubernetes/adoption.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <map>
#include <set>
#include <utility>

#include "clusters/kubernetes/gang_state.h"
#include "clusters/kubernetes/names.h"
#include "kube/discovery.h"
#include "kube/json.h"
#include "kube/list.h"
#include "kube/requests.h"
#include "manifest/pod_sets.h"

namespace muster::clusters {

namespace {

namespace json = boost::json;
using kube::text_at;

Error unavailable(const kube::ApiError& error) { return {Fault::Unavailable, error.message}; }

/// Finds the pods that come, over any number of controllers, from some objects.
class Descent {
 public:
  Descent(kube::Client& client, kube::RestMapper& kinds, std::string ns)
      : client_(client), kinds_(kinds), ns_(std::move(ns)) {}

  void add(std::string_view uid) { known_[std::string(uid)] = true; }
  bool is_empty() const { return known_.empty(); }

  /// Whether an object that has these metadata descends from one that was added.
  kube::Reply<bool> has(const json::value& object, int depth = 0) {
    constexpr int depth_most = 5;
    for (const json::value& owner : kube::items_at(object, {"metadata", "ownerReferences"})) {
      const std::string uid(text_at(owner, {"uid"}));
      const auto at = known_.find(uid);
      if (at == known_.end() && depth < depth_most) {
        auto is_ours = look_up(owner, depth);
        if (!is_ours) return is_ours;
        known_[uid] = *is_ours;
      }
      if (known_[uid]) return true;
    }
    return false;
  }

 private:
  kube::Reply<bool> look_up(const json::value& owner, int depth) {
    auto kind = kinds_.find(text_at(owner, {"apiVersion"}), text_at(owner, {"kind"}));
    if (!kind && kind.error().is_not_found()) return false;
    if (!kind) return kind.error();
    if (!kind->is_namespaced) return false;  // a Node, of its own pods
    auto found = client_.send(kube::get_request(*kind, ns_, text_at(owner, {"name"})));
    if (!found && (found.error().is_not_found() || found.error().is_forbidden())) return false;
    if (!found) return found.error();
    return has(*found, depth + 1);
  }

  kube::Client& client_;
  kube::RestMapper& kinds_;
  const std::string ns_;
  std::map<std::string, bool> known_;  // by uid: whether it is, or descends from, one of ours
};

/// Calls `found` with each object of the list that is there and was made for the owner.
Status find_objects(
    kube::Client& client, kube::RestMapper& kinds, const ports::LeftWork& work,
    const std::function<Status(const kube::Resource&, const json::value& there)>& found) {
  json::error_code wrong;
  const json::value read = json::parse(work.objects, wrong);
  if (wrong) return invalid("objects: not JSON: " + wrong.message());
  const auto list = manifest::read_objects(read);
  if (!list) return list.error();
  for (const json::value& object : list->objects) {
    const auto kind = kinds.find(text_at(object, {"apiVersion"}), text_at(object, {"kind"}));
    if (!kind && kind.error().is_not_found()) continue;
    if (!kind) return unavailable(kind.error());
    const auto there = client.send(kube::get_request(*kind, work.ns, kube::name_of(object)));
    if (!there && there.error().is_not_found()) continue;
    if (!there) return unavailable(there.error());
    const json::array& owners = kube::items_at(*there, {"metadata", "ownerReferences"});
    const bool is_owned = std::any_of(owners.begin(), owners.end(), [&](const json::value& owner) {
      return text_at(owner, {"uid"}) == work.owner_uid;
    });
    const bool is_of_job = text_at(*there, {"metadata", "labels", job_label}) ==
                           label_value(work.job);  // an earlier server made it
    if (!is_owned && !is_of_job) continue;
    if (Status done = found(*kind, *there); !done) return done;
  }
  return Ok{};
}

Status released(kube::Client& client, const ports::LeftWork& work) {
  kube::RestMapper kinds(client);
  return find_objects(
      client, kinds, work, [&](const kube::Resource& kind, const json::value& there) -> Status {
        kube::DeleteOptions options;
        options.uid = kube::uid_of(there);
        options.propagation = "Background";
        const auto gone =
            client.send(kube::delete_request(kind, work.ns, kube::name_of(there), options));
        // A conflict: it is another one by now.
        if (gone || gone.error().is_not_found() || gone.error().is_conflict()) return Ok{};
        return unavailable(gone.error());
      });
}

/// As wanted by the job.
Status mark(kube::Client& client, const ports::LeftWork& work, const json::value& pod) {
  json::value patch = json::object();
  kube::set_at(patch, {"metadata", "uid"}, json::string(kube::uid_of(pod)));
  kube::set_at(patch, {"metadata", "labels", adopting_label}, json::string(label_value(work.job)));
  const auto marked =
      client.send(kube::patch_request(kube::resources::pods(), work.ns, kube::name_of(pod),
                                      kube::Patch::Merge, patch, {.field_manager = field_manager}));
  if (!marked && !marked.error().is_not_found()) return unavailable(marked.error());
  return Ok{};
}

Result<ports::AdoptedPods> adopted(kube::Client& client, const ports::LeftWork& work) {
  kube::RestMapper kinds(client);
  Descent ours(client, kinds, work.ns);
  const auto add = [&](const kube::Resource&, const json::value& there) -> Status {
    ours.add(kube::uid_of(there));
    return Ok{};
  };
  if (const Status done = find_objects(client, kinds, work, add); !done) return done.error();
  ports::AdoptedPods found;
  if (ours.is_empty()) return found;
  // Nobody has the job in his books yet, so what has its mark was made for it by an earlier server.
  for (const std::string& selector :
       {fmt::format("!{}", job_label), fmt::format("{}={}", job_label, label_value(work.job))}) {
    const auto pods = kube::list_all(client, kube::resources::pods(), work.ns,
                                     {.label_selector = selector, .limit = 500});
    if (!pods) return unavailable(pods.error());
    for (const json::value& pod : pods->items) {
      const PodSight sight = pod_sight_of(pod);
      if (!sight.is_live()) continue;
      const auto is_ours = ours.has(pod);
      if (!is_ours) return unavailable(is_ours.error());
      if (!*is_ours) continue;
      if (const Status done = mark(client, work, pod); !done) return done.error();
      if (sight.node.empty()) continue;
      ++found.bound;
      found.nodes.insert(sight.node);
    }
  }
  return found;
}

}  // namespace

KubernetesAdopter::KubernetesAdopter(std::unique_ptr<kube::Client> client)
    : client_(std::move(client)), thread_([this] { work(); }) {}

KubernetesAdopter::~KubernetesAdopter() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void KubernetesAdopter::adopt(ports::LeftWork work,
                              std::function<void(const Result<ports::AdoptedPods>&)> done) {
  put([this, work = std::move(work), done = std::move(done)] { done(adopted(*client_, work)); });
}

void KubernetesAdopter::release(ports::LeftWork work, std::function<void(const Status&)> done) {
  put([this, work = std::move(work), done = std::move(done)] { done(released(*client_, work)); });
}

void KubernetesAdopter::put(std::function<void()> task) {
  {
    const std::lock_guard lock(mutex_);
    asked_.push_back(std::move(task));
  }
  changed_.notify_one();
}

void KubernetesAdopter::work() {
  while (true) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return is_stopping_ || !asked_.empty(); });
    if (is_stopping_) return;
    const auto next = std::move(asked_.front());
    asked_.pop_front();
    lock.unlock();
    next();
  }
}

}  // namespace muster::clusters
