// Takes over work that another controller made and left running in a cluster, so that the job that
// stands for it finds it there instead of making it again; or ends it, if the job is not to run.
//
// Thread contract: both return at once; `done` is called once, on a thread of the adopter's, or
// never when the adopter ends before.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>

#include "base/result.h"

namespace muster::ports {

struct LeftWork {
  std::string job;        // that takes it over
  std::string ns;         // where it is
  std::string owner_uid;  // of the object that the other controller made it for
  std::string objects;    // as model::Command has them
};

/// Pods that are there already. They take no room from now on: the job does.
struct AdoptedPods {
  std::int64_t bound = 0;            // to a node, and not ended
  std::set<std::string> nodes = {};  // of these
  /// LeftWork's, where some only say how their names begin: with the names of what is there of
  /// these. "": as they were.
  std::string objects = {};
};

class Adopter {
 public:
  virtual ~Adopter() = default;
  virtual void adopt(LeftWork work, std::function<void(const Result<AdoptedPods>&)> done) = 0;
  /// Deletes the objects of the list that were made for its owner, and no other of these names.
  virtual void release(LeftWork work, std::function<void(const Status&)> done) = 0;
};

}  // namespace muster::ports
