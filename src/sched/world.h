// World: everything decisions need, and no more. World = fold(apply, empty, events). Books come
// from the journal, sight (nodes, foreign pods, health) from watches. Only control/loop writes it;
// plan() tries things on it and undoes them.
//
// Reading path: job_table.h (jobs and lines), fleet.h (nodes), quota.h (queues), then apply.cc (how
// events change them).
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/chunked.h"
#include "base/sorted_chunks.h"
#include "base/time.h"
#include "model/event.h"
#include "sched/fleet.h"
#include "sched/guarantee.h"
#include "sched/job_table.h"
#include "sched/policy.h"
#include "sched/quota.h"
#include "sched/shapes.h"

namespace muster::sched {

struct Pool {
  model::PoolSpec spec;
  ClusterId cluster;
};

/// What changed since the last plan: the planner looks at this and at nothing else again.
struct Changes {
  bool everything = true;
  bool released = false;         // reserved nodes were given back, or foreign pods have gone
  bool node_types = false;       // nodes with jobs on them turned out to have other GPUs
  bool renumbered = false;       // shapes, pod shapes and lines: nothing kept by number is right
  std::vector<JobSlot> started;  // placed: whoever may evict has a new possible victim
  std::vector<LineId> again;     // to be tried whatever the last plan said
  std::vector<LineId> lines;     // got a job, a new first job, or became eligible
  std::vector<QueueId> freed;    // use went down or limits changed, in any tree
};

/// What jobs that may have to go hold in one place.
struct Evictable {
  std::int64_t pods = 0;
  std::int64_t gpu_milli = 0;
};

/// An attempt left behind in a lost cluster after its job was started again elsewhere.
struct Orphan {
  JobSlot job;
  std::uint32_t attempt = 0;
  Active active;
};

/// What waits in a queue at one priority: GPUs times the time they are wanted for.
struct Backlog {
  __extension__ using Wide = __int128;
  std::int64_t jobs = 0;
  Wide gpu_milli_ms = 0;             // of jobs with a run-time limit
  std::int64_t unlimited_milli = 0;  // GPUs of those without
};

/// When running GPUs come free, on average: their amount and the sum of amount times expected end.
struct Outlook {
  __extension__ using Wide = __int128;
  std::int64_t gpu_milli = 0;
  Wide ends = 0;
};

class World {
 public:
  // In world.cc: there is much to copy and to destroy, and many files hold one.
  World();
  World(const World& other);
  World& operator=(const World&) = delete;
  World(World&& other) noexcept;
  ~World();

  Fleet fleet;
  Shapes shapes;
  QuotaTree quota;
  Guarantees guarantees;
  Changes changes;
  std::uint64_t version = 0;  // counts applied events
  /// So many shapes without jobs are kept, and as many as there are with jobs: what comes again is
  /// found, and to drop them costs little beside what made them. Tests keep fewer.
  std::size_t idle_shapes_most = 1024;

  // ---- jobs
  JobSlot find_job(const std::string& id) const;
  Job& job(JobSlot slot) { return jobs_[slot.index()]; }
  const Job& job(JobSlot slot) const { return jobs_[slot.index()]; }
  /// Slots of jobs, some of which may be free: forgotten jobs leave them to later ones.
  std::size_t job_count() const { return jobs_.size(); }
  bool is_free(JobSlot slot) const { return jobs_[slot.index()].id.empty(); }
  std::size_t live_jobs() const { return jobs_.size() - free_jobs_.size(); }
  std::uint64_t newest_submit = 0;  // greatest sequence of a job, forgotten ones included
  const Line& line(LineId id) const { return lines_[id.index()]; }
  std::size_t line_slots() const { return lines_.size(); }
  JobSlot first_of(LineId id) const { return lines_[id.index()].jobs.begin()->second; }
  /// Lines with at least one eligible job, best first. Empty for queues without any.
  const SortedChunks<LineRank>& lines_of(QueueId queue) const;
  /// Of the first of them; queues without lines have none.
  int top_priority(QueueId queue) const { return top_priorities_[queue.index()]; }
  LineRank rank_of(LineId id) const;
  /// The order inside a queue.
  bool ranks_before(const LineRank& a, const LineRank& b) const;
  const std::vector<JobSlot>& active_in(ClusterId cluster) const;
  const std::vector<Stay>& stays_in(ClusterId cluster) const;  // of the same jobs, in that order
  const std::vector<Stake>& stakes_in(ClusterId cluster) const;
  /// Lines of a shape that have jobs, in no order.
  const std::vector<LineId>& lines_of_shape(ShapeId shape) const;
  /// Those that have such lines, in no order: of all there ever were they may be few.
  const std::vector<ShapeId>& shapes_with_lines() const { return shapes_with_lines_; }
  std::size_t waiting() const { return waiting_; }  // standing in lines
  /// Those, and who does not stand in one yet: on hold, waiting for others or for a time.
  std::size_t unplaced() const;
  /// What stands in the lines of a queue, by priority.
  const std::map<int, Backlog>& backlog(QueueId queue) const;
  const std::string& text(TextId id) const { return texts_[id.index()]; }

