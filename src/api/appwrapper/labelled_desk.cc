#include "api/appwrapper/labelled_desk.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <set>
#include <utility>

#include "api/appwrapper/editions.h"
#include "api/appwrapper/suspension.h"
#include "config/job_file.h"
#include "kube/json.h"
#include "kube/requests.h"

namespace muster::api {

namespace {

namespace json = boost::json;
using model::JobState;

constexpr std::string_view group = "ray.io";
constexpr std::string_view newest_version = "v1";
constexpr std::string_view field_manager = "muster";
constexpr Duration try_again = seconds(1);
constexpr Duration kinds_pause = seconds(15);  // until KubeRay is looked for again
constexpr std::string_view nudge_annotation = "muster.dev/nudged";
constexpr Duration nudge_after = seconds(35);
constexpr Duration refused_pause = seconds(30);  // a queue may be made meanwhile

kube::Resource resource(const char* plural, const char* kind, const std::string& version) {
  kube::Resource made;
  made.group = group;
  made.version = version;
  made.plural = plural;
  made.kind = kind;
  return made;
}

/// Of those that are served the one in which nothing is left out; "": none is.
std::string version_of_group(const json::value& served) {
  std::string found;
  for (const json::value& one : kube::items_at(served, {"versions"})) {
    const std::string_view version = kube::text_at(one, {"version"});
    if (found.empty() || version == newest_version) found = version;
  }
  return found;
}

std::string_view state_of(const WrapperFacts& facts) {
  return facts.row ? model::to_text(facts.row->state) : "Refused";
}

bool is_waiting(JobState state) { return state == JobState::Waiting || state == JobState::Held; }

}  // namespace

LabelledDesk::LabelledDesk(Options options, Parts parts)
    : options_(std::move(options)), parts_(std::move(parts)) {}

// ----------------------------------------------------------------------------------------------
// what is watched

void LabelledDesk::begin() {
  kube::ApiRequest served;
  served.path = fmt::format("/apis/{}", group);
  parts_.client.send_later(served, [this](const kube::Reply<json::value>& found) {
    const std::string version = found ? version_of_group(*found) : "";
    const bool is_missing = found.ok() || found.error().is_not_found();
    if (version.empty() && is_missing) parts_.later([this] { end_list(); });  // nothing is there
    if (version.empty()) return parts_.later_after(kinds_pause, [this] { begin(); });
    parts_.later([this, version] { watch(version); });
  });
}

void LabelledDesk::watch(const std::string& version) {
  const std::vector<kube::Resource> kinds = {resource("rayclusters", "RayCluster", version),
                                             resource("rayjobs", "RayJob", version)};
  unsynced_ = kinds.size();
  for (const kube::Resource& kind : kinds) {
    kube::ReflectorOptions options;
    options.resource = kind;
    options.ns = options_.ns;
    options.label_selector = work::labelled_queue;
    ObjectWatch::Handlers on;
    on.on_change = [this, kind](ObjectChange change) {
      parts_.later([this, kind, change = std::move(change)] { take(kind, change); });
    };
    on.on_synced = [this] {
      parts_.later([this] {
        if (--unsynced_ > 0) return;
        cancel_strays();
        end_list();
      });
    };
    on.on_failure = [this](const std::string& why) {
      parts_.later([this, why] {
        if (std::exchange(trouble_, why) != why)
          parts_.say(fmt::format("labelled objects of cluster {}: {}", options_.read.hub,
                                 why.empty() ? "reached again" : why));
      });
    };
    watches_.push_back(
        std::make_unique<ObjectWatch>(parts_.client, std::move(options), std::move(on)));
  }
}

void LabelledDesk::end_list() {
  has_listed_all_ = true;
  parts_.on_listed();
}

std::string LabelledDesk::job_of(const std::string& uid, std::int64_t edition) const {
  return fmt::format("{}{}-{}{}", model::in_place_prefix, options_.hub_mark, uid,
                     edition_suffix(edition));
}

std::int64_t LabelledDesk::edition(const std::string& uid, const json::value* object) const {
  const auto at = editions_.find(uid);
  const std::int64_t known = at == editions_.end() ? 0 : at->second;
  return object == nullptr ? known : std::max(known, edition_of(*object));
}

// ----------------------------------------------------------------------------------------------
// those that come, change and go

void LabelledDesk::take(const kube::Resource& kind, const ObjectChange& change) {
  if (!change.object) return lose(change);
  if (work::is_of_others(*change.object, options_.has_kueue)) return;
  auto typed = std::make_shared<json::value>(*change.object);  // in lists they may not say it
  kube::set_at(*typed, {"apiVersion"}, json::string(kind.api_version()));
  kube::set_at(*typed, {"kind"}, json::string(kind.kind));
  const std::int64_t before = edition(change.uid, nullptr);
  const std::int64_t newest = edition(change.uid, typed.get());
  if (newest > before) {
    retire(job_of(change.uid, before));
    editions_[change.uid] = newest;
  }
  const auto [at, is_new] = records_.try_emplace(job_of(change.uid, newest));
  Record& record = at->second;
  if (is_new) {
    record.facts.job = &at->first;  // the key of this record
    record.kind = kind;
    record.subject = {kind.api_version(), kind.kind, change.ns, change.name, change.uid};
    record.facts.is_labelled = true;
    if (auto sight = parts_.early_sight(record.job())) record.facts.sight = std::move(*sight);
    return take_over(record, typed);
  }
  if (!record.is_gone) follow_object(record, typed);
}

void LabelledDesk::take_over(Record& record, const Object& object) {
  auto known = parts_.store.job(record.job());
  if (known) {
    const json::value queued = queued_object_of(known->payload);
    record.content = queued.is_null() ? 0 : work::content_of(queued);
    record.facts.row = std::move(*known);
    record.facts.ask.priority =
        followed_priority(record.job(), queued, *object, record.facts.row->priority);
    if (is_waiting(record.facts.row->state)) parts_.ask_why(record.job(), parts_.clock());
    if (model::is_final(record.facts.row->state)) note_end(record.job());
    if (record.facts.row->state == JobState::Starting) nudge_later(record);
    return follow_object(record, object);
  }
  if (known.error().fault != Fault::NotFound) return take_again(record, object, try_again);
  // What has ended, or is deleted before it became a job, becomes none.
  const bool is_deleting = kube::find(*object, {"metadata", "deletionTimestamp"}) != nullptr;
  if (is_deleting || work::has_ended(*object)) return;
  record.content = work::content_of(*object);
  if (work::can_rest(*object) && !work::is_resting(*object)) return rest(record, object);
  if (work::is_noted_as_ended(*object)) return;
  auto job = work::labelled_job(*object, options_.read);
  if (!job) return refuse(record, job.error().message);
  submit(record, object, std::move(*job));
}

/// As if it came once more.
void LabelledDesk::take_again(const Record& record, const Object& object, Duration wait) {
  parts_.later_after(wait, [this, job = record.job(), object] {
    const auto at = records_.find(job);
    if (at == records_.end() || at->second.facts.row || at->second.is_submitting ||
        at->second.facts.is_deleting)
      return;
    if (at->second.is_gone) return forget(at);
    if (at->second.content != work::content_of(*object)) return;  // it came itself
    at->second.facts.refusal = {};
    take_over(at->second, object);
  });
}

void LabelledDesk::follow_object(Record& record, const Object& object) {
  if (kube::find(*object, {"metadata", "deletionTimestamp"}) != nullptr) {
    if (!std::exchange(record.facts.is_deleting, true)) cancel(record);
    return;
  }
  const bool is_started = work::is_started_for(*object, record.job());
  if (!is_started && work::is_resting(*object)) record.seen = work::content_of(*object);
  if (record.is_submitting) return;  // looked at when it is in the books
  if (!record.facts.row) {
    const bool is_refused = !record.facts.refusal->empty();
    if (is_refused && record.content == work::content_of(*object)) return;
    record.facts.refusal = {};
    return take_over(record, object);
  }
  if (work::has_ended(*object)) return;
  const JobState state = record.facts.row->state;
  if (!is_started && !work::is_resting(*object)) {  // somebody starts it, who is not to
    rest(record, object);
    if (state == JobState::Held)
      parts_.asks.ask(record.job(), "release", {model::JobReleased{record.job()}},
                      record.kind.kind);
    return;
  }
  const bool is_suspended = kube::flag_at(*object, {"spec", "suspend"});
  if (is_started && is_suspended && (state == JobState::Starting || state == JobState::Running))
    parts_.asks.ask(record.job(), "hold", {model::JobHeld{record.job(), true}}, record.kind.kind);
  follow_priority(record, *object);
  follow_content(record);
}

/// What waits and is another by now becomes another job. What runs is what it was, and its operator
/// follows what it can.
void LabelledDesk::follow_content(Record& record) {
  const bool is_another = record.content != 0 && record.seen != 0 && record.content != record.seen;
  if (!is_another || !record.facts.row || !is_waiting(record.facts.row->state)) return;
  if (!std::exchange(record.is_reissuing, true))
    reissue(record.job(), edition(record.subject.uid, nullptr) + 1);
}

void LabelledDesk::follow_priority(Record& record, const json::value& object) {
  const auto job = work::labelled_job(object, options_.read);
  if (!job || model::is_final(record.facts.row->state)) return;
  WrapperAsk wanted = record.facts.ask;
  wanted.priority = job->spec.priority;
  auto changes = changes_between(record.job(), record.facts.ask, wanted);
  record.facts.ask = std::move(wanted);
  if (!changes.empty()) parts_.asks.ask(record.job(), "edit", std::move(changes), record.kind.kind);
}

void LabelledDesk::lose(const ObjectChange& change) {
  const std::string job = job_of(change.uid, edition(change.uid, nullptr));
  editions_.erase(change.uid);
  retire(job);
}

/// Nothing is told of it any more.
void LabelledDesk::retire(const std::string& job) {
  const auto at = records_.find(job);
  if (at == records_.end()) return;
  at->second.is_gone = true;
  parts_.ask_why(at->first, Time::never());
  if (at->second.is_submitting) return;  // it is cancelled when it is in the books
  if (!at->second.facts.row || model::is_final(at->second.facts.row->state)) return forget(at);
  cancel(at->second);
}

// ----------------------------------------------------------------------------------------------
// what is asked for it

/// The watch brings it when it rests. Refused: somebody changed it meanwhile, and that one comes.
void LabelledDesk::rest(Record& record, const Object& object) {
  const std::string version(kube::version_of(*object));
  if (std::exchange(record.told_to_rest, version) == version) return;
  patch(record, work::rest_patch(*object),
        [this, job = record.job(), object](const kube::Reply<json::value>& put) {
          if (put || put.error().is_conflict() || put.error().is_not_found()) return;
          parts_.later_after(kinds_pause, [this, job, object, why = put.error().message] {
            const auto at = records_.find(job);
            if (at == records_.end() || at->second.is_gone) return;
            const EventSubject& about = at->second.subject;
            parts_.say(fmt::format("{} {}/{} cannot be suspended: {}", about.kind, about.ns,
                                   about.name, why));
            at->second.told_to_rest.clear();
            rest(at->second, object);
          });
        });
}

void LabelledDesk::submit(Record& record, const Object& object, work::WrappedJob job) {
  record.is_submitting = true;
  record.seen = record.content;
  record.facts.ask.priority = job.spec.priority;
  record.facts.ask.warnings.take();
  if (!job.warnings.empty()) record.facts.ask.warnings = job.warnings;
  Submit submit;
  submit.user = job.spec.user.empty() ? options_.user : job.spec.user;
  submit.request =
      fmt::format("{} {}/{}", record.subject.kind, record.subject.ns, record.subject.name);
  submit.ids = {record.job()};
  config::Submission& one = submit.jobs.emplace_back();
  one.spec = std::move(job.spec);
  one.command = std::move(job.command);
  one.labels = std::move(job.labels);
  parts_.submitter.submit(
      std::move(submit), [this, id = record.job(), object](const SubmitOutcome& outcome) {
        parts_.later([this, id, object, outcome] { submitted(id, object, outcome); });
      });
}

void LabelledDesk::submitted(const std::string& job, const Object& object,
                             const SubmitOutcome& outcome) {
  const auto at = records_.find(job);
  if (at == records_.end()) return;
  Record& record = at->second;
  record.is_submitting = false;
  if (!outcome.result) {
    if (record.is_gone) return forget(at);
    if (outcome.busy || outcome.result.error().fault == Fault::Unavailable)
      return take_again(record, object, try_again);
    refuse(record, outcome.result.error().message);
    return take_again(record, object, refused_pause);
  }
  if (!record.facts.row) {  // the event is on its way, or was before we knew it
    if (auto row = parts_.store.job(job)) record.facts.row = std::move(*row);
  }
  if (record.is_gone || record.facts.is_deleting) return cancel(record);
  parts_.ask_why(record.job(), parts_.clock());
  follow_content(record);
  tell(record);
}

void LabelledDesk::refuse(Record& record, const std::string& why) {
  record.facts.refusal = why;
  tell(record);
}

void LabelledDesk::cancel(const Record& record) {
  if (!record.facts.row || model::is_final(record.facts.row->state)) return;
  parts_.asks.ask(record.job(), "cancel", {model::JobCancelled{record.job()}}, record.kind.kind);
}

void LabelledDesk::cancel_strays() {
  std::set<std::string> known;
  for (const auto& [job, record] : records_) known.insert(job);
  parts_.asks.cancel_strays(job_of("", 0), std::move(known), "object");
}

/// So that it is not taken again when its job is forgotten.
void LabelledDesk::note_end(const std::string& job) {
  note(job, work::ended_annotation,
       [](const Record& record) { return std::string(model::to_text(record.facts.row->state)); });
}

/// Its label was followed; what an administrator asks for is not what it says.
void LabelledDesk::note_priority(const std::string& job) {
  note(job, work::followed_annotation, [](const Record& record) {
    return work::followed_text(record.facts.ask.priority, record.job());
  });
}

/// On the object, as it is by then, until it is there.
void LabelledDesk::note(const std::string& job, std::string_view annotation, NoteOf text) {
  const auto at = records_.find(job);
  if (at == records_.end() || at->second.is_gone) return;
  const Record& record = at->second;
  patch(
      record,
      {{"metadata", {{"uid", record.subject.uid}, {"annotations", {{annotation, text(record)}}}}}},
      [this, job, annotation, text](const kube::Reply<json::value>& put) {
        if (put || put.error().is_not_found() || put.error().is_of_another()) return;
        parts_.later_after(kinds_pause,
                           [this, job, annotation, text] { note(job, annotation, text); });
      });
}

/// The object is to be another job from now on. The watch brings it with its new edition.
void LabelledDesk::reissue(const std::string& job, std::int64_t edition) {
  const auto at = records_.find(job);
  if (at == records_.end() || at->second.is_gone) return;
  patch(at->second,
        {{"metadata",
          {{"uid", at->second.subject.uid},
           {"annotations", {{edition_annotation, std::to_string(edition)}}}}}},
        [this, job, edition](const kube::Reply<json::value>& put) {
          if (put || put.error().is_not_found()) return;
          parts_.later_after(try_again, [this, job, edition] { reissue(job, edition); });
        });
}

void LabelledDesk::patch(const Record& record, const json::value& what,
                         std::function<void(const kube::Reply<json::value>&)> done) {
  parts_.client.send_later(
      kube::patch_request(record.kind, record.subject.ns, record.subject.name, kube::Patch::Merge,
                          what, {.field_manager = std::string(field_manager)}),
      std::move(done));
}

// ----------------------------------------------------------------------------------------------
// what becomes of it

void LabelledDesk::follow(const model::Event& event, Time now) {
  const auto at = records_.find(*model::job_of(event.body));
  if (at == records_.end()) return;
  Record& record = at->second;
  std::optional<model::JobCourse>& row = record.facts.row;
  if (const auto* begun = std::get_if<model::JobSubmitted>(&event.body)) {
    if (!row) row = model::row_of(*begun, event.at, 0);
  } else if (!row || !model::follow(*row, event)) {
    return;
  }
  if (row->state != JobState::Waiting) record.facts.wait.reset();
  const auto* changed = std::get_if<model::PriorityChanged>(&event.body);
  if (changed != nullptr && changed->priority == record.facts.ask.priority)
    note_priority(record.job());
  if (model::is_final(row->state) && record.is_gone) return forget(at);
  if (record.is_gone) return;
  parts_.ask_why(record.job(), is_waiting(row->state) ? now : Time::never());
  if (model::is_final(row->state)) note_end(record.job());
  if (row->state == JobState::Starting) nudge_later(record);
  follow_content(record);
  tell(record);
}

/// KubeRay 1.4 waits up to 30 s for pods that it made and that were deleted before it saw them, as
/// of one that was suspended at sight, and then looks again after minutes. A change of an
/// annotation makes it look.
void LabelledDesk::nudge_later(const Record& record) {
  const std::uint32_t attempt = record.facts.row->attempt;
  parts_.later_after(nudge_after, [this, job = record.job(), attempt] {
    const auto at = records_.find(job);
    if (at == records_.end() || at->second.is_gone) return;
    const model::JobCourse& row = *at->second.facts.row;
    if (row.state != JobState::Starting || row.attempt != attempt) return;
    patch(at->second,
          {{"metadata",
            {{"uid", at->second.subject.uid},
             {"annotations", {{nudge_annotation, std::to_string(attempt)}}}}}},
          [](const kube::Reply<json::value>&) {});
  });
}

bool LabelledDesk::see(const ports::AttemptSight& sight) {
  const auto at = records_.find(sight.attempt.job);
  if (at == records_.end()) return false;
  WrapperFacts& facts = at->second.facts;
  const bool is_older = sight.attempt.number < facts.sight->attempt.number;
  if (at->second.is_gone || is_older || *facts.sight == sight) return true;
  facts.sight = sight;
  tell(at->second);
  return true;
}

const std::string* LabelledDesk::waiting(const std::string& job) const {
  const auto at = records_.find(job);
  if (at == records_.end() || at->second.is_gone || !at->second.facts.row) return nullptr;
  return is_waiting(at->second.facts.row->state) ? &at->first : nullptr;
}

void LabelledDesk::tell_wait(const std::string& job, const WrapperWait& wait) {
  const auto at = records_.find(job);
  if (at == records_.end()) return;
  at->second.facts.wait = wait;
  tell(at->second);
}

void LabelledDesk::add_rows(const WrapperFilter& filter, WrapperPage& page) const {
  std::map<RowKey, const Record*> found;
  for (const auto& [job, record] : records_) {
    const EventSubject& it = record.subject;
    const bool is_told = record.facts.row || !record.facts.refusal->empty();
    if (record.is_gone || !is_told || !filter.wants(it.kind, it.ns, it.name)) continue;
    RowKey key{it.kind, std::string(group), it.ns, it.name};
    if (filter.after && key <= *filter.after) continue;
    const auto& row = record.facts.row;
    if (filter.wants_queue(row ? row->queue : "") && filter.wants_state(state_of(record.facts)))
      found.emplace(std::move(key), &record);
  }
  for (const auto& [key, record] : found) {
    page.has_more = page.rows.size() >= filter.limit;
    if (page.has_more) return;
    WrapperRow& row = page.rows.emplace_back();
    row.key = key;
    row.version = record->kind.version;
    row.state = state_of(record->facts);
    put_facts(record->facts, row);
  }
}

void LabelledDesk::tell(const Record& record) {
  parts_.events.tell(record.job(), record.subject, record.facts, parts_.clock());
}

/// As it was when it was queued. Null: it is not known.
json::value LabelledDesk::queued_object_of(const std::string& payload) const {
  const auto document = parts_.store.payload(payload);
  if (!document) return nullptr;
  const config::JobFile file = config::read_job_json(*document, {});
  if (!file.ok() || file.jobs.size() != 1) return nullptr;
  return work::queued_object(file.jobs.front().command);
}

/// What was followed before this server started, as it was noted. Where it was not, an object that
/// asks for what it was queued with has been followed, and what its job has is somebody else's
/// wish. Of one that was changed since, the job has what was followed.
int LabelledDesk::followed_priority(const std::string& job, const json::value& queued,
                                    const json::value& object, int of_job) const {
  if (const auto noted = work::followed_priority(object, job)) return *noted;
  const auto asked = work::asked_priority(object, options_.read);
  if (!asked) return of_job;
  if (queued.is_null()) return *asked;
  const auto first = work::asked_priority(queued, options_.read);
  return first && *first != *asked ? of_job : *asked;
}

void LabelledDesk::forget(Records::iterator at) {
  parts_.ask_why(at->first, Time::never());
  parts_.events.forget(at->first);
  records_.erase(at);
}

}  // namespace muster::api
