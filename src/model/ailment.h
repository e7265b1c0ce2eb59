// What goes wrong with an attempt while it is out, as a type: statuses and counts depend on it.
// Plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace muster::model {

/// What was wrong with an attempt that is taken back or has failed. In journals: new ones at the
/// end.
enum class Ailment {
  None,
  NotMade,        // its objects cannot be made
  MissingObject,  // somebody deleted one of them
  FailedObject,   // one of them says that it failed
  FailedPods,     // pods failed, and nothing made up for them in time
  SickNode,       // it was on a node that is no place for it
  TooFewPods,     // not enough pods were there or ready in time
  Unplaced,       // the same, and the cluster's scheduler found no node for one
  Forgotten,      // an earlier server took it back, and knew why
};
std::string_view to_text(Ailment ailment);
std::optional<Ailment> parse_ailment(std::string_view text);

/// Whether its pods were not there, or not ready, in time.
constexpr bool is_short_of_pods(Ailment ailment) {
  return ailment == Ailment::TooFewPods || ailment == Ailment::Unplaced;
}

/// How an attempt ends that is being removed because of what is wrong with it.
struct Demise {
  Ailment ailment = Ailment::None;  // None: it is not being removed
  bool fails = false;               // its job has failed; else that queues again
  int exit_code = 0;                // of `fails`
  std::uint32_t requeues = 0;       // of the job, with this one; 0: as before
  std::string reason = {};          // for people
  friend bool operator==(const Demise&, const Demise&) = default;
};

}  // namespace muster::model
