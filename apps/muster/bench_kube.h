// `muster bench kube`: what the server reaches on real Kubernetes control planes.
#pragma once

namespace CLI {
class App;
}

namespace muster::app {

void add_bench_kube(CLI::App& bench);

}  // namespace muster::app