  // ---- timers: (when, who), soonest first
  std::set<std::pair<Time, JobSlot>> eligible_at;  // waiting jobs that may not start yet
  std::set<std::pair<Time, JobSlot>> deadlines;    // waiting jobs
  std::set<std::pair<Time, JobSlot>> run_limits;   // started jobs
  std::set<JobSlot> doomed;                        // waiting jobs whose dependency failed
  std::set<JobSlot> told_to_leave;                 // in the plan being made; else nobody
  std::set<std::pair<Time, JobSlot>> finished;     // final jobs, by the end of each

  // ---- pools
  PoolId find_pool(const std::string& name) const;
  const Pool& pool(PoolId id) const { return pools_[id.index()]; }
  const std::vector<std::string>* find_fleet_pool(const std::string& name) const;
  void set_pool(const model::PoolSpec& spec);
  void set_fleet_pool(const model::FleetPoolSpec& spec);

  // ---- reservations
  const std::vector<Reservation>& reservations() const { return reservations_; }
  const Reservation& reservation(ReservationId id) const { return reservations_[id.index()]; }
  ReservationId add_reservation(const Reservation& reservation);  // marks the nodes and the job
  void drop_reservation(ReservationId id);
  void restore_reservation(ReservationId id, const Reservation& reservation);  // undoes a drop

  // ---- primitive changes used by apply and, with undo, by plan
  /// What the job is to run, before it comes into the table. Labels that its selectors are the
  /// first to ask for come into the shapes of others.
  void set_gang(Job& job, const model::Gang& gang);
  std::vector<ShownLabels> show_for_trial(const model::Gang& gang);
  void hide_again(const std::vector<ShownLabels>& shown);
  JobSlot add_job(Job job);
  JobSlot add_guest(Job job);           // for a trial: always in a slot of its own at the end
  void withdraw_guest(JobSlot newest);  // undoes add_guest, for a job that stands in no line
  /// Final jobs that ended at `until` or before leave the table, unless something refers to them.
  void forget_finished(Time until);
  /// Run times of names that nobody has used since.
  void forget_names(Time until);
  /// Names that no job in the table has, and since when.
  const std::set<std::pair<Time, HistoryId>>& idle_names() const { return idle_histories_; }
  void enqueue(JobSlot slot);  // into its line, if it is eligible
  void dequeue(JobSlot slot);  // out of its line
  void start(JobSlot slot, Active active, Time at, const Policy& policy);  // occupies and charges
  /// The same for an attempt whose expected end is known.
  void hold(JobSlot slot, Active active, Time at, Duration half_life);
  Active release(JobSlot slot, Time at, const Policy& policy);  // the reverse
  /// Its pods are there and not where they were planned: moves what it holds and charges. False if
  /// that is known, or is not this gang.
  bool bind(JobSlot slot, const std::vector<model::PodPlace>& places, Time at,
            const Policy& policy);
  void attempt_changed(JobSlot slot);  // it has started, or is being stopped
  void set_stake(const Job& job);      // it has saved its work
  /// Whether, where or as what the job counts in a guarantee may have changed.
  void settle_guarantee(JobSlot slot);
  TextId text_id(const std::string& text);
  void learn_run_time(const Job& job, Duration ran);
  /// What jobs of its user and name took lately (upper quartile), if any ran.
  std::optional<Duration> learned_run_time(HistoryId history) const {
    const std::int64_t ms = learned_ms_[history.index()];
    return ms < 0 ? std::nullopt : std::optional(Duration{ms});
  }
  void add_orphan(Orphan orphan) { orphans_.push_back(std::move(orphan)); }
  std::vector<Orphan>& orphans() { return orphans_; }
  const std::vector<Orphan>& orphans() const { return orphans_; }
  /// Jobs that wait for this id to succeed.
  std::map<std::string, std::vector<JobSlot>> dependents;
  EstimateScore estimate_score;
  Outlook busy;

  /// How many jobs are being stopped so that this one can start.
  int leaving_for(JobSlot beneficiary) const;
  void count_leaving(JobSlot beneficiary, int change);
  /// Lowest class of a placed, preemptible job that is not stopping; the largest int when there is
  /// none.
  int lowest_running_priority() const;
  /// Placed, preemptible jobs that are not stopping, by class.
  const std::map<int, std::set<JobSlot>>& running_by_class() const { return running_; }
  /// What those of a lower class than this hold on a cluster's nodes of one GPU type.
  Evictable evictable_below(ClusterId cluster, TypeId type, int priority) const;
  void count_running(JobSlot job, int change);
  void recount_running();
  /// Fleet totals by quota resource, GPU types weighted.
  Capacity capacity(const Policy& policy);
  /// What a gang will charge: `types` is the GPU type of each set, `counts` the pods of each set. A
  /// share asked for by memory is one of the largest device of that type.
  Charges charges(const Shape& shape, const std::vector<int>& counts, std::span<const TypeId> types,
                  const Policy& policy);
  /// What it charges in these places, whatever is seen of their nodes: the books alone decide. Pods
  /// of one set may be on GPUs of several types.
  Charges charges(const Shape& shape, std::span<const model::PodPlace> places,
                  const Policy& policy);

