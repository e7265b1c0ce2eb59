// What is kept of an Event of the cluster, and which are worth a note to people. Pure.
#pragma once

#include <boost/json/value.hpp>
#include <string>

#include "base/time.h"

namespace muster::clusters {

struct EventSight {
  std::string uid = {};
  std::string kind = {};  // of the object it is about, as the next two
  std::string ns = {};
  std::string name = {};
  std::string reason = {};
  std::string message = {};
  bool is_warning = false;
  Time at;  // when it came first
};
EventSight event_sight_of(const boost::json::value& event);

/// All warnings, and of the rest what does not happen to every pod whose start Muster tells itself.
bool is_worth_telling(const EventSight& event);

}  // namespace muster::clusters
