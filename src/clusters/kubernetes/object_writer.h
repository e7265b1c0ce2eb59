// Makes, deletes and looks for the objects of attempts in the namespaces of a cluster where its
// jobs may be: some, or all there are. An attempt is in one of them; which one is remembered, else
// all are looked at.
//
// Threads: all functions return at once; what was given to be called is called exactly once, on the
// client's I/O thread, at the latest while the client is destroyed.
#pragma once

#include <boost/json/value.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "clusters/kubernetes/attempt_book.h"
#include "clusters/kubernetes/attempt_removals.h"
#include "clusters/kubernetes/listed_objects.h"
#include "clusters/kubernetes/luggage.h"
#include "kube/client.h"
#include "model/command.h"
#include "ports/cluster.h"

namespace muster::clusters {

/// What became of making objects.
struct MadeObjects {
  AttemptBook::Making how = AttemptBook::Making::Done;
  std::string reason = {};
  std::vector<LuggageNote> notes = {};
};

/// Not answered, or not now: nobody knows whether it was done. A conflict is of that kind: two
/// wrote at once, a quota say, and whoever asks again is served.
bool is_unanswered(const kube::ApiError& error);

/// Whether a refusal is the job's fault, the cluster's, or a matter of time.
MadeObjects judge_refusal(const kube::ApiError& error);

/// A class of pods that push nobody away; who may be pushed away is Muster's to decide.
boost::json::value priority_class_object(const std::string& name);

class ObjectWriter {
 public:
  struct Place {
    std::vector<std::string> namespaces = {};  // "" alone: all there are
    std::string own = {};                      // the namespace of jobs that name none
    std::string server = {};          // whose objects it makes, finds and deletes; "": everybody's
    std::string priority_class = {};  // "": none is made
  };
  /// The client must outlive it.
  ObjectWriter(kube::Client& client, Place place);
  ~ObjectWriter();

  /// Makes what every attempt needs, so that the first does not wait for it.
  void prepare();
  /// Why no attempt can be made now, for people: of what every one needs. "": nothing is known.
  std::string trouble() const;
  /// One after the other; those that are there already are fine. First, unless it was there once,
  /// the priority class; last a Service that the attempt shares with others.
  void make(std::optional<boost::json::value> peers, std::vector<boost::json::value> objects,
            std::function<void(MadeObjects)> done);
  /// The same of a list of objects, which the root owns unless the list is its own, after its
  /// namespace and what comes along from its hub. A name that is taken by somebody else's object is
  /// refused.
  void make(ListedObjects listed, std::function<void(MadeObjects)> done);
  // In every namespace where the attempt may have objects; see AttemptRemovals. Where there is no
  // knowing, `likely`, which is called at once or never, may name one: Secrets are not looked for.
  void remove(const ports::Attempt& attempt, const std::function<std::string()>& likely,
              std::function<void(Taken taken)> done);
  void confirm_gone(const ports::Attempt& attempt, std::function<void(bool)> done);
  std::string removal_refusal() const;
  /// The object of an attempt that was started in its place: see in_place_writer.h.
  void stop(const model::HubObject& hub, const ports::Attempt& attempt, boost::json::value queued,
            std::function<void(bool is_stopped)> done);
  /// Of all attempts of a job, in one namespace: deletes, and asks whether all is gone.
  void remove_kept(const std::string& ns, const std::string& job, std::function<void(bool)> done);
  /// Deletes a pod without waiting for its node, unless it is another one by now.
  void force_away(const std::string& ns, const std::string& pod, const std::string& uid);
  /// All attempts that have Jobs, pods or a root, from the newest state.
  using Attempts = kube::Reply<std::set<ports::Attempt>>;
  void find_attempts(std::function<void(Attempts)> done);

 private:
  struct Core;
  std::shared_ptr<Core> core_;
};

}  // namespace muster::clusters
