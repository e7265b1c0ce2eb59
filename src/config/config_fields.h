// The keys of the server's configuration, each once: name, place in the struct, help, demands. The
// reader, the writer and the JSON Schema all walk these tables.
#pragma once

#include <array>
#include <string_view>
#include <utility>

#include "config/appwrapper_fields.h"
#include "config/cluster_fields.h"
#include "config/codecs.h"
#include "config/config.h"
#include "config/container_fields.h"
#include "config/shared_fields.h"

namespace muster::config {

template <>
struct EnumNames<model::Strategy> {
  static constexpr std::array<std::pair<std::string_view, model::Strategy>, 3> names = {
      {{"backfill", model::Strategy::Backfill},
       {"skip_ahead", model::Strategy::SkipAhead},
       {"fifo", model::Strategy::Fifo}}};
};
template <>
struct EnumNames<NodeChoice> {
  static constexpr std::array<std::pair<std::string_view, NodeChoice>, 4> names = {
      {{"worth", NodeChoice::Worth},
       {"fgd", NodeChoice::Fgd},
       {"best_fit", NodeChoice::BestFit},
       {"spread", NodeChoice::Spread}}};
};
template <>
struct EnumNames<LogLevel> {
  static constexpr std::array<std::pair<std::string_view, LogLevel>, 4> names = {
      {{"debug", LogLevel::Debug},
       {"info", LogLevel::Info},
       {"warn", LogLevel::Warn},
       {"error", LogLevel::Error}}};
};
template <>
struct EnumNames<LogFormat> {
  static constexpr std::array<std::pair<std::string_view, LogFormat>, 2> names = {
      {{"text", LogFormat::Text}, {"json", LogFormat::Json}}};
};

template <>
struct Fields<Tls> {
  static constexpr std::string_view name = "tls";
  template <typename V>
  static void visit(V& v) {
    v.field("cert", &Tls::cert, "file with the certificate chain, PEM", Rule{.required = true});
    v.field("key", &Tls::key, "file with the private key, PEM", Rule{.required = true});
  }
};

template <>
struct Fields<Store> {
  static constexpr std::string_view name = "store";
  template <typename V>
  static void visit(V& v) {
    v.field("sqlite", &Store::sqlite, "file of the database; muster.db in data_dir if not given");
    v.field("postgres", &Store::postgres, "connection URL: postgresql://user@host/database");
    v.field("snapshot_every", &Store::snapshot_every,
            "entries of the journal between two snapshots, which keep restarts short",
            between(1, 1'000'000'000));
  }
};

template <>
struct Fields<Pool> {
  static constexpr std::string_view name = "pool";
  template <typename V>
  static void visit(V& v) {
    v.field("name", &Pool::name, "unique over all clusters", required_name());
    v.field("cluster", &Pool::cluster, "the cluster it is a slice of", required_name());
    v.field("node_selector", &Pool::node_selector, "labels of its nodes");
    v.field("tolerations", &Pool::tolerations, "added to those of the pods sent here");
    v.field("namespace", &Pool::kube_namespace, "kubernetes: of its jobs", optional_name());
    v.field("pod", &Pool::pod, "kubernetes: what its pods have unless the job says otherwise");
  }
};

template <>
struct Fields<FleetPool> {
  static constexpr std::string_view name = "fleet_pool";
  template <typename V>
  static void visit(V& v) {
    v.field("name", &FleetPool::name, "unique name, no pool's", required_name());
    v.field("pools", &FleetPool::pools, "a job runs, whole, in the best of these", required_name());
  }
};

template <>
struct Fields<Queue> {
  static constexpr std::string_view name = "queue";
  template <typename V>
  static void visit(V& v) {
    v.field("name", &Queue::name, "unique over all queues", required_name());
    v.field("weight", &Queue::weight,
            "share against its siblings; 0: served when nobody with a weight wants the room",
            between(0, 65535));
    v.field("strategy", &Queue::strategy, "what happens behind a job that does not fit");
    v.field("priority_cap", &Queue::priority_cap, "higher priorities count as this",
            between(-1'000'000, 1'000'000'000));
    v.field("guaranteed", &Queue::guaranteed, "promised amounts, as {gpu: 8, gpu.A100: 4}");
    v.field("maximum", &Queue::maximum, "never more than this");
    v.field("borrow", &Queue::borrow,
            "at most this much above guaranteed, to it or to the queues below it");
    v.field("lend", &Queue::lend, "at most this much of guaranteed to others; all if not given");
    v.field("queues", &Queue::queues, "queues below this one");
  }
};

template <>
struct Fields<QueueTree> {
  static constexpr std::string_view name = "tree";
  template <typename V>
  static void visit(V& v) {
    v.field("name", &QueueTree::name, "unique name", required_name());
    v.field("queues", &QueueTree::queues, "its queues, charged by jobs that name them",
            Rule{.required = true});
  }
};

template <>
struct Fields<ScoreWeights> {
  static constexpr std::string_view name = "cluster_weights";
  template <typename V>
  static void visit(V& v) {
    constexpr Rule points = between(0, 1'000'000);
    v.field("fit", &ScoreWeights::fit, "starts now rather than later", points);
    v.field("fragmentation", &ScoreWeights::fragmentation, "leaves useful room", points);
    v.field("price", &ScoreWeights::price, "is cheap", points);
    v.field("wait", &ScoreWeights::wait, "starts soon", points);
    v.field("data", &ScoreWeights::data, "is near the job's data", points);
    v.field("spread", &ScoreWeights::spread, "is less used", points);
    v.field("damage", &ScoreWeights::damage, "costs little preempted work", points);
  }
};

template <>
struct Fields<Scheduling> {
  static constexpr std::string_view name = "scheduling";
  template <typename V>
  static void visit(V& v) {
    v.field("node_choice", &Scheduling::node_choice, "how a node is chosen among those that fit");
    v.field("cluster_weights", &Scheduling::cluster_weights, "what counts when choosing a cluster");
    v.field("gpu_weights", &Scheduling::gpu_weights, "what a GPU counts by type, as {H100: 2.5}",
            between(1, 1'000'000));
    v.field("half_life", &Scheduling::half_life, "of remembered use; 0: no memory");
    v.field("reservation_depth", &Scheduling::reservation_depth, "reservations of the whole fleet",
            between(0, 10'000));
    v.field("default_run_time", &Scheduling::default_run_time,
            "expected of a job without limit and history", at_least(1000));
    v.field("evictions_per_round", &Scheduling::evictions_per_round,
            "jobs stopped in one round; the first gang of a round may take more",
            between(0, 100'000));
    v.field("start_retry_pause", &Scheduling::start_retry_pause,
            "before a gang that did not start is tried again");
  }
};

template <>
struct Fields<Retention> {
  static constexpr std::string_view name = "retention";
  template <typename V>
  static void visit(V& v) {
    v.field("finished_jobs", &Retention::finished_jobs, "how long finished jobs are kept");
    v.field("finished_jobs_max", &Retention::finished_jobs_max, "and how many of them",
            between(0, 1'000'000'000));
    v.field("logs", &Retention::logs, "how long the output of jobs is kept");
    v.field("logs_max", &Retention::logs_max, "and how much of it", at_least(1 << 20));
    v.field("journal", &Retention::journal, "how long the journal before a snapshot is kept");
    v.field("audit", &Retention::audit, "how long the audit log is kept");
  }
};

template <>
struct Fields<Limits> {
  static constexpr std::string_view name = "limits";
  template <typename V>
  static void visit(V& v) {
    v.field("inbox", &Limits::inbox, "events that wait; beyond, requests are refused for a while",
            between(1, 10'000'000));
    v.field("batch", &Limits::batch, "events taken in one step", between(1, 1'000'000));
    v.field("jobs_per_submit", &Limits::jobs_per_submit, "jobs in one request",
            between(1, 100'000));
    v.field("waiting_jobs", &Limits::waiting_jobs,
            "jobs that wait in all queues, those on hold too", between(1, 100'000'000));
    v.field("request_bytes", &Limits::request_bytes, "size of a request",
            between(1 << 10, std::int64_t{1} << 30));
    v.field("connections", &Limits::connections, "open connections", between(1, 1'000'000));
  }
};

template <>
struct Fields<Log> {
  static constexpr std::string_view name = "log";
  template <typename V>
  static void visit(V& v) {
    v.field("level", &Log::level, "the least that is logged");
    v.field("format", &Log::format, "for people or for programs");
  }
};

template <>
struct Fields<Defaults> {
  static constexpr std::string_view name = "defaults";
  template <typename V>
  static void visit(V& v) {
    v.field("queue", &Defaults::queue, "of a job that names none", optional_name());
    v.field("priority", &Defaults::priority, "of a job that names none",
            between(-1'000'000, 1'000'000'000));
  }
};

template <>
struct Fields<Config> {
  static constexpr std::string_view name = "config";
  template <typename V>
  static void visit(V& v) {
    v.field("data_dir", &Config::data_dir, "folder of the database, logs and running work");
    v.field("listen", &Config::listen, "address and port, as 127.0.0.1:8080");
    v.field("tls", &Config::tls, "certificate and key; without them plain HTTP");
    v.field("store", &Config::store, "where the state is kept");
    v.field("clusters", &Config::clusters, "where jobs run");
    v.field("cluster_sources", &Config::cluster_sources, "where further clusters are found");
    v.field("exec_plugins", &Config::exec_plugins,
            "programs that kubeconfigs from the API and from Secrets may run on this machine");
    v.field(
        "gpu_aliases", &Config::gpu_aliases,
        "short names for the GPU types of Kubernetes nodes, by what their labels begin with, as "
        "{NVIDIA-A100: A100}",
        optional_name());
    v.field("pools", &Config::pools, "named slices of clusters");
    v.field("fleet_pools", &Config::fleet_pools, "named lists of pools");
    v.field("queues", &Config::queues, "the quota tree");
    v.field("trees", &Config::trees, "further quota trees");
    v.field("appwrappers", &Config::appwrappers, "AppWrappers that are taken as jobs");
    v.field("scheduling", &Config::scheduling, "how jobs are ordered and placed");
    v.field("retention", &Config::retention, "how long things are kept");
    v.field("limits", &Config::limits, "how much the server takes");
    v.field("log", &Config::log, "what the server logs");
    v.field("defaults", &Config::defaults, "of jobs that do not say it");
  }
};

}  // namespace muster::config
