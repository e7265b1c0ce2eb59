// A job that is one object of the cluster itself, which its author made and labelled: it is not
// made and deleted but started and stopped where it is. Started, it has the marks of its attempt
// and the spec that was planned (labels, nodes and room in its pod templates) instead of the one
// its author wrote; stopped, it has that one again, and rests. Pure.
#pragma once

#include <boost/json/value.hpp>

#include "model/command.h"
#include "ports/cluster.h"

namespace muster::clusters {

bool is_in_place(const model::Command& command);

/// Whether it carries the marks of this attempt; of any.
bool is_marked(const boost::json::value& there, const ports::Attempt& attempt);
bool is_marked(const boost::json::value& there);
/// Whether its spec is still the one that was queued, but for whether it rests.
bool is_as_queued(const boost::json::value& there, const boost::json::value& queued);

/// The object to be written in its place. `dressed`: as a list would make it.
boost::json::value started(const boost::json::value& there, const boost::json::value& dressed);
boost::json::value stopped(const boost::json::value& there, const boost::json::value& queued);

}  // namespace muster::clusters
