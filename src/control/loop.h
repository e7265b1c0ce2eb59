// The one cycle of Muster. step() takes a batch from the inbox, makes it durable, applies it,
// plans, makes the decisions durable, applies them, and tells the clusters what is due. The server,
// the tests and the simulator all run this same step; there is no second copy of it.
//
// Invariants: nothing is applied before it is committed (sight is never committed); time in the
// books never runs backwards, whatever the clock does; everything but World's books can be thrown
// away between any two stages and comes back by recover() and relist.
//
// Thread contract: one thread calls step() and everything else here. Other threads reach the loop
// only through the inbox.
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

struct Options {
  std::size_t batch_most = 4096;
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
  std::uint64_t sequence = 0;                 // of the journal, after this step
  std::uint32_t tried = 0;                    // lines the planner looked at
  Time now;                                   // time in the books
  Time next_look = Time::never();  // nothing to do before, unless the inbox has something
  bool more = false;               // the inbox was not emptied
  std::optional<Error> refused;    // by the store: nothing is lost, step again at next_look
  bool died = false;               // Options::goes_on said so
};

struct Recovered {
  sched::World world;
  Time last;  // of the newest event
};

/// The world of the journal: books only; sight comes with the relist that Loop asks for at start.
Result<Recovered> recover(const ports::Store& store, const sched::Policy& policy);

/// Sight is coalesced from watches and relisted, never journaled.
bool is_sight(const model::EventBody& body);

class Loop {
 public:
  struct Ports {
    ports::Inbox& inbox;
    ports::Store& store;
    std::map<std::string, ports::Cluster*> clusters;  // by name
  };

  /// Takes over a recovered (or fresh) world and asks every cluster to say what is there.
  Loop(Ports ports, Recovered from, sched::Policy policy, Options options);

  StepReport step(Time now);

  const sched::World& world() const { return world_; }
  const sched::Agenda& agenda() const { return agenda_; }
  const Outbox& outbox() const { return outbox_; }
  const sched::Policy& policy() const { return policy_; }
  /// Attempts that the world takes for alive in this cluster, orphans included.
  std::vector<ports::Expected> expected(const std::string& cluster) const;

 private:
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
  std::map<std::string, model::Health> reported_;  // by the clusters themselves
  std::vector<model::Event> pending_;  // taken, not committed yet because the store refused
};

}  // namespace muster::control
