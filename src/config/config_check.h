// What does not go together in a configuration that is well-formed by itself: names that are there
// twice or nowhere, limits that contradict each other, promises above what there is.
#pragma once

#include "config/config.h"
#include "config/node.h"
#include "config/problem.h"

namespace muster::config {

/// `root` is the document `config` was read from: it knows the places.
void check_together(const Config& config, const Node& root, Problems& problems);

}  // namespace muster::config
