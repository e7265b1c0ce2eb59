#include "sim/simulation.h"

#include <algorithm>
#include <bit>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <variant>

#include "control/loop.h"
#include "control/snapshots.h"
#include "model/state.h"
#include "ports/memory_inbox.h"
#include "ports/memory_store.h"
#include "sched/plan.h"
#include "sim/checks.h"
#include "sim/faults.h"
#include "sim/simulated_cluster.h"
#include "sim/timeline.h"
#include "sim/trace_hash.h"

namespace muster::sim {
namespace {

constexpr std::size_t inbox_capacity = 100'000;
constexpr std::size_t moments_most = 200;
constexpr Duration idle_most = minutes(10);  // in which no job ends although all is well

/// A check costs time in proportion to jobs and nodes, a run takes steps in proportion to jobs.
int check_every(const Workload& workload, const SimulateOptions& options) {
  if (options.faults) return 1;
  if (options.check_every) return *options.check_every;
  const std::size_t size = workload.jobs.size() + workload.machines.size();
  return size <= checked_every_step_max ? 1 : 1000;
}

class Simulation {
 public:
  Simulation(const Workload& workload, const SimulateOptions& options)
      : workload_(workload),
        options_(options),
        check_every_(check_every(workload, options)),
        clock_(timeline_),
        record_(workload),
        faults_(mix(options), options.seed ^ 0xfa17),
        inbox_(std::max<std::size_t>(8, faults_.mix().tiny_inbox > 0
                                            ? static_cast<std::size_t>(faults_.mix().tiny_inbox)
                                            : inbox_capacity)) {
    for (std::uint32_t i = 0; i < workload.clusters.size(); ++i) {
      clusters_.push_back(std::make_unique<SimulatedCluster>(
          i, SimulatedCluster::Setting{workload, timeline_, inbox_, record_,
                                       options.faults ? &faults_ : nullptr}));
    }
    last_submit_ = workload.jobs.empty() ? Time{0} : workload.jobs.back().submit;
    quiet_from_ = quiet_from();
    for (const Incident& incident : workload.incidents)
      incidents_end_ = std::max(incidents_end_, incident.at + incident.lasts + minutes(1));
    for (const SimJob& job : workload.jobs) longest_ = std::max(longest_, job.run_time);
  }

  Outcome run() {
    if (options_.faults) outcome_.faults = to_text(faults_.mix());
    set_up();
    start_process();
    schedule_people();
    schedule_incidents();
    if (options_.faults) schedule_faults();
    while (outcome_.violation.empty() && !done()) {
      const Time look = clock_.when(next_look_);
      const Time next = std::min(timeline_.next(), std::max(look, timeline_.now()));
      if (next.is_never() || next > limit()) {
        stuck(next.is_never());
        break;
      }
      timeline_.run_until(next);
      if (loop_) step();
    }
    return finish();
  }

 private:
  static FaultMix mix(const SimulateOptions& options) {
    if (!options.faults) return {};
    Prng prng(options.seed ^ 0x5eed);
    return draw_faults(prng);
  }

  // ---- setting up

  /// The administrator's part of the books, before anything else.
  void set_up() {
    std::vector<model::Event> books;
    for (const auto& spec : workload_.clusters) books.push_back({Time{0}, model::ClusterSet{spec}});
    for (const auto& spec : workload_.pools) books.push_back({Time{0}, model::PoolSet{spec}});
    for (const auto& spec : workload_.fleet_pools)
      books.push_back({Time{0}, model::FleetPoolSet{spec}});
    for (const auto& spec : workload_.queues) books.push_back({Time{0}, model::QueueSet{spec}});
    const auto committed = store_.commit({books});
    MUSTER_CHECK(committed.ok(), "the memory store refused: {}", committed.error().message);
  }

