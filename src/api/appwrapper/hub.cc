#include "api/appwrapper/hub.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "api/appwrapper/install.h"
#include "api/appwrapper/status_fields.h"
#include "api/appwrapper/status_v1beta1.h"
#include "api/appwrapper/status_v1beta2.h"
#include "api/appwrapper/suspension.h"
#include "api/appwrapper/waits.h"
#include "base/hash.h"
#include "kube/json.h"
#include "kube/requests.h"
#include "kube/timestamp.h"

namespace muster::api {

namespace {

namespace json = boost::json;

constexpr Duration idle_pause = seconds(1);
constexpr Duration try_again = seconds(1);
constexpr Duration creators_pause = seconds(5);
constexpr Duration ask_pause = milliseconds(2);  // between questions why a job waits, on average
constexpr Duration served_within = seconds(30);
constexpr std::string_view identity_namespace = "kube-system";
constexpr std::string_view field_manager = "muster";
constexpr std::string_view our_name = "muster.dev/muster";  // in spec.managedBy
constexpr std::string_view kueue_label = "kueue.x-k8s.io/queue-name";

json::object status_of(const json::value& object) {
  const json::value* status = kube::find(object, {"status"});
  return status != nullptr && status->is_object() ? status->get_object() : json::object();
}

Time created_at(const json::value& object) {
  const auto read = kube::parse_timestamp(kube::text_at(object, {"metadata", "creationTimestamp"}),
                                          "creationTimestamp");
  return read ? *read : Time{0};
}

std::string_view letters_of(WrapperGroup group) {
  return group == WrapperGroup::Workload ? "aw" : "mcad";
}

WrapperAsk ask_of(const work::AppWrapper& wrapper, const work::WrappedJob& wrapped) {
  WrapperAsk ask;
  ask.priority = wrapped.spec.priority;
  ask.min_available = wrapper.min_available;
  if (wrapper.min_available > 0) ask.first_wait = wrapper.requeuing.first_wait();
  ask.run_limit = wrapped.spec.run_limit;
  ask.names_its_end = wrapper.has_completion_rule();
  ask.is_held = wrapper.is_suspended;
  ask.totals = wrapped.totals;
  if (wrapper.dialect != work::Dialect::V1beta2) return ask;
  ask.success_ttl = wrapper.grace.success_ttl;
  for (const work::WrappedItem& item : wrapper.items) {
    WrapperComponent& one = ask.components.emplace_back();
    one.name = kube::name_of(item.object);
    one.kind = kube::text_at(item.object, {"kind"});
    one.api_version = kube::text_at(item.object, {"apiVersion"});
    for (const work::PodSetPath& set : work::pod_sets_of(item))
      one.pod_sets.emplace_back(set.path, set.replicas);
  }
  return ask;
}

/// Plans the gang where its pods are. Nodes are preferred, not required: should it be requeued some
/// day, it is as free as any other.
void keep_on_nodes(model::Gang& gang, const ports::AdoptedPods& there) {
  constexpr int weight_most = 100;
  model::PreferredTerm here{weight_most, {}};
  here.term.fields.push_back(
      {"metadata.name", model::Operator::In, {there.nodes.begin(), there.nodes.end()}});
  for (model::PodSet& set : gang.sets) set.pod.preferred_affinity.push_back(here);
}

/// The AppWrapper as a job.
struct Read {
  work::AppWrapper wrapper;
  work::WrappedJob wrapped;
};
Result<Read> read(const json::value& object, const work::WrapOptions& options) {
  auto wrapper = work::read_app_wrapper(object);
  if (!wrapper) return wrapper.error();
  auto wrapped = work::wrapped_job(*wrapper, options);
  if (!wrapped) return wrapped.error();
  return Read{std::move(*wrapper), std::move(*wrapped)};
}

}  // namespace

Status AppWrapperHub::start(const kube::Access& access, Parts parts) {
  auto client = kube::Client::make(access);
  if (!client) return client.error();
  client_ = std::move(*client);
  parts_.emplace(std::move(parts));
  writer_ = std::make_unique<StatusWriter>(
      *client_, options_.pace,
      StatusWriter::Parts{.clock = parts_->clock,
                          .source = [this](const std::string& job) { return source_of(job); },
                          .later = [this](std::function<void()> then) { answer(std::move(then)); },
                          .on_write = [this](const std::string& job) { tell_events(job); },
                          .say = parts_->say});
  expiry_ = std::make_unique<WrapperExpiry>(*client_, parts_->say);
  make_travel_desks();
  answer([this] { ask_identity(); });
  thread_ = std::thread([this] { work(); });
  return Ok{};
}

AppWrapperHub::~AppWrapperHub() { stop(); }

void AppWrapperHub::stop() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
  watches_.clear();
  quota_.reset();
  client_.reset();
}

