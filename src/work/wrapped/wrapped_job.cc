#include "work/wrapped/wrapped_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <limits>
#include <utility>

#include "base/text.h"
#include "kube/json.h"
#include "manifest/kinds.h"
#include "manifest/pod_sets.h"
#include "manifest/pod_shape.h"
#include "manifest/ray_submitter.h"
#include "work/wrapped/dressed_object.h"
#include "work/wrapped/node_health.h"
#include "work/wrapped/rights.h"

namespace muster::work {

namespace {

namespace json = boost::json;
using kube::find;
using kube::items_at;
using kube::map_at;

constexpr std::string_view queue_label = "muster.dev/queue";
__extension__ using Wide = __int128;

std::int64_t capped(Wide amount) {
  return static_cast<std::int64_t>(
      std::min<Wide>(amount, std::numeric_limits<std::int64_t>::max()));
}

void add(Totals& totals, const manifest::Amounts& amounts, std::int64_t times) {
  const auto plus = [&](std::int64_t& into, const char* name) {
    const auto amount = amounts.find(name);
    if (amount != amounts.end()) into = capped(into + Wide{amount->second} * times);
  };
  plus(totals.milli_cpu, "cpu");
  plus(totals.memory, "memory");
  plus(totals.gpu, "nvidia.com/gpu");
}

Totals totals_of(const model::Gang& gang) {
  Totals totals;
  for (const model::PodSet& set : gang.sets) {
    totals.milli_cpu = capped(totals.milli_cpu + Wide{set.pod.requests.cpu.v} * set.count);
    totals.memory = capped(totals.memory + Wide{set.pod.requests.memory.v} * set.count);
    totals.gpu = capped(totals.gpu + Wide{set.pod.gpu.count} * set.count);
  }
  return totals;
}

model::ReadyGrowth growth_of(GrowthType growth) {
  switch (growth) {
    case GrowthType::Exponential:
      return model::ReadyGrowth::Exponential;
    case GrowthType::Linear:
      return model::ReadyGrowth::Linear;
    case GrowthType::None:
      break;
  }
  return model::ReadyGrowth::None;
}

/// No time at all would mean no limit.
Duration at_least_a_second(Duration time) { return std::max(time, seconds(1)); }

model::ObjectCare care_of(const AppWrapper& wrapper, const std::vector<model::NodeHealth>& health) {
  model::ObjectCare care;
  care.starts_when_made = true;
  care.keep_ended = true;
  if (wrapper.dialect == Dialect::V1beta2) {
    care.ready_within = at_least_a_second(wrapper.grace.warmup);
    care.requeues_most = wrapper.grace.retry_limit;
    care.requeue_pause = wrapper.grace.retry_pause;
    care.requeues_failures = true;
    care.terminal_exit_codes = wrapper.grace.terminal_exit_codes;
    care.retryable_exit_codes = wrapper.grace.retryable_exit_codes;
    care.keep_failed = wrapper.grace.deletion_on_failure;
    care.pods_within = at_least_a_second(wrapper.grace.admission);
    care.failed_within = wrapper.grace.failure;
    care.missing_fails = true;
    care.ends_with_pods = true;
    care.force_after = wrapper.grace.forceful_deletion;
    care.leaves = evicting_marks(health);
    return care;
  }
  care.waits_for_pods = true;
  care.force_after = wrapper.requeuing.force_deletion;
  if (wrapper.min_available == 0) return care;
  const Requeuing& requeuing = wrapper.requeuing;
  care.ready_pods = wrapper.min_available;
  care.ready_within = at_least_a_second(requeuing.first_wait());
  care.ready_within_most = requeuing.time_most;
  if (requeuing.growth == GrowthType::Exponential && requeuing.initial_time)
    care.ready_within_next = at_least_a_second(requeuing.time);
  care.ready_growth = growth_of(requeuing.growth);
  if (requeuing.requeuings_most > 0) care.requeues_most = requeuing.requeuings_most;
  care.requeue_pause = requeuing.pause;
  return care;
}

class JobMaker {
 public:
  JobMaker(const AppWrapper& wrapper, const WrapOptions& options)
      : wrapper_(wrapper), options_(options) {
    job_.warnings = wrapper.warnings;
    job_.labels = wrapper.labels;
  }

  Result<WrappedJob> make() {
    if (wrapper_.ns.empty()) return invalid("metadata.namespace: missing");
    if (Status s = check_kinds(wrapper_, options_.kinds); !s) return s.error();
    if (Status s = read_gang(); !s) return s.error();
    if (Status s = pin(); !s) return s.error();
    fill_spec();
    fill_command();
    job_.totals = totals();
    job_.spec.id = "-";
    if (const Status s = model::validate(job_.spec); !s) return s.error();
    if (const Status s = model::validate(job_.command); !s) return s.error();
    job_.spec.id.clear();
    return std::move(job_);
  }

