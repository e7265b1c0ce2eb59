// What jobs that are over left in the clusters of a fleet, for whoever answers for the object on a
// hub that such a job stood for.
//
// Thread contract: any thread; all return at once.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"

namespace muster::ports {

/// A kind of cluster that leaves objects of jobs that are over where they are, if the jobs want
/// that (model::ObjectCare::keep_ended).
class KeepsObjects {
 public:
  virtual ~KeepsObjects() = default;
  /// Deletes whatever attempts of the job made in the namespace; `done` hears, on any thread,
  /// whether all of it is gone. False also when the cluster does not answer.
  virtual void remove_kept(const std::string& ns, const std::string& job,
                           std::function<void(bool is_gone)> done) = 0;
};

/// The same of a whole fleet.
class KeptObjects {
 public:
  virtual ~KeptObjects() = default;
  /// Why the cluster cannot be asked now; "" when it can. NotFound: there is none of that name.
  virtual Result<std::string> problem_of(const std::string& cluster) const = 0;
  /// As KeepsObjects; of a cluster that has left: false.
  virtual void remove(const std::string& cluster, const std::string& ns, const std::string& job,
                      std::function<void(bool is_gone)> done) = 0;
};

}  // namespace muster::ports
