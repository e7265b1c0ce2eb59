// What AppWrapperHub asks of the loop: that an AppWrapper becomes a job, changes, or is cancelled.
#include <fmt/format.h>

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "api/appwrapper/editions.h"
#include "api/appwrapper/hub.h"
#include "api/appwrapper/suspension.h"
#include "kube/json.h"
#include "kube/requests.h"

namespace muster::api {

namespace {

namespace json = boost::json;

constexpr std::string_view field_manager = "muster";
constexpr const char* about = "AppWrapper";

/// Plans the gang where its pods are. Nodes are preferred, not required: should it be requeued some
/// day, it is as free as any other.
void keep_on_nodes(model::Gang& gang, const ports::AdoptedPods& there) {
  constexpr int weight_most = 100;
  model::PreferredTerm here{weight_most, {}};
  here.term.fields.push_back(
      {"metadata.name", model::Operator::In, {there.nodes.begin(), there.nodes.end()}});
  for (model::PodSet& set : gang.sets) set.pod.preferred_affinity.push_back(here);
}

/// What an earlier server made for the same job in another cluster, on its way out.
struct Leaving {
  ports::KeptObjects& objects;
  std::function<void(std::function<void()>)> after;  // a moment
  std::string cluster;
  std::string ns;
  std::string job;
  std::function<void(const Status&)> done;
  int looks = 5;  // pods take their time; then it is said
};

void remove_left(const std::shared_ptr<Leaving>& left) {
  const auto problem = left->objects.problem_of(left->cluster);
  if (!problem) return left->done(problem.error());
  if (!problem->empty())
    return left->done(Error{Fault::Unavailable, fmt::format("cluster {} cannot be reached: {}",
                                                            left->cluster, *problem)});
  left->objects.remove(left->cluster, left->ns, left->job, [left](bool is_gone) {
    if (is_gone) return left->done(Ok{});
    if (--left->looks > 0) return left->after([left] { remove_left(left); });
    left->done(Error{Fault::Unavailable,
                     fmt::format("what is there in cluster {} does not go", left->cluster)});
  });
}

}  // namespace

bool AppWrapperHub::designate(Record& record, const WrapperChange& change,
                              work::WrappedJob& wrapped) {
  const auto designation = quota_->designation_of(wrapped.labels);
  if (!designation) {
    wait_to_be_placed(record, change, WrapperWait::Kind::Quota, designation.error().message);
    return false;
  }
  put_labels(record, change, designation->missing);
  if (!designation->queue.empty()) wrapped.spec.queue = designation->queue;
  wrapped.spec.extra_queues = designation->extra_queues;
  return true;
}

void AppWrapperHub::put_labels(const Record& record, const WrapperChange& change,
                               const model::Labels& labels) {
  labels_->put({record.job(), record.key, std::string(record.uid()),
                std::string(kube::version_of(*change.object)), labels});
}

/// Its last controller left it running: what is there is found before it is submitted.
void AppWrapperHub::adopt(Record& record, const WrapperChange& change, work::WrappedJob wrapped) {
  record.is_submitting = true;
  ports::LeftWork left{record.job(), record.key.ns, std::string(record.uid()),
                       wrapped.command.objects};
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
  if (!found)
    return wait_to_be_taken(
        record, fmt::format("what another controller made of it cannot be taken over: {}",
                            found.error().message));
  parts_->say(
      fmt::format("AppWrapper {}/{} was dispatched by another controller; {} of its pods "
                  "are taken over",
                  record.key.ns, record.key.name, found->bound));
  wrapped.spec.gang.clusters = {options_.cluster};
  if (!found->objects.empty()) wrapped.command.objects = found->objects;
  if (!options_.wrap.is_mcad && found->bound > 0) keep_on_nodes(wrapped.spec.gang, *found);
  submit(record, change, std::move(wrapped));
}

/// Its last controller left it running, and it is not to run: what is there goes first.
void AppWrapperHub::release(Record& record, const WrapperChange& change, work::WrappedJob wrapped,
                            const std::string& where) {
  record.is_submitting = true;
  auto job = std::make_shared<work::WrappedJob>(std::move(wrapped));
  const auto done = [this, change, job](const Status& gone) {
    answer([this, change, job, gone] { released(change, *job, gone); });
  };
  if (where == options_.cluster)
    return parts_->adopter.release(
        {record.job(), record.key.ns, std::string(record.uid()), job->command.objects}, done);
  // It comes from another cluster's thread, and this one may be stopping.
  const auto after = [this](std::function<void()> then) {
    answer([this, then = std::move(then)] { answer_after(try_again, then); });
  };
  remove_left(std::make_shared<Leaving>(
      Leaving{parts_->objects, after, where, record.key.ns, record.job(), done}));
}

void AppWrapperHub::released(const WrapperChange& change, work::WrappedJob& wrapped,
                             const Status& done) {
  const auto at = records_.find(job_of(change));
  if (at == records_.end()) return;
  Record& record = at->second;
  record.is_submitting = false;
  if (record.is_gone) return forget(at);
  if (done) return submit(record, change, std::move(wrapped));
  wait_to_be_taken(record, fmt::format("what another controller made of it cannot be stopped: {}",
                                       done.error().message));
}

void AppWrapperHub::submit(Record& record, const WrapperChange& change, work::WrappedJob wrapped) {
  record.is_submitting = true;
  Submit submit;
  submit.user = wrapped.spec.user.empty() ? options_.user : wrapped.spec.user;
  submit.request = fmt::format("appwrapper {}/{}", record.key.ns, record.key.name);
  submit.ids = {record.job()};
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
    if (const auto later = missed_.extract(record.job()))
      return take_over(record, later.mapped(), parts_->clock());
    const std::string& why = outcome.result.error().message;
    if (outcome.missing == Missing::Nothing) return refuse(record, why);
    return wait_to_be_placed(
        record, change,
        outcome.missing == Missing::Queue ? WrapperWait::Kind::Quota : WrapperWait::Kind::NoCluster,
        why);
  }
  if (!record.facts.row) {  // the event is on its way, or was before we knew it
    if (auto row = parts_->store.job(record.job())) record.facts.row = std::move(*row);
  }
  if (record.is_gone || record.facts.is_deleting) return cancel(record.job());
  const Time now = parts_->clock();
  waits_->set(record.job(), now);
  touch(record);
  if (const auto later = missed_.extract(record.job())) follow_spec(record, later.mapped(), now);
}

