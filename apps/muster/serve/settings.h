// What requests are held against: limits, defaults, and which clusters take what.
#pragma once

#include <memory>

#include "api/rest/api.h"
#include "apps/muster/version.h"
#include "config/config.h"

namespace muster::app {

/// Of a configuration with all clusters, wherever they came from.
std::shared_ptr<const api::Settings> settings_of(const config::Config& config);

}  // namespace muster::app
