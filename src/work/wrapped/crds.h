// The definitions of AppWrappers and of their quota, as they are installed in a hub cluster.
#pragma once

#include <string_view>

namespace muster::work {

/// deploy/manifests/appwrapper-crds.yaml: a document a kind.
std::string_view appwrapper_crds();

}  // namespace muster::work
