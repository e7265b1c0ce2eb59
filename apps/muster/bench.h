// `muster bench`: what the engine reaches on this machine, beside what it must reach.
#pragma once

namespace CLI {
class App;
}

namespace muster::app {

void add_bench(CLI::App& app);

}  // namespace muster::app