  /// Of everything that is folded, independent of table order; equal worlds have equal hashes.
  std::uint64_t hash() const;
  /// Of what the journal alone says: the same before and after a restart, whatever nodes are seen
  /// and whatever the policy makes of it.
  std::uint64_t books_hash() const;

 private:
  friend class BookWriter;
  friend class BookReader;

  void join_history(Job& job);
  void leave_history(HistoryId id, Time at);
  void drop_history(HistoryId id);
  void count_quartile(HistoryId id);
  void drop_text(TextId id);
  bool is_referred_to(JobSlot slot) const;
  void ask_labels(const AskedLabels& asked);
  std::set<JobSlot> left_behind() const;
  void show_labels(JobSlot slot, const AskedLabels& asked);
  void take_shape(JobSlot slot, ShapeId shape);
  void drop_idle_shapes();
  void rename_shapes(const Shapes::Renumbered& now);
  void rename_lines(const std::vector<LineId>& now);
  LineId line_for(const Job& job);
  ResourceId resource_of(TypeId type);
  void add_pods(Charges& charges, const PodShapeRec& pod, int count, TypeId type,
                std::int64_t gpu_milli, const Policy& policy);
  void recharge(JobSlot slot, Charges charges, Time at, Duration half_life);
  void charge_reservation(const Reservation& reservation, int sign);
  void count_backlog(const Job& job, int change);
  void rank_changed(LineId id, const LineRank* old_rank);
  void list_by_shape(LineId id, bool listed);
  void list_by_first(LineId id, bool was_listed);

  Chunked<Job> jobs_;
  std::vector<JobSlot> free_jobs_;                                // the last is used next
  boost::unordered_flat_map<std::string_view, JobSlot> job_ids_;  // of the jobs; lookup-only
  SpareCounts spare_counts_;
  Chunked<Line> lines_;
  std::unordered_multimap<std::uint64_t, LineId> line_ids_;  // lookup-only
  std::vector<SortedChunks<LineRank>> queue_lines_;
  std::vector<int> top_priorities_;  // by queue, as far as lines exist
  struct ShapeLines {
    std::vector<LineId> lines;
    std::uint32_t at = 0;  // index in shapes_with_lines_, while there are lines
  };
  std::vector<ShapeLines> shape_lines_;
  std::vector<ShapeId> shapes_with_lines_;
  std::vector<std::vector<JobSlot>> active_;
  std::vector<std::vector<Stay>> stays_;
  std::vector<std::vector<Stake>> stakes_;
  std::vector<Pool> pools_;
  std::unordered_map<std::string, PoolId> pool_ids_;  // lookup-only
  std::map<std::string, std::vector<std::string>> fleet_pools_;
  std::vector<Reservation> reservations_;
  Chunked<std::string> texts_;
  std::vector<std::uint32_t> text_uses_;  // by histories; a text without any may be dropped
  std::vector<TextId> free_texts_;
  boost::unordered_flat_map<std::string_view, TextId> text_ids_;  // of texts_; lookup-only
  Chunked<History> histories_;
  std::vector<std::int64_t> learned_ms_;  // by history, upper quartile; -1: nothing yet
  boost::unordered_flat_map<std::uint64_t, HistoryId> history_ids_;  // lookup-only, by both names
  std::vector<HistoryId> free_histories_;
  std::set<std::pair<Time, HistoryId>> idle_histories_;  // that no job in the table has
  std::vector<Orphan> orphans_;
  std::vector<ResourceId> type_resources_;  // "gpu.<type>" by GPU type, as far as asked for
  std::size_t waiting_ = 0;
  std::vector<std::map<int, Backlog>> backlogs_;  // by queue
  std::map<JobSlot, int> leaving_;
  std::map<int, std::set<JobSlot>> running_;
  std::vector<std::vector<std::map<int, Evictable>>> evictable_;  // [cluster][GPU type], by class
};

/// Takes one event into the world. Events that do not apply any more (an old attempt, a finished
/// job) change nothing: applying an event twice is the same as applying it once. Returns false when
/// it was such an event.
bool apply(World& world, const model::Event& event, const Policy& policy);

/// Where the books have its pods.
std::vector<model::PodPlace> places_of(const World& world, const Active& active);

/// What must hold after every step; an empty text, or the first thing found wrong.
std::string check(const World& world);

}  // namespace muster::sched
