// Quota trees: what each queue uses, is promised and may use at most, and its share of the fleet.
//
// The main tree orders jobs; further trees only say yes or no. Use is charged on a queue and on all
// its ancestors up to the tree's hidden root. `held` is what a queue is promised, does not lend,
// does not use yet and may still use by its maximum: others must leave it free in the fleet and
// below the limits of the queues above.
// Shares are fixed point (2^-32) of the fleet's totals; `gpu` counts there by weight, so the types
// of which it is made do not count again. Remembered use is a half-life average of use over time.
// Not thread-safe; part of World.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/time.h"
#include "model/queue.h"
#include "sched/ids.h"
#include "sched/policy.h"
#include "sched/verdict.h"

namespace muster::sched {

struct Charge {
  ResourceId resource;
  std::int64_t amount = 0;
  friend bool operator==(const Charge&, const Charge&) = default;
};
using Charges = std::vector<Charge>;

constexpr std::int64_t unset = -1;
struct LimitRec {
  std::int64_t guaranteed = unset;
  std::int64_t maximum = unset;
  std::int64_t borrow = unset;
  std::int64_t lend = unset;
  friend bool operator==(const LimitRec&, const LimitRec&) = default;
};

struct QueueNode {
  // What every plan reads of every queue stands together.
  std::uint64_t charged = 0;  // counts changes of anything its share depends on
  QueueId parent;
  std::uint32_t name_rank = 0;
  QueueId guarantor;        // the lowest on the way up with a guarantee
  int cap = 1'000'000'000;  // of priorities, the lowest on the way up
  int priority_cap = 1'000'000'000;
  std::uint32_t weight = 1;
  model::Strategy strategy = model::Strategy::Backfill;
  bool alive = false;  // false: named by a job but not configured, or removed
  bool has_guarantee = false;
  bool limited = false;  // by a limit of its own or of a queue above
  bool listed = false;   // among those charged lately
  std::string name;
  std::string tree;
  std::vector<QueueId> children;
  std::vector<LimitRec> limits;              // by resource
  std::vector<std::int64_t> use;             // by resource
  std::vector<std::int64_t> held;            // by resource, see above
  std::vector<std::int64_t> held_below;      // sum of held over children
  std::vector<std::int64_t> promised;        // guaranteed to it or to its children, what is more
  std::vector<std::int64_t> promised_below;  // sum of promised over children
  std::vector<std::int64_t> for_now;         // part of use: of trials and of who waits for victims
  std::vector<std::int64_t> remembered;      // half-life average of use, without what is for now
  Time remembered_at;
};

/// Totals of the fleet by resource id, the root's capacity.
using Capacity = std::vector<std::int64_t>;

class QuotaTree {
 public:
  QuotaTree();
  ResourceId resource(const std::string& name);
  const std::string& resource_name(ResourceId id) const { return resources_[id.index()]; }
  std::size_t resource_count() const { return resources_.size(); }

  /// The time and the half-life are for a queue that moves: what it used goes with it.
  QueueId set(const model::QueueSpec& spec, Time at = Time{0}, Duration half_life = Duration{0});
  void remove(const std::string& name);
  QueueId find(const std::string& name) const;
  QueueId find_or_make(const std::string& name);  // not alive until set
  const QueueNode& operator[](QueueId id) const { return nodes_[id.index()]; }
  std::size_t size() const { return nodes_.size(); }
  static constexpr QueueId root() { return QueueId{0}; }
  /// The lowest priority cap on the way up.
  int cap(QueueId queue) const { return nodes_[queue.index()].cap; }
  /// Only the main tree orders jobs: one whose queue is of a further tree never starts.
  bool is_in_main_tree(QueueId queue) const { return tree_of(queue) == root(); }
  /// Empty for the main tree.
  const std::string& tree_name(QueueId queue) const { return nodes_[tree_of(queue).index()].tree; }
  /// Of what a job charges beside its queue the first of each further tree stays: an amount counts
  /// once in a tree.
  void keep_one_per_tree(std::vector<QueueId>& extra_queues) const;
  /// It is that queue or stands below it; false if that is none().
  bool is_below(QueueId queue, QueueId above) const;
  /// Some queue has a guaranteed amount.
  bool any_guarantee() const { return guarantees_ > 0; }
  const std::vector<QueueId>& by_name() const { return by_name_; }

  /// Adds (sign +1) or takes off (-1) what a job uses, on the queue and its ancestors. half_life 0:
  /// there is no memory.
  void charge(QueueId queue, const Charges& charges, int sign, Time at, Duration half_life);
  /// The same for what is taken back as it came: a trial, quota kept for who waits for victims. It
  /// is no use that is remembered, neither now nor later.
  void charge_for_now(QueueId queue, const Charges& charges, int sign);

  /// Queues charged since it was last asked: their shares and those above have changed.
  std::vector<QueueId> take_charged();

  /// Nothing if the queue may use this much more. `credit`: what is charged for the asker already.
  std::optional<OverQuota> over(QueueId queue, const Charges& charges, const Capacity& capacity,
                                const Rules& rules, const Charges& credit = {}) const;
  /// With nothing else in use no limit is below this much.
  bool allows_alone(QueueId queue, const Charges& charges) const;
  /// The limit that would have no room left for `kept`, charged at `first`, if `charges` came
  /// before it. Only limits of queues above both count.
  std::optional<OverQuota> over_beside(QueueId queue, const Charges& charges, QueueId first,
                                       const Charges& kept) const;
  /// The lowest queue on the way up with a guarantee; none() if there is no such queue.
  QueueId guarantor(QueueId queue) const { return nodes_[queue.index()].guarantor; }
  /// The next on the way up; none() if there is no other.
  QueueId guarantor_above(QueueId guarantor) const {
    const QueueId parent = nodes_[guarantor.index()].parent;
    return parent.is_none() ? parent : this->guarantor(parent);
  }
  int guarantors_above(QueueId guarantor) const;

  /// Weighted dominant share in units of 2^-32; weight 0 gives the largest value there is.
  std::uint64_t share(QueueId queue, const Capacity& capacity, Time now,
                      const Policy& policy) const;

 private:
  friend class BookWriter;
  friend class BookReader;

  QueueNode& node(QueueId id) { return nodes_[id.index()]; }
  void grow(QueueNode& node);
  void update_held(QueueId queue, std::size_t resource);
  void update_promised(QueueId queue, std::size_t resource);
  void inherit(QueueId queue);
  void rank_names();
  QueueId tree_root(const std::string& tree);
  QueueId tree_of(QueueId queue) const;  // its hidden root
  void adopt(QueueId child, QueueId parent, Time at = Time{0}, Duration half_life = Duration{0});
  void remember(QueueNode& node, Time at, Duration half_life);

  std::vector<std::string> resources_;
  std::vector<ResourceId> in_shares_;
  std::vector<QueueNode> nodes_;
  std::unordered_map<std::string, QueueId> ids_;              // lookup-only
  std::unordered_map<std::string, QueueId> tree_roots_;       // lookup-only
  std::unordered_map<std::string, ResourceId> resource_ids_;  // lookup-only
  std::vector<QueueId> by_name_;
  std::vector<QueueId> charged_;  // each once
  int guarantees_ = 0;            // queues with one
};

constexpr ResourceId resource_cpu{0};
constexpr ResourceId resource_memory{1};
constexpr ResourceId resource_gpu{2};  // weighted

}  // namespace muster::sched
