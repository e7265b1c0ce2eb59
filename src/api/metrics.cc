#include "api/metrics.h"

#include <prometheus/collectable.h>
#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <map>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

namespace muster::api {
namespace {

using prometheus::Counter;
using prometheus::Family;
using prometheus::Gauge;
using prometheus::Histogram;

const Histogram::BucketBoundaries step_seconds = {0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05,
                                                  0.1,    0.5,    1,     5,     30};
const Histogram::BucketBoundaries commit_seconds = {0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025,
                                                    0.05,   0.1,   0.25,   1,     5};
const Histogram::BucketBoundaries http_seconds = {0.0005, 0.001, 0.005, 0.02, 0.1, 0.5, 2, 10};
const Histogram::BucketBoundaries wait_seconds = {1,    5,     15,    60,    300,    900,
                                                  3600, 14400, 43200, 86400, 259200, 604800};

constexpr Duration look_every = seconds(5);
constexpr const char* others = "(others)";

/// Numbers that others hold.
class Watched : public prometheus::Collectable {
 public:
  void add(Metrics::Kind kind, std::string name, std::string help, std::function<double()> value) {
    const std::lock_guard lock(mutex_);
    entries_.push_back({kind, std::move(name), std::move(help), std::move(value)});
  }
  std::vector<prometheus::MetricFamily> Collect() const override {
    const std::lock_guard lock(mutex_);
    std::vector<prometheus::MetricFamily> families;
    for (const Entry& entry : entries_) {
      prometheus::ClientMetric metric;
      prometheus::MetricFamily family;
      family.name = entry.name;
      family.help = entry.help;
      if (entry.kind == Metrics::Kind::Gauge) {
        family.type = prometheus::MetricType::Gauge;
        metric.gauge.value = entry.value();
      } else {
        family.type = prometheus::MetricType::Counter;
        metric.counter.value = entry.value();
      }
      family.metric.push_back(std::move(metric));
      families.push_back(std::move(family));
    }
    return families;
  }

 private:
  struct Entry {
    Metrics::Kind kind;
    std::string name;
    std::string help;
    std::function<double()> value;
  };
  mutable std::mutex mutex_;
  std::vector<Entry> entries_;
};

/// A gauge per name; names that are not set again go away.
class NamedGauge {
 public:
  NamedGauge(prometheus::Registry& registry, const char* name, const char* help, std::string label)
      : family_(prometheus::BuildGauge().Name(name).Help(help).Register(registry)),
        label_(std::move(label)) {}

  void set(const std::map<std::string, double>& values) {
    std::map<std::string, Gauge*> kept;
    for (const auto& [name, value] : values) {
      const auto it = gauges_.find(name);
      Gauge* gauge = it == gauges_.end() ? &family_.Add({{label_, name}}) : it->second;
      gauge->Set(value);
      kept.emplace(name, gauge);
      if (it != gauges_.end()) gauges_.erase(it);
    }
    for (const auto& [name, gauge] : gauges_) family_.Remove(gauge);
    gauges_ = std::move(kept);
  }

 private:
  Family<Gauge>& family_;
  std::string label_;
  std::map<std::string, Gauge*> gauges_;
};

std::string kind_of(const model::Decision& decision) {
  struct Name {
    std::string operator()(const model::Placed&) const { return "placed"; }
    std::string operator()(const model::Stopped&) const { return "stopped"; }
    std::string operator()(const model::Reserved&) const { return "reserved"; }
    std::string operator()(const model::ReservationDropped&) const { return "reservation_dropped"; }
    std::string operator()(const model::GivenUp&) const { return "given_up"; }
  };
  return std::visit(Name{}, decision);
}

/// "" for events that are no outcome of an attempt.
std::string outcome_of(const model::EventBody& body) {
  if (std::holds_alternative<model::Started>(body)) return "started";
  if (const auto* finished = std::get_if<model::Finished>(&body))
    return finished->success ? "succeeded" : "failed";
  if (std::holds_alternative<model::StartFailed>(body)) return "start_failed";
  if (std::holds_alternative<model::Gone>(body)) return "gone";
  return "";
}

/// At most so many names; the rest are added up.
class Bounded {
 public:
  void add(const std::string& name, double value) {
    values_[values_.size() < Metrics::names_max || values_.contains(name) ? name : others] += value;
  }
  const std::map<std::string, double>& values() const { return values_; }

