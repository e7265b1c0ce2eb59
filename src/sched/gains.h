// Room that came free, and who could use it. Bounds only: a shape that is said to have a chance may
// still find no place, one that is said to have none would not find any. So a plan after one job's
// end looks at the lines that end can matter to, however many wait.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "sched/fit.h"
#include "sched/gang.h"
#include "sched/ids.h"
#include "sched/policy.h"
#include "sched/world.h"

namespace muster::sched {

class Gains {
 public:
  struct Moment {
    const World& world;
    const Policy& policy;
    FitCache& cache;
    Time now;
    bool may_evict;
  };

  /// A new plan. `lower`: jobs placed since the last one and others that came to stand lower than
  /// they did, new victims perhaps. `go_on`: beside what the last plan had, which not everybody has
  /// tried who might evict.
  void begin(const Moment& at, const std::vector<NodeId>& nodes, const std::vector<JobSlot>& lower,
             bool go_on);
  /// Nodes that became open in the middle of a plan.
  void add(const Moment& at, const std::vector<NodeId>& nodes);
  /// These came to stand lower in the middle of a plan. False if nothing new follows from it.
  bool stand_lower(const Moment& at, const std::vector<JobSlot>& jobs);
  /// What a try of the line found: its first job is inside of guaranteed amounts, or not.
  void set_inside(ShapeId shape, LineId line, bool inside);
  std::vector<LineId> lines_inside() const;
  /// Some of it was used up, or rights have changed: fewer have a chance.
  void narrow(const Moment& at);
  /// It has another first job, or that one is expected to run for another time.
  void line_changed(const Moment& at, LineId line);
  void forget_all() {
    bounds_.clear();
    runs_.clear();
    rooms_.clear();
    run_of_line_.clear();
    inside_.clear();
    maybe_.clear();
  }
  /// What a try in vain found. Rooms only grow by what is gained from now on.
  void remember_rooms(const World& world, ShapeId shape, const std::vector<VenueRoom>& rooms);
  /// Found to have no place: no chance in this plan unless more room comes.
  void rule_out(ShapeId shape);

  /// Nobody has a chance.
  bool none() const { return maybe_.empty(); }
  /// Lines of the shapes that may have a chance, at most.
  std::size_t lines_at_most(const World& world) const;
  /// A line and what most lines are told apart by, kept so that the line need not be looked at.
  struct Outline {
    std::int64_t run_ms = 0;  // expected
    int priority = 0;         // its class
    LineId line;
    QueueId queue;
  };
  /// Those that may have one, in no order and some twice; nothing if they are more than `most`.
  std::optional<std::vector<Outline>> lines(const Moment& at, std::size_t most);
  struct Hope {
    bool room = false;     // it may start
    bool victims = false;  // it may start if others go
  };
  /// Some line of the shape has one.
  bool has_chance(const Moment& at, ShapeId shape);
  /// Of the first job of the line, which is inside of guaranteed amounts or not.
  Hope hope_of(const Moment& at, const Line& line, JobSlot job, bool inside);

 private:
  enum class Chance : std::uint8_t { None, Maybe, Some, Any };  // Some: it depends on the line
  /// Of a shape's lines: may be too generous, never too narrow. Those of all shapes with lines are
  /// read in every plan.
  struct Bounds {
    bool known = false;
    bool any_inside = false;  // of guaranteed amounts
    Chance chance = Chance::None;
    std::uint8_t least_gpus = 0;  // of one pod, 0 for shares
    int highest_class = std::numeric_limits<int>::min();
    std::int64_t least_cpu = 0;
    std::int64_t least_memory = 0;
  };
  /// Which lines of a shape the gained nodes can matter to, by what most of them are told apart by.
  struct Reach {
    std::uint64_t listing = 0;     // found for these nodes
    std::int64_t longest_ms = -1;  // runs up to this end before enough kept nodes are needed
    int victims_from = std::numeric_limits<int>::min();  // the lowest class that may find victims
  };
  struct Runs {
    std::int64_t least_ms = 0;
    std::vector<Outline> outlines;  // of all lines, shortest run first
    std::vector<int> classes;       // of these, ascending
    int changes = 0;                // since all lines were read
    Reach reach;
  };
  /// A class that gained nodes are in, and what each of them has free.
  struct Opened {
    ClassId cls;
    ReservationId kept;  // for somebody
    int gpus = 0;
    std::int64_t cpu = 0;
    std::int64_t memory = 0;
  };
  struct Free {
    int gpus = 0;
    std::int64_t cpu = 0;
    std::int64_t memory = 0;
    ReservationId kept;  // for somebody
  };
  /// What changed nodes would have free if everybody up to this class left them.
  struct Level {
    int up_to = std::numeric_limits<int>::min();
    std::vector<Free> nodes;  // those that somebody leaves
  };
  /// Changed nodes of one GPU type in one cluster. Only a pod that goes to one of them can make a
  /// difference to a gang that needs victims; all other nodes are as they were when it was tried.
  struct Place {
    ClusterId cluster;
    TypeId type;
    std::vector<Free> nodes;    // as they stand; of many only the most, each amount alone
    std::vector<Level> levels;  // ascending
  };
  /// The most that any changed node would have free if everybody up to this class left it.
  struct Most {
    int up_to = std::numeric_limits<int>::min();
    Free free;
  };

