// AppWrappers whose jobs run in other clusters than the hub: what AppWrapperHub does for them.
#include <utility>

#include "api/appwrapper/hub.h"

namespace muster::api {

namespace {

// Until they are looked for again.
constexpr Duration clusters_pause = seconds(5);
constexpr Duration queues_pause = seconds(30);

}  // namespace

void AppWrapperHub::make_travel_desks() {
  copies_ = std::make_unique<WrapperCopies>(
      *client_,
      WrapperCopies::Parts{.objects = parts_->objects,
                           .use_of = [this](const std::string& job) { return use_of(job); },
                           .on_stuck = [this](const std::string& job,
                                              const std::string& why) { set_stuck(job, why); },
                           .later = [this](std::function<void()> then) { answer(std::move(then)); },
                           .later_after =
                               [this](Duration wait, std::function<void()> then) {
                                 answer_after(wait, std::move(then));
                               },
                           .say = parts_->say});
  luggage_ = std::make_unique<LuggageDesk>(*client_, options_.travel);
  events_told_ =
      std::make_unique<WrapperEvents>(options_.events, [this](const kube::ApiRequest& request) {
        client_->send_later(request, [](const kube::Reply<boost::json::value>&) {});
      });
}

/// Its AppWrapper is marked first: nothing is made elsewhere that its deletion does not find.
void AppWrapperHub::depart(ports::Departure departure, Done done) {
  answer([this, departure = std::move(departure), done = std::move(done)] {
    const model::HubObject& hub = departure.hub;
    const bool is_old = hub.api_version.starts_with("mcad.ibm.com/");
    const WrapperKey key{is_old ? WrapperGroup::McadIbm : WrapperGroup::Workload, hub.ns, hub.name};
    copies_->mark({departure.attempt.job, key, hub.uid}, departure.cluster,
                  [this, departure, done](const Status& marked) {
                    if (!marked) return done(marked.error());
                    luggage_->pack(departure, done);
                  });
  });
}

WrapperCopies::Use AppWrapperHub::use_of(const std::string& job) const {
  using Use = WrapperCopies::Use;
  const auto at = records_.find(job);
  if (at == records_.end()) return Use::None;
  const Record& record = at->second;
  const WrapperFacts& facts = record.facts;
  const bool is_active = facts.row && model::is_active(facts.row->state);
  if (!facts.is_deleting && !record.is_gone)
    return is_active && facts.row->cluster == options_.cluster ? Use::None : Use::Needed;
  const bool is_over = record.is_final || record.is_foreign || !facts.refusal.empty() ||
                       (facts.row && model::is_final(facts.row->state));
  return is_over ? Use::None : Use::Ending;
}

void AppWrapperHub::set_stuck(const std::string& job, const std::string& why) {
  const auto at = records_.find(job);
  if (at == records_.end()) return;
  Record& record = at->second;
  record.facts.stuck = why;
  if (record.is_final) {  // of its past only the store knows
    auto row = parts_->store.job(job);
    if (!row) return;
    record.facts.row = slim(std::move(*row));
    record.is_final = false;
  }
  touch(record);
}

/// With the clusters that are joined now.
work::WrapOptions AppWrapperHub::wrap_options() const {
  work::WrapOptions options = options_.wrap;
  options.clusters = parts_->clusters();
  return options;
}

/// No cluster that it may run in is joined now, or its queue is not there. One may come, or be
/// configured otherwise.
void AppWrapperHub::wait_to_be_placed(Record& record, const WrapperChange& change,
                                      WrapperWait::Kind kind, const std::string& why) {
  record.facts.wait = WrapperWait{kind, why, std::nullopt};
  unplaced_[record.job()] = change;
  touch(record);
  if (!awaited_.insert(kind).second) return;
  const bool is_queue = kind == WrapperWait::Kind::Quota;
  answer_after(is_queue ? queues_pause : clusters_pause, [this, kind] {
    awaited_.erase(kind);
    place_unplaced(kind);
  });
}

/// Those that wait for such.
void AppWrapperHub::place_unplaced(WrapperWait::Kind kind) {
  const Time now = parts_->clock();
  for (const auto& [job, change] : std::exchange(unplaced_, {})) {
    const auto at = records_.find(job);
    if (at == records_.end()) continue;
    WrapperFacts& facts = at->second.facts;
    if (facts.wait && facts.wait->kind != kind) {
      unplaced_.emplace(job, change);
      continue;
    }
    facts.wait.reset();
    take_over(at->second, change, now);
  }
}

void AppWrapperHub::tell_events(const std::string& job) {
  const Record& record = records_.at(job);
  events_told_->tell(job, subject_of(record.key, record.uid), record.facts, parts_->clock());
}

}  // namespace muster::api
