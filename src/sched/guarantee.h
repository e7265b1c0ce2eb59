// Which jobs are inside guaranteed amounts: one answer for whose turn it is, for who may evict and
// for who may be evicted.
//
// The guarantee of the lowest queue on the way up that has one, the guarantor, is filled with the
// jobs that use it, highest class first and in order of submission among equals; what does not fit
// any more is passed over. A job that asks comes after all others of its class: nobody is pushed
// out for an equal. Jobs count while they hold nodes, unless they leave for another's sake, and
// while their own victims leave.
//
// What is left before each of them is kept, so that a question costs a search by class, and a
// change what changes behind it. Not thread-safe; part of World.
#pragma once

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "sched/ids.h"
#include "sched/quota.h"

namespace muster::sched {

class World;

/// Somebody who may come to use a guarantee, or does already.
struct Claim {
  JobSlot job;
  QueueId queue;
  int priority = 0;  // class
};

class Guarantees {
 public:
  /// The job uses this much of its queue's guarantee from now on, if there is one.
  void join(const World& world, JobSlot job, const Charges& charges);
  /// Not any more; nothing happens if it did not.
  void leave(const World& world, JobSlot job);
  /// Queues or their guarantees have changed: everybody anew.
  void rebuild(const World& world);

  /// Inside, of those who joined.
  bool is_inside(const World& world, JobSlot job) const;
  /// Would be inside with these charges, behind all of its class. Who joined already keeps its
  /// place.
  bool would_be_inside(const World& world, const Claim& claim, const Charges& charges) const;
  /// A bound for all who have not joined, are of this class or a lower one and ask for no less than
  /// `least`: false if nobody of them would be inside.
  bool may_be_inside(const World& world, QueueId guarantor, int priority,
                     const Charges& least) const;
  /// Who would not be inside any more beside it.
  std::vector<JobSlot> pushed_by(const World& world, const Claim& claim,
                                 const Charges& charges) const;

  /// What happened, if only for a moment.
  struct News {
    std::set<QueueId> grown;      // guarantors of which more was left to some class
    std::vector<JobSlot> fallen;  // were inside and are not any more
  };
  /// Since it was last asked.
  News take_news() { return std::exchange(news_, {}); }
  void set_news(News news) { news_ = std::move(news); }
  /// Counts how often more was left to some class.
  std::uint64_t growths() const { return growths_; }
  /// Counts how often somebody who had joined came to be inside, or outside, by what others did.
  std::uint64_t turns() const { return turns_; }
  /// Counts how often somebody joined or left.
  std::uint64_t moves() const { return moves_; }

  /// The same jobs, each inside or not.
  bool same_as(const Guarantees& other) const;

 private:
  struct Member {
    JobSlot job;
    bool inside = false;
    friend bool operator==(const Member&, const Member&) = default;
  };
  /// Of one guarantor. Amounts stand in rows, one for each member and as wide as `resources`.
  struct Fill {
    std::vector<ResourceId> resources;  // that it guarantees
    std::vector<Member> members;        // in the order in which they fill it
    std::vector<std::int64_t> amounts;  // of each
    std::vector<std::int64_t> left;     // before each, and behind the last
    friend bool operator==(const Fill&, const Fill&) = default;
  };
  struct Place {
    QueueId guarantor;
    int priority = 0;  // class in which it joined
    friend bool operator==(const Place&, const Place&) = default;
  };

  const Place* place_of(JobSlot job) const;
  Fill& fill_of(const World& world, QueueId guarantor);
  std::size_t row_of(const World& world, const Fill& fill, const Claim& claim) const;
  std::size_t first_behind(const World& world, const Fill& fill, int priority, JobSlot job) const;
  void fill_from(QueueId guarantor, Fill& fill, std::size_t row);
  void note_growth(QueueId guarantor);

  std::vector<Fill> fills_;   // by guarantor
  std::vector<Place> where_;  // by job, as far as any joined; none() if it did not
  News news_;
  std::uint64_t growths_ = 0;
  std::uint64_t turns_ = 0;
  std::uint64_t moves_ = 0;
};

}  // namespace muster::sched
