// The cluster made of this machine: every pod is a process here. Each attempt has a directory
// (attempt_files.h) and a supervisor (supervisor.h) that outlives the server; a new instance on the
// same directory finds what runs, learns how the rest ended, and never runs an attempt twice.
//
// What is whose fault: a command that cannot run (no such program, wrong placement) is Finished
// without success, exit code 126 or 127 and the reason; what a full disk, a lost directory or a
// restart of the machine does is StartFailed, and the gang queues again.
//
// Thread contract: apply, expect and relist only queue, and one thread of its own does the rest: it
// asks Payloads, writes files, talks to supervisors, hands output to the LogSink and outcomes to
// the inbox. All of these must outlive the cluster. Destroying it leaves the pods running.
#pragma once

#include <map>
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
#include "clusters/local/attempt_files.h"
#include "clusters/local/launcher.h"
#include "clusters/local/pod_command.h"
#include "clusters/outgoing.h"
#include "clusters/wishes.h"
#include "model/command.h"
#include "model/node.h"
#include "ports/cluster.h"
#include "ports/inbox.h"
#include "ports/log_sink.h"
#include "ports/payloads.h"
#include "ports/pod_commands.h"

namespace muster::clusters {

struct LocalOptions {
  std::string name;                                 // of the cluster
  std::string directory;                            // its own; made if it is not there
  model::NodeSpec node;                             // this_machine()
  Duration stop_grace = model::stop_grace_default;  // of jobs that do not say it
  /// A command that calls run_supervisors(DIRECTORY); the directory is added to it.
  std::vector<std::string> supervisor = {"/proc/self/exe", "pod-supervisor"};
  bool use_cgroups = true;  // where they are writable
  Duration start_retry_pause = seconds(10);
  Duration claim_limit = seconds(30);    // a supervisor that is not there by then will not come
  Duration keep_finished = hours(24);    // files of an attempt after anybody asked for it
  std::int64_t output_most = 1LL << 30;  // bytes kept of one pod's output
  std::int64_t pod_descriptors = 0;      // soft limit of open files in pods; 0: the server's
  std::size_t queue_most = 65536;        // actions; more are dropped and handed over again later
};

class LocalCluster : public ports::Cluster, public ports::PodCommands {
 public:
  struct Ports {
    ports::Inbox& inbox;
    ports::Payloads& payloads;
    ports::LogSink& logs;
  };
  /// Fault::Conflict when another instance, in this process or another, has the directory.
  static Result<std::unique_ptr<LocalCluster>> open(LocalOptions options, Ports ports);
  ~LocalCluster() override;

  void apply(const ports::Action& action) override { wishes_.put(action); }
  void expect(const model::Placed& placed) override;
  void relist(std::span<const ports::Expected> expected) override { wishes_.put(expected); }

  Result<std::shared_ptr<ports::PodCommandSession>> run(
      const ports::PodCommand& command, ports::PodCommandCallbacks callbacks) override;

  /// Another size of this machine, and another grace of jobs that do not say one and start later.
  /// What runs goes on. From any thread.
  void change(model::NodeSpec node, Duration stop_grace);
  /// Waits until everything asked for is done: started or refused, stopped, and said. False if that
  /// takes longer than `at_most`.
  bool wait_settled(Duration at_most) { return wishes_.wait_done(at_most); }

 private:
  struct Tail {
    std::uint64_t position = 0;
    bool asked = false;  // the sink, for the position
    bool broken = false;
    bool finished = false;  // the sink knows that nothing more comes
  };
  struct Entry {
    ports::Attempt attempt;
    std::string name;  // of the directory
    AttemptSpec spec;
    AttemptState state;                  // of the file, or of our own when that cannot be written
    bool is_known = false;               // state holds
    std::optional<AttemptState> ending;  // decided by us, not written yet
    bool wanted = false;  // created by this instance: launched until somebody claims it
    bool stopping = false;
    Time made;
    Time launched;
    Time mentioned;
    std::vector<Tail> tails;  // by rank
    bool is_over() const { return is_known && state.phase == Phase::Over; }
    bool is_running() const { return is_known && state.phase == Phase::Running; }
  };

  LocalCluster(LocalOptions options, Ports ports);
  Status prepare();
  std::string dir_of(const Entry& entry) const { return attempts_dir_ + "/" + entry.name; }

  // ---- the thread
  void work();
  void take_change();
  void do_wishes();
  void read_notices();
  void tick(Time now);
  bool is_done() const;
  void load();

  // ---- what the loop asks
  void prepare_expected();
  void make_blank(Time now);
  Result<AttemptSpec> spec_of(const ports::Action& action) const;
  Result<AttemptSpec> take_prepared(const ports::Action& action);
  Status make_dir(const AttemptSpec& spec, bool is_prepared);
  void create(const ports::Action& action);
  void remove(const ports::Attempt& attempt);
  void say_everything(const std::vector<ports::Expected>& expected);
  bool check_health();
  Entry& add(const ports::Attempt& attempt);
  void refuse(const ports::Attempt& attempt, Outcome outcome, int exit_code, std::string reason);

  // ---- what attempts do
  void launch(Entry& entry);
  void stop(Entry& entry);
  void look(Entry& entry);
  void check(Entry& entry, Time now);
  void check_unclaimed(Entry& entry, Time now);
  void check_supervisor(Entry& entry);
  void end(Entry& entry, Outcome outcome, int exit_code, std::string reason);
  void write_end(Entry& entry);
  void over(Entry& entry);
  void say_how(Entry& entry);
  bool tail(Entry& entry);
  bool tail_pod(Entry& entry, std::size_t rank);
  void release_prompts(const Entry& entry);
  void forget_old(Time now);

  const LocalOptions options_;  // node and stop_grace: those of the beginning
  Ports ports_;
  const std::string attempts_dir_;
  const std::string boot_;
  CgroupDirs cgroup_;
  Fd lock_, notices_;
  std::uint64_t directory_id_ = 0;
  bool is_other_boot_ = false;  // the machine was restarted since the last relist here
  Launcher launcher_;
  LocalCommands commands_;

  Wishes wishes_;
  std::mutex expected_mutex_;
  std::optional<ports::Action> expected_;
  struct Change {
    model::NodeSpec node;
    Duration stop_grace;
  };
  std::mutex change_mutex_;
  std::optional<Change> change_;  // the newest that the thread has not taken

  // Of the thread alone.
  model::NodeSpec node_;
  Duration stop_grace_;
  Outgoing outgoing_;
  std::map<std::string, Entry> entries_;  // by name
  std::set<std::string> alive_;           // names of those not over
  std::set<std::string> tailing_;         // over, but the sink has not taken all of their output
  std::string half_notice_;
  bool has_blank_ = false;  // a directory is made ahead for the next attempt
  Time blank_due_;          // when the next one is to be made
  struct Prepared {
    ports::Action action;
    AttemptSpec spec;
  };
  std::optional<Prepared> prepared_;  // what the blank directory is filled for
  model::Health health_ = model::Health::Ready;
  Time next_tick_, next_check_, next_forget_;
  std::thread thread_;
};

}  // namespace muster::clusters
