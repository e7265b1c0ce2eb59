// Which jobs are inside guaranteed amounts: one answer for whose turn it is, for who may evict and
// for who may be evicted.
//
// A queue with guaranteed amounts, a guarantor, has them filled with the jobs below it that use
// them, highest class first and in order of submission among equals; what does not fit any more is
// passed over. A job that asks comes after all others of its class: nobody is pushed out for an
// equal. Jobs count while they hold nodes, unless they leave for another's sake, and while their
// own victims leave.
//
// A job may have several guarantors on its way up, its team and the department. It is inside if it
// is inside of one of them. Of one class those come first above who are inside further down, and
// they count there whether or not there is enough: what the team has is part of what its department
// has.
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
  /// The job uses this much of the guarantees of its queue from now on, if there are any.
  void join(const World& world, JobSlot job, const Charges& charges);
  /// Not any more; nothing happens if it did not.
  void leave(const World& world, JobSlot job);
  /// Queues or their guarantees have changed: everybody anew.
  void rebuild(const World& world);

  /// Inside, of those who joined.
  bool is_inside(const World& world, JobSlot job) const;
  /// Would be inside with these charges, behind all of its class. Who joined already keeps its
  /// place.
  bool would_be_inside(const World& world, const Claim& claim, const Charges& charges) const {
    return !inside_of(world, claim, charges).is_none();
  }
  /// The lowest guarantor that it would be inside of; none() if there is no such.
  QueueId inside_of(const World& world, const Claim& claim, const Charges& charges) const;
  /// A bound for all whose lowest guarantor this is, who have not joined, are of this class or a
  /// lower one and ask for no less than `least`: false if nobody of them would be inside.
  bool may_be_inside(const World& world, QueueId guarantor, int priority,
                     const Charges& least) const;
  /// Who would not be inside any more beside it.
  std::vector<JobSlot> pushed_by(const World& world, const Claim& claim,
                                 const Charges& charges) const;

  /// What happened, if only for a moment.
  struct News {
    std::set<QueueId> grown;      // guarantors of which more was left to some class
    std::vector<JobSlot> fallen;  // were inside and are not any more
    std::set<QueueId> pressed;    // guarantors with others below of which less is left
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
    int priority = 0;     // class in which it joined
    bool below = false;   // inside of a guarantor further down
    bool inside = false;  // of this one, if not further down
    bool anywhere() const { return below || inside; }
    friend bool operator==(const Member&, const Member&) = default;
  };
  /// Of one guarantor. Amounts stand in rows, one for each member and as wide as `resources`.
  struct Fill {
    std::vector<ResourceId> resources;  // that it guarantees
    std::vector<QueueId> nested;        // guarantors further down
    std::vector<Member> members;        // in the order in which they fill it
    std::vector<std::int64_t> amounts;  // of each
    std::vector<std::int64_t> left;     // before each, and behind the last
    friend bool operator==(const Fill&, const Fill&) = default;
  };
  struct Place {
    QueueId guarantor;  // the lowest
    int priority = 0;   // class in which it joined
    friend bool operator==(const Place&, const Place&) = default;
  };
  /// Where somebody stands in a fill; behind all of its class if the job is none().
  struct Rank {
    bool below = false;
    int priority = 0;
    JobSlot job;
  };
  /// Somebody whose place may have changed, and whether it was inside here or further down before.
  struct Touched {
    JobSlot job;
    int priority = 0;
    bool was = false;
  };
  using Touch = std::vector<Touched>;

  const Place* place_of(JobSlot job) const;
  const Fill* used_fill(QueueId guarantor) const;
  Fill& fill_of(const World& world, QueueId guarantor);
  void add(const World& world, const Claim& claim, const Charges& charges);
  std::vector<JobSlot> pushed_out_of(const World& world, QueueId guarantor, const Claim& claim,
                                     const Charges& charges) const;
  static std::size_t first_behind(const World& world, const Fill& fill, const Rank& rank);
  static std::size_t row_of(const World& world, const Fill& fill, JobSlot job, int priority);
  static std::size_t insert(const World& world, Fill& fill, const Rank& rank,
                            const std::vector<std::int64_t>& amounts);
  bool erase(Fill& fill, std::size_t row);
  void regroup(const World& world, QueueId guarantor, const Touch& turned, Touch& touched);
  static Touch turned_of(const World& world, const Fill& fill, const Touch& touched,
                         JobSlot except);
  void tell(const Touch& turned);
  void fill_from(QueueId guarantor, Fill& fill, std::size_t row, Touch& touched);
  void note_growth(QueueId guarantor);
  void note_pressure(QueueId guarantor, int priority);
  void note_pressure(QueueId guarantor, const Touch& turned);

  std::vector<Fill> fills_;   // by guarantor
  std::vector<Place> where_;  // by job, as far as any joined; none() if it did not
  News news_;
  std::uint64_t growths_ = 0;
  std::uint64_t turns_ = 0;
  std::uint64_t moves_ = 0;
};

}  // namespace muster::sched
