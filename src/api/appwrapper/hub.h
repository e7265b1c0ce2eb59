// AppWrappers of a hub cluster, as jobs: each that appears is submitted, each that goes is
// cancelled, and what becomes of its job is written into its status. The spec and the deletion of a
// hub object are what its author wants; the journal owns the state; the status is only written, and
// read once when an AppWrapper is taken over. Beside them stand labelled objects: labelled_desk.h.
//
// A job's id is made of the hub's name and the AppWrapper's uid, so that no AppWrapper becomes two
// jobs, whatever is killed when. What is kept of a waiting AppWrapper is small: its object is read,
// made into a job and forgotten.
//
// Thread contract: start and stop from one thread; published() from the loop's, seen() and depart()
// from the clusters', which only queue. One thread of its own does everything else and waits for
// nobody, but for the definitions if it is to install them. It must outlive the submitter, the loop
// and the clusters.
#pragma once

#include <boost/json/object.hpp>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <unordered_map>
#include <variant>
#include <vector>

#include "api/appwrapper/copies.h"
#include "api/appwrapper/expiry.h"
#include "api/appwrapper/facts.h"
#include "api/appwrapper/hub_options.h"
#include "api/appwrapper/hub_record.h"
#include "api/appwrapper/install.h"
#include "api/appwrapper/job_asks.h"
#include "api/appwrapper/label_desk.h"
#include "api/appwrapper/labelled_desk.h"
#include "api/appwrapper/luggage.h"
#include "api/appwrapper/quota_desk.h"
#include "api/appwrapper/rows.h"
#include "api/appwrapper/status_v1beta2.h"
#include "api/appwrapper/status_writer.h"
#include "api/appwrapper/unplaced_desk.h"
#include "api/appwrapper/wait_desk.h"
#include "api/appwrapper/wrapper_events.h"
#include "api/appwrapper/wrapper_watch.h"
#include "api/rest/submitter.h"
#include "base/result.h"
#include "base/time.h"
#include "control/loop.h"
#include "control/reads.h"
#include "control/requests.h"
#include "kube/access.h"
#include "kube/client.h"
#include "ports/adopter.h"
#include "ports/attempt_sights.h"
#include "ports/departures.h"
#include "ports/kept_objects.h"
#include "ports/store.h"
#include "work/wrapped/wrapped_job.h"

namespace muster::api {

class AppWrapperHub : public ports::AttemptSights, public ports::Departures {
 public:
  struct Parts {
    const ports::Store& store;
    Submitter& submitter;
    control::Requests& requests;
    control::Reads& reads;
    ports::Adopter& adopter;                                         // of the hub
    ports::KeptObjects& objects;                                     // of all clusters
    std::function<std::vector<work::SelectableCluster>()> clusters;  // that are joined now
    std::function<Time()> clock;
    std::function<void(const std::string&)> say;  // a line for the server's log
    /// Called when many AppWrappers came and most of what they took is free again, in pieces all
    /// over the heap.
    std::function<void()> return_memory;
    /// How many there are in each state, now and then.
    std::function<void(const std::map<std::string, std::size_t>&)> count_states;
  };
  explicit AppWrapperHub(HubOptions options) : options_(std::move(options)) {}
  ~AppWrapperHub() override;

  /// Once. Does not wait for the cluster; what was published and seen before is not lost.
  Status start(const kube::Access& access, Parts parts);
  bool has_started() const { return client_ != nullptr; }
  /// Other credentials of the same hub. Conflict if it is reached elsewhere.
  Status renew(const kube::Access& access) { return client_->renew(access); }
  /// Before the parts it was started with stop. What they call afterwards does nothing.
  void stop();

  void published(const control::StepReport& report);
  /// In the order of their keys. `then` is called on the hub's thread. From any thread.
  void list(WrapperFilter filter, std::function<void(const WrapperPage&)> then);
  void seen(const ports::AttemptSight& sight) override;
  void depart(ports::Departure departure, Done done) override;

