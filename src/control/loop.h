// The one cycle of Muster. step() takes a batch from the inbox, makes it durable, applies it,
// plans, makes the decisions durable, applies them, and tells the clusters what is due. The server,
// the tests and the simulator all run this same step; there is no second copy of it.
//
// Invariants: nothing is applied before it is committed (sight is never committed); time in the
// books never runs backwards, whatever the clock does; everything but World's books can be thrown
// away between any two stages and comes back by recover() and relist.
//
// Requests of people (control/requests.h) are asked at the beginning of a step and share the
// transaction of its batch. While the store refuses, batch and requests are kept and tried again.
//
// Thread contract: one thread calls step() and everything else here. Other threads reach the loop
// only through the inbox, the requests and the reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "control/outbox.h"
#include "control/reads.h"
#include "control/recovery.h"
#include "control/requests.h"
#include "ports/cluster.h"
#include "ports/inbox.h"
#include "ports/store.h"
#include "sched/agenda.h"
#include "sched/plan.h"
#include "sched/policy.h"
#include "sched/world.h"

namespace muster::control {

/// The places between which a process may die.
enum class Stage { Taken, Committed, Applied, Planned, Decided, Dispatched };

/// How long the engine itself remembers; the tables of the store keep more, for longer.
struct Memory {
  Duration finished{0};                // jobs, after their end; 0: for ever
  std::size_t finished_most = 10'000;  // of them, once each was there for a second
  Duration names = hours(24 * 30);     // run times of names that no job has any more
  std::size_t names_most = 100'000;
  std::size_t at_once = 1'000;  // of each in a step, but for those that ended together
};

struct Options {
  std::size_t batch_most = 4096;
  Memory memory;
  Retry retry;
  Duration ready_limit = minutes(10);
  /// For tests: false ends the step here, as a crash would. The loop must not be used again then.
  std::function<bool(Stage)> goes_on;
};

/// What one step did, for whoever publishes it.
struct StepReport {
  std::vector<model::Event> events;  // taken and applied, in order, with their time in the books
  std::vector<model::Decision> decisions;
  std::vector<sched::PlacementScore> scores;  // one per Placed
  std::vector<ports::Action> actions;         // handed to the clusters
  std::uint64_t events_sequence = 0;          // of the journal, after the events of the books
  std::uint64_t sequence = 0;                 // of the journal, after this step
  std::uint32_t tried = 0;                    // lines the planner looked at
  Time now;                                   // time in the books
  Time next_look = Time::never();  // nothing to do before, unless the inbox has something
  bool more = false;               // the inbox was not emptied
  std::optional<Error> refused;    // by the store: nothing is lost, step again at next_look
  bool died = false;               // Options::goes_on said so
  /// From when the oldest of what it took was put to when its decisions were dispatched; none
  /// without decisions, or when the clock alone made them. Measured by the Runner.
  std::optional<double> decision_seconds;
};

/// Sight is coalesced from watches and relisted, never journaled.
bool is_sight(const model::EventBody& body);

class Loop {
 public:
  struct Ports {
    ports::Inbox& inbox;
    ports::Store& store;
    std::map<std::string, ports::Cluster*> clusters;  // by name
    Requests* requests = nullptr;                     // none: nobody asks
  };

  /// Takes over a recovered (or fresh) world and asks every cluster to say what is there.
  Loop(Ports ports, Recovered from, sched::Policy policy, Options options);

  StepReport step(Time now);

  /// Answers those whose commit the store refuses, and forgets them.
  void give_up_requests(const Error& why);
  bool has_refused_requests() const { return !asked_.empty(); }
  Result<std::string> read(const ReadAsk& ask) { return ask(world_, agenda_, policy_, now_); }
  /// A new one is asked what is there.
  void set_cluster(const std::string& name, ports::Cluster* cluster);
  void remove_cluster(const std::string& name) { ports_.clusters.erase(name); }
  void set_policy(sched::Policy policy);
  void set_ready_limit(Duration limit) { outbox_.set_ready_limit(limit); }
  /// From now on nothing is decided and nothing dispatched: the world is not to be trusted.
  void halt() { is_halted_ = true; }
  bool is_halted() const { return is_halted_; }

  const sched::World& world() const { return world_; }
  const sched::Agenda& agenda() const { return agenda_; }
  const Outbox& outbox() const { return outbox_; }
  const sched::Policy& policy() const { return policy_; }
  /// Attempts that the world takes for alive in this cluster, orphans included.
  std::vector<ports::Expected> expected(const std::string& cluster) const;

 private:
  /// A request whose events are in pending_, or in the journal and about to be answered.
  struct Waiting {
    Asked asked;                       // without its events
    std::vector<model::Event> events;  // with the time of the first try: a try again is the same
    std::function<void(Result<Answer>)> done;
  };
  void expect(const model::Placed& placed) const;
  void take_batch();
  void explain_end(model::Event& event) const;
  void forget_some();
  void ask(Request request);
  Result<std::uint64_t> commit_batch();
  void answer_requests(std::uint64_t sequence);
  void apply_one(const model::Event& event);
  /// What the cluster said last, under what people allow it.
  void settle_health(const std::string& cluster);
  void relist(const std::string& cluster);
  bool goes_on(Stage stage, StepReport& report) const;
  StepReport refuse(StepReport report, Error why) const;

  Ports ports_;
  sched::World world_;
  sched::Agenda agenda_;
  sched::Policy policy_;
  Options options_;
  Outbox outbox_;
  Time now_;
  bool is_halted_ = false;
  std::uint64_t next_submit_ = 1;                  // sequence of the next job
  model::FinishedForgotten forgotten_;             // so far
  std::map<std::string, model::Health> reported_;  // by the clusters themselves
  std::vector<model::Event> pending_;  // taken, not committed yet because the store refused
  std::vector<Waiting> asked_;         // the same of requests; their events come after pending_
};

}  // namespace muster::control
