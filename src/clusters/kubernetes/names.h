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
/// The job's id as it is; the label may hold a short form of it.
inline constexpr std::string_view job_annotation = "muster.dev/job-id";
/// Of how many Jobs the attempt is made.
inline constexpr std::string_view sets_annotation = "muster.dev/sets";

/// A name of letters, digits and dashes, at most 52 characters (a Job adds "-" and an index to
/// make the names of its pods). Texts that had to be changed get a hash, so two never become one.
std::string object_name(const ports::Attempt& attempt, std::string_view part);

/// The text itself where it is allowed as a label's value, else a short form with a hash.
std::string label_value(std::string_view text);

/// "muster.dev/job=J,muster.dev/attempt=N"
std::string attempt_selector(const ports::Attempt& attempt);

}  // namespace muster::clusters