 private:
  using Record = HubRecord;
  using Records = std::unordered_map<std::string, Record>;  // by job
  /// In the order of their keys; one that is gone may have the key of another.
  struct ByKey {
    using is_transparent = void;
    bool operator()(const Record* a, const Record* b) const {
      return std::tie(a->key, a->job()) < std::tie(b->key, b->job());
    }
    bool operator()(const Record* a, const WrapperKey& b) const { return a->key < b; }
    bool operator()(const WrapperKey& a, const Record* b) const { return a < b->key; }
  };
  /// A change, or that all which was there of a group is told.
  using Watched = std::variant<WrapperChange, WrapperGroup>;

  // ---- the thread
  void work();
  /// False: it is to end.
  bool rest(Time until);
  std::size_t do_watched(Time now);
  void return_memory(std::size_t came, Time now);
  void do_events(Time now);
  void do_sights();
  /// One that was told before its AppWrapper, or its object, was listed.
  std::optional<ports::AttemptSight> early_sight(const std::string& job);
  bool has_listed_all() const;
  void drop_early_sights();
  void do_answers();
  std::string state_of(const Record& record) const;
  void count_states(Time now);
  WrapperRow row_of(const Record& record) const;
  void add_wrappers(const WrapperFilter& filter, WrapperPage& page) const;
  void add_wrappers(WrapperGroup group, const WrapperFilter& filter, WrapperPage& page) const;
  void push_watched(Watched watched);
  /// From any thread: to be done on this one.
  void answer(std::function<void()> function);
  void answer_after(Duration wait, std::function<void()> function);

  void ask_identity();
  void begin();
  void begin_watch();
  void watch();
  void miss(WrapperGroup group);
  void quota_changed();
  void watch_its_tree(const Record& record);
  std::string prefix_of(WrapperGroup group) const;
  std::string job_of(const WrapperChange& change) const;
  std::string job_of(const WrapperChange& change, std::int64_t edition) const;
  std::int64_t edition(const WrapperChange& change) const;
  void forget(Records::iterator at);

  // ---- those that come, change and go: hub_take.cc
  void take(const WrapperChange& change, Time now);
  void take_over(Record& record, const WrapperChange& change, Time now);
  /// What it asks for, though it cannot become a job as it is now.
  void ask_anyway(Record& record, const boost::json::value& object);
  /// Its job is in the books. `is_read`: its spec still becomes one.
  void go_on(Record& record, const WrapperChange& change, const Status& is_read, Time now);
  /// Somebody else manages it.
  bool is_foreign(const boost::json::value& object) const;
  /// It failed, and its job is known while what it made is kept.
  bool is_in_books(const std::string& job) const;
  std::optional<KeptFailure> kept_failure_of(const Record& record,
                                             const boost::json::object& status) const;
  /// As an earlier server did. Its time goes on from then.
  void keep_failed(Record& record, const KeptFailure& failure, Time now);
  /// It has Kueue's label, and Kueue may have been installed since.
  void ask_for_kueue(Record& record, const WrapperChange& change);
  void take_again(Record& record, const WrapperChange& change);
  void follow_spec(Record& record, const WrapperChange& change, Time now);
  /// Its job stays what it was.
  void ignore(Record& record, const std::string& why);
  /// Its job is to be another one, if it can.
  void follow_content(Record& record, const WrapperChange& change);
  void follow_trees(Record& record, const WrapperChange& change);
  /// Its label says so; without one it is nobody's in particular.
  std::string user_of(const boost::json::value& object) const;
  void retire(const std::string& job);
  /// What the edition before made has the same names, and goes first.
  bool waits_for_older(Record& record, const WrapperChange& change);
  std::uint64_t content_of(const boost::json::value& object, const work::WrappedJob& wrapped) const;
  void lose(const WrapperChange& change);
  void expire(const Record& record, Time succeeded);

  // ---- whether their creators are checked: hub_rights.cc
  void check_creators();
  void creators_checked(const Result<CreatorsCheck>& found);

