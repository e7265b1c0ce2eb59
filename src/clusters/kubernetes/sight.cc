#include "clusters/kubernetes/sight.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "clusters/kubernetes/aggregate_node.h"
#include "clusters/kubernetes/kept_pod.h"
#include "kube/discovery.h"
#include "kube/informer.h"
#include "manifest/kinds.h"

namespace muster::clusters {

namespace {

namespace json = boost::json;

std::string node_key(const std::string& name) { return "n/" + name; }
std::string pod_key(const std::string& uid) { return "p/" + uid; }
constexpr Duration kinds_pause = seconds(15);
constexpr Duration kinds_retry = seconds(1);  // after no answer

}  // namespace

class KubernetesSight::Core : public std::enable_shared_from_this<Core> {
 public:
  Core(kube::Client& client, SightOptions options)
      : client_(client), options_(std::move(options)), with_others_(options_.others) {}

  void start() {
    say_kinds();  // none yet: what needs one waits for the first answer
    ask_kinds();
    nodes_.emplace(
        client_, kube::ReflectorOptions{.resource = kube::resources::nodes()},
        [this](const json::value& node) { return node_spec_of(node, options_.gpus); },
        node_handlers());
    watch_pods(pods_, with_pods_, strangers_selector(), "");
    if (has_namespaces())
      watch_pods(own_elsewhere_, with_own_elsewhere_, own_selector(), not_here());
    judge_first_silence();
  }
  void stop() {
    {
      const std::lock_guard lock(mutex_);
      is_stopped_ = true;
    }
    nodes_->stop();
    pods_->stop();
    if (own_elsewhere_) own_elsewhere_->stop();
  }

  SightChanges& changes() { return changes_; }
  bool is_complete() const {
    const std::lock_guard lock(mutex_);
    return has_synced();
  }
  void lost_other(std::size_t index, const std::string& why) {
    lost_contact(with_others_.at(index), why);
  }
  void found_other(std::size_t index, bool is_synced) {
    found_contact(with_others_.at(index), is_synced);
  }
  std::string problem() const {
    const std::lock_guard lock(mutex_);
    return is_unreachable_ ? problem_ : "";
  }

  bool is_node_lost(const std::string& name) const {
    if (!is_complete()) return false;
    const auto node = nodes_->store().get(name);
    return node == nullptr ||
           std::any_of(node->taints.begin(), node->taints.end(), [](const model::Taint& taint) {
             return taint.key == "node.kubernetes.io/out-of-service";
           });
  }

  std::set<std::string> nodes_with(const std::string& label, const std::string& value) const {
    std::set<std::string> names;
    if (!is_complete()) return names;
    for (const auto& node : nodes_->store().all()) {
      const auto found = node->labels.find(label);
      if (found != node->labels.end() && found->second == value) names.insert(node->name);
    }
    return names;
  }

  std::optional<std::string> gpu_type_of(const std::string& name) const {
    const auto node = nodes_->store().get(name);
    if (node == nullptr) return std::nullopt;
    return node->gpu_type;
  }

  void say_everything() {
    say_kinds();
    say_health();
    for (const auto& node : nodes_->store().all()) say_node(*node);
    for (const auto* pods : {&pods_, &own_elsewhere_}) {
      if (!*pods) continue;
      for (const auto& pod : (*pods)->store().all()) {
        if (pod->takes_room()) say_pod(*pod);
      }
    }
    wake();
  }

 private:
  /// Of one of the informers.
  struct Contact {
    bool is_silent = false;
    bool has_synced = false;
  };

  template <typename T>
  void add_contact(kube::InformerHandlers<T>& on, Contact& with) {
    on.on_failure = [this, &with](const kube::ApiError& error, int) {
      lost_contact(with, error.message);
    };
    on.on_recovery = [this, &with] { found_contact(with, false); };
    on.on_synced = [this, &with] { found_contact(with, true); };
  }

  kube::InformerHandlers<model::NodeSpec> node_handlers() {
    using Node = std::shared_ptr<const model::NodeSpec>;
    kube::InformerHandlers<model::NodeSpec> on;
    on.on_add = [this](const std::string&, const Node& node) {
      say_node(*node);
      wake();
    };
    on.on_update = [this](const std::string&, const Node& before, const Node& after) {
      if (*before == *after) return;  // a heartbeat
      say_node(*after);
      wake();
    };
    on.on_delete = [this](const std::string&, const Node& last) {
      say_node_gone(last->name);
      wake();
    };
    add_contact(on, with_nodes_);
    return on;
  }

