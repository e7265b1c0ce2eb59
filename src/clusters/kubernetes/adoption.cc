#include "clusters/kubernetes/adoption.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "clusters/kubernetes/gang_state.h"
#include "clusters/kubernetes/listed_objects.h"
#include "clusters/kubernetes/names.h"
#include "clusters/kubernetes/object_writer.h"
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

using Found = std::function<Status(const kube::Resource&, const json::value& there)>;

/// What is there of a list and was made for its owner.
class LeftObjects {
 public:
  LeftObjects(kube::Client& client, kube::RestMapper& kinds, const ports::LeftWork& work)
      : client_(client), kinds_(kinds), work_(work) {}

  /// Calls `found` with each of them.
  Status find(const Found& found) {
    json::error_code wrong;
    list_ = json::parse(work_.objects, wrong);
    if (wrong) return invalid("objects: not JSON: " + wrong.message());
    if (const auto read = manifest::read_objects(list_); !read) return read.error();
    const std::vector<json::value*> objects = manifest::objects_in(list_);
    for (const json::value* object : objects)
      taken_.insert(title(text_at(*object, {"kind"}), kube::name_of(*object)));
    for (json::value* object : objects) {
      const auto kind = kinds_.find(text_at(*object, {"apiVersion"}), text_at(*object, {"kind"}));
      if (!kind && kind.error().is_not_found()) continue;
      if (!kind) return unavailable(kind.error());
      const auto there =
          kube::name_of(*object).empty() ? look_for(*kind, *object) : get(*kind, *object);
      if (!there) return there.error();
      if (!*there) continue;
      if (Status done = found(*kind, **there); !done) return done;
    }
    return Ok{};
  }
  /// The list as it was searched, with the names that were found for those that have none; "": all
  /// have one, or nothing was found of the others.
  std::string named() const { return has_named_ ? json::serialize(list_) : ""; }

 private:
  using There = Result<std::optional<json::value>>;

  There get(const kube::Resource& kind, const json::value& object) {
    auto there = client_.send(kube::get_request(kind, work_.ns, kube::name_of(object)));
    if (!there && there.error().is_not_found()) return std::optional<json::value>();
    if (!there) return unavailable(there.error());
    if (!is_owned(*there) && !is_of_job(*there)) return std::optional<json::value>();
    return std::optional<json::value>(std::move(*there));
  }

  /// One that only says how its name begins gets that of what is there. Muster's has the job's
  /// label; the names of others were made up by the API server.
  There look_for(const kube::Resource& kind, json::value& object) {
    const std::string labels[] = {fmt::format("{}={}", job_label, label_value(work_.job)),
                                  fmt::format("!{}", job_label)};
    for (const std::string& selector : labels) {
      auto all =
          kube::list_all(client_, kind, work_.ns, {.label_selector = selector, .limit = 500});
      if (!all) return unavailable(all.error());
      for (json::value& there : all->items) {
        const std::string name(kube::name_of(there));
        if (!may_be(object, there) || !taken_.insert(title(kind.kind, name)).second) continue;
        kube::set_at(object, {"metadata", "name"}, json::string(name));
        has_named_ = true;
        return std::optional<json::value>(std::move(there));
      }
    }
    return std::optional<json::value>();
  }

  bool may_be(const json::value& object, const json::value& there) const {
    return kube::name_of(there).starts_with(made_up_prefix(object)) &&
           kube::find(there, {"metadata", "deletionTimestamp"}) == nullptr &&
           (is_owned(there) || (is_of_job(there) && !has_controller(there)));
  }
  bool is_owned(const json::value& there) const {
    const json::array& owners = kube::items_at(there, {"metadata", "ownerReferences"});
    return std::any_of(owners.begin(), owners.end(), [&](const json::value& owner) {
      return text_at(owner, {"uid"}) == work_.owner_uid;
    });
  }
  /// An earlier server made it.
  bool is_of_job(const json::value& there) const {
    return text_at(there, {"metadata", "labels", job_label}) == label_value(work_.job);
  }
  /// It was made of an object of the list, and has its labels.
  static bool has_controller(const json::value& there) {
    const json::array& owners = kube::items_at(there, {"metadata", "ownerReferences"});
    return std::any_of(owners.begin(), owners.end(), [](const json::value& owner) {
      return kube::flag_at(owner, {"controller"});
    });
  }
  static std::string title(std::string_view kind, std::string_view name) {
    return fmt::format("{} {}", kind, name);
  }

  kube::Client& client_;
  kube::RestMapper& kinds_;
  const ports::LeftWork& work_;
  json::value list_;
  std::set<std::string> taken_;  // titles: those that others of the list have
  bool has_named_ = false;
};

Status released(kube::Client& client, kube::RestMapper& kinds, const ports::LeftWork& work) {
  LeftObjects objects(client, kinds, work);
  return objects.find([&](const kube::Resource& kind, const json::value& there) -> Status {
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
  if (marked.error().is_not_found() || marked.error().is_of_another())
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
  LeftObjects objects(client, left.kinds(), work);
  if (const Status done = objects.find(add); !done) return done.error();
  if (wanted.roots.empty()) return ports::AdoptedPods();
  while (true) {
    const auto pods = left.of(wanted);
    if (!pods) return unavailable(pods.error());
    const auto marked = mark_all(client, work, *pods);
    if (!marked) return marked.error();
    if (marked->has_missed && left.distrust(work.ns, begun)) continue;
    ports::AdoptedPods found = marked->pods;
    found.objects = objects.named();
    return found;
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
