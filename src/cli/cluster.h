// Parts of `muster cluster`, each verb that is long in a file of its own.
#pragma once

#include <CLI/CLI.hpp>

#include "cli/command.h"
#include "cli/json.h"

namespace muster::cli {

/// A cluster as the server describes it, in the session's format.
void print_cluster(Session& session, const json::value& cluster);

void add_cluster_join(CLI::App& cluster, const SharedHost& host);

}  // namespace muster::cli