  // Our own pods are watched by others, who want to know more of them: here they are left out. With
  // the same labels elsewhere they take room as strangers do, and are asked for apart.
  std::string own_selector() const { return fmt::format("{}={}", server_label, options_.server); }
  std::string strangers_selector() const {
    if (options_.server.empty()) return "";
    return fmt::format("{}!={}", server_label, options_.server);  // those without the label too
  }
  bool has_namespaces() const { return !options_.server.empty() && !is_our_namespace(""); }
  std::string not_here() const {
    std::string fields;
    for (const std::string& ns : options_.namespaces)
      fields += fmt::format("{}metadata.namespace!={}", fields.empty() ? "" : ",", ns);
    return fields;
  }
  void watch_pods(std::optional<kube::Informer<KeptPod>>& informer, Contact& with,
                  std::string labels, std::string fields) {
    informer.emplace(
        client_,
        kube::ReflectorOptions{.resource = kube::resources::pods(),
                               .label_selector = std::move(labels),
                               .field_selector = std::move(fields)},
        [this](const json::value& pod) { return seen_pod(pod); }, pod_handlers(with));
  }

  kube::InformerHandlers<KeptPod> pod_handlers(Contact& with) {
    using Pod = std::shared_ptr<const KeptPod>;
    kube::InformerHandlers<KeptPod> on;
    on.on_add = [this](const std::string&, const Pod& pod) {
      if (!pod->takes_room()) return;
      say_pod(*pod);
      wake();
    };
    on.on_update = [this](const std::string&, const Pod& before, const Pod& after) {
      if (*before == *after) return;
      if (after->takes_room()) {
        say_pod(*after);
      } else {
        say_pod_gone(*before);
      }
      wake();
    };
    on.on_delete = [this](const std::string&, const Pod& last) {
      if (!last->takes_room()) return;
      say_pod_gone(*last);
      wake();
    };
    add_contact(on, with);
    return on;
  }

  /// On the I/O thread.
  KeptPod seen_pod(const json::value& pod) {
    if (map_has(pod, adopting_label)) return {};
    const bool is_ours =
        map_has(pod, job_label) && is_our_namespace(kube::namespace_of(pod)) &&
        (options_.server.empty() ||
         kube::text_at(pod, {"metadata", "labels", server_label}) == options_.server);
    if (is_ours) return {};
    const auto foreign = foreign_pod_of(pod, options_.gpus);
    return foreign ? keeper_.keep(*foreign) : KeptPod{};
  }
  bool is_our_namespace(std::string_view ns) const {
    const auto& ours = options_.namespaces;
    return std::any_of(ours.begin(), ours.end(),
                       [&](const std::string& one) { return one.empty() || one == ns; });
  }
  static bool map_has(const json::value& object, std::string_view label) {
    return kube::find(object, {"metadata", "labels", label}) != nullptr;
  }

  void say_node(const model::NodeSpec& node) {
    if (options_.is_aggregate) return say_sum([&](AggregateNode& all) { all.put(node); });
    changes_.put(node_key(node.name), model::NodeSeen{options_.cluster, node});
  }
  void say_node_gone(const std::string& name) {
    if (options_.is_aggregate) return say_sum([&](AggregateNode& all) { all.remove(name); });
    changes_.put(node_key(name), model::NodeGone{options_.cluster, name});
  }
  template <typename Change>
  void say_sum(const Change& change) {
    const std::lock_guard lock(mutex_);
    change(all_nodes_);
    changes_.put(node_key(aggregate_name), model::NodeSeen{options_.cluster, all_nodes_.sum()});
  }
  void say_pod(const KeptPod& pod) {
    model::ForeignPod seen = pod.unpacked();
    if (options_.is_aggregate) seen = aggregate_pod(std::move(seen));
    changes_.put(pod_key(pod.uid), model::ForeignPodSeen{options_.cluster, std::move(seen)});
  }
  void say_pod_gone(const KeptPod& pod) {
    changes_.put(pod_key(pod.uid), model::ForeignPodGone{options_.cluster, pod.uid});
  }
  void wake() const {
    if (options_.on_change) options_.on_change();
  }

  // --- which kinds it serves

  void ask_kinds() {
    kube::discover_later(client_, [self = shared_from_this()](const auto& found) {
      const bool is_answered = self->take_kinds(found);
      const Duration pause = is_answered ? kinds_pause : kinds_retry;
      self->client_.run_after(pause, [self](bool is_stopping) {
        if (!is_stopping && !self->has_stopped()) self->ask_kinds();
      });
    });
  }
  bool has_stopped() const {
    const std::lock_guard lock(mutex_);
    return is_stopped_;
  }

  /// Without an answer it serves what it served: false. Whoever may not ask sends what he has, and
  /// sees.
  bool take_kinds(const kube::Reply<std::shared_ptr<const kube::ApiResources>>& found) {
    if (!found && !(found.error().is_forbidden() || found.error().is_not_found())) return false;
    std::set<std::string> served;
    if (found) {
      for (const kube::Resource& one : (*found)->all())
        served.insert(manifest::served_kind(one.api_version(), one.kind));
    }
    {
      const std::lock_guard lock(mutex_);
      if (is_stopped_) return true;
      std::vector<std::string> kinds(served.begin(), served.end());
      const bool is_known = with_kinds_.has_synced && kinds == kinds_;
      if (is_known && found.ok() == are_kinds_known_) return true;
      kinds_ = std::move(kinds);
      are_kinds_known_ = found.ok();
    }
    say_kinds();
    wake();
    found_contact(with_kinds_, true);
    return true;
  }

