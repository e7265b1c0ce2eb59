// RayClusters and RayJobs of a hub cluster that carry the label muster.dev/queue, as jobs. Their
// authors made them, so nothing is made or deleted: one that appears is told to rest (spec.suspend)
// if it does not, and is submitted; its attempts start and stop it where it is. One that goes, or
// loses the label, is cancelled. Of one whose job is over an annotation says so.
//
// A job's id is made of the hub and the object's uid, so that no object becomes two jobs, whatever
// is killed when. Which attempt has it, if any, stands on the object itself.
//
// spec.suspend is Muster's: one that somebody starts is told to rest again, and one that somebody
// suspends while it runs is held, until they set it back.
//
// Threads: the hub's.
#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "api/appwrapper/facts.h"
#include "api/appwrapper/job_asks.h"
#include "api/appwrapper/object_watch.h"
#include "api/appwrapper/rows.h"
#include "api/appwrapper/wrapper_events.h"
#include "api/rest/submitter.h"
#include "base/time.h"
#include "kube/client.h"
#include "model/event.h"
#include "ports/attempt_sights.h"
#include "ports/store.h"
#include "work/labelled/labelled_job.h"

namespace muster::api {

class LabelledDesk {
 public:
  struct Options {
    work::LabelledOptions read = {};
    std::string ns = {};        // where they are looked after; "": everywhere
    std::string user = {};      // of those that do not say whose they are
    std::string hub_mark = {};  // in the ids of jobs
    bool has_kueue = false;     // it is installed, and manages what has its label
  };
  struct Parts {
    kube::Client& client;
    const ports::Store& store;
    Submitter& submitter;
    JobAsks& asks;
    WrapperEvents& events;
    std::function<Time()> clock;
    std::function<void(std::function<void()>)> later;  // on the hub's thread
    std::function<void(Duration, std::function<void()>)> later_after;
    /// Why it waits; never: not any more. The id stays where it is until then.
    std::function<void(const std::string& job, Time at)> ask_why;
    /// What see() did not know, once.
    std::function<std::optional<ports::AttemptSight>(const std::string& job)> early_sight;
    std::function<void()> on_listed;  // all that was there
    std::function<void(const std::string&)> say;
  };
  LabelledDesk(Options options, Parts parts);

  /// Waits for nobody: KubeRay may be installed later.
  void begin();
  /// Before the client goes.
  void stop() { watches_.clear(); }
  /// What became of a job, and what is seen of an attempt, if they are of one of these.
  void follow(const model::Event& event, Time now);
  /// False: it is not known of which object, if of any of these.
  bool see(const ports::AttemptSight& sight);
  /// All that was there when it began.
  bool has_listed_all() const { return has_listed_all_; }
  /// The id of a job that waits, where it stays; null: it does not, or is none of these.
  const std::string* waiting(const std::string& job) const;
  void tell_wait(const std::string& job, const WrapperWait& wait);
  /// Those that are jobs or were refused, until the page is full.
  void add_rows(const WrapperFilter& filter, WrapperPage& page) const;

 private:
  /// The object as it came, with its kind.
  using Object = std::shared_ptr<const boost::json::value>;
  struct Record {
    kube::Resource kind = {};
    EventSubject subject = {};
    bool is_gone = false;           // the object, or its label
    bool is_submitting = false;     // or about to be taken again
    bool is_reissuing = false;      // a new edition is on its way
    std::uint64_t content = 0;      // of what its job was made, or refused
    std::uint64_t seen = 0;         // of the object when it rested last; 0: not seen yet
    std::string told_to_rest = {};  // the resourceVersion of which
    WrapperFacts facts = {};
    const std::string& job() const { return *facts.job; }
  };
  using Records = std::unordered_map<std::string, Record>;  // by job

  void watch(const std::string& version);
  void end_list();
  void take(const kube::Resource& kind, const ObjectChange& change);
  void take_over(Record& record, const Object& object);
  void take_again(const Record& record, const Object& object, Duration wait);
  void follow_object(Record& record, const Object& object);
  void follow_content(Record& record);
  void follow_priority(Record& record, const boost::json::value& object);
  void lose(const ObjectChange& change);
  void retire(const std::string& job);

  void rest(Record& record, const Object& object);
  void submit(Record& record, const Object& object, work::WrappedJob job);
  void submitted(const std::string& job, const Object& object, const SubmitOutcome& outcome);
  void refuse(Record& record, const std::string& why);
  void cancel(const Record& record);
  void cancel_strays();
  void note_end(const std::string& job);
  void note_priority(const std::string& job);
  using NoteOf = std::string (*)(const Record&);
  void note(const std::string& job, std::string_view annotation, NoteOf text);
  void nudge_later(const Record& record);
  void reissue(const std::string& job, std::int64_t edition);
  void patch(const Record& record, const boost::json::value& what,
             std::function<void(const kube::Reply<boost::json::value>&)> done);

  std::int64_t edition(const std::string& uid, const boost::json::value* object) const;
  std::string job_of(const std::string& uid, std::int64_t edition) const;
  boost::json::value queued_object_of(const std::string& payload) const;
  int followed_priority(const std::string& job, const boost::json::value& queued,
                        const boost::json::value& object, int of_job) const;
  void tell(const Record& record);
  void forget(Records::iterator at);

  const Options options_;
  const Parts parts_;
  std::string trouble_;  // as it was said last
  Records records_;
  std::map<std::string, std::int64_t> editions_;  // by uid: of those that were changed
  std::size_t unsynced_ = 0;                      // watches that have not told all yet
  bool has_listed_all_ = false;
  std::vector<std::unique_ptr<ObjectWatch>> watches_;
};

}  // namespace muster::api
