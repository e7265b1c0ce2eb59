// `muster bench appwrapper`: what the server reaches as the hub of AppWrappers, on real Kubernetes
// control planes.
#pragma once

namespace CLI {
class App;
}

namespace muster::app {

void add_bench_appwrapper(CLI::App& bench);

}  // namespace muster::app
