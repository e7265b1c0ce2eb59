#include "clusters/kubernetes/gang_watch.h"

#include <fmt/format.h>

#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "clusters/kubernetes/names.h"
#include "clusters/kubernetes/workload_state.h"
#include "kube/informer.h"
#include "kube/proto_objects.h"

namespace muster::clusters {

namespace {

constexpr std::string_view by_attempt = "attempt";

template <typename Sight>
ports::Attempt attempt_of(const Sight& sight) {
  return {sight.job, sight.attempt};
}

std::string word_of(const ports::Attempt& attempt) {
  return fmt::format("{}\n{}", attempt.job, attempt.number);
}

template <typename Sight>
std::vector<Sight> values_of(const kube::ObjectStore<Sight>& store, const ports::Attempt& attempt) {
  std::vector<Sight> found;
  for (const auto& value : store.by_index(by_attempt, word_of(attempt))) found.push_back(*value);
  return found;
}

}  // namespace

class GangWatch::Core {
 public:
  Core(kube::Client& client, const std::string& ns, std::string selector,
       GangWatchHandlers handlers)
      : handlers_(std::move(handlers)), selector_(std::move(selector)) {
    kube::ReflectorOptions options{.ns = ns, .label_selector = selector_};
    options.resource = kube::resources::jobs();
    options.message = &kube::proto_job;
    start(0, jobs_, client, options, job_sight_of);
    options.resource = kube::resources::pods();
    options.message = &kube::proto_pod;
    start(1, pods_, client, options, pod_sight_of);
  }
  void stop() {
    jobs_->stop();
    pods_->stop();
  }

  bool has_synced() const { return jobs_->has_synced() && pods_->has_synced(); }
  std::vector<ports::Attempt> take_touched() {
    const std::lock_guard lock(mutex_);
    std::vector<ports::Attempt> touched(touched_.begin(), touched_.end());
    touched_.clear();
    for (const ports::Attempt& attempt : touched) {
      if (lost_pods_.contains(attempt) && is_absent(attempt)) lost_pods_.erase(attempt);
    }
    return touched;
  }
  void touch(const ports::Attempt& attempt) {
    {
      const std::lock_guard lock(mutex_);
      touched_.insert(attempt);
    }
    handlers_.on_change();
  }
  GangState state_of(const ports::Attempt& attempt) const {
    LostPod lost;
    {
      const std::lock_guard lock(mutex_);
      const auto found = lost_pods_.find(attempt);
      if (found != lost_pods_.end()) lost = found->second;
    }
    GangState state =
        gang_state_of(values_of(jobs_->store(), attempt), pods_of(attempt), lost.name);
    if (state.phase == GangPhase::Disrupted && !lost.why.empty()) state.reason = lost.why;
    return state;
  }
  std::optional<GangState> listed_state_of(const ports::Attempt& attempt) const {
    return own_rooted_state_of(values_of(jobs_->store(), attempt), pods_of(attempt));
  }
  bool is_listed(const ports::Attempt& attempt) const {
    return is_of_a_list(values_of(jobs_->store(), attempt), pods_of(attempt));
  }
  std::vector<PodSight> pods_of(const ports::Attempt& attempt) const {
    return values_of(pods_->store(), attempt);
  }
  std::vector<std::string> going_of(const ports::Attempt& attempt) const {
    std::vector<std::string> titles;
    for (const JobSight& job : values_of(jobs_->store(), attempt)) {
      if (job.is_deleting) titles.push_back("Job " + job.name);
    }
    return titles;
  }
  std::optional<ports::Attempt> owner_of(const std::string& kind, const std::string& key) const {
    const auto owner = [&](const auto& store) -> std::optional<ports::Attempt> {
      const auto sight = store.get(key);
      if (!sight) return std::nullopt;
      return attempt_of(*sight);
    };
    if (kind == "Pod") return owner(pods_->store());
    if (kind == "Job") return owner(jobs_->store());
    return std::nullopt;
  }