// ----------------------------------------------------------------------------------------------
// what comes in

void AppWrapperHub::published(const control::StepReport& report) {
  std::vector<model::Event> ours;
  const auto is_ours = [](const std::string* job) {
    return job != nullptr && (job->starts_with("aw-") || job->starts_with("mcad-"));
  };
  for (const model::Event& event : report.events) {
    if (is_ours(model::job_of(event.body))) ours.push_back(event);
  }
  for (const model::Decision& decision : report.decisions) {
    model::Event event{report.now, model::to_event(decision)};
    if (is_ours(model::job_of(event.body))) ours.push_back(std::move(event));
  }
  if (ours.empty()) return;
  {
    const std::lock_guard lock(mutex_);
    for (model::Event& event : ours) events_.push_back(std::move(event));
  }
  changed_.notify_one();
}

void AppWrapperHub::seen(const ports::AttemptSight& sight) {
  {
    const std::lock_guard lock(mutex_);
    sights_[sight.attempt] = sight;
  }
  changed_.notify_one();
}

void AppWrapperHub::list(const std::string& ns,
                         std::function<void(const std::vector<WrapperRow>&)> then) {
  answer([this, ns, then = std::move(then)] {
    std::vector<WrapperRow> rows;
    for (const auto& [job, record] : records_) {
      if (!record.is_gone && (ns.empty() || record.key.ns == ns)) rows.push_back(row_of(record));
    }
    std::sort(rows.begin(), rows.end(),
              [](const WrapperRow& a, const WrapperRow& b) { return a.key < b.key; });
    then(rows);
  });
}

WrapperRow AppWrapperHub::row_of(const Record& record) const {
  WrapperRow row;
  row.key = record.key;
  row.is_v1beta2 = record.is_v1beta2;
  row.priority = record.facts.ask.priority;
  const json::object status = writer_->now_of(record.job);
  const json::value* state = status.if_contains(record.is_v1beta2 ? "phase" : "state");
  if (state != nullptr && state->is_string()) row.state = state->get_string();
  row.reason = record.facts.refusal;
  if (!record.facts.row) return row;
  const model::JobRow& job = *record.facts.row;
  row.job = job.id;
  row.queue = job.queue;
  row.attempt = job.attempt;
  if (record.facts.sight.attempt.number == job.attempt) row.pods = record.facts.sight.pods;
  if (model::is_active(job.state)) row.cluster = job.cluster;
  if (job.state == model::JobState::Failed) row.reason = job.reason;
  if (record.facts.wait) row.reason = why_it_waits(record.facts);
  return row;
}

void AppWrapperHub::answer(std::function<void()> function) {
  {
    const std::lock_guard lock(mutex_);
    answers_.push_back(std::move(function));
  }
  changed_.notify_one();
}

void AppWrapperHub::answer_after(Duration wait, std::function<void()> function) {
  client_->run_after(wait, [this, function = std::move(function)](bool is_stopping) {
    if (!is_stopping) answer(function);
  });
}

bool AppWrapperHub::rest(Time until) {
  const Time now = parts_->clock();
  const Duration wait = std::clamp(until - now, Duration{0}, idle_pause);
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::milliseconds(wait.ms), [this] {
    return is_stopping_ || !watched_.empty() || !events_.empty() || !sights_.empty() ||
           !answers_.empty();
  });
  return !is_stopping_;
}

