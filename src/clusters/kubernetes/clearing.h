// Attempts that nobody wants and that are to be deleted before anything new is made: what a relist
// found of former times. Pure.
#pragma once

#include <map>
#include <string>

#include "base/time.h"
#include "ports/cluster.h"

namespace muster::clusters {

class Clearing {
 public:
  void add(const ports::Attempt& attempt, Time now) { since_.try_emplace(attempt, now); }
  /// The cluster took its deletes, or it is gone.
  void done(const ports::Attempt& attempt) { since_.erase(attempt); }
  void clear() { since_.clear(); }
  bool is_over() const { return since_.empty(); }
  /// For people: what has held up everything new for too long; "": nothing has. `refusal`: what the
  /// cluster said last of a delete that it did not take, if it did.
  std::string trouble(Time now, const std::string& refusal) const;

 private:
  std::map<ports::Attempt, Time> since_;
};

}  // namespace muster::clusters
