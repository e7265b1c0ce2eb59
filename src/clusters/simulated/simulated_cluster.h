// A cluster to play with: its nodes are made up, its pods run by the real clock and do nothing. How
// long: MUSTER_SIM_SECONDS in the job's environment, else the N of a command `sleep N`, else the
// configured time. MUSTER_SIM_EXIT_CODE makes them fail.
//
// What runs is kept in a file, so that a restart of the server changes nothing; without one,
// everything is gone after a restart and the jobs queue again.
//
// Thread contract: apply, relist, change and set_reachable only queue; a thread of its own does the
// rest. Inbox and Payloads must outlive it. (src/sim has a cluster of its own, on virtual time and
// with faults, for tests of the engine.)
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "clusters/files.h"
#include "clusters/outgoing.h"
#include "clusters/simulated/simulated_pods.h"
#include "clusters/wishes.h"
#include "model/node.h"
#include "ports/cluster.h"
#include "ports/inbox.h"
#include "ports/payloads.h"

namespace muster::clusters {

struct SimulatedOptions {
  std::string name;
  std::vector<model::NodeSpec> nodes;
  std::string file;                // what runs; empty: not kept
  Duration run_time = minutes(1);  // of a job that does not say
  SimulatedPods::Timing timing;
  Duration start_retry_pause = seconds(10);
  Duration keep_finished = hours(1);
  std::size_t queue_most = 65536;
};

/// How long the pods of this command are said to run, and how they end.
SimulatedPods::Run simulated_run(const model::Command& command, Duration otherwise);

class SimulatedCluster : public ports::Cluster {
 public:
  struct Ports {
    ports::Inbox& inbox;
    ports::Payloads& payloads;
  };
  static Result<std::unique_ptr<SimulatedCluster>> open(SimulatedOptions options, Ports ports);
  ~SimulatedCluster() override;

  void apply(const ports::Action& action) override { wishes_.put(action); }
  void relist(std::span<const ports::Expected> expected) override { wishes_.put(expected); }
  /// Other nodes, and another run time of jobs that do not say one, from now on. What runs goes on,
  /// also on nodes that are no more.
  void change(std::vector<model::NodeSpec> nodes, Duration run_time);
  /// Pretends that the network to it is cut, or whole again.
  void set_reachable(bool reachable);
  bool wait_settled(Duration at_most) { return wishes_.wait_done(at_most); }

 private:
  SimulatedCluster(SimulatedOptions options, Ports ports);
  Status load();
  void run();
  void take_change();
  void do_wishes(Time now);
  void act(const ports::Action& action, Time now);
  void say_everything(const std::vector<ports::Expected>& expected, Time now);
  void say(model::EventBody body);
  void say_how(const ports::Attempt& attempt, Time now);
  void check_health();
  void keep(const ports::Attempt& attempt);
  void rewrite();

  const SimulatedOptions options_;  // nodes and run_time: those of the beginning
  Ports ports_;
  std::atomic<bool> is_reachable_{true};
  Wishes wishes_;
  struct Change {
    std::vector<model::NodeSpec> nodes;
    Duration run_time;
  };
  std::mutex change_mutex_;
  std::optional<Change> change_;  // the newest that the thread has not taken

  // Of the thread alone.
  std::vector<model::NodeSpec> nodes_;
  std::set<std::string> node_names_;
  Duration run_time_;
  Outgoing outgoing_;
  SimulatedPods pods_;
  bool was_reachable_ = true;
  Fd file_;
  std::size_t lines_ = 0;  // in the file
  std::thread thread_;
};

}  // namespace muster::clusters