void AppWrapperHub::work() {
  Time until{0};
  while (rest(until)) {
    const Time now = parts_->clock();
    do_answers();
    do_watched(now);
    do_events(now);
    do_sights();
    ask_due(now);
    writer_->write_due();
    expiry_->delete_due(now);
    until = std::min(now + idle_pause, writer_->next_due());
    if (!asks_.empty() && !is_asking_) until = std::min(until, asks_.begin()->first);
  }
}

void AppWrapperHub::do_answers() {
  std::deque<std::function<void()>> taken;
  {
    const std::lock_guard lock(mutex_);
    taken.swap(answers_);
  }
  for (const auto& one : taken) one();
}

void AppWrapperHub::do_watched(Time now) {
  std::deque<WrapperChange> taken;
  {
    const std::lock_guard lock(mutex_);
    taken.swap(watched_);
  }
  for (WrapperChange& change : taken) {
    if (change.object) {
      take(change, now);
    } else {
      lose(change);
    }
  }
}

void AppWrapperHub::do_events(Time now) {
  std::deque<model::Event> taken;
  {
    const std::lock_guard lock(mutex_);
    taken.swap(events_);
  }
  for (const model::Event& event : taken) {
    const auto at = records_.find(*model::job_of(event.body));
    if (at == records_.end()) continue;
    Record& record = at->second;
    std::optional<model::JobRow>& row = record.facts.row;
    if (const auto* begun = std::get_if<model::JobSubmitted>(&event.body)) {
      if (!row) row = model::row_of(*begun, event.at, 0);
    } else if (!row || !model::follow(*row, event)) {
      continue;
    }
    if (row->state != model::JobState::Waiting) record.facts.wait.reset();
    copies_->let_go(record.job);  // it may be over, or run in the hub's own cluster now
    if (model::is_final(row->state) && record.is_gone) {
      forget(at);
      continue;
    }
    if (record.is_gone) continue;
    const bool waits =
        row->state == model::JobState::Waiting || row->state == model::JobState::Held;
    set_ask(record, waits ? now : Time::never());
    if (row->state == model::JobState::Succeeded) expire(record, event.at);
    touch(record);
  }
}

void AppWrapperHub::do_sights() {
  std::map<ports::Attempt, ports::AttemptSight> taken;
  {
    const std::lock_guard lock(mutex_);
    taken.swap(sights_);
  }
  for (auto& [attempt, sight] : taken) {
    const auto at = records_.find(attempt.job);
    if (at == records_.end() || at->second.is_gone) continue;
    Record& record = at->second;
    const bool is_older = sight.attempt.number < record.facts.sight.attempt.number;
    if (is_older || record.facts.sight == sight) continue;
    record.facts.sight = std::move(sight);
    touch(record);
  }
}

// ----------------------------------------------------------------------------------------------
// AppWrappers come and go

/// Which cluster it is: jobs of another one that was called the same are left alone.
void AppWrapperHub::ask_identity() {
  client_->send_later(
      kube::get_request(kube::resources::namespaces(), "", identity_namespace),
      [this](const kube::Reply<json::value>& found) {
        const bool may_not =
            !found && (found.error().is_forbidden() || found.error().is_not_found());
        if (!found && !may_not) {
          parts_->say(fmt::format("AppWrappers of cluster {}: {}", options_.cluster,
                                  found.error().message));
          return answer_after(try_again, [this] { ask_identity(); });
        }
        const std::string whose = found ? std::string(kube::uid_of(*found)) : options_.cluster;
        answer([this, whose] {
          hub_mark_ =
              fmt::format("{:08x}", static_cast<std::uint32_t>(Hasher().add(whose).value()));
          begin();
        });
      });
}

