// Objects that many attempts need and none owns: the priority class, the Services by which pods of
// a gang find each other. Made by whoever needs one first; those that need it meanwhile wait for
// the same answer, those that come within a minute ask nobody. What somebody else deletes is made
// again by the next who comes later than that.
//
// Threads: any; what was given is called exactly once, on the caller's thread or on the client's
// I/O thread, at the latest while the client is destroyed.
#pragma once

#include <boost/json/value.hpp>
#include <functional>
#include <memory>
#include <string>

#include "base/time.h"
#include "kube/client.h"
#include "kube/resource.h"

namespace muster::clusters {

class SharedObjects {
 public:
  /// The client must outlive it.
  explicit SharedObjects(kube::Client& client, Duration trusted_for = minutes(1));
  ~SharedObjects();

  using Then = std::function<void(const kube::Reply<Ok>& there)>;
  /// Whoever may not make it may still use one that somebody else made, if it may be read. A class
  /// with another preemptionPolicy than this one is refused, whoever made it.
  void need(const kube::Resource& resource, const boost::json::value& object, const Then& then);
  /// The same for whoever can begin without it: what was there once is not waited for again, and
  /// looked after beside.
  void rely_on(const kube::Resource& resource, const boost::json::value& object, const Then& then);
  /// As rely_on; other requests that wait in line go first.
  void need_last(const kube::Resource& resource, const boost::json::value& object,
                 const Then& then);

 private:
  class Core;
  std::shared_ptr<Core> core_;
};

/// Of a cluster that leaves: deletes the Services of a server in a namespace, or in all there are
/// (no namespace), but for namespaces where there still are pods of it, which need them. Waits for
/// the answers, and gives up when one takes more than some seconds.
void remove_peers(kube::Client& client, const std::string& ns, const std::string& server);

}  // namespace muster::clusters
