// The clusters of a configuration, opened: what the loop talks to. Kinds: local, simulated,
// kubernetes.
//
// Thread contract: the caller's lock; run_in_pod and what KeptObjects has from any thread without
// it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "apps/muster/serve/cluster_access.h"
#include "base/result.h"
#include "base/time.h"
#include "config/cluster_part.h"
#include "config/config.h"
#include "ports/attempt_sights.h"
#include "ports/cluster.h"
#include "ports/departures.h"
#include "ports/inbox.h"
#include "ports/kept_objects.h"
#include "ports/log_sink.h"
#include "ports/payloads.h"
#include "ports/pod_commands.h"
#include "ports/pod_notes.h"
#include "sched/policy.h"

namespace muster::app {

class Fleet : public ports::KeptObjects {
 public:
  struct Ports {
    ports::Inbox& inbox;
    ports::Payloads& payloads;
    ports::LogSink& logs;
    ports::PodNotes& notes;
    ports::AttemptSights* sights = nullptr;   // null: nobody wants them
    ports::Departures* departures = nullptr;  // null: there is no hub
  };
  struct Self {
    std::string server;                // tells this server's work in a cluster from that of others
    std::string epoch;                 // and its runs apart: grows
    std::int64_t pod_descriptors = 0;  // open files of pods on this machine; 0: as the server
  };
  Fleet(std::string data_dir, Self self, Ports ports)
      : data_dir_(std::move(data_dir)), self_(std::move(self)), ports_(ports) {}

  /// Opens those of the configuration that are not open, and again those that are reached otherwise
  /// than when they were opened, or whose pods are to be made otherwise, those of their pools too;
  /// where their jobs are stays as it was: see cluster_part.h. Those made of this machine, and
  /// simulated ones, change while they are open. A Kubernetes cluster whose access is
  /// an error is open and says so; errors name the cluster and are of this machine.
  Status open(const config::Config& config, const Accesses& accesses);
  /// Whether open() would change anything.
  bool is_up_to_date(const config::Config& config, const Accesses& accesses) const;
  /// Those that are open but not in the configuration, and those that were opened again.
  struct Gone {
    std::vector<std::unique_ptr<ports::Cluster>> left = {};
    std::vector<std::unique_ptr<ports::Cluster>> replaced = {};
    bool empty() const { return left.empty() && replaced.empty(); }
    /// When the loop has let go of them. May take a while.
    void drop();
  };
  Gone take_gone(const config::Config& config);
  std::map<std::string, ports::Cluster*> clusters() const;
  /// Conflict if clusters of that kind run no commands.
  Result<std::shared_ptr<ports::PodCommandSession>> run_in_pod(
      const std::string& cluster, const ports::PodCommand& command,
      ports::PodCommandCallbacks callbacks);
  /// Of all clusters together. Any thread.
  model::RuntimeClasses runtime_classes() const;
  Result<std::string> problem_of(const std::string& cluster) const override;
  void remove(const std::string& cluster, const std::string& ns, const std::string& job,
              std::function<void(bool is_gone)> done) override;

 private:
  struct Opened {
    std::unique_ptr<ports::Cluster> cluster;
    config::ClusterPart made_of;  // kubernetes: with the namespaces of its first opening
    std::string reached_by;       // fingerprint of its access; "" for other kinds
  };
  config::ClusterPart part_now(const config::Config& config, const config::Cluster& cluster) const;
  bool is_open_as(const config::ClusterPart& part, const std::string& way) const;
  Result<std::unique_ptr<ports::Cluster>> open_here(const config::Config& config,
                                                    const config::Cluster& cluster) const;
  static Status change_here(Opened& opened, const config::Cluster& cluster);
  std::unique_ptr<ports::Cluster> open_kubernetes(const config::ClusterPart& part,
                                                  const Result<kube::Access>& access) const;

  const std::string data_dir_;
  const Self self_;
  Ports ports_;
  std::map<std::string, Opened> clusters_;
  std::vector<std::unique_ptr<ports::Cluster>> replaced_;
  mutable std::mutex asked_mutex_;
  /// What may be asked from any thread; guarded by asked_mutex_.
  struct Asked {
    ports::Cluster* cluster;
    ports::PodCommands* commands;  // null: it runs none
    ports::KeepsObjects* keeper;   // null: it keeps none
  };
  std::map<std::string, Asked> asked_;
};

/// `scheduling` of the configuration, as the planner takes it.
sched::Policy policy_of(const config::Config& config);
/// When the loop itself gives a start up: after every cluster had its `ready_within`, and could say
/// why the gang is not ready.
Duration ready_limit_of(const config::Config& config);

}  // namespace muster::app
