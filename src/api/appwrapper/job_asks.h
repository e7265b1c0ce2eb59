// What hub objects ask of their jobs: asked of the loop until it takes the question. Of one thread,
// the hub's.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "control/requests.h"
#include "model/event.h"

namespace muster::api {

class JobAsks {
 public:
  using LaterAfter = std::function<void(Duration, std::function<void()>)>;  // on the hub's thread
  JobAsks(control::Requests& requests, std::string user, LaterAfter later_after)
      : requests_(requests), user_(std::move(user)), later_after_(std::move(later_after)) {}

  /// What of it the job can still take is written. `about`: of whom, for the audit.
  void ask(const std::string& job, const std::string& verb, std::vector<model::EventBody> events,
           const std::string& about);
  /// Moves one that waits; it keeps its place. `cannot` is called, on the loop's thread, if it
  /// charges the tree of that queue already beside its own: then only another job can be there.
  void move(const std::string& job, const std::string& queue, const std::string& about,
            std::function<void()> cannot);
  /// Cancels those whose ids begin so and that are not among the known: their objects were deleted
  /// while nobody watched.
  void cancel_strays(const std::string& prefix, std::set<std::string> known,
                     const std::string& about);

 private:
  control::Requests& requests_;
  const std::string user_;
  const LaterAfter later_after_;
};

}  // namespace muster::api
