#include "api/appwrapper/hub.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <optional>
#include <utility>

#include "api/appwrapper/editions.h"
#include "api/appwrapper/kueue.h"
#include "api/appwrapper/status_fields.h"
#include "base/hash.h"
#include "kube/json.h"
#include "kube/requests.h"

namespace muster::api {

namespace {

namespace json = boost::json;

constexpr Duration idle_pause = seconds(1);
constexpr Duration slice = milliseconds(50);  // of one thing at a time, where much is to be done
constexpr Duration served_within = seconds(30);
constexpr Duration tree_stays_away = seconds(20);  // that was not only replaced
constexpr std::string_view identity_namespace = "kube-system";

std::string_view letters_of(WrapperGroup group) {
  return group == WrapperGroup::Workload ? "aw" : "mcad";
}

}  // namespace

Status AppWrapperHub::start(const kube::Access& access, Parts parts) {
  auto client = kube::Client::make(access);
  if (!client) return client.error();
  client_ = std::move(*client);
  parts_.emplace(std::move(parts));
  writer_ = std::make_unique<StatusWriter>(
      options_.pace, StatusWriter::Parts{
                         .clock = parts_->clock,
                         .source = [this](const std::string& job) { return source_of(job); },
                         .send =
                             [this](const kube::ApiRequest& request, StatusWriter::Answer done) {
                               client_->send_later(
                                   request,
                                   [done = std::move(done)](const kube::Reply<json::value>& reply) {
                                     done(reply ? std::nullopt : std::optional(reply.error()));
                                   });
                             },
                         .later = [this](std::function<void()> then) { answer(std::move(then)); },
                         .on_write = [this](const std::string& job) { tell_events(job); },
                         .say = parts_->say});
  expiry_ = std::make_unique<WrapperExpiry>(*client_, parts_->say);
  asks_ = std::make_unique<JobAsks>(
      parts_->requests, options_.user,
      [this](Duration wait, std::function<void()> then) { answer_after(wait, std::move(then)); });
  make_wait_desk();
  make_placing_desks();
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
  if (labelled_) labelled_->stop();
  quota_.reset();
  client_.reset();
}

// ----------------------------------------------------------------------------------------------
// what comes in

void AppWrapperHub::published(const control::StepReport& report) {
  std::vector<model::Event> ours;
  const auto is_ours = [](const std::string* job) {
    return job != nullptr && (job->starts_with("aw-") || job->starts_with("mcad-") ||
                              job->starts_with(model::in_place_prefix));
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

void AppWrapperHub::answer(std::function<void()> function) {
  {
    const std::lock_guard lock(mutex_);
    answers_.push_back(std::move(function));
  }
  changed_.notify_one();
}

void AppWrapperHub::answer_after(Duration wait, std::function<void()> function) {
  {
    const std::lock_guard lock(mutex_);
    if (is_stopping_) return;  // what was asked is answered while the client goes
  }
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
    const std::size_t came = do_watched(now);
    do_events(now);
    do_sights();
    waits_->ask_due();
    unplaced_->ask_due(now);
    writer_->write_due(slice);
    expiry_->delete_due(now);
    return_memory(came, now);
    count_states(now);
    until = std::min(
        {now + idle_pause, writer_->next_due(), waits_->next_due(), unplaced_->next_due(now)});
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

/// When it is quiet again after many came.
void AppWrapperHub::return_memory(std::size_t came, Time now) {
  constexpr std::size_t many = 1000;
  constexpr Duration quiet = seconds(5);
  came_ += came;
  if (came > 0) came_last_ = now;
  if (came_ < many || now - came_last_ < quiet) return;
  came_ = 0;
  parts_->return_memory();
}

void AppWrapperHub::push_watched(Watched watched) {
  {
    const std::lock_guard lock(mutex_);
    watched_.push_back(std::move(watched));
  }
  changed_.notify_one();
}

std::size_t AppWrapperHub::do_watched(Time now) {
  std::deque<Watched> taken;
  {
    const std::lock_guard lock(mutex_);
    taken.swap(watched_);
  }
  std::size_t done = 0;
  const Time begun = parts_->clock();
  while (!taken.empty() && parts_->clock() - begun < slice) {
    const Watched next = std::move(taken.front());
    taken.pop_front();
    ++done;
    if (const auto* group = std::get_if<WrapperGroup>(&next)) {
      cancel_strays(*group);
    } else if (const auto& change = std::get<WrapperChange>(next); change.object) {
      take(change, now);
    } else {
      lose(change);
    }
  }
  const std::lock_guard lock(mutex_);  // the rest comes before what came meanwhile
  watched_.insert(watched_.begin(), std::make_move_iterator(taken.begin()),
                  std::make_move_iterator(taken.end()));
  return done;
}

void AppWrapperHub::do_events(Time now) {
  std::deque<model::Event> taken;
  {
    const std::lock_guard lock(mutex_);
    taken.swap(events_);
  }
  for (const model::Event& event : taken) {
    const auto at = records_.find(*model::job_of(event.body));
    if (at == records_.end() && labelled_) labelled_->follow(event, now);
    if (at == records_.end()) continue;
    Record& record = at->second;
    std::optional<model::JobCourse>& row = record.facts.row;
    if (const auto* begun = std::get_if<model::JobSubmitted>(&event.body)) {
      if (!row) row = model::row_of(*begun, event.at, 0);
    } else if (!row || !model::follow(*row, event)) {
      continue;
    }
    if (row->state != model::JobState::Waiting) record.facts.wait.reset();
    copies_->let_go(record.job());  // it may be over, or run in the hub's own cluster now
    if (model::is_final(row->state) && record.is_gone) {
      forget(at);
      continue;
    }
    if (record.is_gone) continue;
    const bool waits =
        row->state == model::JobState::Waiting || row->state == model::JobState::Held;
    if (row->attempt > 0) watch_its_tree(record);  // it had no need of a queue meanwhile
    if (waits && !record.facts.failed_before->empty()) ask_cancel(record.job());  // no more tries
    waits_->set(record.job(), waits ? now : Time::never());
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
    if (at == records_.end() && !(labelled_ && labelled_->see(sight)) && !has_listed_all()) {
      ports::AttemptSight& newest = early_sights_[attempt.job];
      if (newest.attempt.number <= attempt.number) newest = std::move(sight);
    }
    if (at == records_.end() || at->second.is_gone) continue;
    Record& record = at->second;
    const bool is_older = sight.attempt.number < record.facts.sight->attempt.number;
    if (is_older || *record.facts.sight == sight) continue;
    const bool was_kept = !record.facts.sight->kept_failure.empty();
    record.facts.sight = std::move(sight);
    if (was_kept && record.facts.sight->kept_failure.empty()) record.facts.keeps_failed = false;
    touch(record);
  }
}

std::optional<ports::AttemptSight> AppWrapperHub::early_sight(const std::string& job) {
  const auto found = early_sights_.extract(job);
  return found ? std::optional(std::move(found.mapped())) : std::nullopt;
}

bool AppWrapperHub::has_listed_all() const {
  return labelled_ && labelled_->has_listed_all() && listed_.contains(WrapperGroup::Workload) &&
         listed_.contains(WrapperGroup::McadIbm);
}

void AppWrapperHub::drop_early_sights() {
  if (has_listed_all()) early_sights_.clear();
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
  const auto found = client_->send(kueue_request());
  if (!found && !found.error().is_not_found()) {  // not known: it might be there
    parts_->say(
        fmt::format("AppWrappers of cluster {}: {}", options_.cluster, found.error().message));
    return answer_after(try_again, [this] { begin(); });
  }
  has_kueue_ = found.ok();
  kueue_asked_ = parts_->clock();
  if (options_.asks_creators) return check_creators();
  begin_watch();
}

void AppWrapperHub::begin_watch() {
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
  make_labelled_desk();
  for (const WrapperGroup group : {WrapperGroup::Workload, WrapperGroup::McadIbm}) {
    WrapperWatch::Handlers on;
    on.on_change = [this](WrapperChange change) { push_watched(std::move(change)); };
    on.on_synced = [this, group] { push_watched(group); };
    on.on_missing = [this, group] { answer([this, group] { miss(group); }); };
    on.on_failure = [this, group](const std::string& why) {
      if (why.empty() && group == WrapperGroup::Workload) answer([this] { unserved_.clear(); });
      const std::string said = why.empty() ? "reached again" : why;
      parts_->say(fmt::format("AppWrappers of cluster {}: {}", options_.cluster, said));
    };
    watches_.push_back(std::make_unique<WrapperWatch>(*client_, group, options_.ns, std::move(on)));
  }
}

/// Most hubs do not have the old group, and what is left of it goes. Of the other one its jobs stay
/// as they are: a definition of v1beta2 alone hides AppWrappers that are there.
void AppWrapperHub::miss(WrapperGroup group) {
  if (group == WrapperGroup::McadIbm) {
    if (!std::exchange(misses_old_group_, true)) cancel_strays(group);
    return;
  }
  if (!unserved_.empty()) return;
  unserved_ = fmt::format(
      "cluster {} serves no AppWrappers of workload.codeflare.dev/v1beta1, so none are taken and "
      "their jobs stay as they are; `muster aw install` puts the definition there, or extends the "
      "one that is",
      options_.cluster);
  parts_->say(unserved_);
}

std::string AppWrapperHub::prefix_of(WrapperGroup group) const {
  return fmt::format("{}-{}-", letters_of(group), hub_mark_);
}

std::string AppWrapperHub::job_of(const WrapperChange& change) const {
  return job_of(change, edition(change));
}
std::string AppWrapperHub::job_of(const WrapperChange& change, std::int64_t edition) const {
  return prefix_of(change.key.group) + change.uid + edition_suffix(edition);
}

std::int64_t AppWrapperHub::edition(const WrapperChange& change) const {
  const auto at = editions_.find(change.uid);
  const std::int64_t known = at == editions_.end() ? 0 : at->second;
  return change.object ? std::max(known, edition_of(*change.object)) : known;
}

// ----------------------------------------------------------------------------------------------
// quota

void AppWrapperHub::quota_changed() {
  if (watches_.empty()) watch();  // AppWrappers come after the queues they belong to
  unplaced_->look_again(WrapperWait::Kind::Quota, parts_->clock());
  // Jobs of a tree that went, or that is not the oldest any more, would wait for ever. One that
  // somebody only replaces is back by then, and they keep their queues.
  if (std::exchange(first_tree_, quota_->first_tree()) == quota_->first_tree()) return;
  answer_after(tree_stays_away, [this] {
    for (const auto& [job, record] : records_) watch_its_tree(record);
    unplaced_->look_again(WrapperWait::Kind::Quota, parts_->clock());
  });
}

/// Its job may wait in a tree that does not order jobs: its AppWrapper says, when it is read again.
void AppWrapperHub::watch_its_tree(const Record& record) {
  const auto& row = record.facts.row;
  const bool waits =
      row && (row->state == model::JobState::Waiting || row->state == model::JobState::Held);
  if (!quota_ || !waits || record.is_gone) return;
  const bool is_of_a_tree = row->queue.find('.') != std::string::npos;
  if (!is_of_a_tree || row->queue == options_.wrap.queue) return;
  const std::string tree = quota_->first_tree();
  if (!tree.empty() && row->queue.starts_with(work::queue_name(tree, ""))) return;
  const std::uint64_t what = Hasher().add(std::string_view("of no tree")).value();
  unplaced_->add(record.job(), WrapperWait::Kind::Quota, what, parts_->clock());
}

// ----------------------------------------------------------------------------------------------
// what is written

Moves AppWrapperHub::moves_of(const Record& record) {
  const WrapperFacts& facts = record.facts;
  if (!facts.refusal->empty()) return Moves::No;
  if (!facts.row) return Moves::Soon;
  switch (facts.row->state) {
    case model::JobState::Waiting:
      return facts.wait ? Moves::No : Moves::Soon;
    case model::JobState::Starting:
    case model::JobState::Running:
      if (!facts.is_made()) return Moves::Making;
      return facts.is_seen() && facts.sight->is_complete ? Moves::Soon : Moves::No;
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
  // The next try to take it over needs what its status says, and so does a server after this one.
  if (record.is_left_out && !record.facts.row && record.facts.refusal->empty()) return std::nullopt;
  return StatusSource{record.key, record.uid(), record.is_v1beta2, record.facts};
}

void AppWrapperHub::touch(const Record& record) {
  if (source_of(record.job())) writer_->touch(record.job(), moves_of(record));
}

void AppWrapperHub::make_wait_desk() {
  WaitDesk::Pace pace;
  pace.again = options_.ask_again;
  pace.not_yet = options_.pace.settle;
  waits_ = std::make_unique<WaitDesk>(
      pace, WaitDesk::Parts{
                .clock = parts_->clock,
                .reads = parts_->reads,
                .later = [this](std::function<void()> then) { answer(std::move(then)); },
                .find = [this](const std::string& job) -> const std::string* {
                  const auto at = records_.find(job);
                  if (at == records_.end() && labelled_) return labelled_->waiting(job);
                  if (at == records_.end() || at->second.is_gone || !at->second.facts.row)
                    return nullptr;
                  const model::JobState state = at->second.facts.row->state;
                  return model::is_active(state) || model::is_final(state) ? nullptr : &at->first;
                },
                .tell = [this](const std::string& job,
                               const WrapperWait& wait) { tell_wait(job, wait); }});
}

/// Numbers change all the time, and are not written again; what it waits for and an estimate that
/// is over are.
void AppWrapperHub::tell_wait(const std::string& job, WrapperWait wait) {
  const auto at = records_.find(job);
  if (at == records_.end()) return labelled_->tell_wait(job, wait);
  std::optional<WrapperWait>& known = at->second.facts.wait;
  const bool is_same = known && known->kind == wait.kind;
  const bool is_old =
      is_same && known->told_start && *known->told_start + estimate_stands <= parts_->clock();
  wait.told_start = is_same && !is_old ? known->told_start : wait.expected_start;
  if (told_ == wait.sentence) wait.sentence = told_;  // thousands wait for the same
  told_ = wait.sentence;
  known = std::move(wait);
  if (!is_same || is_old) touch(at->second);
}

void AppWrapperHub::make_labelled_desk() {
  LabelledDesk::Options options;
  options.read.hub = options_.cluster;
  options.read.priority = options_.wrap.priority;
  options.read.is_mcad = options_.wrap.is_mcad;
  options.read.gpus = options_.wrap.gpus;
  options.ns = options_.ns;
  options.user = options_.user;
  options.hub_mark = hub_mark_;
  options.has_kueue = has_kueue_;
  labelled_ = std::make_unique<LabelledDesk>(
      std::move(options),
      LabelledDesk::Parts{
          .client = *client_,
          .store = parts_->store,
          .submitter = parts_->submitter,
          .asks = *asks_,
          .events = *events_told_,
          .clock = parts_->clock,
          .later = [this](std::function<void()> then) { answer(std::move(then)); },
          .later_after = [this](
                             Duration wait,
                             std::function<void()> then) { answer_after(wait, std::move(then)); },
          .ask_why = [this](const std::string& job, Time at) { waits_->set(job, at); },
          .early_sight = [this](const std::string& job) { return early_sight(job); },
          .on_listed = [this] { drop_early_sights(); },
          .say = parts_->say});
  labelled_->begin();
}

void AppWrapperHub::forget(Records::iterator at) {
  unplaced_->drop(at->first);
  missed_.erase(at->first);
  waits_->drop(at->first);
  writer_->forget(at->first);
  expiry_->forget(at->first);
  events_told_->forget(at->first);
  by_key_.erase(&at->second);
  records_.erase(at);
}

}  // namespace muster::api
