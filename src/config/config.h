// The server's configuration, as an administrator writes it: one YAML, small when the need is
// small; an empty file is a valid one. The tables of its keys stand in config_fields.h; check()
// reads a text by them and looks for what does not go together; to_yaml() and schema() use the same
// tables. Plain values throughout; every function is pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "config/appwrappers.h"
#include "config/container_document.h"
#include "config/problem.h"
#include "config/values.h"
#include "model/cluster.h"
#include "model/node.h"
#include "model/queue.h"

namespace muster::config {

struct Tls {
  std::string cert;
  std::string key;
  friend bool operator==(const Tls&, const Tls&) = default;
};

/// SQLite in the data folder unless a PostgreSQL is named.
struct Store {
  std::string sqlite;                     // path; empty: muster.db in data_dir
  std::string postgres;                   // connection URL
  std::int64_t snapshot_every = 100'000;  // entries of the journal
  friend bool operator==(const Store&, const Store&) = default;
};

struct TaintEntry {
  std::string key;
  std::string value;
  model::TaintEffect effect = model::TaintEffect::NoSchedule;
  friend bool operator==(const TaintEntry&, const TaintEntry&) = default;
};

struct TolerationEntry {
  enum class Op { Equal, Exists };
  std::string key;
  Op op = Op::Equal;
  std::string value;
  std::optional<model::TaintEffect> effect;
  friend bool operator==(const TolerationEntry&, const TolerationEntry&) = default;
};

/// Equal nodes of a simulated cluster.
struct NodeGroup {
  int count = 1;
  std::string name = "node";  // of the first: node-0
  model::MilliCpu cpu{64'000};
  model::Bytes memory{std::int64_t{512} << 30};
  std::map<std::string, int> gpu;  // type and number; at most one type
  model::Bytes gpu_memory;
  Amounts resources;  // others, with a domain
  int pods_max = 110;
  model::Labels labels;
  std::vector<TaintEntry> taints;
  friend bool operator==(const NodeGroup&, const NodeGroup&) = default;
};

enum class ClusterType { Local, Simulated, Kubernetes };

/// How firmly pods keep to the nodes that were planned for them.
enum class NodeBinding { Require, Prefer, None };

constexpr Duration ready_within_default = minutes(10);

/// A key of a Secret in a cluster that is joined.
struct SecretRef {
  std::string cluster;
  std::string kube_namespace;
  std::string name;
  std::string key = "kubeconfig";
  friend bool operator==(const SecretRef&, const SecretRef&) = default;
};

struct Cluster {
  std::string name;
  ClusterType type = ClusterType::Local;
  model::Labels labels;
  std::map<std::string, Milli> gpu_price;  // per GPU-hour, by type
  Duration grace = minutes(5);
  // local
  std::optional<int> slots;             // artificial GPUs; unset: none
  std::optional<std::string> gpu_type;  // unset: "slot"
  std::optional<model::MilliCpu> cpu;   // unset: what this machine has
  std::optional<model::Bytes> memory;
  std::optional<Duration> stop_grace;
  // simulated
  std::vector<NodeGroup> nodes;
  std::optional<Duration> run_time;  // of a pod; unset: 1m
  // kubernetes
  std::optional<std::string> kubeconfig;         // file
  std::optional<std::string> kubeconfig_inline;  // its text; holds secrets
  std::optional<SecretRef> kubeconfig_secret;
  bool in_cluster = false;                    // the one that the server's own pod is in
  std::optional<std::string> context;         // unset: the file's current one
  std::optional<std::string> kube_namespace;  // unset: the context's
  std::vector<std::string> namespaces;        // others that pools and jobs may name; "*": all
  std::optional<std::string> image;           // what commands run in
  std::optional<NodeBinding> node_binding;    // unset: require
  std::optional<Duration> ready_within;       // unset: ready_within_default
  std::optional<PodDefaults> pod;             // of all its pools
  friend bool operator==(const Cluster&, const Cluster&) = default;
};

/// Labelled Secrets of a cluster, each with a kubeconfig.
struct HubSecrets {
  std::string cluster;
  std::string kube_namespace;
  std::string selector = "muster.dev/cluster";
  std::string key = "kubeconfig";
  friend bool operator==(const HubSecrets&, const HubSecrets&) = default;
};

/// ClusterProfiles (multicluster.x-k8s.io) of a cluster.
struct HubProfiles {
  std::string cluster;
  std::string kube_namespace;
  std::string providers;  // file: which plugins get credentials
  friend bool operator==(const HubProfiles&, const HubProfiles&) = default;
};

/// Where clusters are found, and what those found there have.
struct ClusterSource {
  std::optional<std::string> directory;  // of kubeconfigs
  std::optional<HubSecrets> secrets;
  std::optional<HubProfiles> profiles;
  model::Labels labels;
  Duration grace = minutes(5);
  std::optional<std::string> kube_namespace;
  std::vector<std::string> namespaces;
  std::optional<std::string> image;
  std::optional<NodeBinding> node_binding;
  std::optional<Duration> ready_within;
  std::optional<PodDefaults> pod;
  friend bool operator==(const ClusterSource&, const ClusterSource&) = default;
};

struct Pool {
  std::string name;
  std::string cluster;
  model::Labels node_selector;
  std::vector<TolerationEntry> tolerations;
  std::optional<std::string> kube_namespace = {};  // unset: the cluster's
  std::optional<PodDefaults> pod = {};             // over those of the cluster
  friend bool operator==(const Pool&, const Pool&) = default;
};

struct FleetPool {
  std::string name;
  std::vector<std::string> pools;
  friend bool operator==(const FleetPool&, const FleetPool&) = default;
};

struct Queue {
  std::string name;
  std::uint32_t weight = 1;
  model::Strategy strategy = model::Strategy::Backfill;
  int priority_cap = 1'000'000'000;
  Amounts guaranteed;
  Amounts maximum;
  Amounts borrow;
  Amounts lend;
  std::vector<Queue> queues;
  friend bool operator==(const Queue&, const Queue&) = default;
};

/// A quota tree besides the main one.
struct QueueTree {
  std::string name;
  std::vector<Queue> queues;
  friend bool operator==(const QueueTree&, const QueueTree&) = default;
};

enum class NodeChoice { Worth, Fgd, BestFit, Spread };

struct ScoreWeights {
  std::int64_t fit = 1000;
  std::int64_t fragmentation = 300;
  std::int64_t price = 100;
  std::int64_t wait = 500;
  std::int64_t data = 200;
  std::int64_t spread = 50;
  std::int64_t damage = 400;
  friend bool operator==(const ScoreWeights&, const ScoreWeights&) = default;
};

/// What sched::Policy takes; the defaults are its own.
struct Scheduling {
  NodeChoice node_choice = NodeChoice::Worth;
  ScoreWeights cluster_weights;
  std::map<std::string, Milli> gpu_weights;  // by type; missing: 1
  Duration half_life = hours(24);
  int reservation_depth = 16;
  Duration default_run_time = hours(24);
  int evictions_per_round = 64;
  Duration start_retry_pause = seconds(10);
  friend bool operator==(const Scheduling&, const Scheduling&) = default;
};

struct Retention {
  Duration finished_jobs = hours(30 * 24);
  std::int64_t finished_jobs_max = 1'000'000;
  Duration logs = hours(7 * 24);
  model::Bytes logs_max{std::int64_t{10} << 30};
  Duration journal = hours(7 * 24);
  Duration audit = hours(365 * 24);
  friend bool operator==(const Retention&, const Retention&) = default;
};

struct Limits {
  int inbox = 100'000;  // events that wait; beyond: 429
  int batch = 1'000;    // events of one step
  int jobs_per_submit = 1'000;
  std::int64_t waiting_jobs = 2'000'000;
  model::Bytes request_bytes{std::int64_t{16} << 20};
  int connections = 20'000;
  friend bool operator==(const Limits&, const Limits&) = default;
};

enum class LogLevel { Debug, Info, Warn, Error };
enum class LogFormat { Text, Json };

struct Log {
  LogLevel level = LogLevel::Info;
  LogFormat format = LogFormat::Text;
  friend bool operator==(const Log&, const Log&) = default;
};

/// Of a job that does not say it.
struct Defaults {
  std::string queue = "default";  // made, at the top, if `queues` does not have it
  int priority = 50;
  friend bool operator==(const Defaults&, const Defaults&) = default;
};

struct Config {
  std::string data_dir = "data";
  std::string listen = "127.0.0.1:8080";
  std::optional<Tls> tls;
  Store store;
  std::vector<Cluster> clusters;
  std::vector<ClusterSource> cluster_sources;
  /// Programs that kubeconfigs from elsewhere than this machine's files may run.
  std::vector<std::string> exec_plugins;
  /// What people call a type of GPU, by what the labels of nodes begin with.
  std::map<std::string, std::string> gpu_aliases;
  std::vector<Pool> pools;
  std::vector<FleetPool> fleet_pools;
  std::vector<Queue> queues;
  std::vector<QueueTree> trees;
  std::optional<AppWrappers> appwrappers;
  Scheduling scheduling;
  Retention retention;
  Limits limits;
  Log log;
  Defaults defaults;
  friend bool operator==(const Config&, const Config&) = default;
};

struct Checked {
  Config config;
  Problems problems;  // by place; without errors `config` is whole
  bool ok() const { return !has_errors(problems); }
};
/// Reads and checks a text. Nothing outside the text is looked at: no file, no address.
Checked check(std::string_view yaml);

/// As YAML; with `defaults` every value that holds, else only what differs from them.
std::string to_yaml(const Config& config, bool defaults = false);
/// Without the password of a connection URL and without kubeconfigs, for showing.
Config without_secrets(Config config);
/// The JSON Schema of the file.
std::string config_schema();
/// What `make run` starts with: this machine and two simulated clusters.
std::string_view demo_yaml();

// ---- what the engine takes
std::vector<model::QueueSpec> queue_specs(const Config& config);  // parents first
std::vector<model::ClusterSpec> cluster_specs(const Config& config);
std::vector<model::PoolSpec> pool_specs(const Config& config);
std::vector<model::FleetPoolSpec> fleet_pool_specs(const Config& config);
/// The nodes of a simulated cluster.
std::vector<model::NodeSpec> node_specs(const Cluster& cluster);

model::Toleration toleration_of(const TolerationEntry& entry);
TolerationEntry entry_of(const model::Toleration& toleration);

}  // namespace muster::config
