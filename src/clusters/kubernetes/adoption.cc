#include "clusters/kubernetes/adoption.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "clusters/kubernetes/gang_state.h"
#include "clusters/kubernetes/names.h"
#include "clusters/kubernetes/object_writer.h"
#include "kube/discovery.h"
#include "kube/json.h"
#include "kube/requests.h"
#include "manifest/pod_sets.h"

namespace muster::clusters {

namespace {

namespace json = boost::json;
using kube::text_at;

Error unavailable(const kube::ApiError& error) { return {Fault::Unavailable, error.message}; }

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

Status released(kube::Client& client, kube::RestMapper& kinds, const ports::LeftWork& work) {
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

/// As wanted by the job. None: it is gone, or another one of its name is there.
Result<std::optional<json::value>> mark(kube::Client& client, const ports::LeftWork& work,
                                        const LeftPods::Pod& pod) {
  json::value patch = json::object();
  kube::set_at(patch, {"metadata", "uid"}, json::string(pod.uid));
  kube::set_at(patch, {"metadata", "labels", adopting_label}, json::string(label_value(work.job)));
  auto marked =
      client.send(kube::patch_request(kube::resources::pods(), work.ns, pod.name,
                                      kube::Patch::Merge, patch, {.field_manager = field_manager}));
  if (marked) return std::optional<json::value>(std::move(*marked));
  if (marked.error().is_not_found() || is_of_another(marked.error()))
    return std::optional<json::value>();
  return unavailable(marked.error());
}

/// Marks those of them that are there; as they are now.
struct Marked {
  ports::AdoptedPods pods = {};
  bool has_missed = false;  // some are not there any more, and others may be in their place
};
Result<Marked> mark_all(kube::Client& client, const ports::LeftWork& work,
                        const std::vector<LeftPods::Pod>& pods) {
  Marked all;
  for (const LeftPods::Pod& pod : pods) {
    const auto there = mark(client, work, pod);
    if (!there) return there.error();
    all.has_missed |= !*there;
    if (!*there) continue;
    const PodSight sight = pod_sight_of(**there);
    if (!sight.is_live() || sight.node.empty()) continue;
    ++all.pods.bound;
    all.pods.nodes.insert(sight.node);
  }
  return all;
}

Result<ports::AdoptedPods> adopted(kube::Client& client, LeftPods& left,
                                   const ports::LeftWork& work, Time asked, Time begun) {
  LeftPods::Wanted wanted{work.ns, {}, work.job, asked};
  const auto add = [&](const kube::Resource&, const json::value& there) -> Status {
    wanted.roots.emplace(kube::uid_of(there));
    return Ok{};
  };
  if (const Status done = find_objects(client, left.kinds(), work, add); !done) return done.error();
  if (wanted.roots.empty()) return ports::AdoptedPods();
  while (true) {
    const auto pods = left.of(wanted);
    if (!pods) return unavailable(pods.error());
    const auto marked = mark_all(client, work, *pods);
    if (!marked) return marked.error();
    if (!marked->has_missed || !left.distrust(work.ns, begun)) return marked->pods;
  }
}

Time steady_now() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return Time{std::chrono::duration_cast<std::chrono::milliseconds>(since).count()};
}

}  // namespace

KubernetesAdopter::KubernetesAdopter(std::unique_ptr<kube::Client> client,
                                     std::function<Time()> clock)
    : client_(std::move(client)),
      clock_(clock ? std::move(clock) : steady_now),
      thread_([this] { work(); }) {}

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
  put([this, work = std::move(work), done = std::move(done), asked = clock_()](LeftPods& left) {
    done(adopted(*client_, left, work, asked, clock_()));
  });
}

void KubernetesAdopter::release(ports::LeftWork work, std::function<void(const Status&)> done) {
  put([this, work = std::move(work), done = std::move(done)](LeftPods& left) {
    done(released(*client_, left.kinds(), work));
  });
}

void KubernetesAdopter::put(Task task) {
  {
    const std::lock_guard lock(mutex_);
    asked_.push_back(std::move(task));
  }
  changed_.notify_one();
}

/// What is known of the cluster is kept for those that follow, and forgotten when it is quiet.
void KubernetesAdopter::work() {
  constexpr std::chrono::minutes quiet{1};
  std::optional<LeftPods> left;
  while (true) {
    std::unique_lock lock(mutex_);
    const auto has_news = [this] { return is_stopping_ || !asked_.empty(); };
    if (left && !changed_.wait_for(lock, quiet, has_news)) left.reset();
    changed_.wait(lock, has_news);
    if (is_stopping_) return;
    const Task next = std::move(asked_.front());
    asked_.pop_front();
    lock.unlock();
    if (!left) left.emplace(*client_, clock_);
    next(*left);
  }
}

}  // namespace muster::clusters
