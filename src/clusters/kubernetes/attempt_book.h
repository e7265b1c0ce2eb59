// What Muster wants of each attempt in a cluster, how far it is, and what to do next. Pure: the
// adapter tells what was asked, what came back and what is seen; the book answers with commands and
// with what to say. Keeps the contract of ports::Cluster.
//
// An attempt is made (all its objects), watched until it has an outcome, then everything of it is
// removed. The outcome is said when no pod of it can run any more: when the cluster itself
// confirmed, in a consistent list, that nothing is left, or when all its Jobs have ended by
// themselves. Those are kept for a while as proof: a server that is killed before it wrote the
// outcome down finds them, and does not run the attempt again. Said once, it is final.
//
// A list of objects may be looked after in its own way (attempt_care.h): started when it is made,
// taken back whenever too few of its pods are ready for too long, left where it is when it ended
// or, for a while, when it failed. As long as pods of one that failed may run its outcome is not
// said.
//
// Thousands of attempts are in the book, most of them over or at rest: no question to it looks at
// all of them, but for alive() and remove_ended().
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/time.h"
#include "clusters/kubernetes/gang_state.h"
#include "model/event.h"
#include "ports/attempt_sights.h"
#include "ports/cluster.h"

namespace muster::clusters {

/// Make all objects of the attempt. Those that are there already are fine.
struct MakeObjects {
  ports::Attempt attempt;
};
/// Delete whatever carries its labels.
struct RemoveObjects {
  ports::Attempt attempt;
};
/// Ask the cluster, not a cache, whether anything of it is left.
struct ConfirmGone {
  ports::Attempt attempt;
};
/// What the book says of it has changed, though nothing was seen of it.
struct TellStand {
  ports::Attempt attempt;
};
struct SayEvent {
  model::EventBody body;
};
using BookCommand = std::variant<MakeObjects, RemoveObjects, ConfirmGone, TellStand, SayEvent>;

struct BookOptions {
  Duration ready_within = minutes(10);       // from made to all pods ready
  Duration start_retry_pause = seconds(10);  // before a gang that did not start is tried again;
  Duration start_retry_most = minutes(5);    // doubled up to this while it does not start
  Duration look_again = seconds(2);          // between two questions whether it is gone
  Duration end_within = seconds(10);         // from a failure until all Jobs say they ended
  Duration keep_ended = minutes(2);          // objects of a gang that ended by itself
  Duration keep_outcomes = hours(1);
  /// How long a delete is waited for after the objects went with their owner: whoever deleted that
  /// one is about to say so here too.
  Duration owner_patience = seconds(30);
};

class AttemptBook {
 public:
  explicit AttemptBook(BookOptions options) : options_(options) {}

  // What the loop wants.
  void create(const ports::Attempt& attempt, Time now);
  void remove(const ports::Attempt& attempt, Time now);
  /// An attempt that was found in the cluster and is wanted.
  void adopt(const ports::Attempt& attempt, Time now);
  /// An attempt that failed, was said to, and whose objects an earlier server kept for a while: for
  /// how long is not known any more, so that their time begins anew.
  void keep_failure(const ports::Attempt& attempt, const GangState& state, Time now);
  /// An attempt that an earlier server was removing, and had said so: whatever is left of it goes,
  /// and its end is the one that was said then.
  void go_on_removing(const ports::Attempt& attempt, const AttemptCare& care,
                      const model::Demise& demise, Time now);
  /// There was one, and the cluster has no trace of it.
  void vanished(const ports::Attempt& attempt, const AttemptCare& care, Time now);

  // What came of it.
  enum class Making {
    Done,
    Refused,      // it can never be made
    NotNow,       // the cluster has no room for it: requeued with a pause
    Unavailable,  // nobody knows: the loop will ask again, or give it up in the end
  };
  /// Before made(): how it is looked after. Of one that was found its sight says it.
  void look_after(const ports::Attempt& attempt, const AttemptCare& care);
  void made(const ports::Attempt& attempt, Making how, const std::string& reason, Time now);
  void removed(const ports::Attempt& attempt);
  /// The cluster did not take all deletes, and nobody asks for every kind whether it is gone.
  void not_removed(const ports::Attempt& attempt, Time now);
  void confirmed(const ports::Attempt& attempt, bool is_gone, Time now);
  void seen(const ports::Attempt& attempt, const GangState& state, Time now);
  /// It is on nodes that are no place for it: taken back whole, which counts as no requeue.
  void leave_nodes(const ports::Attempt& attempt, const std::string& reason, Time now);
  /// Nobody will ask any more how they ended: what is kept as proof of it is removed now.
  void remove_ended();
  /// Time has passed: gangs that are not ready are taken back, questions are asked again.
  void pass(Time now);