  void start_process() {
    // Every other process leaves a snapshot of its beginning: recovery then is that and a tail.
    if (options_.faults && ++processes_ % 2 == 0) {
      const auto written = control::write_snapshot(store_, workload_.policy);
      MUSTER_CHECK(written.ok(), "{}", written.error().message);
    }
    auto recovered = control::recover(store_, workload_.policy);
    MUSTER_CHECK(recovered.ok(), "{}", recovered.error().message);
    control::Loop::Ports ports{inbox_, store_, {}};
    for (std::size_t i = 0; i < clusters_.size(); ++i)
      ports.clusters[workload_.clusters[i].name] = clusters_[i].get();
    control::Options options;
    if (options_.faults) {
      options.goes_on = [this](control::Stage) {
        if (faults_.hits(faults_.mix().store_busy, "store busy"))
          store_.be_busy(static_cast<int>(faults_.prng().between(1, 3)));
        return !faults_.hits(faults_.mix().crash, "crash");
      };
    }
    loop_.emplace(std::move(ports), std::move(*recovered), workload_.policy, std::move(options));
    next_look_ = Time{0};
  }

  void schedule_people() {
    for (std::size_t i = 0; i < workload_.jobs.size(); ++i) {
      const SimJob& job = workload_.jobs[i];
      timeline_.at(job.submit, [this, i] {
        ++submitted_;
        ask(model::JobSubmitted{workload_.jobs[i].spec, i + 1});
      });
      if (!job.cancel.is_never())
        timeline_.at(job.cancel,
                     [this, i] { ask(model::JobCancelled{workload_.jobs[i].spec.id}); });
      if (job.hold.is_never()) continue;
      timeline_.at(job.hold, [this, i] { ask(model::JobHeld{workload_.jobs[i].spec.id, true}); });
      timeline_.at(job.release, [this, i] { release(workload_.jobs[i].spec.id); });
    }
  }

  /// Whoever held it waits for the answer first: otherwise it might stay held.
  void release(const std::string& job) {
    if (!unanswered_.contains(request_key(model::JobHeld{job})))
      return ask(model::JobReleased{job});
    timeline_.after(seconds(1), [this, job] { release(job); });
  }

  /// A client: asks until it is told that the request is durable.
  void ask(const model::EventBody& body) {
    const std::string key = request_key(body);
    unanswered_.emplace(key, body);
    put(key);
  }
  void put(const std::string& key) {
    const auto it = unanswered_.find(key);
    if (it == unanswered_.end()) return;
    if (!loop_ || !inbox_.put({timeline_.now(), it->second}))
      timeline_.after(seconds(1), [this, key] { put(key); });
  }
  static std::string request_key(const model::EventBody& body) {
    if (const auto* e = std::get_if<model::JobSubmitted>(&body)) return "submit " + e->spec.id;
    if (const auto* e = std::get_if<model::JobCancelled>(&body)) return "cancel " + e->job;
    if (const auto* e = std::get_if<model::JobHeld>(&body)) return "hold " + e->job;
    if (const auto* e = std::get_if<model::JobReleased>(&body)) return "release " + e->job;
    if (const auto* e = std::get_if<model::ClusterSet>(&body))
      return fmt::format("admission {} {}", e->spec.name, static_cast<int>(e->spec.admission));
    return {};
  }

  void schedule_incidents() {
    for (const Incident& incident : workload_.incidents) {
      timeline_.at(incident.at, [this, &incident] { begin(incident); });
      timeline_.at(incident.at + incident.lasts, [this, &incident] { end(incident); });
    }
  }

  void begin(const Incident& incident) {
    SimulatedCluster& cluster = cluster_named(incident.cluster);
    const std::string lasts = to_text(incident.lasts);
    if (incident.kind == Trouble::Cordon && !incident.node.empty()) {
      tell(fmt::format("node {} of {} is cordoned for {}", incident.node, incident.cluster, lasts));
      cluster.set_cordoned(incident.node, true);
    } else if (incident.kind != Trouble::Failure) {
      const bool drains = incident.kind == Trouble::Drain;
      tell(fmt::format("cluster {} is {} for {}", incident.cluster, drains ? "drained" : "cordoned",
                       lasts));
      ask(admission(incident, drains ? model::Admission::Draining : model::Admission::Cordoned));
    } else if (incident.node.empty()) {
      tell(fmt::format("cluster {} is cut off for {}", incident.cluster, lasts));
      cluster.set_reachable(false);
    } else {
      tell(fmt::format("node {} of {} fails, back in {}", incident.node, incident.cluster, lasts));
      cluster.node_down(incident.node);
    }
  }