void AppWrapperHub::begin() {
  if (options_.installs) {
    const Status done =
        install_crds(*client_, OldGroup::IfThere, served_within, [this](const InstalledCrd& crd) {
          if (crd.how != InstalledCrd::How::AsBefore)
            parts_->say("installed definition " + crd.name);
        });
    if (!done) {
      parts_->say(done.error().message);
      return answer_after(try_again, [this] { begin(); });
    }
  }
  kube::ApiRequest kueue;
  kueue.path = "/apis/kueue.x-k8s.io";
  const auto found = client_->send(kueue);
  if (!found && !found.error().is_not_found()) {  // not known: it might be there
    parts_->say(
        fmt::format("AppWrappers of cluster {}: {}", options_.cluster, found.error().message));
    return answer_after(try_again, [this] { begin(); });
  }
  has_kueue_ = found.ok();
  if (options_.asks_creators) {
    const auto since = creators_checked_since(*client_);
    if (!since) {
      parts_->say(
          fmt::format("AppWrappers of cluster {}: {}", options_.cluster, since.error().message));
      return answer_after(creators_pause, [this] { begin(); });
    }
    checked_since_ = *since;
  }
  if (!options_.has_quota) return watch();
  quota_ = std::make_unique<QuotaDesk>(
      *client_,
      QuotaDesk::Parts{.requests = parts_->requests,
                       .later = [this](std::function<void()> then) { answer(std::move(then)); },
                       .later_after =
                           [this](Duration wait, std::function<void()> then) {
                             answer_after(wait, std::move(then));
                           },
                       .say = parts_->say,
                       .on_change = [this] { quota_changed(); }});
}

void AppWrapperHub::watch() {
  for (const WrapperGroup group : {WrapperGroup::Workload, WrapperGroup::McadIbm}) {
    WrapperWatch::Handlers on;
    on.on_change = [this](WrapperChange change) {
      {
        const std::lock_guard lock(mutex_);
        watched_.push_back(std::move(change));
      }
      changed_.notify_one();
    };
    on.on_synced = [this, group] {
      // After what was listed is taken in.
      answer([this, group] { answer([this, group] { cancel_strays(group); }); });
    };
    on.on_failure = [this](const std::string& why) {
      const std::string said = why.empty() ? "reached again" : why;
      parts_->say(fmt::format("AppWrappers of cluster {}: {}", options_.cluster, said));
    };
    watches_.push_back(std::make_unique<WrapperWatch>(*client_, group, options_.ns, std::move(on)));
  }
}

std::string AppWrapperHub::prefix_of(WrapperGroup group) const {
  return fmt::format("{}-{}-", letters_of(group), hub_mark_);
}

std::string AppWrapperHub::job_of(const WrapperChange& change) const {
  return prefix_of(change.key.group) + change.uid;
}

void AppWrapperHub::take(const WrapperChange& change, Time now) {
  const json::value& object = *change.object;
  const auto [at, is_new] = records_.try_emplace(job_of(change));
  Record& record = at->second;
  const std::int64_t generation = kube::integer_at(object, {"metadata", "generation"});
  if (is_new) {
    record.job = at->first;
    record.key = change.key;
    record.uid = change.uid;
    writer_->add(record.job, record.key, record.uid, status_of(object));
    take_over(record, change, now);
  } else if (generation != record.generation && !record.is_gone) {
    follow_spec(record, change, now);
  }
  record.generation = generation;
  copies_->seen({record.job, record.key, record.uid}, object);
  const bool is_deleting = kube::find(object, {"metadata", "deletionTimestamp"}) != nullptr;
  if (is_deleting && !record.facts.is_deleting) {
    record.facts.is_deleting = true;
    cancel(record.job);
    copies_->let_go(record.job);
    if (!record.is_foreign) touch(record);
  }
}

