#include "clusters/kubernetes/workload_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <utility>

#include "kube/informer.h"

namespace muster::clusters {

namespace {

constexpr std::string_view by_attempt = "attempt";

template <typename Sight>
std::string word_of(const Sight& sight) {
  return fmt::format("{}\n{}", sight.job, sight.attempt);
}
std::string word_of(const ports::Attempt& attempt) {
  return fmt::format("{}\n{}", attempt.job, attempt.number);
}

template <typename Sight>
typename kube::ObjectStore<Sight>::Indexes attempt_index() {
  typename kube::ObjectStore<Sight>::Indexes indexes;
  indexes[std::string(by_attempt)] = [](const Sight& sight) {
    return std::vector<std::string>{word_of(sight)};
  };
  return indexes;
}

/// "jobs.batch/v1"
std::string key_of(const kube::Resource& kind) { return kind.plural + "." + kind.api_version(); }

}  // namespace

class WorkloadWatch::Core {
 public:
  Core(kube::Client& client, std::string ns, std::string selector, OnTouch on_touch)
      : client_(client),
        ns_(std::move(ns)),
        selector_(std::move(selector)),
        on_touch_(std::move(on_touch)) {
    auto on = handlers<RootSight>([this](const RootSight& root) {
      for (const kube::Resource& kind : root.kinds) watch(kind);
      for (const kube::Resource& kind : root.other_kinds) watch(kind);
    });
    on.on_synced = [this] { has_answered_ = true; };
    on.on_failure = [this](const kube::ApiError& error, int) {
      if (error.is_forbidden()) has_answered_ = true;
    };
    roots_.emplace(client_, options_of(kube::resources::config_maps()), root_sight_of,
                   std::move(on), attempt_index<RootSight>());
  }

  bool has_answered() const { return has_answered_; }

  void stop() {
    std::map<std::string, std::unique_ptr<Kind>> kinds;
    roots_->stop();
    {
      const std::lock_guard lock(mutex_);
      kinds.swap(kinds_);
      is_stopped_ = true;
    }
    for (const auto& [key, kind] : kinds) kind->informer->stop();
  }

  std::optional<GangState> state_of(const ports::Attempt& attempt,
                                    const std::vector<PodSight>& pods) const {
    if (!roots_->has_synced()) return std::nullopt;
    const auto found = root_of(attempt);
    if (!found) return std::nullopt;
    const RootSight& root = *found;
    std::vector<WorkloadSight> workloads;
    const std::lock_guard lock(mutex_);
    for (const kube::Resource& resource : root.kinds) {
      const auto kind = kinds_.find(key_of(resource));
      if (kind == kinds_.end()) return std::nullopt;
      if (!kind->second->informer->has_synced())
        return unknown(root, *kind->second, resource, pods);
      add_seen(*kind->second, attempt, workloads);
    }
    RootSight counted = root;
    for (const kube::Resource& resource : root.other_kinds) {
      const auto kind = kinds_.find(key_of(resource));
      if (kind == kinds_.end()) return std::nullopt;
      // Whoever may not see them misses none of them.
      if (kind->second->is_forbidden) counted.others = 0;
      if (kind->second->is_forbidden || is_among(root.kinds, resource)) continue;
      if (!kind->second->informer->has_synced())
        return unknown(root, *kind->second, resource, pods);
      add_seen(*kind->second, attempt, workloads);
    }
    std::erase_if(workloads, [&](const WorkloadSight& one) {  // a ConfigMap, as others of the list
      return one.kind == "ConfigMap" && one.name == root.name;
    });
    return workload_state_of(counted, workloads, pods);
  }

  Kept is_kept(const ports::Attempt& attempt, const std::vector<PodSight>& pods) const {
    if (!has_answered_) return Kept::NotKnown;
    const auto root = root_of(attempt);
    if (!root || !root->care.care.keep_ended) return Kept::No;
    const auto state = state_of(attempt, pods);
    if (state && state->is_known) return stays_when_ended(*state) ? Kept::Yes : Kept::No;
    for (const PodSight& pod : pods) {
      if (pod.is_live()) return Kept::No;
    }
    // Whoever may not watch the objects cannot tell, and they take nothing.
    return state && !state->reason.empty() ? Kept::Yes : Kept::NotKnown;
  }

  bool may_have_objects(const ports::Attempt& attempt) const {
    const std::lock_guard lock(mutex_);
    return std::any_of(kinds_.begin(), kinds_.end(), [&](const auto& one) {
      const Kind& kind = *one.second;
      if (!kind.informer->has_synced()) return kind.trouble.empty();
      return !kind.informer->store().by_index(by_attempt, word_of(attempt)).empty();
    });
  }

  std::vector<std::string> going_of(const ports::Attempt& attempt) const {
    std::vector<std::string> titles;
    const std::lock_guard lock(mutex_);
    for (const auto& [key, kind] : kinds_) {
      for (const auto& one : kind->informer->store().by_index(by_attempt, word_of(attempt))) {
        if (one->is_deleting) titles.push_back(one->kind + " " + one->name);
      }
    }
    for (const auto& root : roots_->store().by_index(by_attempt, word_of(attempt))) {
      if (root->is_deleting) titles.push_back("ConfigMap " + root->name);
    }
    return titles;
  }

  std::optional<ports::Attempt> owner_of(const std::string& kind, const std::string& key) const {
    const std::lock_guard lock(mutex_);
    for (const auto& [resource, watched] : kinds_) {
      if (watched->kind != kind) continue;
      if (const auto sight = watched->informer->store().get(key))
        return ports::Attempt{sight->job, sight->attempt};
    }
    return std::nullopt;
  }

