// A Kubernetes cluster in memory, on virtual time: pods take a while to start, run for the true run
// time of their job, and leave some time after they are deleted. Its own tables (Record, and what
// is used of each node) are kept apart from Muster's, so that checks can compare the two.
//
// As long as seeds bind pods elsewhere, its own scheduler looks for room itself: a pod goes to its
// planned node, or to another one, and the gang is refused if one finds none.
//
// Watch events go through the faults; a resync (every so often while faults are on, and whenever
// the cluster comes back) says everything again and always arrives.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/time.h"
#include "ports/cluster.h"
#include "ports/inbox.h"
#include "sim/faults.h"
#include "sim/record.h"
#include "sim/timeline.h"
#include "sim/workload.h"

namespace muster::sim {

class SimulatedCluster : public ports::Cluster {
 public:
  struct Setting {
    const Workload& workload;
    Timeline& timeline;
    ports::Inbox& inbox;
    Record& record;
    Faults* faults = nullptr;  // none: nothing goes wrong
  };
  SimulatedCluster(std::uint32_t index, Setting setting);

  void apply(const ports::Action& action) override;
  void relist(std::span<const ports::Expected> expected) override;

  // ---- what the simulation does to it
  void node_down(const std::string& node);
  void node_up(const std::string& node);
  void set_cordoned(const std::string& node, bool cordoned);
  void set_reachable(bool reachable);
  bool reachable() const { return reachable_; }
  /// Says health, nodes and the state of everything that changed lately again.
  void resync();
  /// The process that listened is gone, and with it what was on its way there.
  void listener_died();
  std::vector<std::string> node_names() const;

 private:
  enum class Phase { Creating, Running, Terminating, Failing, Over };
  struct Group {
    Phase phase = Phase::Over;
    std::vector<model::PodPlace> pods;
    std::size_t run = 0;
    bool quiet = false;         // its start is not said
    bool is_elsewhere = false;  // than it was planned
    model::EventBody outcome;   // when Over
  };
  struct Host {
    model::NodeSpec spec;
    bool up = true;
    std::int64_t cpu = 0;  // used
    std::int64_t memory = 0;
    std::map<std::string, std::int64_t> extended;
    std::array<int, 32> devices{};
    int pods = 0;
  };

  void act(const ports::Action& action);
  void create(const ports::Action& action, Group& group);
  void remove(const ports::Attempt& attempt);
  void started(const ports::Attempt& attempt);
  void finished(const ports::Attempt& attempt);
  void checkpoint_later(const ports::Attempt& attempt);
  void over(const ports::Attempt& attempt, Group& group, End how, model::EventBody outcome);
  bool bind(const ports::Action& action, Group& group);
  bool bind_pod(const ports::Attempt& attempt, model::PodPlace& place);
  bool settle_on(Host& host, const model::Resources& asks, model::PodPlace& place) const;
  void occupy(const ports::Attempt& attempt, const Group& group, int sign);
  void occupy(const ports::Attempt& attempt, const model::PodPlace& place, int sign);
  void check_room(const ports::Attempt& attempt, const Host& host);
  void say_state(const ports::Attempt& attempt, const Group& group);
  void say(model::EventBody body);                      // a watch event: may go wrong
  void deliver(model::EventBody body, Duration delay);  // arrives, unless the listener dies
  void push(model::EventBody body);
  void flush();
  model::StartFailed start_failed(const ports::Attempt& attempt) const;

  const std::uint32_t index_;
  const std::string name_;
  Setting s_;
  bool reachable_ = true;
  std::uint64_t listener_ = 0;
  std::map<ports::Attempt, Group> groups_;
  std::set<ports::Attempt> alive_;
  std::map<std::string, Host> hosts_;
  std::vector<ports::Attempt> ended_lately_;  // since the last resync, and before it: said again
  std::vector<ports::Attempt> ended_before_;  // in two resyncs, because one may be cut off
  std::deque<model::EventBody> said_;         // the last few, for stale ones
  std::deque<model::EventBody> unsent_;
  bool flushing_ = false;
};

}  // namespace muster::sim