void AppWrapperHub::take_over(Record& record, const WrapperChange& change, Time now) {
  const json::value& object = *change.object;
  record.is_v1beta2 = work::dialect_of(object) == work::Dialect::V1beta2;
  record.facts.is_mcad = options_.wrap.is_mcad;
  const std::string_view managed_by = kube::text_at(object, {"spec", "managedBy"});
  const bool is_of_kueue =
      has_kueue_ && kube::find(object, {"metadata", "labels", kueue_label}) != nullptr;
  record.is_foreign = is_of_kueue || (!managed_by.empty() && managed_by != our_name);
  if (record.is_foreign) return;
  const json::object status = status_of(object);
  // What was only refused is read again: it may have been changed, or may be allowed by now.
  record.is_final = (record.is_v1beta2 ? is_final_v1beta2(status) : is_final_v1beta1(status)) &&
                    !is_refused(status);
  auto as_job = read(object, wrap_options());
  if (as_job) record.facts.ask = ask_of(as_job->wrapper, as_job->wrapped);
  if (record.is_final) return expire(record, succeeded_at(status));
  auto known = parts_->store.job(record.job);
  if (known) {
    record.facts.row = std::move(*known);
    const model::JobState state = record.facts.row->state;
    if (!model::is_active(state) && !model::is_final(state)) set_ask(record, now);
    if (state == model::JobState::Succeeded) expire(record, record.facts.row->finished);
    if (as_job) {  // what changed while nobody watched
      WrapperAsk followed = record.facts.ask;
      followed.is_held = was_suspended(status);
      edit(record, followed);
    }
    return touch(record);
  }
  if (known.error().fault != Fault::NotFound) return take_again(record, change);
  // Deleted before it became a job: it becomes none.
  record.is_final = kube::find(object, {"metadata", "deletionTimestamp"}) != nullptr;
  if (record.is_final) return;
  if (as_job && created_at(object) < checked_since_) {
    refuse(record,
           "it was created before the API server checked what its creator may create; create it "
           "again");
  } else if (as_job) {
    if (quota_ && !designate(record, change, as_job->wrapped)) return;
    const bool is_running =
        record.is_v1beta2 ? is_deployed_v1beta2(status) : is_dispatched_v1beta1(status);
    if (is_running) return adopt(record, change, std::move(as_job->wrapped));
    submit(record, change, std::move(as_job->wrapped));
  } else if (as_job.error().fault == Fault::Unavailable) {
    wait_for_clusters(record, change, as_job.error().message);
  } else {
    refuse(record, as_job.error().message);
  }
}

/// It is deleted when its time to live is over.
void AppWrapperHub::expire(const Record& record, Time succeeded) {
  const Duration ttl = record.facts.ask.success_ttl;
  if (succeeded.is_never() || ttl.ms == 0) return;
  expiry_->set(record.job, {record.key, record.uid, succeeded + ttl});
}

/// Nothing is known of it: as if it came once more.
void AppWrapperHub::take_again(Record& record, const WrapperChange& change) {
  const std::string job = record.job;
  answer_after(try_again, [this, job, change] {
    const auto at = records_.find(job);
    if (at == records_.end()) return;
    const bool is_gone = at->second.is_gone;
    const auto later = missed_.extract(job);
    forget(at);
    if (!is_gone) take(later ? later.mapped() : change, parts_->clock());
  });
}

/// Only what can change while a job waits or runs is followed: its priority, and whether it is
/// held. One that was refused is read anew.
void AppWrapperHub::follow_spec(Record& record, const WrapperChange& change, Time now) {
  if (!record.facts.refusal.empty()) {
    record.facts.refusal.clear();
    return take_over(record, change, now);
  }
  if (record.is_submitting) missed_[record.job] = change;
  if (record.is_foreign || record.is_final || record.is_submitting || !record.facts.row) return;
  const auto as_job = read(*change.object, wrap_options());
  if (!as_job) {
    parts_->say(fmt::format("AppWrapper {}/{}: its new spec is not followed: {}", record.key.ns,
                            record.key.name, as_job.error().message));
    return;
  }
  const WrapperAsk followed =
      std::exchange(record.facts.ask, ask_of(as_job->wrapper, as_job->wrapped));
  edit(record, followed);
  touch(record);
}

void AppWrapperHub::edit(const Record& record, const WrapperAsk& followed) {
  auto wanted = changes_between(record.job, followed, record.facts.ask);
  if (!wanted.empty()) request(record.job, "edit", std::move(wanted));
}