 private:
  /// Null: it is not there.
  std::shared_ptr<const RootSight> root_of(const ports::Attempt& attempt) const {
    for (const auto& one : roots_->store().by_index(by_attempt, word_of(attempt))) {
      if (one->is_root) return one;
    }
    return nullptr;
  }

  struct Kind {
    std::string kind;
    std::optional<kube::Informer<WorkloadSight>> informer;
    std::string trouble;  // why it cannot be watched
    bool is_forbidden = false;
  };

  static void add_seen(const Kind& kind, const ports::Attempt& attempt,
                       std::vector<WorkloadSight>& all) {
    for (const auto& one : kind.informer->store().by_index(by_attempt, word_of(attempt)))
      all.push_back(*one);
  }
  static bool is_among(const std::vector<kube::Resource>& kinds, const kube::Resource& kind) {
    return std::any_of(kinds.begin(), kinds.end(),
                       [&](const auto& one) { return key_of(one) == key_of(kind); });
  }

  static GangState unknown(const RootSight& root, const Kind& kind, const kube::Resource& resource,
                           const std::vector<PodSight>& pods) {
    GangState state;
    state.is_known = false;
    state.care = root.care;
    state.needed_pods = 1;  // nobody knows
    state.phase = GangPhase::Starting;
    for (const PodSight& pod : pods) state.has_live_pods |= pod.is_live();
    if (!kind.trouble.empty())
      state.reason = fmt::format("{} cannot be watched: {}", resource.plural, kind.trouble);
    return state;
  }

  kube::ReflectorOptions options_of(const kube::Resource& resource) const {
    kube::ReflectorOptions options;
    options.resource = resource;
    options.ns = ns_;
    options.label_selector = selector_;
    return options;
  }

  template <typename Sight, typename OnSeen>
  kube::InformerHandlers<Sight> handlers(OnSeen on_seen) {
    using Value = std::shared_ptr<const Sight>;
    kube::InformerHandlers<Sight> on;
    const auto seen = [this, on_seen](const Value& sight) {
      on_seen(*sight);
      on_touch_({sight->job, sight->attempt});
    };
    on.on_add = [seen](const std::string&, const Value& now) { seen(now); };
    on.on_update = [seen](const std::string&, const Value&, const Value& now) { seen(now); };
    on.on_delete = [this](const std::string&, const Value& last) {
      on_touch_({last->job, last->attempt});
    };
    return on;
  }

  /// On the I/O thread.
  void watch(const kube::Resource& resource) {
    const std::string key = key_of(resource);
    const std::lock_guard lock(mutex_);
    if (is_stopped_ || kinds_.contains(key)) return;
    Kind& kind = *kinds_.emplace(key, std::make_unique<Kind>()).first->second;
    kind.kind = resource.kind;
    auto on = handlers<WorkloadSight>([](const WorkloadSight&) {});
    on.on_synced = [this, &kind] {
      set_trouble(kind, "");
      for (const auto& root : roots_->store().all()) on_touch_({root->job, root->attempt});
    };
    on.on_failure = [this, &kind](const kube::ApiError& error, int) {
      set_trouble(kind, error.message, error.is_forbidden());
    };
    const auto make = [name = resource.kind](const boost::json::value& object) {
      return workload_sight_of(object, name);
    };
    kind.informer.emplace(client_, options_of(resource), make, std::move(on),
                          attempt_index<WorkloadSight>());
  }

  void set_trouble(Kind& kind, const std::string& why, bool is_forbidden = false) {
    const std::lock_guard lock(mutex_);
    kind.trouble = why;
    kind.is_forbidden = is_forbidden;
  }

  kube::Client& client_;
  const std::string ns_;
  const std::string selector_;
  const OnTouch on_touch_;
  std::atomic<bool> has_answered_{false};
  std::optional<kube::Informer<RootSight>> roots_;
  mutable std::mutex mutex_;
  std::map<std::string, std::unique_ptr<Kind>> kinds_;  // guarded by mutex_, as the next
  bool is_stopped_ = false;
};

WorkloadWatch::WorkloadWatch(kube::Client& client, std::string ns, std::string selector,
                             OnTouch on_touch)
    : core_(std::make_shared<Core>(client, std::move(ns), std::move(selector),
                                   std::move(on_touch))) {}
WorkloadWatch::~WorkloadWatch() { core_->stop(); }
bool WorkloadWatch::has_answered() const { return core_->has_answered(); }
std::optional<GangState> WorkloadWatch::state_of(const ports::Attempt& attempt,
                                                 const std::vector<PodSight>& pods) const {
  return core_->state_of(attempt, pods);
}
WorkloadWatch::Kept WorkloadWatch::is_kept(const ports::Attempt& attempt,
                                           const std::vector<PodSight>& pods) const {
  return core_->is_kept(attempt, pods);
}
bool WorkloadWatch::may_have_objects(const ports::Attempt& attempt) const {
  return core_->may_have_objects(attempt);
}
std::vector<std::string> WorkloadWatch::going_of(const ports::Attempt& attempt) const {
  return core_->going_of(attempt);
}
std::optional<ports::Attempt> WorkloadWatch::owner_of(const std::string& kind,
                                                      const std::string& ns,
                                                      const std::string& name) const {
  return core_->owner_of(kind, ns + "/" + name);
}

}  // namespace muster::clusters
