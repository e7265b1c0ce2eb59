// A cluster where everything happens at once and nothing ends by itself: for tests of the loop.
#pragma once

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "ports/cluster.h"
#include "ports/inbox.h"

namespace muster::ports {

class MemoryCluster : public Cluster {
 public:
  MemoryCluster(std::string name, std::vector<model::NodeSpec> nodes, Inbox& inbox)
      : name_(std::move(name)), nodes_(std::move(nodes)), inbox_(inbox) {}

  void apply(const Action& action) override {
    actions_.push_back(action);
    if (!reachable_) return;
    if (action.verb == Verb::Delete) {
      remove(action.attempt);
    } else if (mute_creates_) {
      return;
    } else if (removed_.contains(action.attempt)) {
      say(model::Gone{action.attempt.job, action.attempt.number});
    } else {
      if (running_.insert(action.attempt).second) ++creations_[action.attempt];
      say(model::Started{action.attempt.job, action.attempt.number});
    }
  }

  void relist(std::span<const Expected> expected) override {
    const model::Health health = reachable_ ? model::Health::Ready : model::Health::Unreachable;
    say(model::ClusterHealth{name_, health});
    if (!reachable_) return;
    for (const model::NodeSpec& node : nodes_) say(model::NodeSeen{name_, node});
    std::set<Attempt> wanted;
    for (const auto& [attempt, created, is_orphan, pods, counted, requeues, demise] : expected) {
      wanted.insert(attempt);
      if (is_orphan) {
        remove(attempt);
      } else if (running_.contains(attempt)) {
        say(model::Started{attempt.job, attempt.number});
      } else if (created || removed_.contains(attempt)) {
        remove(attempt);
      }
    }
    const std::set<Attempt> running = running_;
    for (const Attempt& attempt : running) {
      if (!wanted.contains(attempt)) remove(attempt);
    }
  }

  /// The attempt ends by itself.
  void finish(const Attempt& attempt, bool success) {
    if (running_.erase(attempt) == 0) return;
    removed_.insert(attempt);
    say(model::Finished{attempt.job, attempt.number, success});
  }
  void set_reachable(bool reachable) { reachable_ = reachable; }
  /// Creates are lost on the way.
  void mute_creates(bool mute) { mute_creates_ = mute; }
  int creations(const Attempt& attempt) const {
    const auto it = creations_.find(attempt);
    return it == creations_.end() ? 0 : it->second;
  }
  const std::set<Attempt>& running() const { return running_; }
  const std::vector<Action>& actions() const { return actions_; }

 private:
  void remove(const Attempt& attempt) {
    running_.erase(attempt);
    removed_.insert(attempt);
    say(model::Gone{attempt.job, attempt.number});
  }
  void say(model::EventBody body) {
    const Status status = inbox_.put({Time{0}, std::move(body)});
    MUSTER_CHECK(status.ok(), "the inbox of a MemoryCluster must be large enough");
  }

  std::string name_;
  std::vector<model::NodeSpec> nodes_;
  Inbox& inbox_;
  bool reachable_ = true;
  bool mute_creates_ = false;
  std::set<Attempt> running_;
  std::set<Attempt> removed_;
  std::map<Attempt, int> creations_;
  std::vector<Action> actions_;
};

}  // namespace muster::ports
