// The loop's thread: steps whenever somebody put something in the inbox, asked something, or the
// time for a look has come; answers reads between steps; publishes what each step did.
//
// A store that refuses is tried again with growing pauses. Meanwhile requests are refused at once;
// those of the refused commit are answered Unavailable after a short while. When the store says
// that the books went on without this process (Conflict), the world is recovered again from the
// journal if nobody else has taken the lead; otherwise the thread ends and on_end is called.
//
// Now and then a world that is not too large is computed a second time (sched::check). One that is
// not sound is said and recovered from the journal; if that does not help nothing is decided on it
// any more, while requests and events go on being taken.
//
// Thread contract: start once, stop from any thread but the loop's; inbox, requests, reads and the
// numbers from any thread.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "control/loop.h"
#include "control/reads.h"
#include "control/requests.h"
#include "control/wake.h"
#include "ports/memory_inbox.h"

namespace muster::control {

struct RunnerOptions {
  std::size_t inbox_most = 100'000;
  std::size_t requests_most = 100'000;  // events that requests want
  std::size_t reads_most = 1'000;
  Duration reads_time = milliseconds(20);         // between two steps
  Duration refused_requests = milliseconds(500);  // how long they are kept
  Duration check_every = minutes(1);
  std::size_t check_most = 20'000;  // jobs and nodes: a check takes a few microseconds for each
  std::function<std::string(const sched::World&)> check = sched::check;
  Options loop;
  std::function<Time()> clock;
  /// After every step, on the loop's thread, with how long it took.
  std::function<void(const StepReport&, const sched::World&, double seconds)> publish;
  /// One line for the log of the server.
  std::function<void(const std::string&)> say;
  /// The world was not sound, once for each time.
  std::function<void()> on_unsound = [] {};
  /// While the world is recovered, on the thread that starts and later on the loop's.
  std::function<void(RecoveryProgress)> recovering = {};
  /// The thread cannot go on.
  std::function<void(const Error&)> on_end;
};

/// Of the loop, for metrics and health.
struct RunnerNumbers {
  std::atomic<std::uint64_t> steps{0};
  std::atomic<std::uint64_t> step_us_sum{0};
  std::atomic<std::uint64_t> step_us_last{0};
  std::atomic<std::uint64_t> events{0};
  std::atomic<std::uint64_t> decisions{0};
  std::atomic<std::uint64_t> actions{0};
  std::atomic<std::uint64_t> store_refusals{0};
  std::atomic<std::uint64_t> waiting{0};   // jobs that stand in lines
  std::atomic<std::uint64_t> unplaced{0};  // those, and who does not stand in one yet
  std::atomic<std::uint64_t> sequence{0};
};

class Runner {
 public:
  Runner(ports::Store& store, sched::Policy policy, RunnerOptions options);
  ~Runner();

  ports::Inbox& inbox() { return inbox_; }
  Requests& requests() { return requests_; }
  Reads& reads() { return reads_; }
  const RunnerNumbers& numbers() const { return numbers_; }

  /// Takes the lead, recovers the world and begins. `first`, once recovered, says which events the
  /// books still need (of the configuration); they are committed before anything else.
  Status start(std::map<std::string, ports::Cluster*> clusters,
               const std::function<std::vector<model::EventBody>(const sched::World&)>& first);
  /// Of the snapshot that start() began with; 0: there was none, or none that could be used.
  std::uint64_t snapshot() const { return snapshot_; }
  /// Ends after the step under way. What is asked later is refused.
  void stop();
  /// From the loop's next turn on. Clusters that are left out must live until `then` is called, on
  /// the loop's thread.
  void reload(sched::Policy policy, Duration ready_limit,
              std::map<std::string, ports::Cluster*> clusters, std::function<void()> then);

 private:
  class WakingInbox : public ports::MemoryInbox {
   public:
    WakingInbox(std::size_t capacity, Runner& runner) : MemoryInbox(capacity), runner_(runner) {}
    Status put(model::Event event) override {
      Status status = MemoryInbox::put(std::move(event));
      runner_.was_put();
      return status;
    }

   private:
    Runner& runner_;
  };

  /// There is something to decide about.
  void was_put();

  void run();
  /// How long to sleep then; none: the thread ends.
  std::optional<Duration> turn();
  std::optional<Duration> probe(Time now);
  std::optional<Duration> check_world(Time now);
  Duration refused(const Error& why, Time now);
  /// 0: done; more: try again after so long; none: the thread ends.
  std::optional<Duration> recover_again(Time now);
  Status try_to_recover();
  Result<Recovered> recover_world() const;
  void make_loop(Recovered recovered);
  void take_reload();
  void time_decisions(StepReport& report);
  void note(const StepReport& report, std::uint64_t us);

  ports::Store& store_;
  sched::Policy policy_;
  RunnerOptions options_;
  Wake wake_;
  std::atomic<std::int64_t> first_put_ns_{0};  // since the last step began; 0: nothing was put
  std::int64_t oldest_ns_ = 0;                 // of what this step takes
  WakingInbox inbox_;
  Requests requests_;
  Reads reads_;
  RunnerNumbers numbers_;
  std::map<std::string, ports::Cluster*> clusters_;
  std::uint64_t epoch_ = 0;
  std::uint64_t snapshot_ = 0;
  std::unique_ptr<Loop> loop_;
  std::optional<Time> refused_since_;
  Time next_check_;
  std::atomic<bool> stopping_{false};
  bool is_outdated_ = false;  // the journal knows more than the world
  struct Reload {
    sched::Policy policy;
    Duration ready_limit;
    std::map<std::string, ports::Cluster*> clusters;
    std::function<void()> then;
  };
  std::mutex reload_mutex_;
  std::vector<Reload> reloads_;
  std::thread thread_;
};

}  // namespace muster::control
