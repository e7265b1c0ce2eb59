// AppWrappers of a configuration, as their hub takes them.
#pragma once

#include "api/appwrapper/hub.h"
#include "config/config.h"

namespace muster::app {

/// Of a configuration that has `appwrappers`.
api::HubOptions hub_of(const config::Config& config);

}  // namespace muster::app
