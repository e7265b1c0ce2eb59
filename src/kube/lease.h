// A Lease as a lock: whoever holds it renews it, others take it over when it has not changed for
// its whole duration. One attempt at a time, as a value; when to try again is the caller's matter.
//
// Nobody compares clocks: a lease has expired when it was seen unchanged for its duration, measured
// here. A holder that cannot renew must stop acting before that time has passed.
#pragma once

#include <boost/json/value.hpp>
#include <functional>
#include <optional>
#include <string>

#include "base/time.h"
#include "kube/api_error.h"
#include "kube/client.h"

namespace muster::kube {

struct LeaseOptions {
  std::string ns = {};
  std::string name = {};
  std::string identity = {};  // of this holder, unique
  Duration duration = seconds(15);
};

struct LeaseView {
  bool is_held = false;          // by us
  std::string holder = {};       // "" when nobody holds it
  std::int64_t transitions = 0;  // how often it changed hands: a fencing token
};

class Lease {
 public:
  Lease(Client& client, LeaseOptions options) : client_(client), options_(std::move(options)) {}

  using Done = std::function<void(Reply<LeaseView>)>;
  /// Takes it, renews it, or says who has it. `now` is any clock that never goes back. Calls must
  /// not overlap; done runs on the I/O thread, and the Lease must live until then.
  void try_later(Time now, Time wall, Done done);
  /// Waits.
  Reply<LeaseView> try_once(Time now, Time wall);
  /// Gives it up if it is ours, so that the next one need not wait. Waits.
  Reply<LeaseView> release();

 private:
  void take(Time now, Time wall, const Reply<boost::json::value>& found, const Done& done);
  boost::json::value wanted(Time wall, const boost::json::value* current, bool is_ours) const;

  Client& client_;
  const LeaseOptions options_;
  std::string seen_version_;  // the last state seen, of whoever holds it
  Time seen_at_;
};

}  // namespace muster::kube
