// A cluster as the control loop sees it: it takes actions and what comes of them returns as events
// through the inbox (Started, Ailing, Finished, StartFailed, Gone, PodsBound; NodeSeen, NodeGone;
// ClusterHealth).
// There are no replies: an action without an outcome is handed over again.
//
// What a create runs is not in the action: a kind of cluster asks ports::Payloads for it.
//
// Contract, held by cluster_contract.h for every kind of cluster:
// - Actions are keyed by (job, attempt, verb) and idempotent. A create of an attempt that exists
//   makes nothing new and says again how it stands; a delete of one that does not exist says Gone.
// - A delete is final: a create of the same attempt that comes after it, or is on its way then,
//   makes nothing.
// - Gone, StartFailed and Finished are said only when no pod of the attempt runs any more, and are
//   final: the attempt never comes back, whatever create is still on its way.
// - PodsBound is said only when pods are not where the create, or the relist, had them; once for
// all
//   of them if they are bound together.
// - While the cluster cannot be reached calls do nothing, and ClusterHealth says so.
//
// Thread contract: apply, expect and relist are called from the loop's thread; problem, trouble,
// identity, about and runtime_classes from any. None of these may block.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "model/event.h"
#include "model/runtime_class.h"

namespace muster::ports {

struct Attempt {
  std::string job;
  std::uint32_t number = 0;
  friend auto operator<=>(const Attempt&, const Attempt&) = default;
};

enum class Verb { Create, Delete };

struct Action {
  Verb verb = Verb::Create;
  Attempt attempt;
  std::string cluster;
  std::vector<model::PodPlace> pods;  // of a create: the whole gang
  std::uint32_t requeues = 0;  // of a create: the newest that a StartFailed of the job has said
  /// Of a create: what the books count for a pod of each set.
  std::vector<model::Resources> counted = {};
};

/// What people want to know of a cluster; "" what it does not say.
struct ClusterAbout {
  std::string version = {};  // "v1.34.4"
  std::string user = {};     // as whom we are known there
  friend bool operator==(const ClusterAbout&, const ClusterAbout&) = default;
};

/// What the loop believes about an attempt when it asks for a relist.
struct Expected {
  Attempt attempt;
  bool created = false;  // it was there once; false: its create may not have arrived yet
  /// It was left behind when the cluster was lost and another attempt took its place: removed,
  /// before anything new is made.
  bool is_orphan = false;
  std::vector<model::PodPlace> pods = {};      // where it is in the books; none of an orphan
  std::vector<model::Resources> counted = {};  // and what they count, as of a create
  std::uint32_t requeues = 0;                  // of its job before it, as in Action
  model::Demise demise = {};                   // the cluster was removing it, and had said so
};

class Cluster {
 public:
  virtual ~Cluster() = default;
  virtual void apply(const Action& action) = 0;
  /// This is decided, but not durable yet: its create probably follows. Whatever is made ready for
  /// it must not be seen by anybody, nor run, before that create.
  virtual void expect(const model::Placed&) {}
  /// Says everything again: health, nodes, and how each of `expected` stands; Gone if it was
  /// created and there is no trace of it. Removes orphans, and attempts of ours that are neither
  /// expected nor handed over after this call. Asked for at start, and when the cluster comes back.
  virtual void relist(std::span<const Expected> expected) = 0;

  /// Why it cannot be reached, for people: "connection refused". "" while it can.
  virtual std::string problem() const { return ""; }
  /// What keeps it from its work although it is reached, for people; "": nothing does.
  virtual std::string trouble() const { return ""; }
  /// What tells it from every other cluster, whatever both are called here; "" while that is not
  /// known, or for kinds that have no such thing.
  virtual std::string identity() const { return ""; }
  virtual ClusterAbout about() const { return {}; }
  /// Those that are known; most kinds of clusters have none.
  virtual model::RuntimeClasses runtime_classes() const { return {}; }
  /// It is not ours any more: removes what attempts shared. May wait; nothing else is asked of it
  /// after this.
  virtual void leave() {}
};

}  // namespace muster::ports
