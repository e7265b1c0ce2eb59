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
  Time at = {};  // when it came first
};
EventSight event_sight_of(const boost::json::value& event);

/// The selector of those worth telling: all but what happens to every gang that starts and ends,
/// which Muster tells itself. The API server leaves the others out, which would be most.
std::string worth_telling_selector();

}  // namespace muster::clusters