  // ---- what is asked of the loop: hub_submit.cc
  /// Into the queues that its labels name. False: one of them is not there, and it waits.
  bool designate(Record& record, const WrapperChange& change, work::WrappedJob& wrapped);
  void put_labels(const Record& record, const WrapperChange& change, const model::Labels& labels);
  void adopt(Record& record, const WrapperChange& change, work::WrappedJob wrapped);
  void adopted(const WrapperChange& change, work::WrappedJob& wrapped,
               const Result<ports::AdoptedPods>& found);
  void release(Record& record, const WrapperChange& change, work::WrappedJob wrapped,
               const std::string& where);
  void released(const WrapperChange& change, work::WrappedJob& wrapped, const Status& done);
  void submit(Record& record, const WrapperChange& change, work::WrappedJob wrapped);
  void submitted(const WrapperChange& change, const SubmitOutcome& outcome);
  /// Asks for what is wanted now and was not before.
  void edit(const Record& record, const WrapperAsk& followed);
  void drop_kept(const std::string& job);
  void dropped_kept(const std::string& job, bool is_gone);
  void cancel(const std::string& job);
  void ask_cancel(const std::string& job);
  void cancel_strays(WrapperGroup group);
  void refuse(Record& record, const std::string& why);
  void reissue(const std::string& job, std::int64_t edition);

  // ---- those that run elsewhere: hub_travel.cc
  void make_travel_desks();
  WrapperCopies::Use use_of(const std::string& job) const;
  void set_stuck(const std::string& job, const std::string& why);
  work::WrapOptions wrap_options() const;
  void wait_to_be_placed(Record& record, const WrapperChange& change, WrapperWait::Kind kind,
                         const std::string& why);
  void wait_to_be_taken(Record& record, const std::string& why);
  void make_placing_desks();
  void place_again(const std::string& job);
  void read_again(const std::string& job, const std::shared_ptr<const boost::json::value>& object);
  void tell_events(const std::string& job);

  // ---- what is written
  static Moves moves_of(const Record& record);
  std::optional<StatusSource> source_of(const std::string& job) const;
  void touch(const Record& record);
  void make_wait_desk();
  void tell_wait(const std::string& job, WrapperWait wait);
  void make_labelled_desk();

  static constexpr Duration try_again = seconds(1);  // what could not be asked or told now
  const HubOptions options_;
  std::optional<Parts> parts_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Watched> watched_;  // guarded by mutex_, as all up to is_stopping_
  std::deque<model::Event> events_;
  std::map<ports::Attempt, ports::AttemptSight> sights_;
  std::deque<std::function<void()>> answers_;
  bool is_stopping_ = false;

  // Of the thread alone.
  std::unique_ptr<JobAsks> asks_;
  std::unique_ptr<WaitDesk> waits_;
  std::unique_ptr<UnplacedDesk> unplaced_;  // queues or clusters are not there
  std::unique_ptr<WrapperExpiry> expiry_;
  std::unique_ptr<WrapperCopies> copies_;
  std::unique_ptr<LuggageDesk> luggage_;
  std::unique_ptr<WrapperEvents> events_told_;
  std::unique_ptr<LabelledDesk> labelled_;  // null until it is known which hub this is
  std::string unserved_;                    // the hub does not serve AppWrappers: in a sentence
  bool misses_old_group_ = false;
  bool has_kueue_ = false;     // it is installed, and manages what has its label
  Time kueue_asked_{0};        // when that was asked last
  Time checked_since_{0};      // older AppWrappers are not taken
  std::string creators_mark_;  // of what checks their creators; "": that was never there
  std::string unchecked_;      // why no new ones are taken, in a sentence
  std::string first_tree_;     // of quota
  bool has_begun_ = false;     // to watch
  std::unique_ptr<LabelDesk> labels_;
  std::string hub_mark_;  // in the ids of its jobs
  SharedText told_;       // why one waits, the last time
  Records records_;
  std::set<const Record*, ByKey> by_key_;         // all of them
  std::map<std::string, std::int64_t> editions_;  // by uid: of those that were changed
  std::size_t came_ = 0;                          // changes since memory was returned
  Time came_last_{0};
  Time counted_{0};  // their states
  /// By job, newest attempts: nobody tells them again. Until all is listed that was there.
  std::map<std::string, ports::AttemptSight> early_sights_;
  std::set<WrapperGroup> listed_;
  std::map<std::string, WrapperChange> missed_;  // by job: came while they were submitted

  std::unique_ptr<kube::Client> client_;
  std::unique_ptr<StatusWriter> writer_;
  std::unique_ptr<QuotaDesk> quota_;  // null: no quota
  std::vector<std::unique_ptr<WrapperWatch>> watches_;
  std::thread thread_;
};

}  // namespace muster::api