  bool add_victims(const World& world, const std::vector<JobSlot>& jobs);
  void list_classes(const Moment& at);
  void list_places(const Moment& at);
  void list_kept(const World& world);
  void list_closed(const Moment& at);
  void list_near_holders(const World& world);
  std::int64_t longest_with_room(const Moment& at, ShapeId shape) const;
  template <typename Open>
  std::int64_t evictable_on_closed(const Moment& at, const Place& place, int below,
                                   const Open& open);
  static Free most_of(const std::vector<Free>& nodes);
  static Free most_of(const Free& a, const Free& b);
  void list_most();
  bool may_make_room(const Bounds& of, int below) const;
  template <typename Leaves>
  static Free free_without(const World& world, const Node& node, const Leaves& leaves);
  void list_from_all(const Moment& at);
  bool is_worth_a_look(const Moment& at, const Bounds& of) const;
  const Bounds& bounds(const Moment& at, ShapeId shape);
  static Outline outline(const Moment& at, LineId line);
  void widen(ShapeId shape, const Outline& by);
  void drop_outline(ShapeId shape, LineId line);
  std::int64_t& run_of(LineId line);
  void add_lines(const Moment& at, ShapeId shape, std::vector<Outline>& to);
  const Reach& reach(const Moment& at, ShapeId shape);
  bool is_in_reach(const Moment& at, const Job& job, ShapeId shape, int priority);
  Chance chance_of(const Moment& at, ShapeId shape);
  template <typename Open>
  bool with_victims(const Moment& at, ShapeId shape, int priority, bool inside, const Open& open);
  template <typename Open>
  bool may_hold(const Moment& at, ShapeId shape, ClassId cls, const Open& open) const;
  template <typename Open>
  std::int64_t reserved_devices(ClusterId cluster, TypeId type, const Open& open) const;
  using Devices = std::vector<std::vector<std::int64_t>>;  // [cluster][GPU type]
  void count_idle(const World& world, const std::vector<NodeId>& nodes, Devices& into) const;
  static std::int64_t devices_at(const Devices& devices, ClusterId cluster, TypeId type);
  bool room_for_all(const Moment& at, ShapeId shape, ClusterId cluster, TypeId type,
                    std::int64_t more_devices) const;
  bool may_open(const Moment& at, const Reservation& reservation, ShapeId shape) const;
  bool may_open_for_good(const Moment& at, const Reservation& reservation, ShapeId shape) const;
  bool is_open_to(const Moment& at, ReservationId reservation, const Asker& asker);

  std::vector<NodeId> nodes_;
  std::vector<Opened> opened_;
  int most_gpus_ = 0;
  std::int64_t most_cpu_ = 0;
  std::int64_t most_memory_ = 0;
  struct Kept {
    ReservationId by;
    ClusterId cluster;
    TypeId type;
    std::int64_t devices = 0;  // idle
    bool counted = false;
    std::map<int, std::int64_t> evictable;  // thousandths held there by class, once counted
  };
  static void count_victims(const Moment& at, Kept& kept);
  std::vector<Kept> kept_;  // by reservations
  /// What may_use_reserved() said to one asker, who asks for many nodes of few reservations.
  struct Answer {
    std::uint64_t asker = 0;
    bool open = false;
  };
  std::vector<Answer> answers_;  // by reservation
  std::uint64_t askers_ = 0;
  /// The lines of those who hold reservations and the lines before them in their queues.
  std::vector<std::pair<ShapeId, LineId>> near_holders_;
  std::vector<std::int64_t> windows_;  // until their reservations start, ascending
  int kept_up_to_ = 0;                 // nobody up to this class takes kept nodes by its class
  std::uint64_t listing_ = 0;        // counts how often the nodes and who may use them were listed
  std::vector<NodeId> new_victims_;  // nodes of jobs that were placed lately, or stand lower now
  std::vector<Place> places_;        // of all these nodes
  std::vector<Most> most_;           // in any place, ascending; the first: with nobody gone
  std::vector<std::set<LineId>> inside_;  // of guaranteed amounts, by shape
  /// What a try in vain found, and what had been gained by then.
  struct Room {
    std::uint64_t plan = 0;
    int pods = 0;  // on nodes that were not reserved
    std::int64_t left_over = 0;
    std::int64_t gained = 0;
  };
  Devices left_over_;  // idle after the plan in which it was gained, added up over all plans
  Devices gained_;     // idle when it was gained in this plan
  std::uint64_t plan_ = 0;
  std::vector<std::vector<Room>> rooms_;  // [shape][cluster * types_ + GPU type]
  std::size_t types_ = 0;
  std::vector<Bounds> bounds_;             // by shape
  std::vector<Runs> runs_;                 // by shape
  std::vector<std::int64_t> run_of_line_;  // as it stands in its outline
  std::vector<ShapeId> maybe_;             // shapes whose chance is not None
};

}  // namespace muster::sched
