// What jobs that are over left in the clusters of a fleet, for whoever answers for the object on a
// hub that such a job stood for.
//
// Thread contract: any thread; both return at once.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"

namespace muster::ports {

class KeptObjects {
 public:
  virtual ~KeptObjects() = default;
  /// Why the cluster cannot be asked now; "" when it can. NotFound: there is none of that name.
  virtual Result<std::string> problem_of(const std::string& cluster) const = 0;
  /// Deletes whatever attempts of the job made in the namespace; `done` hears, on any thread,
  /// whether all of it is gone. False also when the cluster does not answer, or has left.
  virtual void remove(const std::string& cluster, const std::string& ns, const std::string& job,
                      std::function<void(bool is_gone)> done) = 0;
};

}  // namespace muster::ports
