#include "clusters/kubernetes/foster_pods.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <mutex>
#include <utility>

#include "clusters/kubernetes/names.h"
#include "clusters/kubernetes/object_writer.h"
#include "kube/discovery.h"
#include "kube/json.h"
#include "kube/requests.h"

namespace muster::clusters {

namespace {

namespace json = boost::json;
using kube::text_at;

constexpr int depth_most = 5;  // Deployments, ReplicaSets, pods: few have more
constexpr std::size_t owners_most = 10'000;
constexpr Duration pause_least = seconds(5);
constexpr Duration pause_most = minutes(1);

/// The one that made it; null: nobody did.
const json::value* maker_of(const json::value& object) {
  const json::array& owners = kube::items_at(object, {"metadata", "ownerReferences"});
  const auto made = std::find_if(owners.begin(), owners.end(), [](const json::value& owner) {
    return kube::flag_at(owner, {"controller"});
  });
  return made == owners.end() ? nullptr : &*made;
}

}  // namespace

std::optional<json::value> foster_marks(const json::value& object) {
  // A Deployment's annotations are on its ReplicaSets too, and so may be, from its template, the
  // labels of the server that made it: they say nothing of who took it over.
  const std::string_view taken = text_at(object, {"metadata", "annotations", adopted_annotation});
  if (taken != "true" && taken != kube::uid_of(object)) return std::nullopt;
  if (taken.empty() || text_at(object, {"metadata", "labels", job_label}).empty())
    return std::nullopt;
  json::value marks = json::object();
  const auto copy = [&](std::string_view key, std::string_view name) {
    if (const json::value* value = kube::find(object, {"metadata", key, name}))
      kube::set_at(marks, {key, name}, *value);
  };
  for (const std::string_view name : {job_label, attempt_label, server_label}) copy("labels", name);
  for (const std::string_view name :
       {job_annotation, workloads_annotation, epoch_annotation, force_after_annotation})
    copy("annotations", name);
  kube::set_at(marks, {"labels", adopting_label}, nullptr);
  return marks;
}

bool MissedPause::is_due(bool has_missed, Time now) {
  if (now < until_) return false;
  if (!has_missed) {
    pause_ = {};
    return false;
  }
  pause_ = std::clamp(pause_ + pause_, pause_least, pause_most);
  until_ = now + pause_;
  return true;
}

class FosterPods::Core : public std::enable_shared_from_this<Core> {
 public:
  Core(kube::Client& client, std::string server)
      : client_(client), server_(std::move(server)), kinds_(client) {}

  /// Of an object, whether it was taken over or comes from one that was: by its uid.
  using Marks = std::shared_ptr<const json::value>;  // null: it was not
  using Found = std::function<void(const Marks&)>;

  void look(const json::value& pod) {
    const std::string_view phase = text_at(pod, {"status", "phase"});
    if (phase == "Failed" || phase == "Succeeded") return;  // before it was taken over, mostly
    const std::string ns(kube::namespace_of(pod));
    find_maker(pod, {ns, 0, round()},
               [self = shared_from_this(), ns, name = std::string(kube::name_of(pod)),
                uid = std::string(kube::uid_of(pod))](const Marks& marks) {
                 if (marks && text_at(*marks, {"labels", server_label}) == self->server_)
                   self->mark(ns, name, uid, *marks);
               });
  }

  /// Nothing that is known of owners holds any longer, nor what is being asked about them.
  void forget_owners() {
    const std::lock_guard lock(mutex_);
    known_.clear();
    ++round_;
  }
  /// Something could not be found out, or done, since this was asked last.
  bool take_missed() {
    const std::lock_guard lock(mutex_);
    return std::exchange(has_missed_, false);
  }

 private:
  struct Search {
    std::string ns;
    int depth = 0;
    std::uint64_t round = 0;  // in which it began
  };
  std::uint64_t round() const {
    const std::lock_guard lock(mutex_);
    return round_;
  }

  void find_maker(const json::value& object, const Search& search, const Found& found) {
    const json::value* maker = maker_of(object);
    if (maker == nullptr || search.depth == depth_most) return found(nullptr);
    const std::string uid(text_at(*maker, {"uid"}));
    {
      std::unique_lock lock(mutex_);
      if (const auto at = known_.find(uid); at != known_.end()) {
        const Marks marks = at->second;
        lock.unlock();
        return found(marks);
      }
    }
    kinds_.find_later(
        text_at(*maker, {"apiVersion"}), text_at(*maker, {"kind"}),
        [self = shared_from_this(), search, found, uid,
         name = std::string(text_at(*maker, {"name"}))](const kube::Reply<kube::Resource>& kind) {
          if (!kind) return self->answer(uid, kind.error(), search, found);
          if (!kind->is_namespaced) return self->know(uid, nullptr, search, found);
          self->fetch(*kind, name, uid, search, found);
        });
  }

