// The objects of AppWrappers that are made in other clusters than their own. Nobody there knows the
// AppWrapper, so it must not go before them:
// 1. Before anything is made elsewhere it is marked, with a finalizer, and an annotation that says
//    in which clusters.
// 2. When it is deleted and its job is over, what is left there is removed, also of one that ended
//    long ago; whether Muster ran when it was deleted does not matter.
// 3. When the clusters say that nothing is left, the mark is taken off and the AppWrapper goes.
// The finalizer that the controller of v1beta2 left on an AppWrapper goes the same way: nobody else
// would take it off any more.
// A cluster that cannot be reached is waited for, and why is told. One that has left the fleet
// cannot be asked any more: that is said, and what is there is left behind.
//
// Threads: the hub's; answers of others come back to it through `later`.
#pragma once

#include <boost/json/value.hpp>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "api/appwrapper/wrapper_watch.h"
#include "base/result.h"
#include "base/time.h"
#include "kube/client.h"
#include "ports/kept_objects.h"

namespace muster::api {

inline constexpr std::string_view copies_finalizer = "muster.dev/copies";
inline constexpr std::string_view copies_annotation = "muster.dev/copies-in";
inline constexpr std::string_view left_finalizer = "workload.codeflare.dev/finalizer";

/// The clusters that an AppWrapper's mark names; empty without a mark.
std::set<std::string> marked_clusters(const boost::json::value& object);
/// It is being deleted, and has the finalizer of the controller of v1beta2.
bool is_left_finalizing(const boost::json::value& object);
/// Merge patches with the object's uid and version as preconditions.
boost::json::value mark_patch(const boost::json::value& object, const std::string& cluster);
/// `with_left`: of one that is being deleted, what v1beta2's controller left goes too.
boost::json::value unmark_patch(const boost::json::value& object, bool with_left = true);

class WrapperCopies {
 public:
  /// Whether a job needs what it has in other clusters.
  enum class Use {
    Needed,  // it runs there, or its AppWrapper has what is kept there
    Ending,  // its AppWrapper was deleted, and it is not over yet
    None
  };
  struct Parts {
    ports::KeptObjects& objects;
    std::function<Use(const std::string& job)> use_of;
    /// Why one that is deleted is still there; "": nothing hinders it.
    std::function<void(const std::string& job, const std::string& why)> on_stuck;
    std::function<void(std::function<void()>)> later;  // on the hub's thread
    std::function<void(Duration, std::function<void()>)> later_after;
    std::function<void(const std::string&)> say;
  };
  WrapperCopies(kube::Client& client, Parts parts) : client_(client), parts_(std::move(parts)) {}

  struct Whose {
    std::string job = {};
    WrapperKey key = {};
    std::string uid = {};
  };
  /// An AppWrapper as it was found, which may be marked. One of others keeps what they put on it.
  void seen(const Whose& whose, const boost::json::value& object, bool is_ours);
  /// It is about to have objects in that cluster. NotFound, Conflict: it is gone, or on its way.
  void mark(const Whose& whose, const std::string& cluster, std::function<void(Status)> done);
  bool has(const std::string& job) const { return entries_.contains(job); }
  /// It may need nothing in other clusters any more: what is there goes as soon as that is so, and
  /// then the mark. Nothing happens to one that is not marked.
  void let_go(const std::string& job);

 private:
  struct Entry {
    Whose whose = {};
    std::set<std::string> clusters = {};
    bool is_ours = true;
    bool is_only_left = false;  // it has but what v1beta2's controller left on it
    bool is_leaving = false;
    bool is_busy = false;  // an answer, or the next look, is on its way
    int looks = 0;         // at a cluster that is still not empty
    std::string stuck = {};
  };
  struct Marking;

  void ask_mark(const std::shared_ptr<Marking>& marking);
  void put_mark(const std::shared_ptr<Marking>& marking, const boost::json::value& object);
  void end_mark(const std::shared_ptr<Marking>& marking, const Status& status);
  void step(const std::string& job);
  void removed(const std::string& job, const std::string& cluster, bool is_gone);
  void unmark(const std::string& job);
  void unmarked(const std::string& job, const Status& status);
  void look_again(Entry& entry, Duration wait);
  void tell(Entry& entry, const std::string& why);

  kube::Client& client_;
  const Parts parts_;
  std::map<std::string, Entry> entries_;  // by job: those that have a finalizer of ours
};

}  // namespace muster::api
