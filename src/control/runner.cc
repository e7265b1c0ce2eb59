#include "control/runner.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace muster::control {
namespace {

constexpr Duration sleep_most = seconds(10);
constexpr Duration refused_pause_most = seconds(1);

std::int64_t steady_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

Runner::Runner(ports::Store& store, sched::Policy policy, RunnerOptions options)
    : store_(store),
      policy_(std::move(policy)),
      options_(std::move(options)),
      inbox_(options_.inbox_most, *this),
      requests_(options_.requests_most),
      reads_(options_.reads_most) {
  requests_.on_put([this] { was_put(); });
  reads_.on_put([this] { wake_.up(); });
}

Runner::~Runner() { stop(); }

Status Runner::start(
    std::map<std::string, ports::Cluster*> clusters,
    const std::function<std::vector<model::EventBody>(const sched::World&)>& first) {
  clusters_ = std::move(clusters);
  const auto epoch = store_.lead();
  if (!epoch) return epoch.error();
  epoch_ = *epoch;
  auto recovered = recover_world();
  if (!recovered) return recovered.error();
  snapshot_ = recovered->snapshot;
  recovered->last = std::max(recovered->last, options_.clock());
  std::vector<model::Event> events;
  for (model::EventBody& body : first(recovered->world))
    events.push_back({recovered->last, std::move(body)});
  const auto committed = store_.commit({events});
  if (!committed) return committed.error();
  for (const model::Event& event : events) sched::apply(recovered->world, event, policy_);
  next_check_ = recovered->last + options_.check_every;
  make_loop(std::move(*recovered));
  thread_ = std::thread([this] { run(); });
  return Ok{};
}

Result<Recovered> Runner::recover_world() const {
  return recover(store_, policy_, {options_.recovering, options_.say});
}

void Runner::stop() {
  requests_.close();
  reads_.close();
  stopping_ = true;
  wake_.up();
  if (thread_.joinable()) thread_.join();
}

void Runner::reload(sched::Policy policy, Duration ready_limit,
                    std::map<std::string, ports::Cluster*> clusters, std::function<void()> then) {
  {
    const std::lock_guard lock(reload_mutex_);
    reloads_.push_back({std::move(policy), ready_limit, std::move(clusters), std::move(then)});
  }
  wake_.up();
}

void Runner::take_reload() {
  std::vector<Reload> reloads;
  {
    const std::lock_guard lock(reload_mutex_);
    reloads.swap(reloads_);
  }
  for (Reload& reload : reloads) {
    for (const auto& [name, cluster] : clusters_) {
      if (!reload.clusters.contains(name)) loop_->remove_cluster(name);
    }
    for (const auto& [name, cluster] : reload.clusters) {
      const auto known = clusters_.find(name);
      if (known == clusters_.end() || known->second != cluster) loop_->set_cluster(name, cluster);
    }
    policy_ = std::move(reload.policy);
    clusters_ = std::move(reload.clusters);
    loop_->set_policy(policy_);
    options_.loop.ready_limit = reload.ready_limit;  // also of a loop that is made anew
    loop_->set_ready_limit(reload.ready_limit);
    reload.then();
  }
}

void Runner::make_loop(Recovered recovered) {
  loop_ = std::make_unique<Loop>(Loop::Ports{inbox_, store_, clusters_, &requests_},
                                 std::move(recovered), policy_, options_.loop);
}

void Runner::was_put() {
  std::int64_t none = 0;
  if (first_put_ns_ == 0) first_put_ns_.compare_exchange_strong(none, steady_ns());
  wake_.up();
}

void Runner::time_decisions(StepReport& report) {
  if (!report.decisions.empty() && oldest_ns_ > 0)
    report.decision_seconds = static_cast<double>(steady_ns() - oldest_ns_) / 1e9;
  const bool is_cut = report.events.size() >= options_.loop.batch_most;
  if (!is_cut && !report.refused) oldest_ns_ = 0;  // of what is left over it goes on
}

void Runner::run() {
  while (!stopping_) {
    const std::optional<Duration> pause = turn();
    if (!pause) break;
    if (pause->ms > 0 && !stopping_) wake_.sleep(*pause);
  }
  const Error gone{Fault::Unavailable, "the server is stopping: ask again later"};
  loop_->give_up_requests(gone);
  for (const Request& request : requests_.take(SIZE_MAX)) request.done(gone);
  reads_.answer_some(std::chrono::seconds(1), [&](const ReadAsk&) { return gone; });
}

std::optional<Duration> Runner::turn() {
  take_reload();
  if (is_outdated_) return recover_again(options_.clock());
  reads_.answer_some(std::chrono::milliseconds(options_.reads_time.ms),
                     [this](const ReadAsk& ask) { return loop_->read(ask); });
  const auto begin = std::chrono::steady_clock::now();
  const Time now = options_.clock();
  if (const std::int64_t put = first_put_ns_.exchange(0); oldest_ns_ == 0) oldest_ns_ = put;
  StepReport report = loop_->step(now);
  const auto took = std::chrono::steady_clock::now() - begin;
  time_decisions(report);
  note(report, static_cast<std::uint64_t>(
                   std::chrono::duration_cast<std::chrono::microseconds>(took).count()));
  options_.publish(report, loop_->world(), std::chrono::duration<double>(took).count());
  if (report.refused && report.refused->fault == Fault::Conflict) {
    is_outdated_ = true;
    return recover_again(now);
  }
  if (report.refused) return refused(*report.refused, now);
  if (refused_since_) {
    if (const auto refusal = probe(now)) return *refusal;
  }
  if (report.more || reads_.size() > 0) return Duration{0};
  if (const auto pause = check_world(now)) return *pause;
  const Duration until = report.next_look - options_.clock();
  return std::clamp(until, milliseconds(1), sleep_most);
}

/// An empty commit says nothing about the disk: whether the store is back is seen by writing.
/// How long to wait if it is not.
std::optional<Duration> Runner::probe(Time now) {
  const std::vector<ports::AuditRow> row{
      {0, now, "muster", "", "recover", "store", "it takes writes again"}};
  const auto written = store_.commit({{}, row, {}});
  if (!written) {
    is_outdated_ = written.error().fault == Fault::Conflict;
    return refused(written.error(), now);
  }
  refused_since_.reset();
  requests_.set_store_refusal(std::nullopt);
  options_.say("the store takes writes again");
  return std::nullopt;
}

/// None: it is sound, or it is not its time.
std::optional<Duration> Runner::check_world(Time now) {
  if (now < next_check_) return std::nullopt;
  next_check_ = now + options_.check_every;
  const auto wrong = [&] {
    const sched::World& world = loop_->world();
    const bool small = world.job_count() + world.fleet.node_count() <= options_.check_most;
    return small && !loop_->is_halted() ? options_.check(world) : std::string();
  };
  const std::string found = wrong();
  if (found.empty()) return std::nullopt;
  options_.on_unsound();
  options_.say("the world is not sound and is recovered from the journal: " + found);
  is_outdated_ = true;
  const std::optional<Duration> pause = recover_again(now);
  if (!is_outdated_) {
    if (const std::string still = wrong(); !still.empty()) {
      options_.say("the recovered world is not sound either, nothing is scheduled on it: " + still);
      loop_->halt();
    }
  }
  return pause;
}

Duration Runner::refused(const Error& why, Time now) {
  ++numbers_.store_refusals;
  if (!refused_since_) {
    refused_since_ = now;
    options_.say("the store refuses: " + why.message);
  }
  const Duration since = now - *refused_since_;
  if (since < options_.refused_requests && loop_->has_refused_requests()) return milliseconds(50);
  const Error answer{Fault::Unavailable, "the store takes no writes: " + why.message};
  requests_.set_store_refusal(answer);
  loop_->give_up_requests(answer);
  for (const Request& request : requests_.take(SIZE_MAX)) request.done(answer);
  // Reads and events wake it earlier; a store that is down shall not be asked all the time.
  return std::clamp(Duration{since.ms / 4}, milliseconds(50), refused_pause_most);
}

/// The books went on: by a commit of ours whose end was unknown, or by somebody else.
std::optional<Duration> Runner::recover_again(Time now) {
  loop_->give_up_requests({Fault::Unavailable,
                           "the database was lost while this was written: ask again with the same "
                           "Idempotency-Key, or look whether it is there"});
  const Status again = try_to_recover();
  if (again) return Duration{0};
  if (again.error().fault == Fault::Unavailable) return refused(again.error(), now);
  options_.on_end(again.error());
  return std::nullopt;
}

Status Runner::try_to_recover() {
  const auto epoch = store_.lead();
  if (!epoch) return epoch.error();
  if (*epoch != epoch_ + 1) {
    return Error{Fault::Conflict,
                 "another server leads this store: stop one of them, then start this one again"};
  }
  epoch_ = *epoch;
  auto recovered = recover_world();
  if (!recovered) return recovered.error();
  options_.say("the world was recovered from the journal");
  make_loop(std::move(*recovered));
  is_outdated_ = false;
  return Ok{};
}

void Runner::note(const StepReport& report, std::uint64_t us) {
  ++numbers_.steps;
  numbers_.step_us_sum += us;
  numbers_.step_us_last = us;
  numbers_.events += report.events.size();
  numbers_.decisions += report.decisions.size();
  numbers_.actions += report.actions.size();
  numbers_.waiting = loop_->world().waiting();
  numbers_.unplaced = loop_->world().unplaced();
  if (report.sequence > 0) numbers_.sequence = report.sequence;
}

}  // namespace muster::control
