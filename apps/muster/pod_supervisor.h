// `muster pod-supervisor DIR`: the process that a server starts for its local cluster. Not for
// people: it is not in the help.
#pragma once

namespace CLI {
class App;
}

namespace muster::app {

void add_pod_supervisor(CLI::App& app);

}  // namespace muster::app
