// A port of its own that says whether the process is alive, as MCAD has it: probes of deployments
// ask there, and nothing else is answered. It is the one listener without identity, also beyond
// loopback: whoever takes MCAD's place is probed where MCAD was.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "net/http_server.h"

namespace muster::app {

/// Serves GET /healthz at the address, ":8081", until it goes away.
Result<std::unique_ptr<net::HttpServer>> open_health_port(const std::string& address);

}  // namespace muster::app