  void end(const Incident& incident) {
    SimulatedCluster& cluster = cluster_named(incident.cluster);
    if (incident.kind == Trouble::Cordon && !incident.node.empty()) {
      cluster.set_cordoned(incident.node, false);
    } else if (incident.kind != Trouble::Failure) {
      open_again(incident);
    } else if (incident.node.empty()) {
      cluster.set_reachable(true);
    } else {
      cluster.node_up(incident.node);
    }
  }

  model::ClusterSet admission(const Incident& incident, model::Admission admission) const {
    for (const model::ClusterSpec& spec : workload_.clusters) {
      if (spec.name != incident.cluster) continue;
      model::ClusterSet set{spec};
      set.spec.admission = admission;
      return set;
    }
    MUSTER_CHECK(false, "no cluster {}", incident.cluster);
    return {};
  }

  /// As release(): not before it is known that the cluster was closed.
  void open_again(const Incident& incident) {
    for (const auto closed : {model::Admission::Cordoned, model::Admission::Draining}) {
      if (!unanswered_.contains(request_key(admission(incident, closed)))) continue;
      timeline_.after(seconds(1), [this, &incident] { open_again(incident); });
      return;
    }
    ask(admission(incident, model::Admission::Open));
  }

  SimulatedCluster& cluster_named(const std::string& name) {
    for (std::size_t i = 0; i < clusters_.size(); ++i) {
      if (workload_.clusters[i].name == name) return *clusters_[i];
    }
    MUSTER_CHECK(false, "no cluster {}", name);
    return *clusters_.front();
  }

  // ---- faults that happen by themselves

  void schedule_faults() {
    for (const auto& cluster : clusters_) resync_later(*cluster);
    const FaultMix& mix = faults_.mix();
    if (mix.node_flap.ms > 0) flap_later();
    if (mix.partition.ms > 0) partition_later();
    if (mix.clock_step.ms > 0) clock_step_later();
    timeline_.at(faults_end(), [this] {
      faults_.switch_off();
      clock_.set_right();
      for (const auto& cluster : clusters_) {
        cluster->set_reachable(true);
        for (const std::string& node : cluster->node_names()) cluster->node_up(node);
      }
    });
  }

  Time faults_end() const { return last_submit_ + minutes(30); }

  void resync_later(SimulatedCluster& cluster) {
    timeline_.after(minutes(2), [this, &cluster] {
      cluster.resync();
      resync_later(cluster);
    });
  }