  std::vector<BookCommand> take() { return std::exchange(commands_, {}); }
  bool knows(const ports::Attempt& attempt) const { return entries_.count(attempt) == 1; }
  /// All its objects are there, or were when it ended.
  bool is_made(const ports::Attempt& attempt) const;
  /// So many of its pods have to be ready, or to have succeeded; 0: it is not known.
  std::int64_t needed_pods_of(const ports::Attempt& attempt) const;
  /// Of its job, before it; 0: it is not known.
  int requeues_before(const ports::Attempt& attempt) const;
  /// What was wrong with it, once it is taken back or has failed.
  model::Ailment ailment_of(const ports::Attempt& attempt) const;
  /// Because of what it is being removed, or was; None: it was not, or was asked to.
  model::Demise demise_of(const ports::Attempt& attempt) const;
  /// Why it failed for good, if its objects are kept for a while nevertheless; "": they are not.
  std::string kept_failure_of(const ports::Attempt& attempt) const;
  /// It has ended by itself, and its objects are to stay.
  bool is_kept(const ports::Attempt& attempt) const;
  /// It has failed, and its objects stay for a while.
  bool is_kept_failure(const ports::Attempt& attempt) const;
  /// It is to go, and the cluster has not answered its deletes yet.
  bool will_delete(const ports::Attempt& attempt) const;
  /// Those that are deleted and not gone yet.
  const std::set<ports::Attempt>& leaving() const { return leaving_; }
  /// Those that run and do not stay on every node, with the marks of nodes that they leave.
  const std::map<ports::Attempt, std::vector<model::NodeMark>>& movable() const { return movable_; }
  /// Attempts with objects in the cluster, as far as known.
  std::set<ports::Attempt> alive() const;
  std::size_t size() const { return entries_.size(); }
  /// Nothing is under way: all attempts run or are over.
  bool is_settled() const { return open_ == 0; }

 private:
  enum class Stage {
    Making,    // objects are on their way
    Made,      // all are there
    Removing,  // deletes are on their way
    Failing,   // it failed, and its objects stay until `at`; the outcome is said when they are gone
    Confirming,  // deleted; whether all is gone is being asked, or to be asked at `at`
    Ended,       // `outcome` was said, the objects are there until `at`, or as long as they like
    Over         // `outcome` was said, nothing is left
  };
  struct Entry {
    Stage stage = Stage::Making;
    bool has_started = false;
    bool was_seen = false;                    // of Made: at least one of its objects
    bool was_known = false;                   // and how they stand
    bool was_whole = false;                   // all of them at once
    bool is_found = false;                    // an earlier server made it
    bool was_leaving = false;                 // and was deleting it when it stopped
    bool is_said = false;                     // the outcome
    bool is_back = false;                     // of Over: something of it is seen again
    bool is_asking = false;                   // of Confirming: the question is under way
    Time at;                                  // Made: to be ready by; Confirming: ask again;
                                              // Over: since
    std::optional<model::EventBody> outcome;  // to say in the end; of Making: end it when made
    std::optional<model::Finished> verdict;   // of Made: how it ends, at the latest at `at`
    bool is_guess = false;                    // of the verdict: the pod's own may still come
    bool is_loss = false;                     // what is guessed then: a pod was taken away
    bool is_ended = false;                    // and all of it had ended when it was seen last
    std::string trouble;                      // the last reason why it does not start
    bool is_unplaced = false;                 // and that is a pod without a node
    int failed_starts = 0;                    // of the job here, in a row, with this one

