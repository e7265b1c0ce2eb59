// AppWrappers of a configuration, as their hub takes them.
#pragma once

#include <vector>

#include "api/appwrapper/hub.h"
#include "config/config.h"

namespace muster::app {

/// Of a configuration that has `appwrappers`.
api::HubOptions hub_of(const config::Config& config);
/// Where AppWrappers may run.
std::vector<work::SelectableCluster> selectable_clusters(const config::Config& config);

}  // namespace muster::app