void AppWrapperHub::lose(const WrapperChange& change) {
  const auto at = records_.find(job_of(change));
  if (at == records_.end()) return;
  Record& record = at->second;
  record.is_gone = true;
  set_ask(record, Time::never());
  copies_->let_go(record.job);       // somebody took its finalizer off
  if (record.is_submitting) return;  // it is cancelled when it is in the books
  if (!record.facts.row || model::is_final(record.facts.row->state)) return forget(at);
  cancel(record.job);
}

void AppWrapperHub::cancel(const std::string& job) {
  const auto at = records_.find(job);
  const bool is_open =
      at != records_.end() && at->second.facts.row && !model::is_final(at->second.facts.row->state);
  if (is_open) request(job, "cancel", {model::JobCancelled{job}});
}

/// Of AppWrappers that were deleted while nobody watched.
void AppWrapperHub::cancel_strays(WrapperGroup group) {
  auto known = std::make_shared<std::set<std::string>>();
  for (const auto& [job, record] : records_) known->insert(job);
  const auto ask = [known, prefix = prefix_of(group), user = options_.user](
                       const sched::World& world, Time now) -> Result<control::Asked> {
    control::Asked asked;
    for (std::uint32_t i = 0; i < world.job_count(); ++i) {
      const sched::JobSlot slot{i};
      if (world.is_free(slot)) continue;
      const sched::Job& job = world.job(slot);
      if (model::is_final(job.state) || !job.id.starts_with(prefix) || known->contains(job.id))
        continue;
      asked.events.emplace_back(model::JobCancelled{job.id});
      asked.audit.push_back({0, now, user, "", "cancel", job.id, "its AppWrapper was deleted"});
    }
    return asked;
  };
  const auto put = parts_->requests.put({ask, [](const Result<control::Answer>&) {}});
  if (put != control::Requests::Put::Taken && put != control::Requests::Put::Closed)
    answer_after(try_again, [this, group] { cancel_strays(group); });
}

// ----------------------------------------------------------------------------------------------
// quota

void AppWrapperHub::quota_changed() {
  if (watches_.empty()) watch();  // AppWrappers come after the queues they belong to
  place_unplaced();
}

bool AppWrapperHub::designate(Record& record, const WrapperChange& change,
                              work::WrappedJob& wrapped) {
  const auto designation = quota_->designation_of(wrapped.labels);
  if (!designation) {
    record.facts.wait =
        WrapperWait{WrapperWait::Kind::Quota, designation.error().message, std::nullopt};
    unplaced_[record.job] = change;
    touch(record);
    return false;
  }
  if (!designation->missing.empty()) put_labels(record, designation->missing);
  if (!designation->queue.empty()) wrapped.spec.queue = designation->queue;
  wrapped.spec.extra_queues = designation->extra_queues;
  return true;
}

void AppWrapperHub::put_labels(const Record& record, const model::Labels& labels) {
  json::object values;
  for (const auto& [name, value] : labels) values[name] = value;
  const json::value patch = {{"metadata", {{"uid", record.uid}, {"labels", values}}}};
  client_->send_later(
      kube::patch_request(appwrappers(record.key.group), record.key.ns, record.key.name,
                          kube::Patch::Merge, patch, {.field_manager = std::string(field_manager)}),
      [](const kube::Reply<json::value>&) {});
}

// ----------------------------------------------------------------------------------------------
// what is asked of the loop

/// Its last controller left it running: what is there is found before it is submitted.
void AppWrapperHub::adopt(Record& record, const WrapperChange& change, work::WrappedJob wrapped) {
  record.is_submitting = true;
  ports::LeftWork left{record.job, record.key.ns, record.uid, wrapped.command.objects};
  auto job = std::make_shared<work::WrappedJob>(std::move(wrapped));
  parts_->adopter.adopt(std::move(left),
                        [this, change, job](const Result<ports::AdoptedPods>& found) {
                          answer([this, change, job, found] { adopted(change, *job, found); });
                        });
}

