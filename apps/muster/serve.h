// `muster serve`: the server.
#pragma once

namespace CLI {
class App;
}

namespace muster::app {

void add_serve(CLI::App& app);

}  // namespace muster::app
