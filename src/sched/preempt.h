// Who must go so that a waiting gang can start.
//
// Every job has a standing: (inside its queue's guaranteed amounts or not, priority class); see
// guarantee.h. A victim's standing is always below its beneficiary's. Inside one guarantee its
// class is: what a gang borrows is lent by other queues. The potential is the multiset of the
// standings of all running jobs, compared from the highest down: every start and every preemption
// raises it and it is bounded, so no sequence of them repeats. Shares and their memory play no
// part here: half-life use orders admission, never eviction.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/time.h"
#include "model/event.h"
#include "sched/gang.h"
#include "sched/route.h"

namespace muster::sched {

struct Standing {
  bool inside = false;
  int priority = 0;  // class: capped by the queue
  friend auto operator<=>(const Standing&, const Standing&) = default;
};

/// A running job that may be evicted for somebody.
struct Suspect {
  JobSlot job;
  ClusterId cluster;
  Standing standing;
  std::int64_t lost_gpu_ms = 0;  // GPU-time since its last checkpoint
  std::int64_t gpu_milli = 0;
  Time safe_until{0};                      // minimum run time
  std::uint64_t types = 0;                 // of GPUs where it runs, a bit for each
  std::array<std::uint64_t, 2> id_head{};  // the first bytes of its id, compared like them
};

struct Preemption {
  ClusterId cluster;
  std::vector<JobSlot> victims;
  std::vector<NodeId> nodes;  // where the beneficiary will go
  model::StopWhy why = model::StopWhy::Priority;
  std::int64_t lost_gpu_ms = 0;
  Charges charges;  // of the beneficiary
};

struct VictimSearch {
  std::optional<Preemption> found;
  /// When a job now protected by its minimum run time loses that protection; never() if none is.
  Time protected_until = Time::never();
  /// Not even with everybody gone who stands lower and may go is there room, whatever the quota.
  bool no_room = false;
  /// More could have helped than a search looks at: what it did not find may be there.
  bool cut = false;
  /// Some set of victims was larger than the limit.
  bool over_limit = false;
  /// Clusters where victims were found, best first.
  std::vector<ClusterScore> table;
};

/// A queue's cap applied.
int priority_class(const World& world, const Job& job, const Policy& policy);
/// What a waiting job would claim of its guarantee.
Claim claim_of(const World& world, JobSlot job, const Policy& policy);

/// The running jobs of one moment with their standings, made once per plan and asked many times.
class VictimPool {
 public:
  VictimPool(World& world, const Policy& policy, Time now);

  /// The best set of victims over all venues that lets the job start, or nothing: the one whose
  /// cluster has the best score, which is the cheapest if clusters are equal in all else. At most
  /// `limit` victims. Leaves the world as it was.
  VictimSearch search(Placer& placer, const Venues& venues, JobSlot job, const Capacity& capacity,
                      int limit);
  /// The highest class among those who must go at least for the job to have room in the venue, if
  /// the lowest go first; nothing if not all of them are enough. A bound, without quota.
  /// Above `cutoff` nobody wants to know how much higher it is.
  std::optional<int> highest_needed(Placer& placer, const Venues& venues, const Venue& venue,
                                    JobSlot job, const Capacity& capacity, int cutoff);
  /// Searches end without an answer after so many pods looked at, all of them together.
  void limit_looks(std::int64_t pods) { looks_left_ = pods; }
  /// Of those who could help a search looks at so many, the lowest. To count room costs less than a
  /// microsecond for each of them; gangs that are placed to see whether they fit cost more, and are
  /// placed a few times for each victim.
  void limit_suspects(std::size_t jobs) { suspects_max_ = jobs; }
  bool cut_short() const { return looks_left_ <= 0; }
  /// What the job would stand at beside the jobs that run now.
  Standing standing_of(JobSlot job, const Charges& charges) const;
  /// Chosen as a victim in this plan: not to be chosen again.
  void taken(JobSlot job);

 private:
  struct Ask;
  struct Gone;
  using Victims = std::vector<const Suspect*>;
  /// Of two sets of victims the lesser is better.
  struct Damage {
    Standing highest{false, std::numeric_limits<int>::min()};
    std::int64_t lost_gpu_ms = 0;
    std::size_t victims = 0;
    friend auto operator<=>(const Damage&, const Damage&) = default;
  };
  /// The suspects of one cluster, as far as they were asked for.
  struct Roll {
    int read_up_to = std::numeric_limits<int>::min();  // running jobs below this class are listed
    std::vector<Suspect> all;
    bool heads_known = false;  // of ids
  };
  /// Those of one standing, the least lost work first once they are in order.
  struct Peers {
    Victims list;
    bool in_order = false;
  };
  /// Who of one cluster stands lower than somebody and may go.
  struct Below {
    bool known = false;
    std::map<Standing, Peers> peers;
    std::deque<Suspect> pushed;  // out of their guarantee: not what they are in the roll
    Time protected_until = Time::never();
  };
  /// Who stands lower than somebody: the same for most venues, whatever they charge. Clusters are
  /// looked at when asked for.
  struct Lower {
    Standing mine;
    QueueId guarantor;  // that it is inside of
    std::vector<JobSlot> pushed;
    std::vector<Below> clusters;
    std::optional<Victims> everywhere = {};
  };
  bool may_have_room(const Ask& ask, int below) const;
  void read_standings();
  void put_in_order(Peers& peers, ClusterId cluster);
  bool comes_first(const Suspect& a, const Suspect& b) const;
  void read(ClusterId cluster, int below);
  void look_from(Ask& ask);
  Below& below(ClusterId cluster);
  Victims in_order(ClusterId cluster);
  const Victims& everywhere();
  std::optional<int> highest_needed(Ask& ask, std::size_t set, int cutoff);
  std::optional<Preemption> choose(Ask& ask, int limit, VictimSearch& search);
  static Damage damage_of(const Victims& victims);
  std::optional<Victims> propose(Ask& ask, const Victims& all, const Victims& here,
                                 std::size_t needed, bool by_count) const;
  std::optional<Victims> cheaper(Ask& ask, const Victims& all, const Victims& here,
                                 const Victims& known, bool by_count) const;
  std::optional<Victims> fewest(Ask& ask, const Victims& all, const Victims& here,
                                std::size_t needed, bool by_count) const;
  void choose_cluster(const Job& job, const Venues& venues,
                      std::vector<std::pair<std::size_t, Preemption>>& found,
                      VictimSearch& search) const;

  World& world_;
  const Policy& policy_;
  Time now_;
  static constexpr int everybody = std::numeric_limits<int>::max();
  bool by_class_ = false;    // they are read as far as asked, else all of a cluster at once
  std::vector<Roll> rolls_;  // by cluster
  std::int64_t looks_left_ = std::numeric_limits<std::int64_t>::max();
  std::size_t suspects_max_ = 65'536;
  std::set<JobSlot> taken_;
  std::optional<Lower> last_;
  std::uint64_t turns_seen_ = 0;  // of guarantees, when standings were read
};

}  // namespace muster::sched