void AppWrapperHub::adopted(const WrapperChange& change, work::WrappedJob& wrapped,
                            const Result<ports::AdoptedPods>& found) {
  const auto at = records_.find(job_of(change));
  if (at == records_.end()) return;
  Record& record = at->second;
  record.is_submitting = false;
  if (record.is_gone) return forget(at);
  if (!found) {
    parts_->say(fmt::format("AppWrapper {}/{} was dispatched by another controller: {}",
                            record.key.ns, record.key.name, found.error().message));
    return take_again(record, change);
  }
  parts_->say(
      fmt::format("AppWrapper {}/{} was dispatched by another controller; {} of its pods "
                  "are taken over",
                  record.key.ns, record.key.name, found->bound));
  wrapped.spec.gang.clusters = {options_.cluster};
  if (!options_.wrap.is_mcad && found->bound > 0) keep_on_nodes(wrapped.spec.gang, *found);
  submit(record, change, std::move(wrapped));
}

void AppWrapperHub::submit(Record& record, const WrapperChange& change, work::WrappedJob wrapped) {
  record.is_submitting = true;
  Submit submit;
  submit.user = wrapped.spec.user.empty() ? options_.user : wrapped.spec.user;
  submit.request = fmt::format("appwrapper {}/{}", record.key.ns, record.key.name);
  submit.ids = {record.job};
  config::Submission& job = submit.jobs.emplace_back();
  job.spec = std::move(wrapped.spec);
  job.command = std::move(wrapped.command);
  job.labels = std::move(wrapped.labels);
  job.unfit_clusters = std::move(wrapped.unfit_clusters);
  parts_->submitter.submit(std::move(submit), [this, change](const SubmitOutcome& outcome) {
    answer([this, change, outcome] { submitted(change, outcome); });
  });
}

void AppWrapperHub::submitted(const WrapperChange& change, const SubmitOutcome& outcome) {
  const auto at = records_.find(job_of(change));
  if (at == records_.end()) return;
  Record& record = at->second;
  record.is_submitting = false;
  if (!outcome.result) {
    if (record.is_gone) return forget(at);
    if (outcome.busy || outcome.result.error().fault == Fault::Unavailable)
      return take_again(record, change);
    return refuse(record, outcome.result.error().message);
  }
  if (!record.facts.row) {  // the event is on its way, or was before we knew it
    if (auto row = parts_->store.job(record.job)) record.facts.row = std::move(*row);
  }
  if (record.is_gone || record.facts.is_deleting) return cancel(record.job);
  const Time now = parts_->clock();
  set_ask(record, now);
  touch(record);
  if (const auto later = missed_.extract(record.job)) follow_spec(record, later.mapped(), now);
}

void AppWrapperHub::request(const std::string& job, const std::string& verb,
                            std::vector<model::EventBody> events) {
  const auto ask = [job, verb, events, user = options_.user](const sched::World& world,
                                                             Time now) -> Result<control::Asked> {
    const sched::JobSlot slot = world.find_job(job);
    control::Asked asked;
    if (slot.is_none()) return asked;
    asked.events = still_wanted(world.job(slot), events);
    if (!asked.events.empty()) asked.audit.push_back({0, now, user, "", verb, job, "AppWrapper"});
    return asked;
  };
  const auto put = parts_->requests.put({ask, [](const Result<control::Answer>&) {}});
  if (put != control::Requests::Put::Taken && put != control::Requests::Put::Closed)
    answer_after(try_again, [this, job, verb, events] { request(job, verb, events); });
}

void AppWrapperHub::refuse(Record& record, const std::string& why) {
  record.facts.refusal =
      fmt::format("{}/{} creation failure: {}", record.key.ns, record.key.name, why);
  touch(record);
}