 private:
  std::map<std::string, double> values_;
};

Family<Counter>& counters(prometheus::Registry& registry, const char* name, const char* help) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry);
}
Histogram& histogram(prometheus::Registry& registry, const char* name, const char* help,
                     const Histogram::BucketBoundaries& buckets) {
  return prometheus::BuildHistogram().Name(name).Help(help).Register(registry).Add({}, buckets);
}

}  // namespace

struct Metrics::Parts {
  prometheus::Registry registry;
  Watched watched;
  Time looked{-look_every.ms};

  NamedGauge queue_waiting{registry, "muster_queue_waiting_jobs",
                           "Jobs that wait in a queue and could start if there were room and quota",
                           "queue"};
  NamedGauge appwrappers{registry, "muster_appwrappers",
                         "AppWrappers that are taken as jobs, by state or phase", "state"};
  NamedGauge cluster_jobs{registry, "muster_cluster_active_jobs",
                          "Jobs that hold nodes of a cluster", "cluster"};
  NamedGauge cluster_ready{registry, "muster_cluster_takes_jobs",
                           "1 if a cluster takes new jobs, 0 if it is cordoned, draining or "
                           "unreachable",
                           "cluster"};
  NamedGauge cluster_idle{registry, "muster_cluster_idle_gpus",
                          "GPUs on usable nodes of a cluster that no job holds", "cluster"};
  Histogram& wait =
      histogram(registry, "muster_job_wait_seconds",
                "Time from the submit of a job to each of its placements", wait_seconds);
  Family<Counter>& decisions =
      counters(registry, "muster_decisions_total", "Decisions of the planner by kind");
  Histogram& steps = histogram(registry, "muster_step_seconds",
                               "Rounds of the control loop: events taken, committed and applied, "
                               "planned, decisions committed and dispatched",
                               step_seconds);
  Histogram& latency = histogram(registry, "muster_decision_seconds",
                                 "For each decision, from when the oldest of what its round took "
                                 "was put to when the decision was dispatched",
                                 step_seconds);
  Counter& tried = counters(registry, "muster_lines_tried_total",
                            "Lines of equal waiting jobs that the planner looked at")
                       .Add({});
  Counter& events =
      counters(registry, "muster_events_total", "Events that the control loop took").Add({});
  Family<Counter>& dispatches = counters(registry, "muster_dispatches_total",
                                         "Actions handed to clusters by verb, repeats included");
  Family<Counter>& outcomes =
      counters(registry, "muster_outcomes_total", "What clusters reported of attempts");
  Histogram& commit = histogram(registry, "muster_store_commit_seconds",
                                "Time until a commit of the store was durable", commit_seconds);
  Counter& refused =
      counters(registry, "muster_store_refusals_total", "Commits that the store refused").Add({});
  Family<Counter>& requests = counters(registry, "muster_http_requests_total",
                                       "Answered HTTP requests by route, method and status");
  Family<Histogram>& request_seconds =
      prometheus::BuildHistogram()
          .Name("muster_http_request_seconds")
          .Help("Time from the first byte of a request to the last of its answer, streams left out")
          .Register(registry);
  Family<Counter>& retained = counters(registry, "muster_retention_removed_total",
                                       "Rows removed because they were past their limits, by kind");
  Counter& log_bytes = counters(registry, "muster_retention_removed_log_bytes_total",
                                "Bytes of logs removed because they were past their limits")
                           .Add({});
  Family<Counter>& errors = counters(registry, "muster_errors_total",
                                     "Faults that no client was told, by the part they arose in");

  void look(const sched::World& world);
};

void Metrics::Parts::look(const sched::World& world) {
  Bounded waiting;
  for (const sched::QueueId id : world.quota.by_name()) {
    std::int64_t jobs = 0;
    for (const auto& [priority, backlog] : world.backlog(id)) jobs += backlog.jobs;
    if (world.quota[id].alive || jobs > 0)
      waiting.add(world.quota[id].name, static_cast<double>(jobs));
  }
  queue_waiting.set(waiting.values());
  Bounded jobs;
  Bounded ready;
  Bounded idle;
  for (const sched::ClusterId id : world.fleet.by_name()) {
    const sched::Cluster& cluster = world.fleet.cluster(id);
    if (!cluster.joined) continue;
    const bool takes =
        cluster.health == model::Health::Ready || cluster.health == model::Health::Degraded;
    jobs.add(cluster.spec.name, static_cast<double>(world.active_in(id).size()));
    ready.add(cluster.spec.name, takes ? 1 : 0);
    idle.add(cluster.spec.name, static_cast<double>(cluster.idle_gpu_milli) / 1000);
  }
  cluster_jobs.set(jobs.values());
  cluster_ready.set(ready.values());
  cluster_idle.set(idle.values());
}

