// AppWrappers whose jobs run in other clusters than the hub: what AppWrapperHub does for them.
#include <fmt/format.h>

#include <boost/json/serialize.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "api/appwrapper/editions.h"
#include "api/appwrapper/hub.h"
#include "base/hash.h"
#include "kube/json.h"
#include "kube/requests.h"
#include "kube/watch.h"

namespace muster::api {

namespace {

/// All that decides in which clusters it may run.
std::string where_of(const WrapperKey& key, const boost::json::value& object) {
  boost::json::array all{boost::json::string(key.ns)};
  const auto add = [&](const boost::json::value* part) {
    all.push_back(part == nullptr ? boost::json::value() : *part);
  };
  add(kube::find(object, {"metadata", "annotations", "muster.dev/clusters"}));
  add(kube::find(object, {"metadata", "annotations", "clusterName"}));
  add(kube::find(object, {"spec", "schedulingSpec", "clusterScheduling"}));
  return boost::json::serialize(all);
}

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
  const bool is_over = record.is_final || record.is_foreign || !facts.refusal->empty() ||
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
    record.facts.row = std::move(*row);
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
  Hasher what;
  what.add(why);
  // The sentence does not tell one namespace, pin or selector from another.
  if (kind == WrapperWait::Kind::NoCluster)
    what.add(std::string_view(where_of(record.key, *change.object)));
  unplaced_->add(record.job(), kind, what.value(), parts_->clock());
  touch(record);
  if (record.is_left_out) tell_events(record.job());  // its status does not say it
}

/// What its last controller left of it cannot be taken over, or ended, now. Its status is left as
/// it is; events and lists say why.
void AppWrapperHub::wait_to_be_taken(Record& record, const std::string& why) {
  record.facts.wait = WrapperWait{WrapperWait::Kind::Takeover, why, std::nullopt};
  missed_.erase(record.job());  // it is read again anyway
  const std::uint64_t what = Hasher().add(std::string_view(why)).value();
  const bool is_new =
      unplaced_->add(record.job(), WrapperWait::Kind::Takeover, what, parts_->clock());
  if (is_new)
    parts_->say(fmt::format("AppWrapper {}/{}, and maybe others: {}; it is tried again",
                            record.key.ns, record.key.name, why));
  tell_events(record.job());
}

void AppWrapperHub::make_placing_desks() {
  unplaced_ = std::make_unique<UnplacedDesk>(
      UnplacedDesk::Parts{.retry = [this](const std::string& job) { place_again(job); },
                          .is_open =
                              [this](const std::string& job) {
                                const auto at = records_.find(job);
                                return at != records_.end() && at->second.is_submitting;
                              }});
  const auto is_open = [this](const std::string& job) {
    const auto at = records_.find(job);
    return at != records_.end() && !at->second.is_gone && !at->second.is_final &&
           !(at->second.facts.row && model::is_final(at->second.facts.row->state));
  };
  labels_ = std::make_unique<LabelDesk>(LabelDesk::Parts{
      .client = *client_,
      .is_open = is_open,
      .later = [this](std::function<void()> then) { answer(std::move(then)); },
      .later_after = [this](Duration wait,
                            std::function<void()> then) { answer_after(wait, std::move(then)); }});
}

void AppWrapperHub::place_again(const std::string& job) {
  const auto at = records_.find(job);
  if (at == records_.end()) return unplaced_->retried(job);
  const WrapperKey& key = at->second.key;
  client_->send_later(
      kube::get_request(appwrappers(key.group), key.ns, key.name),
      [this, job](const kube::Reply<boost::json::value>& found) {
        auto object =
            found ? std::make_shared<const boost::json::value>(kube::own_copy(*found)) : nullptr;
        answer([this, job, object = std::move(object)] { read_again(job, object); });
      });
}

/// Null: it could not be read. One that is gone, or was changed, the watch tells.
void AppWrapperHub::read_again(const std::string& job,
                               const std::shared_ptr<const boost::json::value>& object) {
  const auto at = records_.find(job);
  if (at != records_.end() && object) {
    Record& record = at->second;
    const WrapperChange change{record.key, std::string(record.uid()), object};
    const bool is_known =
        kube::uid_of(*object) == record.uid() && job_of(change) == job &&
        kube::integer_at(*object, {"metadata", "generation"}) == record.generation &&
        notes_hash(*object) == record.notes;
    const bool is_its_turn = is_known && unplaced_->drop(job);
    if (is_its_turn && record.facts.row) {
      follow_trees(record, change);
    } else if (is_its_turn) {
      record.facts.wait.reset();
      take_over(record, change, parts_->clock());
    }
  }
  unplaced_->retried(job);
}

void AppWrapperHub::tell_events(const std::string& job) {
  const Record& record = records_.at(job);
  events_told_->tell(job, subject_of(record.key, std::string(record.uid())), record.facts,
                     parts_->clock());
}

}  // namespace muster::api