/// Asked on the loop's thread, for a moment at a time: what is decided meanwhile goes before.
void AppWrapperHub::ask_due(Time now) {
  constexpr std::size_t at_once = 200;
  static constexpr std::chrono::milliseconds moment{2};
  if (is_asking_ || asks_.empty() || asks_.begin()->first > now) return;
  auto jobs = std::make_shared<std::vector<std::string>>();
  while (!asks_.empty() && asks_.begin()->first <= now && jobs->size() < at_once) {
    jobs->push_back(asks_.begin()->second);
    set_ask(records_.at(jobs->back()), Time::never());
  }
  auto waits = std::make_shared<std::vector<std::optional<WrapperWait>>>();
  const auto ask = [jobs, waits](sched::World& world, sched::Agenda& agenda,
                                 const sched::Policy& policy, Time at) -> Result<std::string> {
    const auto end = std::chrono::steady_clock::now() + moment;
    for (const std::string& job : *jobs) {
      waits->push_back(wait_of(world, agenda, policy, job, at));
      if (std::chrono::steady_clock::now() > end) break;
    }
    return std::string();
  };
  const auto done = [this, jobs, waits](const Result<std::string>&) {
    answer([this, jobs, waits] { told(*jobs, *waits); });
  };
  is_asking_ = parts_->reads.put({ask, done});
  if (is_asking_) return;
  for (const std::string& job : *jobs) set_ask(records_.at(job), now + try_again);
}

void AppWrapperHub::told(const std::vector<std::string>& jobs,
                         const std::vector<std::optional<WrapperWait>>& waits) {
  is_asking_ = false;
  const Time now = parts_->clock();
  // Many that wait are asked about less often.
  const Duration again = std::max(options_.ask_again,
                                  Duration{static_cast<std::int64_t>(asks_.size()) * ask_pause.ms});
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const auto at = records_.find(jobs[i]);
    if (at == records_.end() || at->second.is_gone || !at->second.facts.row) continue;
    Record& record = at->second;
    const model::JobState state = record.facts.row->state;
    if (model::is_active(state) || model::is_final(state)) continue;
    if (i >= waits.size()) {  // none at all: nobody answers now
      set_ask(record, waits.empty() ? now + options_.pace.settle : now);
      continue;
    }
    // Not looked at yet: the next plan is a moment away.
    set_ask(record, now + (waits[i] ? again : options_.pace.settle));
    if (!waits[i]) continue;
    const bool is_news = !record.facts.wait || record.facts.wait->kind != waits[i]->kind;
    record.facts.wait = waits[i];
    if (is_news) touch(record);
  }
}

// ----------------------------------------------------------------------------------------------
// what is written

Moves AppWrapperHub::moves_of(const Record& record) {
  const WrapperFacts& facts = record.facts;
  if (!facts.refusal.empty()) return Moves::No;
  if (!facts.row) return Moves::Soon;
  switch (facts.row->state) {
    case model::JobState::Waiting:
      return facts.wait ? Moves::No : Moves::Soon;
    case model::JobState::Starting:
    case model::JobState::Running:
      return facts.is_made() ? Moves::No : Moves::Making;
    case model::JobState::Stopping:
      return Moves::Soon;
    default:
      return Moves::No;
  }
}

std::optional<StatusSource> AppWrapperHub::source_of(const std::string& job) const {
  const auto at = records_.find(job);
  if (at == records_.end()) return std::nullopt;
  const Record& record = at->second;
  if (record.is_foreign || record.is_final || record.is_gone) return std::nullopt;
  return StatusSource{record.is_v1beta2, &record.facts};
}

void AppWrapperHub::touch(const Record& record) {
  if (source_of(record.job)) writer_->touch(record.job, moves_of(record));
}

void AppWrapperHub::set_ask(Record& record, Time at) {
  asks_.erase({record.ask_at, record.job});
  record.ask_at = at;
  if (!at.is_never()) asks_.insert({at, record.job});
}

void AppWrapperHub::forget(Records::iterator at) {
  unplaced_.erase(at->first);
  missed_.erase(at->first);
  set_ask(at->second, Time::never());
  writer_->forget(at->first);
  expiry_->forget(at->first);
  events_told_->forget(at->first);
  records_.erase(at);
}

}  // namespace muster::api
