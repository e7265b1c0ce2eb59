// `muster aw convert`: AppWrappers of one version as those of the other, and plain objects as
// AppWrappers. Needs no server.
#pragma once

namespace CLI {
class App;
}

namespace muster::app {

/// Into the command `aw`, which is made if it is not there.
void add_aw_convert(CLI::App& app);

}  // namespace muster::app