  void fetch(const kube::Resource& kind, const std::string& name, const std::string& uid,
             const Search& search, const Found& found) {
    client_.send_later(
        kube::get_request(kind, search.ns, name),
        [self = shared_from_this(), uid, search, found](const kube::Reply<json::value>& there) {
          if (!there) return self->answer(uid, there.error(), search, found);
          if (auto marks = foster_marks(*there))
            return self->know(uid, std::make_shared<const json::value>(std::move(*marks)), search,
                              found);
          const Search next{search.ns, search.depth + 1, search.round};
          self->find_maker(*there, next, [self, uid, search, found](const Marks& marks) {
            self->know(uid, marks, search, found);
          });
        });
  }

  /// What is not there, or may not be seen, is nobody's of ours; all else is asked again.
  void answer(const std::string& uid, const kube::ApiError& error, const Search& search,
              const Found& found) {
    if (error.is_not_found() || error.is_forbidden()) return know(uid, nullptr, search, found);
    const std::lock_guard lock(mutex_);
    has_missed_ = true;
  }
  /// Owners are taken over one after the other: an answer from before the newest of them, or of one
  /// that is still another server's, may be another one the next time.
  void know(const std::string& uid, const Marks& marks, const Search& search, const Found& found) {
    {
      const std::lock_guard lock(mutex_);
      const bool is_others = marks && text_at(*marks, {"labels", server_label}) != server_;
      if (known_.size() >= owners_most) known_.clear();  // most of them are gone by now
      if (search.round == round_ && !is_others) known_[uid] = marks;
    }
    found(marks);
  }

  void mark(const std::string& ns, const std::string& name, const std::string& uid,
            const json::value& marks) {
    json::value patch = json::object();
    kube::set_at(patch, {"metadata"}, marks);
    kube::set_at(patch, {"metadata", "uid"}, json::string(uid));
    client_.send_later(kube::patch_request(kube::resources::pods(), ns, name, kube::Patch::Merge,
                                           patch, {.field_manager = field_manager}),
                       [self = shared_from_this()](const kube::Reply<json::value>& done) {
                         if (done || !is_unanswered(done.error())) return;
                         const std::lock_guard lock(self->mutex_);
                         self->has_missed_ = true;
                       });
  }

  kube::Client& client_;
  const std::string server_;
  kube::RestMapper kinds_;
  mutable std::mutex mutex_;
  std::map<std::string, Marks> known_;  // by uid; guarded by mutex_, as the next
  bool has_missed_ = false;
  std::uint64_t round_ = 0;  // counts how often all was forgotten
};

namespace {

/// Pods as they come.
class PodSink final : public kube::ObjectSink {
 public:
  explicit PodSink(std::function<void(const json::value&)> look) : look_(std::move(look)) {}
  void begin_list() override {}
  void upsert(const json::value& object) override { look_(object); }
  void end_list() override {}
  void remove(const json::value&) override {}
  void failed(const kube::ApiError&, int) override {}
  void recovered() override {}

 private:
  const std::function<void(const json::value&)> look_;
};

}  // namespace

FosterPods::FosterPods(kube::Client& client, std::string server)
    : client_(client), server_(std::move(server)), core_(std::make_shared<Core>(client, server_)) {}

FosterPods::~FosterPods() {
  for (const auto& [ns, space] : spaces_) {
    if (space.pods) space.pods->stop();
  }
}

void FosterPods::look_after(const ports::Attempt& attempt, const std::string& ns,
                            std::size_t objects) {
  Space& space = spaces_[ns];
  std::size_t& known = space.attempts[attempt];
  space.is_stale |= objects > known;
  known = objects;
}

void FosterPods::forget(const std::function<bool(const ports::Attempt&)>& is_over) {
  for (auto& [ns, space] : spaces_)
    std::erase_if(space.attempts, [&](const auto& one) { return is_over(one.first); });
}

void FosterPods::pass(Time now) {
  has_missed_ |= core_->take_missed();
  const bool is_all = missed_pause_.is_due(has_missed_, now);
  if (is_all) has_missed_ = false;
  for (auto at = spaces_.begin(); at != spaces_.end();) {
    Space& space = at->second;
    const bool is_needed = !space.attempts.empty();
    const bool begins = is_needed && (space.is_stale || is_all);
    if (space.pods && (begins || !is_needed)) space.pods->stop();
    if (!is_needed) {
      at = spaces_.erase(at);
      core_->forget_owners();
      continue;
    }
    if (begins) {
      core_->forget_owners();
      space.is_stale = false;
      kube::ReflectorOptions options;
      options.resource = kube::resources::pods();
      options.ns = at->first;
      // Those without the label too.
      options.label_selector = server_.empty() ? "!" + std::string(job_label)
                                               : fmt::format("{}!={}", server_label, server_);
      space.pods = std::make_unique<kube::Reflector>(
          client_, options,
          std::make_shared<PodSink>([core = core_](const json::value& pod) { core->look(pod); }));
    }
    ++at;
  }
}

}  // namespace muster::clusters
