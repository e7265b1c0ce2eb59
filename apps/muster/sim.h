// `muster sim ...`: the simulator on the command line.
#pragma once

namespace CLI {
class App;
}

namespace muster::app {

void add_sim(CLI::App& app);

}  // namespace muster::app
