// AppWrappers that come, change and go: what AppWrapperHub makes of the objects it watches.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "api/appwrapper/editions.h"
#include "api/appwrapper/hub.h"
#include "api/appwrapper/kueue.h"
#include "api/appwrapper/status_fields.h"
#include "api/appwrapper/status_v1beta1.h"
#include "api/appwrapper/status_v1beta2.h"
#include "api/appwrapper/suspension.h"
#include "kube/json.h"
#include "kube/timestamp.h"

namespace muster::api {

namespace {

namespace json = boost::json;

constexpr Duration looks_at_tree_again = seconds(30);
constexpr const char* never_checked =
    "it was created before the API server checked what its creator may create; create it again";
/// In spec.managedBy. The second is what those write who mean the controller that Muster replaces.
constexpr std::string_view our_names[] = {"muster.dev/muster",
                                          "workload.codeflare.dev/appwrapper-controller"};
constexpr const char* about_trees = "its AppWrapper's quota trees changed";
constexpr Duration kueue_pause = seconds(10);  // between two questions whether Kueue is there

bool is_managed_by_others(const json::value& object) {
  const std::string_view name = kube::text_at(object, {"spec", "managedBy"});
  return !name.empty() && std::ranges::find(our_names, name) == std::end(our_names);
}

json::object status_of(const json::value& object) {
  const json::value* status = kube::find(object, {"status"});
  return status != nullptr && status->is_object() ? status->get_object() : json::object();
}

/// Of a status that says it; "" of others.
std::string_view ended_as(const json::object& status) {
  const json::value whole(status);
  for (const std::string_view word : {"Completed", "Succeeded", "Failed", "Deleted"}) {
    if (kube::text_at(whole, {"state"}) == word || kube::text_at(whole, {"phase"}) == word)
      return word;
  }
  return "";
}

/// The cluster in which what its last controller made is. Who does not say knew the hub only.
std::string left_in(const json::object& status, const std::string& hub) {
  const std::string where(kube::text_at(json::value(status), {"muster", "cluster"}));
  return where.empty() ? hub : where;
}

Time created_at(const json::value& object) {
  const auto read = kube::parse_timestamp(kube::text_at(object, {"metadata", "creationTimestamp"}),
                                          "creationTimestamp");
  return read ? *read : Time{0};
}

WrapperAsk ask_of(const work::AppWrapper& wrapper, const work::WrappedJob& wrapped) {
  WrapperAsk ask;
  ask.priority = wrapped.spec.priority;
  ask.min_available = wrapper.min_available;
  if (wrapper.min_available > 0) {
    ask.first_wait = wrapper.requeuing.first_wait();
    ask.next_wait = wrapper.requeuing.time;
    ask.wait_most = wrapper.requeuing.time_most;
    ask.wait_growth = wrapper.requeuing.growth;
  }
  ask.run_limit = wrapped.spec.run_limit;
  ask.names_its_end = wrapper.has_completion_rule();
  ask.is_held = wrapper.is_suspended;
  ask.totals = wrapped.totals;
  if (!wrapped.warnings.empty()) ask.warnings = wrapped.warnings;
  if (wrapper.dialect != work::Dialect::V1beta2) return ask;
  ask.success_ttl = wrapper.grace.success_ttl;
  ask.failed_ttl = wrapper.grace.deletion_on_failure;
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

/// Of one that is a job already: whether a new one may be made of it, and where, does not matter.
Result<Read> read_anyway(const json::value& object, work::WrapOptions options) {
  auto wrapper = work::read_app_wrapper(object);
  if (!wrapper) return wrapper.error();
  wrapper->pins = {};
  options.kinds = {"*"};
  auto wrapped = work::wrapped_job(*wrapper, options);
  if (!wrapped) return wrapped.error();
  return Read{std::move(*wrapper), std::move(*wrapped)};
}

/// Of a spec that does not read at all. Annotations do.
WrapperAsk unread_ask(const json::value& object, bool is_v1beta2, const json::object& status) {
  WrapperAsk ask;
  ask.is_unread = true;
  ask.is_held = was_suspended(status);
  if (!is_v1beta2) return ask;
  model::Labels annotations;
  for (const auto& [name, value] : kube::map_at(object, {"metadata", "annotations"})) {
    if (value.is_string()) annotations[std::string(name)] = std::string(value.get_string());
  }
  std::vector<std::string> warnings;
  const work::Grace grace = work::read_grace(annotations, warnings);
  if (!warnings.empty()) ask.warnings = std::move(warnings);
  ask.success_ttl = grace.success_ttl;
  ask.failed_ttl = grace.deletion_on_failure;
  return ask;
}

}  // namespace

void AppWrapperHub::take(const WrapperChange& change, Time now) {
  const json::value& object = *change.object;
  const std::int64_t newest = edition(change);
  if (const std::int64_t before = edition({change.key, change.uid, nullptr}); newest > before) {
    retire(job_of(change, before));
    editions_[change.uid] = newest;
  }
  if (const auto known = records_.find(job_of(change));
      known != records_.end() && known->second.is_foreign && !is_foreign(object)) {
    forget(known);  // somebody gave it up: as if it came
  }
  const auto [at, is_new] = records_.try_emplace(job_of(change));
  Record& record = at->second;
  const std::int64_t generation = kube::integer_at(object, {"metadata", "generation"});
  const std::uint64_t notes = notes_hash(object);
  if (is_new) {
    record.facts.job = &at->first;  // the key of this record
    record.key = change.key;
    record.uid_at = static_cast<std::uint16_t>(prefix_of(change.key.group).size());
    record.uid_size = static_cast<std::uint16_t>(change.uid.size());
    by_key_.insert(&record);
    writer_->add(record.job(), status_of(object));
    if (auto sight = early_sight(record.job())) record.facts.sight = std::move(*sight);
    take_over(record, change, now);
  } else if ((generation != record.generation || notes != record.notes) && !record.is_gone) {
    follow_spec(record, change, now);
  }
  record.generation = generation;
  record.notes = notes;
  copies_->seen({record.job(), record.key, std::string(record.uid())}, object, !record.is_foreign);
  const bool is_deleting = kube::find(object, {"metadata", "deletionTimestamp"}) != nullptr;
  if (is_deleting && !record.facts.is_deleting) {
    record.facts.is_deleting = true;
    cancel(record.job());
    copies_->let_go(record.job());
    if (!record.is_foreign) touch(record);
  }
}

bool AppWrapperHub::is_foreign(const json::value& object) const {
  return (has_kueue_ && is_labelled_for_kueue(object)) || is_managed_by_others(object);
}

/// Also while nobody can tell.
bool AppWrapperHub::is_in_books(const std::string& job) const {
  const auto known = parts_->store.job(job);
  return known || known.error().fault != Fault::NotFound;
}

std::optional<KeptFailure> AppWrapperHub::kept_failure_of(const Record& record,
                                                          const json::object& status) const {
  auto kept = record.is_v1beta2 ? kept_failure_v1beta2(status) : std::nullopt;
  if (!kept || !parts_->store.job(record.job())) return std::nullopt;
  return kept;
}

void AppWrapperHub::keep_failed(Record& record, const KeptFailure& failure, Time now) {
  WrapperFacts& facts = record.facts;
  facts.failed_before = failure.why;
  facts.keeps_failed = true;
  const std::string job = record.job();
  const Duration left =
      facts.ask.is_held ? Duration{0} : failure.since + facts.ask.failed_ttl - now;
  // Without a time it is not known, and that of its cluster counts.
  if (facts.ask.is_held || facts.ask.failed_ttl.ms > 0)
    answer_after(std::max(left, Duration{0}), [this, job] { drop_kept(job); });
  touch(record);
}

void AppWrapperHub::take_over(Record& record, const WrapperChange& change, Time now) {
  const json::value& object = *change.object;
  record.is_v1beta2 = work::dialect_of(object) == work::Dialect::V1beta2;
  record.facts.is_mcad = options_.wrap.is_mcad;
  if (is_labelled_for_kueue(object) && !has_kueue_ && now - kueue_asked_ >= kueue_pause)
    return ask_for_kueue(record, change);
  record.is_foreign = is_foreign(object);
  if (record.is_foreign) return;
  const json::object status = status_of(object);
  const auto kept = kept_failure_of(record, status);
  // What was only refused is read again: it may have been changed, or may be allowed by now. One
  // that failed is not over for the books until what it wraps is gone.
  record.is_final = (record.is_v1beta2 ? is_final_v1beta2(status) : is_final_v1beta1(status)) &&
                    !is_refused(status) && !kept &&
                    !(is_removing_v1beta2(status) && is_in_books(record.job()));
  if (record.is_final) record.ended_as = ended_as(status);
  auto as_job = read(object, wrap_options());
  if (as_job) {
    record.facts.ask = ask_of(as_job->wrapper, as_job->wrapped);
    record.facts.ask.content = content_of(object, as_job->wrapped);
  }
  if (record.is_final) {
    if (!as_job) ask_anyway(record, object);
    return expire(record, succeeded_at(status));
  }
  auto known = parts_->store.job(record.job());
  if (known) {
    if (!as_job) ask_anyway(record, object);
    const bool is_of_another_user = known->user != user_of(object);
    record.facts.row = std::move(*known);
    if (record.facts.ask.is_unread)
      record.facts.ask.priority = followed_priority(status).value_or(record.facts.row->priority);
    if (kept) return keep_failed(record, *kept, now);
    go_on(record, change, as_job ? Status(Ok{}) : Status(as_job.error()), now);
    if (as_job && is_of_another_user) follow_content(record, change);
    return;
  }
  if (known.error().fault != Fault::NotFound) return take_again(record, change);
  // Deleted before it became a job: it becomes none.
  record.is_final = kube::find(object, {"metadata", "deletionTimestamp"}) != nullptr;
  if (record.is_final || waits_for_older(record, change)) return;
  const bool is_running =
      record.is_v1beta2 ? is_deployed_v1beta2(status) : is_dispatched_v1beta1(status);
  record.is_left_out = is_running || is_stopping_v1beta2(status);
  const bool is_unchecked = created_at(object) < checked_since_;
  if (as_job && is_unchecked && record.is_left_out) {
    wait_to_be_taken(record, fmt::format("what runs of it is left alone: {}", never_checked));
  } else if (as_job && is_unchecked) {
    refuse(record, never_checked);
  } else if (as_job && !unchecked_.empty()) {
    wait_to_be_placed(record, change, WrapperWait::Kind::NoCheck, unchecked_);
  } else if (as_job) {
    if (quota_ && !designate(record, change, as_job->wrapped)) return;
    const bool is_to_stop = is_running && as_job->wrapper.is_suspended;
    const std::string where = left_in(status, options_.cluster);
    if (is_to_stop || is_stopping_v1beta2(status))
      return release(record, change, std::move(as_job->wrapped), where);
    if (is_running && where == options_.cluster)
      return adopt(record, change, std::move(as_job->wrapped));
    if (is_running)
      as_job->wrapped.spec.gang.clusters = {where};  // what is there is met when it is made
    submit(record, change, std::move(as_job->wrapped));
  } else if (as_job.error().fault == Fault::Unavailable) {
    wait_to_be_placed(record, change, WrapperWait::Kind::NoCluster, as_job.error().message);
  } else {
    refuse(record, as_job.error().message);
  }
}

/// It may have been another one, or have been allowed, when its job was made.
void AppWrapperHub::ask_anyway(Record& record, const json::value& object) {
  WrapperAsk& ask = record.facts.ask;
  const auto as_job = read_anyway(object, wrap_options());
  if (!as_job) {
    ask = unread_ask(object, record.is_v1beta2, status_of(object));
    return;
  }
  ask = ask_of(as_job->wrapper, as_job->wrapped);
  ask.content = content_of(object, as_job->wrapped);
}

void AppWrapperHub::go_on(Record& record, const WrapperChange& change, const Status& is_read,
                          Time now) {
  const model::JobCourse& row = *record.facts.row;
  if (!model::is_active(row.state) && !model::is_final(row.state)) waits_->set(record.job(), now);
  if (row.state == model::JobState::Succeeded) expire(record, row.finished);
  // What changed while nobody watched.
  WrapperAsk& ask = record.facts.ask;
  const json::object status = status_of(*change.object);
  WrapperAsk followed = ask;
  followed.is_held = was_suspended(status);
  followed.priority = followed_priority(status).value_or(row.priority);
  followed.content = written_content(status);
  const bool is_another = followed.content != 0 && followed.content != ask.content;
  const bool is_barred = !is_read && is_read.error().fault != Fault::Unavailable;
  if (ask.is_unread || (is_another && is_barred)) {
    ask.is_held = followed.is_held;
    ask.priority = followed.priority;
    ask.content = followed.content;
    if (!model::is_final(row.state)) ignore(record, is_read.error().message);
  } else {
    edit(record, followed);
    if (is_another) {
      ask.content = followed.content;
      follow_content(record, change);
    }
  }
  if (!record.is_reissuing) watch_its_tree(record);
  touch(record);
}

void AppWrapperHub::ask_for_kueue(Record& record, const WrapperChange& change) {
  record.is_submitting = true;
  client_->send_later(kueue_request(), [this, change](const kube::Reply<json::value>& found) {
    const bool is_there = found.ok();
    const bool is_known = is_there || found.error().is_not_found();
    answer([this, change, is_there, is_known] {
      if (is_there && !has_kueue_) {
        has_kueue_ = true;
        parts_->say(
            fmt::format("cluster {} has Kueue now: AppWrappers with its label are left to it, but "
                        "for those that were taken before",
                        options_.cluster));
      }
      const Time now = parts_->clock();
      if (is_known) kueue_asked_ = now;
      const auto at = records_.find(job_of(change));
      if (at == records_.end()) return;
      Record& asked = at->second;
      asked.is_submitting = false;
      if (asked.is_gone) return forget(at);
      if (!is_known) return take_again(asked, change);
      const auto later = missed_.extract(asked.job());
      take_over(asked, later ? later.mapped() : change, now);
    });
  });
}

/// It is deleted when its time to live is over.
void AppWrapperHub::expire(const Record& record, Time succeeded) {
  const Duration ttl = record.facts.ask.success_ttl;
  if (succeeded.is_never()) return;
  if (ttl.ms == 0) return expiry_->forget(record.job());
  expiry_->set(record.job(), {record.key, std::string(record.uid()), succeeded + ttl});
}

/// Nothing is known of it: as if it came once more.
void AppWrapperHub::take_again(Record& record, const WrapperChange& change) {
  const std::string job = record.job();
  answer_after(try_again, [this, job, change] {
    const auto at = records_.find(job);
    if (at == records_.end()) return;
    const bool is_gone = at->second.is_gone;
    const auto later = missed_.extract(job);
    if (!is_gone && !at->second.facts.sight->attempt.job.empty())
      early_sights_.insert_or_assign(job, at->second.facts.sight.take());
    forget(at);
    if (!is_gone) take(later ? later.mapped() : change, parts_->clock());
  });
}

/// What can change while a job waits or runs is followed as it is: its priority, and whether it is
/// held. Of other changes see follow_content(). One that was refused, or has no job yet, is read
/// anew.
void AppWrapperHub::follow_spec(Record& record, const WrapperChange& change, Time now) {
  if (!record.facts.refusal->empty()) {
    record.facts.refusal = {};
    return take_over(record, change, now);
  }
  if (!record.facts.row && unplaced_->drop(record.job())) {
    record.facts.wait.reset();
    return take_over(record, change, now);
  }
  if (record.is_submitting) missed_[record.job()] = change;
  if (record.is_foreign || record.is_submitting || !(record.is_final || record.facts.row)) return;
  auto as_job = read(*change.object, wrap_options());
  if (!as_job) {  // what was allowed, or had a cluster, when it became a job goes on
    auto anyway = read_anyway(*change.object, wrap_options());
    if (anyway && content_of(*change.object, anyway->wrapped) == record.facts.ask.content)
      as_job = std::move(anyway);
  }
  if (!as_job && record.is_final) return;
  if (!as_job) return ignore(record, as_job.error().message);
  const WrapperAsk followed =
      std::exchange(record.facts.ask, ask_of(as_job->wrapper, as_job->wrapped));
  if (record.is_final) return expire(record, succeeded_at(status_of(*change.object)));
  if (record.facts.row->state == model::JobState::Succeeded)
    expire(record, record.facts.row->finished);
  if (record.facts.is_kept_failure() && record.facts.ask.is_held) {
    drop_kept(record.job());  // it stays failed, as with the controller of v1beta2
  } else {
    edit(record, followed);
  }
  record.facts.ask.content = followed.content;
  const auto job = parts_->store.job(record.job());
  const bool is_of_another_user = job && job->user != user_of(*change.object);
  if (followed.content == content_of(*change.object, as_job->wrapped) && !is_of_another_user) {
    record.facts.ignored = {};
  } else {
    follow_content(record, change);
  }
  touch(record);
}

/// Its status says nothing of it.
void AppWrapperHub::ignore(Record& record, const std::string& why) {
  std::string ignored = fmt::format("its new spec is not followed: {}", why);
  if (*record.facts.ignored == ignored) return;
  record.facts.ignored = std::move(ignored);
  parts_->say(
      fmt::format("AppWrapper {}/{}: {}", record.key.ns, record.key.name, *record.facts.ignored));
  tell_events(record.job());
}

/// A job that waits is cancelled, and another one is submitted as a new edition. What runs is what
/// it was.
void AppWrapperHub::follow_content(Record& record, const WrapperChange& change) {
  const model::JobCourse& row = *record.facts.row;
  if (model::is_final(row.state)) return;
  const bool is_held_by_others =
      row.state == model::JobState::Held && !record.facts.ask.is_held;  // a new one would not be
  if (model::is_active(row.state) || is_held_by_others || copies_->has(record.job())) {
    record.facts.ignored = fmt::format(
        "it was changed while its job was {}, which stays what it was; to run it as it is now, "
        "delete it and create it again",
        is_held_by_others ? "held" : "out");
    return tell_events(record.job());  // its status says nothing of it
  }
  // Its new edition would be refused, and the job that is allowed be gone. Labels are not checked,
  // and of the spec nobody knows when it was written.
  if (created_at(*change.object) < checked_since_) return ignore(record, never_checked);
  if (!std::exchange(record.is_reissuing, true)) reissue(record.job(), edition(change) + 1);
}

/// Another tree orders jobs than when its job was submitted. It moves, and keeps its place; what
/// the tree before it says of it counts for those that come later, as of any tree that is added.
void AppWrapperHub::follow_trees(Record& record, const WrapperChange& change) {
  const auto as_job = read_anyway(*change.object, wrap_options());
  const std::string& queue = record.facts.row->queue;
  if (!as_job || !work::may_have_named(as_job->wrapped.labels, queue)) return;
  const auto found = quota_->designation_of(as_job->wrapped.labels);
  if (!found) return watch_its_tree(record);  // its node may come
  const std::string wanted = found->queue.empty() ? as_job->wrapped.spec.queue : found->queue;
  if (wanted == queue) return;
  if (record.facts.ignored->empty())  // else its job is not what it says
    record.facts.ask.content = content_of(*change.object, as_job->wrapped);
  put_labels(record, change, found->missing);
  asks_->move(record.job(), wanted, about_trees, [this, job = record.job(), change] {
    answer([this, job, change] {
      const auto at = records_.find(job);
      if (at != records_.end() && at->second.facts.row) follow_content(at->second, change);
    });
  });
  // What the store refuses is answered to nobody, and what is in the way may go.
  answer_after(looks_at_tree_again, [this, job = record.job()] {
    const auto at = records_.find(job);
    if (at != records_.end()) watch_its_tree(at->second);
  });
}

std::string AppWrapperHub::user_of(const json::value& object) const {
  const std::string_view user = kube::text_at(object, {"metadata", "labels", work::user_label});
  return std::string(user.empty() ? std::string_view(options_.user) : user);
}

/// An older edition: its job goes, and nothing is told of it any more.
void AppWrapperHub::retire(const std::string& job) {
  const auto at = records_.find(job);
  if (at == records_.end()) return;
  at->second.is_gone = true;
  waits_->drop(job);
  if (at->second.is_submitting) return;  // it is cancelled when it is in the books
  if (!at->second.facts.row || model::is_final(at->second.facts.row->state)) return forget(at);
  cancel(job);
}

bool AppWrapperHub::waits_for_older(Record& record, const WrapperChange& change) {
  const std::int64_t newest = edition(change);
  if (newest == 0) return false;
  const std::string older = job_of(change, newest - 1);
  const auto row = parts_->store.job(older);
  if (!row && row.error().fault == Fault::NotFound) return false;
  if (row && model::is_final(row->state)) return false;
  if (row) ask_cancel(older);
  take_again(record, change);
  return true;
}

std::uint64_t AppWrapperHub::content_of(const json::value& object,
                                        const work::WrappedJob& wrapped) const {
  std::string queues(kube::text_at(object, {"metadata", "labels", "muster.dev/queue"}));
  if (!quota_) return content_hash(object, queues);
  // Nodes that it did not choose do not count: a tree that is added later changes nothing.
  const auto add = [&](const std::string& queue) {
    if (!queue.ends_with(fmt::format(".{}", work::default_node))) queues += "," + queue;
  };
  if (const auto designation = quota_->designation_of(wrapped.labels)) {
    add(designation->queue);
    for (const std::string& one : designation->extra_queues) add(one);
  }
  return content_hash(object, queues);
}

void AppWrapperHub::lose(const WrapperChange& change) {
  const auto at = records_.find(job_of(change));
  editions_.erase(change.uid);
  if (at == records_.end()) return;
  Record& record = at->second;
  record.is_gone = true;
  waits_->drop(record.job());
  copies_->let_go(record.job());     // somebody took its finalizer off
  if (record.is_submitting) return;  // it is cancelled when it is in the books
  if (!record.facts.row || model::is_final(record.facts.row->state)) return forget(at);
  cancel(record.job());
}

}  // namespace muster::api