 private:
  struct LostPod {
    std::string name;
    std::string why;  // who took it away said so; "": nobody did
  };
  bool is_absent(const ports::Attempt& attempt) const {
    return values_of(jobs_->store(), attempt).empty() && pods_of(attempt).empty();
  }
  /// A pod that goes before its end may be replaced by its Job at once: what is seen later does not
  /// show it.
  void note_loss(const PodSight& last) {
    if (!is_taken_away(last)) return;
    const std::lock_guard lock(mutex_);
    const std::string why = last.is_disrupted && !last.why.empty()
                                ? fmt::format("pod {} on {}: {}", last.name, last.node, last.why)
                                : "";
    lost_pods_.emplace(attempt_of(last), LostPod{last.name, why});
  }
  void note_loss(const JobSight&) {}

  template <typename Sight>
  void start(std::size_t watch, std::optional<kube::Informer<Sight>>& informer,
             kube::Client& client, const kube::ReflectorOptions& options,
             Sight (*make)(const boost::json::value&)) {
    using Value = std::shared_ptr<const Sight>;
    kube::InformerHandlers<Sight> on;
    on.on_add = [this](const std::string&, const Value& now) { touch(attempt_of(*now)); };
    on.on_update = [this](const std::string&, const Value&, const Value& now) {
      touch(attempt_of(*now));
    };
    on.on_delete = [this](const std::string&, const Value& last) {
      note_loss(*last);
      touch(attempt_of(*last));
    };
    on.on_synced = [this, watch] {
      handlers_.on_found(watch, true);
      handlers_.on_change();
    };
    on.on_recovery = [this, watch] { handlers_.on_found(watch, false); };
    on.on_failure = [this, watch](const kube::ApiError& error, int) {
      handlers_.on_lost(watch, error.message);
    };
    typename kube::ObjectStore<Sight>::Indexes indexes;
    indexes[std::string(by_attempt)] = [](const Sight& sight) {
      return std::vector<std::string>{word_of(attempt_of(sight))};
    };
    informer.emplace(client, options, make, std::move(on), std::move(indexes));
  }

  const GangWatchHandlers handlers_;
  const std::string selector_;
  mutable std::mutex mutex_;
  std::set<ports::Attempt> touched_;             // guarded by mutex_, as the next
  std::map<ports::Attempt, LostPod> lost_pods_;  // one of those with Jobs or pods left
  std::optional<kube::Informer<JobSight>> jobs_;
  std::optional<kube::Informer<PodSight>> pods_;
};

GangWatch::GangWatch(kube::Client& client, const std::string& ns, const std::string& selector,
                     GangWatchHandlers handlers)
    : core_(std::make_unique<Core>(client, ns, selector, std::move(handlers))) {}
GangWatch::~GangWatch() { core_->stop(); }
bool GangWatch::has_synced() const { return core_->has_synced(); }
std::vector<ports::Attempt> GangWatch::take_touched() { return core_->take_touched(); }
void GangWatch::touch(const ports::Attempt& attempt) { core_->touch(attempt); }
GangState GangWatch::state_of(const ports::Attempt& attempt) const {
  return core_->state_of(attempt);
}
std::optional<GangState> GangWatch::listed_state_of(const ports::Attempt& attempt) const {
  return core_->listed_state_of(attempt);
}
bool GangWatch::is_listed(const ports::Attempt& attempt) const { return core_->is_listed(attempt); }
std::vector<PodSight> GangWatch::pods_of(const ports::Attempt& attempt) const {
  return core_->pods_of(attempt);
}
std::vector<std::string> GangWatch::going_of(const ports::Attempt& attempt) const {
  return core_->going_of(attempt);
}
std::optional<ports::Attempt> GangWatch::owner_of(const std::string& kind, const std::string& ns,
                                                  const std::string& name) const {
  return core_->owner_of(kind, ns + "/" + name);
}

}  // namespace muster::clusters