void AppWrapperHub::edit(const Record& record, const WrapperAsk& followed) {
  auto wanted = changes_between(record.job(), followed, record.facts.ask);
  if (!wanted.empty()) asks_->ask(record.job(), "edit", std::move(wanted), about);
}

/// What is left of one that failed.
void AppWrapperHub::drop_kept(const std::string& job) {
  const auto at = records_.find(job);
  if (at == records_.end() || at->second.is_gone || !at->second.facts.is_kept_failure()) return;
  const Record& record = at->second;
  parts_->objects.remove(record.facts.row->cluster, record.key.ns, job, [this, job](bool is_gone) {
    answer([this, job, is_gone] { dropped_kept(job, is_gone); });
  });
}

/// Its cluster says so too, but for what it does not know any more.
void AppWrapperHub::dropped_kept(const std::string& job, bool is_gone) {
  const auto at = records_.find(job);
  if (at == records_.end() || !at->second.facts.row) return;
  WrapperFacts& facts = at->second.facts;
  if (!is_gone || !model::is_final(facts.row->state))
    return answer_after(try_again, [this, job] { drop_kept(job); });
  if (std::exchange(facts.keeps_failed, false)) touch(at->second);
}

void AppWrapperHub::cancel(const std::string& job) {
  const auto at = records_.find(job);
  const bool is_open =
      at != records_.end() && at->second.facts.row && !model::is_final(at->second.facts.row->state);
  if (is_open) ask_cancel(job);
}

void AppWrapperHub::ask_cancel(const std::string& job) {
  asks_->ask(job, "cancel", {model::JobCancelled{job}}, about);
}

/// Of AppWrappers that were deleted while nobody watched.
void AppWrapperHub::cancel_strays(WrapperGroup group) {
  std::set<std::string> known;
  for (const auto& [job, record] : records_) known.insert(job);
  asks_->cancel_strays(prefix_of(group), std::move(known), about);
  listed_.insert(group);
  drop_early_sights();
}

/// The AppWrapper is to be another job from now on. The watch brings it with its new edition.
void AppWrapperHub::reissue(const std::string& job, std::int64_t edition) {
  const auto at = records_.find(job);
  if (at == records_.end() || at->second.is_gone) return;
  const Record& record = at->second;
  const json::value patch = {
      {"metadata",
       {{"uid", record.uid()}, {"annotations", {{edition_annotation, std::to_string(edition)}}}}}};
  client_->send_later(
      kube::patch_request(appwrappers(record.key.group), record.key.ns, record.key.name,
                          kube::Patch::Merge, patch, {.field_manager = std::string(field_manager)}),
      [this, job, edition](const kube::Reply<json::value>& put) {
        if (put || put.error().is_not_found()) return;
        answer_after(try_again, [this, job, edition] { reissue(job, edition); });
      });
}

void AppWrapperHub::refuse(Record& record, const std::string& why) {
  record.facts.refusal =
      fmt::format("{}/{} creation failure: {}", record.key.ns, record.key.name, why);
  touch(record);
}

}  // namespace muster::api
