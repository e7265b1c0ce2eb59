// AppWrappers as the API shows them: GET /appwrappers and /appwrappers/{namespace}/{name}. They are
// made, changed and deleted on their hub cluster, where the same can be read from their status.
#pragma once

#include "api/appwrapper/hub.h"
#include "control/reads.h"
#include "net/router.h"

namespace muster::api {

/// Without a hub the list is empty, and says why. Both must outlive the router.
void add_appwrapper_routes(net::Router& router, AppWrapperHub* hub, control::Reads& reads);

}  // namespace muster::api