 private:
  std::string label(std::string_view name) const {
    const auto found = wrapper_.labels.find(std::string(name));
    return found == wrapper_.labels.end() ? "" : found->second;
  }

  /// An entry of the list, as manifest reads it.
  Result<json::value> entry_of(const WrappedItem& item) {
    auto object = dressed_object(wrapper_, item, options_.node_health);
    if (!object) return object;
    json::object entry;
    if (!item.pod_sets.empty()) {
      json::array& sets = entry["podSets"].emplace_array();
      for (const PodSetPath& set : item.pod_sets) {
        sets.push_back({{"path", json::string(set.path)}, {"replicas", set.replicas}});
        makes_pods_ |= set.replicas > 0;
      }
    }
    if (!item.pod_resources.empty()) {
      json::array& pods = entry["podResources"].emplace_array();
      for (const manifest::PodResources& one : item.pod_resources) {
        pods.push_back(manifest::to_json(one));
        makes_pods_ |= one.replicas > 0;
      }
    }
    if (entry.empty()) {
      const auto inferred = manifest::infer_templates(item.object);
      if (inferred) {
        makes_pods_ |= !inferred->empty();
        return object;
      }
      job_.warnings.push_back(
          fmt::format("{}: {}; its pods are not counted", item.field, inferred.error().message));
      entry["podResources"].emplace_array();
    }
    entry["template"] = std::move(*object);
    return json::value(std::move(entry));
  }

  Status read_gang() {
    json::array entries;
    for (const WrappedItem& item : wrapper_.items) {
      auto entry = entry_of(item);
      if (!entry) return entry.error();
      entries.push_back(std::move(*entry));
    }
    // The engine places pods: what makes none is placed as one that needs nothing.
    if (!makes_pods_) {
      const manifest::PodResources nothing{1, {}, {}};
      entries.push_back({{"podResources", json::array{manifest::to_json(nothing)}}});
    }
    job_.makes_pods = makes_pods_;
    const auto list = manifest::read_objects(entries);
    if (!list) return in_terms_of_items(list.error());
    auto sets = manifest::pod_sets_of(*list, options_.gpus);
    if (!sets) return sets.error();
    job_.spec.gang.sets = std::move(*sets);
    job_.spec.gang.kinds = manifest::kinds_to_serve(list->objects);
    for (std::string& wish : manifest::unweighed_wishes(*list))
      job_.warnings.push_back(std::move(wish));
    asked_ = totals_of(job_.spec.gang);
    if (options_.is_mcad) {
      for (model::PodSet& set : job_.spec.gang.sets) flatten_as_mcad(set.pod);
    }
    job_.command.objects = json::serialize(entries);
    return Ok{};
  }

  /// "objects[2] ..." is the third item, which has a name in the AppWrapper.
  Error in_terms_of_items(Error error) const {
    constexpr std::string_view word = "objects[";
    if (!error.message.starts_with(word)) return error;
    const std::size_t close = error.message.find(']');
    const auto index = parse_int(error.message.substr(word.size(), close - word.size()), "", 0,
                                 static_cast<std::int64_t>(wrapper_.items.size()) - 1);
    if (index) {
      error.message =
          wrapper_.items[static_cast<std::size_t>(*index)].field + error.message.substr(close + 1);
    }
    return error;
  }

  bool is_fit(const SelectableCluster& cluster) const {
    const auto allows = [&](std::string_view ns) { return ns == "*" || ns == wrapper_.ns; };
    return cluster.makes_objects &&
           std::any_of(cluster.namespaces.begin(), cluster.namespaces.end(), allows);
  }

  Status pin() {
    std::vector<std::string>& clusters = job_.spec.gang.clusters;
    clusters = wrapper_.pins.names;
    std::vector<std::string> chosen;
    for (const SelectableCluster& one : options_.clusters) {
      if (!is_fit(one)) {
        job_.unfit_clusters.push_back(one.name);
        continue;
      }
      const bool is_named = clusters.empty() ||
                            std::find(clusters.begin(), clusters.end(), one.name) != clusters.end();
      if (is_named && model::matches(wrapper_.pins.selector, one.labels))
        chosen.push_back(one.name);
    }
    if (wrapper_.pins.has_selector()) {
      if (chosen.empty()) return no_cluster("clusterSelector", "no cluster matches");
      clusters = std::move(chosen);
      return Ok{};
    }
    const auto is_unfit = [&](const std::string& name) {
      const auto& unfit = job_.unfit_clusters;
      return std::find(unfit.begin(), unfit.end(), name) != unfit.end();
    };
    if (!clusters.empty() && std::all_of(clusters.begin(), clusters.end(), is_unfit))
      return no_cluster("clusters",
                        fmt::format("{} makes nothing in namespace {}; its `namespaces` in the "
                                    "configuration say where it does",
                                    clusters.front(), wrapper_.ns));
    return Ok{};
  }
  static Error no_cluster(std::string_view key, std::string_view why) {
    return {Fault::Unavailable,
            fmt::format("spec.schedulingSpec.clusterScheduling.{}: {}", key, why)};
  }