    // Of those that are looked after in their own way.
    AttemptCare care = {};
    bool is_short = true;       // of Made: too few pods are ready, which is borne until `at`
    bool was_ready = false;     // enough were, once
    bool had_root = false;      // its root was seen, and had an owner
    bool is_withdrawn = false;  // of Made: that one is gone, or going; borne until `at`
    std::int64_t needed_pods = 0;
    std::int64_t ready_pods = 0;
    std::int64_t succeeded_pods = 0;
    int requeues = 0;                             // of the job, with this one
    Time short_since;                             // of is_short
    bool has_all_pods = false;                    // ready or not
    std::optional<model::Finished> failure = {};  // pods have failed, which is borne until
    Time fails_at = Time::never();
    model::Ailment ailment = model::Ailment::None;
    bool is_demise_told = false;

    /// What scales itself may do so once all its pods were there; of one that was found, they
    /// were as far as anybody knows.
    std::int64_t needed_of(const GangState& state) const {
      return was_ready || is_found ? state.least_pods : state.needed_pods;
    }

    // As the book counts it, see Change.
    bool is_open = false;
    Time due = Time::never();
  };
  using Entries = std::map<ports::Attempt, Entry>;

  /// While an entry changes; at the end of it the counts of the book are right again.
  class Change {
   public:
    Change(AttemptBook& book, Entries::iterator at) : book_(book), at_(at) {}
    ~Change() { book_.count(at_, is_forgotten_); }
    Change(const Change&) = delete;
    Change& operator=(const Change&) = delete;
    void forget() { is_forgotten_ = true; }

   private:
    AttemptBook& book_;
    Entries::iterator at_;
    bool is_forgotten_ = false;
  };
  void count(Entries::iterator at, bool is_forgotten);
  /// When pass() has to look at it.
  Time due_of(const Entry& entry) const;
  void pass_one(const ports::Attempt& attempt, Entry& entry, Time now);

  void say(model::EventBody body) { commands_.emplace_back(SayEvent{std::move(body)}); }
  void say_again(const ports::Attempt& attempt, const Entry& entry);
  void finish(const ports::Attempt& attempt, Entry& entry, model::EventBody outcome);
  void tell_demise(const ports::Attempt& attempt, Entry& entry);
  static model::Demise demise_of(const Entry& entry);
  /// The same, unless it is a failure whose objects are to be kept for a while.
  void conclude(const ports::Attempt& attempt, Entry& entry, model::EventBody outcome, Time now);
  void seen_failing(const ports::Attempt& attempt, Entry& entry, const GangState& state);
  void judge(const ports::Attempt& attempt, Entry& entry, const GangState& state, Time now);
  static bool stays(const Entry& entry);
  model::EventBody outcome_of_guess(const ports::Attempt& attempt, Entry& entry, Time now) const;
  model::EventBody outcome_of_verdict(const ports::Attempt& attempt, Entry& entry, Time now) const;
  void end(const ports::Attempt& attempt, Entry& entry, Time now);
  void start(const ports::Attempt& attempt, Entry& entry);
  /// False: nothing else is to be made of what was seen.
  bool look_at_care(Entry& entry, const GangState& state, Time now) const;
  static void look_at_failed_pods(const ports::Attempt& attempt, Entry& entry,
                                  const GangState& state, Time now);
  Duration ready_limit_of(const Entry& entry) const;
  /// Somebody deleted objects of it.
  model::EventBody lost(const ports::Attempt& attempt, Entry& entry, std::string reason,
                        Time now) const;
  model::EventBody taken_back(const ports::Attempt& attempt, Entry& entry, Time now) const;
  /// What an earlier server was about when it stopped: it took the attempt back.
  model::EventBody taken_back_before(const ports::Attempt& attempt, Entry& entry, Time now) const;
  /// Of the attempt before it of the same job; null: it is not known here.
  const Entry* entry_before(const ports::Attempt& attempt) const;
  model::StartFailed start_failed(const ports::Attempt& attempt, Entry& entry, std::string reason,
                                  Time now) const;

  const BookOptions options_;
  Entries entries_;
  std::set<std::pair<Time, ports::Attempt>> due_;
  std::set<ports::Attempt> leaving_;
  std::map<ports::Attempt, std::vector<model::NodeMark>> movable_;
  std::size_t open_ = 0;  // entries under way
  /// Why the cluster did not make it when it was asked last; whoever is asked for again, or
  /// deleted.
  std::map<ports::Attempt, std::string> unmade_;
  std::vector<BookCommand> commands_;
};

}  // namespace muster::clusters