  void say_kinds() {
    const std::lock_guard lock(mutex_);
    changes_.put("k", model::ClusterKinds{options_.cluster, kinds_, are_kinds_known_});
  }

  // --- reached or not

  bool is_silent() const {
    return with_nodes_.is_silent || with_pods_.is_silent || with_own_elsewhere_.is_silent ||
           std::any_of(with_others_.begin(), with_others_.end(),
                       [](const Contact& with) { return with.is_silent; });
  }
  bool has_synced() const {
    return with_kinds_.has_synced && with_nodes_.has_synced && with_pods_.has_synced &&
           (with_own_elsewhere_.has_synced || !has_namespaces()) &&
           std::all_of(with_others_.begin(), with_others_.end(),
                       [](const Contact& with) { return with.has_synced; });
  }

  void lost_contact(Contact& with, const std::string& why) {
    bool is_first = false;
    // It may have been silent for a while before that was noticed.
    Duration patience = std::max(Duration{}, options_.silence_max - client_.unheard_for());
    {
      const std::lock_guard lock(mutex_);
      is_first = !is_silent();
      with.is_silent = true;
      problem_ = why;
      if (!is_reached_) patience = std::min(patience, options_.first_silence_max);
    }
    if (!is_first) return;
    client_.run_after(patience, [self = shared_from_this()](bool is_stopping) {
      if (!is_stopping) self->judge_silence();
    });
  }

  /// Nothing fails yet when a server takes the first questions and does not answer.
  void judge_first_silence() {
    {
      const std::lock_guard lock(mutex_);
      if (is_reached_ || is_silent()) return;
    }
    const Duration unheard = client_.unheard_for();
    if (unheard >= options_.silence_max)
      return lost_contact(with_nodes_,
                          fmt::format("nothing was heard for {} s", unheard.ms / 1000));
    client_.run_after(options_.silence_max - unheard,
                      [self = shared_from_this()](bool is_stopping) {
                        if (!is_stopping) self->judge_first_silence();
                      });
  }

  void judge_silence() {
    {
      const std::lock_guard lock(mutex_);
      if (!is_silent() || is_unreachable_) return;
      is_unreachable_ = true;
    }
    say_health();
    wake();
  }

  void found_contact(Contact& with, bool is_synced) {
    {
      const std::lock_guard lock(mutex_);
      with.is_silent = false;
      with.has_synced |= is_synced;
      const bool is_known = is_reached_ && !is_unreachable_;
      if (is_silent() || is_known || !has_synced()) return;
      is_unreachable_ = false;
      is_reached_ = true;
    }
    say_health();
    wake();
  }

  void say_health() {
    std::optional<model::Health> health;
    {
      const std::lock_guard lock(mutex_);
      if (is_unreachable_) health = model::Health::Unreachable;
      if (!is_unreachable_ && is_reached_) health = model::Health::Ready;
    }
    if (health) changes_.put("h", model::ClusterHealth{options_.cluster, *health});
  }

  kube::Client& client_;
  const SightOptions options_;
  SightChanges changes_;
  PodKeeper keeper_;  // of the I/O thread
  mutable std::mutex mutex_;
  Contact with_kinds_;  // guarded by mutex_, as all up to the blank line
  Contact with_nodes_;
  Contact with_pods_;
  Contact with_own_elsewhere_;
  std::vector<Contact> with_others_;
  bool is_reached_ = false;
  bool is_unreachable_ = false;
  std::string problem_;
  std::vector<std::string> kinds_;
  bool are_kinds_known_ = true;
  bool is_stopped_ = false;
  AggregateNode all_nodes_;  // empty unless they are told as one

  std::optional<kube::Informer<model::NodeSpec>> nodes_;
  std::optional<kube::Informer<KeptPod>> pods_;
  std::optional<kube::Informer<KeptPod>> own_elsewhere_;  // none: everywhere is here
};

KubernetesSight::KubernetesSight(kube::Client& client, SightOptions options)
    : core_(std::make_shared<Core>(client, std::move(options))) {
  core_->start();
}
KubernetesSight::~KubernetesSight() { core_->stop(); }
SightChanges& KubernetesSight::changes() { return core_->changes(); }
bool KubernetesSight::is_complete() const { return core_->is_complete(); }
std::string KubernetesSight::problem() const { return core_->problem(); }
void KubernetesSight::lost_other(std::size_t index, const std::string& why) {
  core_->lost_other(index, why);
}
void KubernetesSight::found_other(std::size_t index, bool has_synced) {
  core_->found_other(index, has_synced);
}
bool KubernetesSight::is_node_lost(const std::string& node) const {
  return core_->is_node_lost(node);
}
std::set<std::string> KubernetesSight::nodes_with(const std::string& label,
                                                  const std::string& value) const {
  return core_->nodes_with(label, value);
}
std::optional<std::string> KubernetesSight::gpu_type_of(const std::string& node) const {
  return core_->gpu_type_of(node);
}
void KubernetesSight::say_everything() { core_->say_everything(); }

}  // namespace muster::clusters
