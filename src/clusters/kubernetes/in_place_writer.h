// Starts and stops objects where they are: see in_place.h. What is written is what was read a
// moment before and nothing else: whoever changes the object in between goes first.
//
// Threads: any; what was given is called exactly once, on the client's I/O thread, at the latest
// while the client is destroyed.
#pragma once

#include <boost/json/value.hpp>
#include <functional>
#include <string>

#include "base/time.h"
#include "clusters/kubernetes/object_writer.h"
#include "kube/client.h"
#include "kube/resource.h"
#include "model/command.h"
#include "ports/cluster.h"

namespace muster::clusters {

/// How long an operator is waited for that is still stopping what ran of it before.
struct InPlacePatience {
  Duration pause = milliseconds(500);
  int tries_most = 20;
  int tries_unseen = 4;  // then it has no operator, or one that will find it as it is
};

struct StartInPlace {
  kube::Resource resource = {};
  std::string uid = {};             // of the object
  boost::json::value dressed = {};  // as its attempt is to have it: name, namespace, marks, spec
  boost::json::value queued = {};   // as it was queued; null: not known
};
/// The client must outlive it.
void start_in_place(kube::Client& client, StartInPlace what, std::function<void(MadeObjects)> done,
                    InPlacePatience patience = InPlacePatience());

struct StopInPlace {
  kube::Resource resource = {};
  model::HubObject hub = {};
  ports::Attempt attempt = {};
  boost::json::value queued = {};  // as above
};
/// Of an attempt that does not have it any more nothing is done. Not stopped: the server did not
/// answer, or not now. A RayJob that has ended stays as it is, and its Ray cluster goes.
void stop_in_place(kube::Client& client, StopInPlace what,
                   std::function<void(bool is_stopped)> done);

}  // namespace muster::clusters