  void fill_spec() {
    model::JobSpec& spec = job_.spec;
    spec.name = wrapper_.name;
    spec.user = label(user_label);
    spec.queue = label(queue_label);
    if (spec.queue.empty()) spec.queue = options_.queue;
    const std::int64_t priority = wrapper_.priority.value_or(options_.priority);
    spec.priority = static_cast<int>(
        std::clamp<std::int64_t>(priority, model::priority_min, model::priority_max));
    if (spec.priority != priority) {
      job_.warnings.push_back(fmt::format("spec.priority: {} is beyond the limit; {} is used",
                                          priority, spec.priority));
    }
    if (!wrapper_.dispatch_duration.may_overrun) spec.run_limit = wrapper_.dispatch_duration.limit;
    spec.held = wrapper_.is_suspended;
  }

  void fill_command() {
    model::Command& command = job_.command;
    command.name = job_.spec.name;
    command.user = job_.spec.user;
    command.container.ns = wrapper_.ns;
    command.care = care_of(wrapper_, options_.node_health);
    command.care.takes_existing = options_.is_mcad;  // MCAD ignores that they are there
    for (const model::PodSet& set : job_.spec.gang.sets)
      command.sets.push_back({set.name, {}, {}, {}, {}});
    if (options_.hub.empty()) return;
    command.hub = model::HubObject{options_.hub, wrapper_.api_version, "AppWrapper",
                                   wrapper_.ns,  wrapper_.name,        wrapper_.uid};
  }

  Totals totals() const {
    if (!options_.is_mcad) return asked_;
    Totals totals;
    for (const WrappedItem& item : wrapper_.items) {
      const Totals one = mcad_totals(item);
      totals.milli_cpu = capped(Wide{totals.milli_cpu} + one.milli_cpu);
      totals.memory = capped(Wide{totals.memory} + one.memory);
      totals.gpu = capped(Wide{totals.gpu} + one.gpu);
    }
    return totals;
  }

  const AppWrapper& wrapper_;
  const WrapOptions& options_;
  bool makes_pods_ = false;
  Totals asked_;
  WrappedJob job_;
};

}  // namespace

void flatten_as_mcad(model::PodShape& pod) {
  model::PodShape flat;
  flat.requests = std::move(pod.requests);
  if (pod.gpu.count > 0) flat.requests.extended["nvidia.com/gpu"] += pod.gpu.count;
  flat.labels = std::move(pod.labels);
  pod = std::move(flat);
}

Result<WrappedJob> wrapped_job(const AppWrapper& wrapper, const WrapOptions& options) {
  AppWrapper whole = wrapper;
  for (WrappedItem& item : whole.items) {
    // Who says what pods there are knows better.
    if (item.pod_sets.empty() && item.pod_resources.empty()) manifest::write_submitter(item.object);
  }
  return JobMaker(whole, options).make();
}

std::vector<PodSetPath> pod_sets_of(const WrappedItem& item) {
  if (!item.pod_sets.empty()) return item.pod_sets;
  std::vector<PodSetPath> sets;
  const auto inferred = manifest::infer_templates(item.object);
  if (!inferred) return sets;
  for (const manifest::PodTemplate& one : *inferred)
    sets.push_back({one.count, manifest::to_text(one.path)});
  return sets;
}

Totals mcad_totals(const WrappedItem& item) {
  Totals totals;
  for (const manifest::PodResources& pods : item.pod_resources)
    add(totals, pods.counted(), pods.replicas);
  if (!item.pod_resources.empty()) return totals;
  const bool has_template = find(item.object, {"spec", "template"}) != nullptr;
  const json::array& containers =
      has_template ? items_at(item.object, {"spec", "template", "spec", "containers"})
                   : items_at(item.object, {"spec", "containers"});
  const std::int64_t replicas = std::clamp<std::int64_t>(
      kube::integer_at(item.object, {"spec", "replicas"}, 1), 0, std::int64_t{1} << 31);
  for (const json::value& container : containers) {
    const manifest::PodResources one{
        1, manifest::amounts_of(map_at(container, {"resources", "requests"})),
        manifest::amounts_of(map_at(container, {"resources", "limits"}))};
    add(totals, one.counted(), replicas);
  }
  return totals;
}

}  // namespace muster::work
