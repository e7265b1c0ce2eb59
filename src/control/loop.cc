#include "control/loop.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "model/job_row.h"

namespace muster::control {
namespace {

constexpr Duration store_pause = milliseconds(50);

/// What becomes too old goes in portions, not in a commit of its own each.
constexpr Duration forget_tick = seconds(10);

Time tick_before(Time t) { return Time{t.ms / forget_tick.ms * forget_tick.ms}; }

/// The oldest of those that are too old or too many; the bound of one step is a time, so that those
/// that ended together go together.
template <typename Items>
Time forget_until(const Items& items, Time known, Time too_old, Time too_new, std::size_t most,
                  std::size_t at_once) {
  Time until = known;
  std::size_t left = items.size();
  auto it = items.upper_bound({known, {}});  // what stayed then is still referred to
  for (; it != items.end() && at_once > 0; ++it, --left, --at_once) {
    if (it->first > too_new || (it->first > too_old && left <= most)) break;
    until = it->first;
  }
  return until;
}

}  // namespace

bool is_sight(const model::EventBody& body) {
  return std::holds_alternative<model::NodeSeen>(body) ||
         std::holds_alternative<model::NodeGone>(body) ||
         std::holds_alternative<model::ForeignPodSeen>(body) ||
         std::holds_alternative<model::ForeignPodGone>(body) ||
         std::holds_alternative<model::ClusterHealth>(body) ||
         std::holds_alternative<model::ClusterKinds>(body) ||
         std::holds_alternative<model::Ticked>(body);
}

Loop::Loop(Ports ports, Recovered from, sched::Policy policy, Options options)
    : ports_(std::move(ports)),
      world_(std::move(from.world)),
      policy_(std::move(policy)),
      options_(std::move(options)),
      outbox_(options_.retry, options_.ready_limit),
      now_(from.last),
      next_submit_(world_.newest_submit + 1) {
  for (const sched::ClusterId id : world_.fleet.by_name()) {
    const sched::Cluster& cluster = world_.fleet.cluster(id);
    const model::Health health = model::health_under(cluster.spec.admission, cluster.health);
    sched::apply(world_, {now_, model::ClusterHealth{cluster.spec.name, health}}, policy_);
  }
  outbox_.rebuild(world_, now_);
  for (const auto& [name, cluster] : ports_.clusters) relist(name);
}

StepReport Loop::step(Time now) {
  now_ = std::max(now_, now);
  StepReport report;
  report.now = now_;

  // 1 take a batch
  take_batch();
  if (!goes_on(Stage::Taken, report)) return report;

  // 2 commit the books, 3 apply
  const auto committed = commit_batch();
  if (!committed) return refuse(std::move(report), committed.error());
  report.events_sequence = *committed;
  report.events = std::move(pending_);
  pending_.clear();
  for (Waiting& waiting : asked_) {
    report.events.insert(report.events.end(), std::make_move_iterator(waiting.events.begin()),
                         std::make_move_iterator(waiting.events.end()));
  }
  if (!goes_on(Stage::Committed, report)) return report;
  for (const model::Event& event : report.events) apply_one(event);
  answer_requests(report.events_sequence);
  sched::apply(world_, {now_, model::Ticked{}}, policy_);
  if (!goes_on(Stage::Applied, report)) return report;
  if (is_halted_) {
    report.sequence = report.events_sequence;
    return report;
  }

  // 4 plan
  sched::Plan plan = sched::plan(world_, agenda_, policy_, now_);
  if (!goes_on(Stage::Planned, report)) return report;

  // 5 commit and apply the decisions
  std::vector<model::Event> decided;
  decided.reserve(plan.decisions.size());
  for (const model::Decision& decision : plan.decisions) {
    if (const auto* placed = std::get_if<model::Placed>(&decision)) expect(*placed);
    decided.push_back({now_, model::to_event(decision)});
  }
  const auto sequence = ports_.store.commit({decided});
  if (!sequence) {
    agenda_ = sched::Agenda{};  // it has moved on by decisions that do not exist
    world_.changes.everything = true;
    return refuse(std::move(report), sequence.error());
  }
  for (const model::Event& event : decided) apply_one(event);
  report.decisions = std::move(plan.decisions);
  report.scores = std::move(plan.scores);
  report.tried = plan.tried;
  report.sequence = *sequence;
  if (!goes_on(Stage::Decided, report)) return report;

  // 6 dispatch; publishing is up to the caller
  report.actions = outbox_.take_due(world_, now_);
  for (const ports::Action& action : report.actions) {
    const auto it = ports_.clusters.find(action.cluster);
    if (it != ports_.clusters.end()) it->second->apply(action);
  }
  report.next_look = std::min(plan.next_look, outbox_.next());
  report.more =
      ports_.inbox.size() > 0 || (ports_.requests != nullptr && ports_.requests->size() > 0);
  goes_on(Stage::Dispatched, report);
  return report;
}

/// The cluster gets ready while the decision is written.
void Loop::expect(const model::Placed& placed) const {
  const auto it = ports_.clusters.find(placed.cluster);
  if (it != ports_.clusters.end()) it->second->expect(placed);
}

void Loop::take_batch() {
  if (!pending_.empty() || !asked_.empty()) return;  // refused before: exactly that again
  pending_ = ports_.inbox.take(options_.batch_most);
  for (model::Event& event : pending_) {
    event.at = now_;
    explain_end(event);
  }
  forget_some();
  if (ports_.requests == nullptr) return;
  for (Request& request : ports_.requests->take(options_.batch_most)) ask(std::move(request));
}

/// A start that the outbox gave up failed: it waits a while as others do, and says why.
void Loop::explain_end(model::Event& event) const {
  const auto* gone = std::get_if<model::Gone>(&event.body);
  if (gone == nullptr || !outbox_.has_given_up({gone->job, gone->attempt})) return;
  event.body = model::StartFailed{
      gone->job, gone->attempt, now_ + policy_.start_retry_pause,
      fmt::format("it did not start within {} of its placement, and its cluster did not say why",
                  to_text(outbox_.ready_limit()))};
}

void Loop::forget_some() {
  const Memory& memory = options_.memory;
  // Questions are answered by what the last plan left: without plans nothing may go from under it.
  if (memory.finished.ms == 0 || is_halted_) return;
  const Time too_new = now_ - seconds(1);
  const model::FinishedForgotten next{
      forget_until(world_.finished, forgotten_.until, tick_before(now_ - memory.finished), too_new,
                   memory.finished_most, memory.at_once),
      forget_until(world_.idle_names(), forgotten_.names_until, tick_before(now_ - memory.names),
                   too_new, memory.names_most, memory.at_once)};
  if (next.until == forgotten_.until && next.names_until == forgotten_.names_until) return;
  forgotten_ = next;
  pending_.push_back({now_, next});
}

void Loop::ask(Request request) {
  Result<Asked> asked = request.ask(world_, now_);
  if (!asked) {
    request.done(asked.error());
    return;
  }
  Waiting waiting{{}, {}, std::move(request.done)};
  waiting.events.reserve(asked->events.size());
  for (model::EventBody& body : asked->events) {
    auto* submitted = std::get_if<model::JobSubmitted>(&body);
    if (submitted != nullptr && submitted->seq == 0) submitted->seq = next_submit_++;
    waiting.events.push_back({now_, std::move(body)});
  }
  for (ports::AuditRow& row : asked->audit) row.at = now_;
  waiting.asked = std::move(*asked);
  asked_.push_back(std::move(waiting));
}

Result<std::uint64_t> Loop::commit_batch() {
  std::vector<model::Event> books;
  std::vector<ports::AuditRow> audit;
  std::vector<ports::SubmitKey> keys;
  std::vector<ports::Payload> payloads;
  for (const model::Event& event : pending_) {
    if (!is_sight(event.body)) books.push_back(event);
  }
  for (const Waiting& waiting : asked_) {
    books.insert(books.end(), waiting.events.begin(), waiting.events.end());
    audit.insert(audit.end(), waiting.asked.audit.begin(), waiting.asked.audit.end());
    keys.insert(keys.end(), waiting.asked.keys.begin(), waiting.asked.keys.end());
    payloads.insert(payloads.end(), waiting.asked.payloads.begin(), waiting.asked.payloads.end());
  }
  return ports_.store.commit({books, audit, keys, payloads});
}

void Loop::answer_requests(std::uint64_t sequence) {
  for (Waiting& waiting : asked_) waiting.done(Answer{std::move(waiting.asked.answer), sequence});
  asked_.clear();
}

void Loop::give_up_requests(const Error& why) {
  for (const Waiting& waiting : asked_) waiting.done(why);
  asked_.clear();
}

void Loop::set_cluster(const std::string& name, ports::Cluster* cluster) {
  ports_.clusters[name] = cluster;
  relist(name);
}

void Loop::set_policy(sched::Policy policy) {
  policy_ = std::move(policy);
  agenda_ = sched::Agenda{};
  world_.changes.everything = true;
}

StepReport Loop::refuse(StepReport report, Error why) const {
  report.refused = std::move(why);
  report.next_look = now_ + store_pause;
  return report;
}

void Loop::settle_health(const std::string& cluster) {
  const sched::ClusterId id = world_.fleet.find_cluster(cluster);
  if (id.is_none() || !world_.fleet.cluster(id).joined) return;
  const auto said = reported_.find(cluster);
  const model::Health health =
      model::health_under(world_.fleet.cluster(id).spec.admission,
                          said == reported_.end() ? model::Health::Ready : said->second);
  if (!sched::apply(world_, {now_, model::ClusterHealth{cluster, health}}, policy_)) return;
  if (health == model::Health::Unreachable) return;
  outbox_.wake(cluster, now_);
  relist(cluster);
}

void Loop::apply_one(const model::Event& event) {
  if (const auto* health = std::get_if<model::ClusterHealth>(&event.body)) {
    reported_[health->cluster] = health->health;
    settle_health(health->cluster);
    return;
  }
  const bool changed = sched::apply(world_, event, policy_);
  if (const auto* set = std::get_if<model::ClusterSet>(&event.body)) settle_health(set->spec.name);
  if (const auto* left = std::get_if<model::ClusterLeft>(&event.body))
    reported_.erase(left->cluster);
  const std::string* job = model::job_of(event.body);
  if (!changed || job == nullptr) return;
  const sched::JobSlot slot = world_.find_job(*job);
  if (!slot.is_none()) outbox_.look_at(world_, slot, now_);
}

void Loop::relist(const std::string& cluster) {
  const auto it = ports_.clusters.find(cluster);
  if (it != ports_.clusters.end()) it->second->relist(expected(cluster));
}

std::vector<ports::Expected> Loop::expected(const std::string& cluster) const {
  std::vector<ports::Expected> attempts;
  const sched::ClusterId id = world_.fleet.find_cluster(cluster);
  if (id.is_none()) return attempts;
  for (const sched::JobSlot slot : world_.active_in(id)) {
    const sched::Job& job = world_.job(slot);
    const model::Demise& demise = job.active->demise;
    const bool is_removed = demise.ailment != model::Ailment::None;
    attempts.push_back({{job.id, job.attempt},
                        job.state == model::JobState::Running || is_removed,
                        false,
                        sched::places_of(world_, *job.active),
                        counted_of(world_, job),
                        job.requeues,
                        demise});
  }
  for (const sched::Orphan& orphan : world_.orphans()) {
    if (orphan.active.cluster == id)
      attempts.push_back({{world_.job(orphan.job).id, orphan.attempt}, false, true});
  }
  std::sort(attempts.begin(), attempts.end(),
            [](const auto& a, const auto& b) { return a.attempt < b.attempt; });
  return attempts;
}

bool Loop::goes_on(Stage stage, StepReport& report) const {
  report.died = options_.goes_on && !options_.goes_on(stage);
  return !report.died;
}

}  // namespace muster::control
