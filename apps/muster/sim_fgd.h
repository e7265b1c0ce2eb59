// `muster sim fgd`: the placement experiment of FGD with the engine's own planner.
#pragma once

namespace CLI {
class App;
}

namespace muster::app {

void add_sim_fgd(CLI::App& sim);

}  // namespace muster::app
