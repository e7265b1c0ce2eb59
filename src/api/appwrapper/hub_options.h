// How a hub's AppWrappers are taken. Plain values.
#pragma once

#include <string>

#include "api/appwrapper/luggage.h"
#include "api/appwrapper/status_writer.h"
#include "api/appwrapper/wrapper_events.h"
#include "base/time.h"
#include "work/wrapped/wrapped_job.h"

namespace muster::api {

struct HubOptions {
  std::string cluster = {};  // its name
  std::string ns = {};       // where AppWrappers are looked after; "": everywhere
  work::WrapOptions wrap = {};
  bool installs = false;       // the definitions of AppWrapper, first of all
  bool asks_creators = false;  // the API server checks what AppWrappers' creators may create
  bool has_quota = false;  // QuotaSubtrees of the hub are queues, AppWrappers belong to their nodes
  std::string user = "appwrapper";  // of AppWrappers that do not say whose they are
  TravelOptions travel = {};
  EventTelling events = EventTelling::Problems;
  StatusPace pace = {};
  Duration ask_again = seconds(20);  // why a job waits
};

}  // namespace muster::api
