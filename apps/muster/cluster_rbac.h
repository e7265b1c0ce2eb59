// `muster cluster rbac`: the permissions that a Kubernetes cluster has to grant, as a manifest.
// Needs no server.
#pragma once

namespace CLI {
class App;
}

namespace muster::app {

/// To be called when the command `cluster` is there.
void add_cluster_rbac(CLI::App& app);

}  // namespace muster::app