  void flap_later() {
    timeline_.after(faults_.around(faults_.mix().node_flap), [this] {
      if (!faults_.on()) return;
      faults_.count("node flap");
      SimulatedCluster& cluster = *clusters_[faults_.prng().below(clusters_.size())];
      const auto names = cluster.node_names();
      const std::string name = names[faults_.prng().below(names.size())];
      cluster.node_down(name);
      timeline_.after(milliseconds(faults_.prng().between(500, 600'000)),
                      [&cluster, name] { cluster.node_up(name); });
      flap_later();
    });
  }

  void partition_later() {
    timeline_.after(faults_.around(faults_.mix().partition), [this] {
      if (!faults_.on()) return;
      faults_.count("partition");
      SimulatedCluster& cluster = *clusters_[faults_.prng().below(clusters_.size())];
      cluster.set_reachable(false);
      timeline_.after(milliseconds(faults_.prng().between(1'000, 1'200'000)),
                      [&cluster] { cluster.set_reachable(true); });
      partition_later();
    });
  }

  void clock_step_later() {
    timeline_.after(faults_.around(faults_.mix().clock_step), [this] {
      if (!faults_.on()) return;
      faults_.count("clock step");
      clock_.step(milliseconds(faults_.prng().between(-300'000, 300'000)));
      clock_step_later();
    });
  }

  /// World, agenda and outbox are thrown away; the journal stays.
  void crash() {
    loop_.reset();
    inbox_.take(inbox_capacity);
    for (const auto& cluster : clusters_) cluster->listener_died();
    next_look_ = Time::never();
    timeline_.after(milliseconds(faults_.prng().between(100, 30'000)), [this] {
      start_process();
      const auto unanswered = unanswered_;
      for (const auto& [key, body] : unanswered) put(key);
    });
  }

  // ---- one step

  void step() {
    const control::StepReport report = loop_->step(clock_.now());
    ++outcome_.steps;
    account(report);
    if (report.died) {
      crash();
      return;
    }
    next_look_ = report.more ? clock_.now() : report.next_look;
    if (check_every_ > 0 && outcome_.steps % static_cast<std::uint64_t>(check_every_) == 0)
      check_rules();
    if (outcome_.steps % 2000 == 0 && options_.progress) progress();
  }

  void account(const control::StepReport& report) {
    outcome_.events += report.events.size();
    outcome_.tried += report.tried;
    for (const model::Event& event : report.events) {
      if (!control::is_sight(event.body)) trace_.add(event);
      if (const auto* submitted = std::get_if<model::JobSubmitted>(&event.body))
        accepted_.insert(submitted->spec.id);
      unanswered_.erase(request_key(event.body));
    }
    for (const model::Decision& decision : report.decisions) {
      trace_.add(report.now, decision);
      std::visit([this](const auto& d) { count(d); }, decision);
    }
    for (const auto& [beneficiary, victims] : room_) {
      std::string names = victims.front();
      if (victims.size() == 2) names += " and " + victims.back();
      if (victims.size() > 2) names += fmt::format(" and {} others", victims.size() - 1);
      tell(
          fmt::format("{} make{} room for {}", names, victims.size() == 1 ? "s" : "", beneficiary));
    }
    room_.clear();
  }

  void count(const model::Placed&) { ++outcome_.decisions["placed"]; }
  void count(const model::Reserved&) { ++outcome_.decisions["reserved"]; }
  void count(const model::ReservationDropped&) { ++outcome_.decisions["reservation dropped"]; }
  void count(const model::GivenUp& d) {
    ++outcome_.decisions["given up"];
    tell(d.job + " is given up");
  }
  void count(const model::Stopped& d) {
    switch (d.why) {
      case model::StopWhy::Priority:
        ++outcome_.decisions["preempted"];
        room_[d.beneficiary].push_back(d.job);
        break;
      case model::StopWhy::Reclaim:
        ++outcome_.decisions["reclaimed"];
        room_[d.beneficiary].push_back(d.job);
        break;
      case model::StopWhy::Drain:
        ++outcome_.decisions["drained"];
        break;
      case model::StopWhy::RunLimit:
        ++outcome_.decisions["run limit"];
        last_cut_ = timeline_.now();
        break;
      case model::StopWhy::ClusterLost:
        ++outcome_.decisions["cluster lost"];
        tell(d.job + " is run again elsewhere: its cluster is lost");
        break;
    }
  }

  void tell(std::string what) {
    if (outcome_.moments.size() < moments_most)
      outcome_.moments.push_back({timeline_.now(), std::move(what)});
    else
      ++outcome_.moments_more;
  }

  void check(const std::string& wrong) {
    if (!wrong.empty() && outcome_.violation.empty())
      outcome_.violation = fmt::format("at {}: {}", clock_text(timeline_.now()), wrong);
  }

  void check_rules() {
    ++outcome_.checks;
    check(check_step(*loop_, record_, accepted_.size()));
    // Reads the whole journal: so often that all of it together is read a few times.
    if (std::has_single_bit(outcome_.checks)) check(check_books(*loop_, store_));
  }

  void progress() const {
    options_.progress(
        {timeline_.now(), workload_.jobs.size(), submitted_, record_.alive(), ended_jobs()});
  }

  // ---- the end

  std::size_t ended_jobs() const {
    std::size_t ended = 0;
    for (std::size_t i = 0; i < loop_->world().job_count(); ++i) {
      const auto slot = sched::JobSlot{static_cast<std::uint32_t>(i)};
      if (model::is_final(loop_->world().job(slot).state)) ++ended;
    }
    return ended;
  }

  bool done() {
    if (!loop_ || accepted_.size() < workload_.jobs.size() || !unanswered_.empty()) return false;
    if (options_.faults && timeline_.now() < faults_end() + minutes(5)) return false;
    if (timeline_.now() < incidents_end_) return false;
    if (record_.alive() > 0 || inbox_.size() > 0) return false;
    return loop_->world().orphans().empty() && ended_jobs() == workload_.jobs.size();
  }

  /// From when on nothing from outside changes what jobs may do.
  Time quiet_from() const {
    Time quiet = options_.faults ? faults_end() : last_submit_;
    for (const Incident& incident : workload_.incidents)
      quiet = std::max(quiet, incident.at + incident.lasts);
    for (const SimJob& job : workload_.jobs) {
      quiet = std::max(quiet, job.spec.start_after);
      if (!job.release.is_never()) quiet = std::max(quiet, job.release);
    }
    return quiet;
  }

  /// Every job can run, so once it is quiet some job ends within the longest run time, again and
  /// again, until all have ended. Starts and stops in between take a moment.
  Time limit() const {
    return std::min(
        Time{Time::never().ms / 2},
        std::max({quiet_from_, record_.last_finish(), last_cut_}) + longest_ + idle_most);
  }

  void stuck(bool nothing_left) {
    const sched::World& world = loop_->world();
    std::string waiting;
    int shown = 0;
    std::size_t too_large = 0;
    for (std::size_t i = 0; i < world.job_count(); ++i) {
      const auto slot = sched::JobSlot{static_cast<std::uint32_t>(i)};
      const sched::Job& job = world.job(slot);
      if (model::is_final(job.state)) continue;
      if (job.state == model::JobState::Waiting &&
          std::holds_alternative<sched::Infeasible>(
              sched::verdict(world, loop_->agenda(), slot, clock_.now())))
        ++too_large;
      if (++shown <= 5) waiting += fmt::format(" {}({})", job.id, model::to_text(job.state));
    }
    std::string ended = fmt::format("{} of {} jobs ended", ended_jobs(), workload_.jobs.size());
    ended += nothing_left ? " and nothing is left to happen" : " within the limit";
    if (too_large > 0)
      ended += fmt::format(", {} of the rest fit{} no cluster even if it were empty", too_large,
                           too_large == 1 ? "s" : "");
    check(fmt::format("liveness: {}:{}", ended, waiting));
  }

  Outcome finish() {
    if (loop_) {
      if (outcome_.violation.empty()) {
        check_rules();
        check(check_end(*loop_, store_, record_, workload_));
      }
      for (std::size_t i = 0; i < loop_->world().job_count(); ++i) {
        const sched::Job& job = loop_->world().job(sched::JobSlot{static_cast<std::uint32_t>(i)});
        ++outcome_.states[std::string(model::to_text(job.state))];
      }
      outcome_.estimates = loop_->world().estimate_score;
      if (options_.progress) progress();
    }
    outcome_.end = timeline_.now();
    outcome_.hash = trace_.value();
    outcome_.journal = store_.last();
    outcome_.fault_counts = faults_.counts();
    outcome_.runs = record_.runs();
    return std::move(outcome_);
  }

  const Workload& workload_;
  const SimulateOptions& options_;
  const int check_every_;
  Timeline timeline_;
  Clock clock_;
  Record record_;
  Faults faults_;
  ports::MemoryInbox inbox_;
  ports::MemoryStore store_;
  std::vector<std::unique_ptr<SimulatedCluster>> clusters_;
  std::optional<control::Loop> loop_;
  int processes_ = 0;  // started so far
  Time next_look_;
  Time last_submit_;
  Time quiet_from_;
  Time incidents_end_;
  Time last_cut_;        // when a job was last ended by its run-time limit
  Duration longest_{0};  // run time of a job
  std::map<std::string, model::EventBody> unanswered_;  // requests, by request_key
  std::set<std::string> accepted_;
  std::size_t submitted_ = 0;
  std::map<std::string, std::vector<std::string>> room_;  // victims of this step, by beneficiary
  TraceHash trace_;
  Outcome outcome_;
};

}  // namespace

std::string clock_text(Time t) {
  const std::int64_t s = t.ms / 1000;
  return fmt::format("{:02}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
}

Outcome simulate(const Workload& workload, const SimulateOptions& options) {
  return Simulation(workload, options).run();
}

}  // namespace muster::sim
