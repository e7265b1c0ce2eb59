// Names and labels of what Muster makes in a cluster: the same for the same attempt, always, so
// that creating twice meets the first. Pure.
#pragma once

#include <string>
#include <string_view>

#include "ports/cluster.h"

namespace muster::clusters {

inline constexpr std::string_view job_label = "muster.dev/job";
inline constexpr std::string_view attempt_label = "muster.dev/attempt";
inline constexpr std::string_view set_label = "muster.dev/set";
/// Which server made it: several may share a namespace.
inline constexpr std::string_view server_label = "muster.dev/server";
/// The job's id as it is; the label may hold a short form of it.
inline constexpr std::string_view job_annotation = "muster.dev/job-id";
/// Of how many Jobs the attempt is made.
inline constexpr std::string_view sets_annotation = "muster.dev/sets";
/// On everything of a job that is a list of objects: how many of them make pods.
inline constexpr std::string_view workloads_annotation = "muster.dev/workloads";
/// On those that do.
inline constexpr std::string_view makes_pods_annotation = "muster.dev/makes-pods";
/// When the server that made it began, in milliseconds: of two makers the later.
inline constexpr std::string_view epoch_annotation = "muster.dev/epoch";

/// A name of letters, digits and dashes, at most 52 characters (a Job adds "-" and an index to
/// make the names of its pods). Texts that had to be changed get a hash, so two never become one.
std::string object_name(const ports::Attempt& attempt, std::string_view part);

/// The text itself where it is allowed as a label's value, else a short form with a hash.
std::string label_value(std::string_view text);

/// "muster.dev/job": everything of every job that the server made.
std::string server_selector(const std::string& server);
/// "muster.dev/job=J,muster.dev/attempt=N"
std::string attempt_selector(const ports::Attempt& attempt, const std::string& server);

}  // namespace muster::clusters