Metrics::Metrics(const std::string& version) : parts_(std::make_unique<Parts>()) {
  prometheus::BuildGauge()
      .Name("muster_build_info")
      .Help("Always 1; the version of this server is a label")
      .Register(parts_->registry)
      .Add({{"version", version}})
      .Set(1);
}
Metrics::~Metrics() = default;

void Metrics::step(const control::StepReport& report, const sched::World& world, double seconds) {
  Parts& p = *parts_;
  p.steps.Observe(seconds);
  p.tried.Increment(report.tried);
  p.events.Increment(static_cast<double>(report.events.size()));
  if (report.refused) p.refused.Increment();
  for (const model::Event& event : report.events) {
    const std::string outcome = outcome_of(event.body);
    if (!outcome.empty()) p.outcomes.Add({{"outcome", outcome}}).Increment();
  }
  for (const model::Decision& decision : report.decisions) {
    p.decisions.Add({{"kind", kind_of(decision)}}).Increment();
    if (report.decision_seconds) p.latency.Observe(*report.decision_seconds);
    const auto* placed = std::get_if<model::Placed>(&decision);
    if (placed == nullptr) continue;
    const sched::JobSlot slot = world.find_job(placed->job);
    if (slot.is_none()) continue;
    p.wait.Observe(static_cast<double>((report.now - world.job(slot).submitted).ms) / 1000);
  }
  for (const ports::Action& action : report.actions)
    p.dispatches.Add({{"verb", action.verb == ports::Verb::Create ? "create" : "delete"}})
        .Increment();
  if (report.now - p.looked < look_every) return;
  p.looked = report.now;
  p.look(world);
}

void Metrics::appwrappers(const std::map<std::string, std::size_t>& by_state) {
  std::map<std::string, double> values;
  for (const auto& [state, count] : by_state) values[state] = static_cast<double>(count);
  parts_->appwrappers.set(values);
}

void Metrics::store_commit(double seconds, bool ok) {
  if (ok) {
    parts_->commit.Observe(seconds);
  } else {
    parts_->errors.Add({{"where", "store"}}).Increment();
  }
}

void Metrics::http(const net::Access& access) {
  // Methods and routes come from clients: only those the router knows are named.
  static const std::set<std::string_view> known = {"GET",   "HEAD",   "POST",   "PUT",
                                                   "PATCH", "DELETE", "OPTIONS"};
  const std::string route = access.route.empty() ? "(none)" : access.route;
  const std::string method = known.contains(access.method) ? access.method : "(other)";
  parts_->requests
      .Add({{"route", route}, {"method", method}, {"status", fmt::format("{}", access.status)}})
      .Increment();
  if (!access.stream_end)
    parts_->request_seconds.Add({{"route", route}}, http_seconds).Observe(access.seconds);
}

void Metrics::retained(const ports::Retained& removed) {
  const std::vector<std::pair<std::string, std::uint64_t>> kinds = {
      {"jobs", removed.jobs},         {"audit", removed.audit},     {"keys", removed.keys},
      {"payloads", removed.payloads}, {"journal", removed.journal},
  };
  for (const auto& [kind, rows] : kinds)
    parts_->retained.Add({{"kind", kind}}).Increment(static_cast<double>(rows));
}

void Metrics::logs_removed(std::uint64_t bytes) {
  parts_->log_bytes.Increment(static_cast<double>(bytes));
}

void Metrics::error(const std::string& where) {
  parts_->errors.Add({{"where", where}}).Increment();
}

void Metrics::watch(Kind kind, std::string name, std::string help, std::function<double()> value) {
  parts_->watched.add(kind, std::move(name), std::move(help), std::move(value));
}

std::string Metrics::text() const {
  std::vector<prometheus::MetricFamily> families = parts_->registry.Collect();
  for (prometheus::MetricFamily& family : parts_->watched.Collect())
    families.push_back(std::move(family));
  return prometheus::TextSerializer().Serialize(families);
}

void add_metrics_route(net::Router& router, const Metrics& metrics) {
  router.add("GET", "/metrics", net::AnswerNow([&metrics](const net::Request&) {
               return net::Response{200,
                                    {{"Content-Type", "text/plain; version=0.0.4; charset=utf-8"}},
                                    metrics.text()};
             }));
}

}  // namespace muster::api
