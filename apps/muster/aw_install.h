// `muster aw install`: what needs no server.
#pragma once

namespace CLI {
class App;
}

namespace muster::app {

/// After the commands that speak to a server, of which `aw` is one.
void add_aw_install(CLI::App& app);

}  // namespace muster::app
