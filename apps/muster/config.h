// `muster config ...`: looks at a configuration without a server.
#pragma once

namespace CLI {
class App;
}

namespace muster::app {

void add_config(CLI::App& app);

}  // namespace muster::app
