// Which queue is next: down the quota tree, at each level the best of those that have something to
// offer. Best is who is inside guaranteed amounts, then the highest priority class, then who is
// inside further down (it would push the others out), then the lowest weighted dominant share, then
// the name.
//
// Only queues that made an offer since start() take part, so the cost of a plan follows the queues
// it has to look at and not all there are. An offer may be a bound (better than what the queue
// really has): whoever asks for best() makes it exact and asks again.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/time.h"
#include "sched/ids.h"
#include "sched/policy.h"
#include "sched/quota.h"

namespace muster::sched {

/// What the lines of one queue offer; less is better.
struct Offer {
  int tier = 1;  // 0: inside guaranteed amounts
  std::int64_t negated_class = 0;
  int negated_depth = 0;  // of the guarantor it is inside of, among those below the same ones
  friend auto operator<=>(const Offer&, const Offer&) = default;
};

/// Shares of queues as of one moment, remembered while nothing is charged.
class Shares {
 public:
  void begin(const Capacity& capacity, Time at, const Policy& policy);
  std::uint64_t of(const QuotaTree& quota, QueueId queue);
  /// Differs after everybody's share has changed.
  std::uint64_t moment() const { return moment_; }

 private:
  struct Known {
    std::uint64_t moment = 0;
    std::uint64_t charged = 0;
    std::uint64_t share = 0;
  };
  Capacity capacity_;
  Time at_ = Time::never();
  Duration half_life_;
  Rules rules_;
  const Policy* policy_ = nullptr;
  std::uint64_t moment_ = 0;
  std::vector<Known> known_;
};

class Tournament {
 public:
  struct Entrant {
    QueueId queue;
    Offer offer;
  };
  /// These take part, each once, and nobody else.
  void start(const QuotaTree& quota, Shares& shares, std::span<const Entrant> entrants);
  /// What the queue's own lines offer from now on; nothing: it has none. Its share and those above
  /// are looked at anew.
  void offer(const QuotaTree& quota, Shares& shares, QueueId queue, std::optional<Offer> own);
  /// The queue whose own lines are next; none() when nobody takes part.
  QueueId best() const;

 private:
  static constexpr std::uint32_t nowhere = ~std::uint32_t{0};
  struct Entry {
    std::uint64_t round = 0;
    std::optional<Offer> own;
    // Its place among its siblings, and what decides it:
    std::uint32_t at = nowhere;
    Offer best;
    std::uint64_t share = 0;
    std::uint32_t name_rank = 0;
    std::vector<QueueId> children;  // that take part: a heap, the best first
  };

  Entry& entry(QueueId queue);
  bool weigh(const QuotaTree& quota, Shares& shares, QueueId queue);
  bool before(QueueId a, QueueId b) const;
  void place(QueueId queue, QueueId parent);
  void remove(QueueId queue, QueueId parent);
  void put(std::vector<QueueId>& heap, std::size_t at, QueueId queue);
  std::size_t rise(std::vector<QueueId>& heap, std::size_t at);
  void sink(std::vector<QueueId>& heap, std::size_t at);

  std::uint64_t round_ = 1;
  std::vector<Entry> entries_;
  std::vector<std::vector<QueueId>> levels_;  // of start(): who takes part, by depth
};

}  // namespace muster::sched
