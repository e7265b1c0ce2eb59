// Labels that AppWrappers lack and are told to have, as the node of a quota tree that counts for
// them: tried until they are there, with pauses that grow. What somebody else gives an AppWrapper
// meanwhile is what its author wants, and stays.
//
// Of one thread, the hub's.
#pragma once

#include <functional>
#include <set>
#include <string>

#include "api/appwrapper/wrapper_events.h"
#include "api/appwrapper/wrapper_watch.h"
#include "base/time.h"
#include "kube/client.h"
#include "model/selector.h"

namespace muster::api {

class LabelDesk {
 public:
  struct Parts {
    kube::Client& client;
    std::function<bool(const std::string& job)> is_open;  // its AppWrapper is, and not over
    std::function<void(std::function<void()>)> later;     // on the hub's thread
    std::function<void(Duration, std::function<void()>)> later_after;
  };
  explicit LabelDesk(Parts parts) : parts_(std::move(parts)) {}

  struct Wanted {
    std::string job = {};
    WrapperKey key = {};
    std::string uid = {};
    std::string version = {};  // of the AppWrapper that lacks them
    model::Labels labels = {};
  };
  /// Does nothing while others of the same job are being put.
  void put(Wanted wanted);

 private:
  void write(Wanted wanted, Duration pause);
  void read(Wanted wanted, Duration pause);
  void again(Wanted wanted, Duration pause);
  void end(const std::string& job);

  const Parts parts_;
  std::set<std::string> jobs_;  // whose labels are being put
};

}  // namespace muster::api
