// Names and labels of what Muster makes in a cluster: the same for the same attempt, always, so
// that creating twice meets the first. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ports/cluster.h"

namespace muster::clusters {

/// Who owns the fields of what Muster makes.
inline constexpr const char* field_manager = "muster";

inline constexpr std::string_view job_label = "muster.dev/job";
inline constexpr std::string_view attempt_label = "muster.dev/attempt";
inline constexpr std::string_view set_label = "muster.dev/set";
/// Which server made it: several may share a namespace.
inline constexpr std::string_view server_label = "muster.dev/server";
/// On pods of gangs of several, and on the Service by which they find each other: its name.
inline constexpr std::string_view peers_label = "muster.dev/peers";
/// The job's id as it is; the label may hold a short form of it.
inline constexpr std::string_view job_annotation = "muster.dev/job-id";
/// On pods that another controller made, from the moment that a job is to take them over until its
/// attempt has: see adoption.h.
inline constexpr std::string_view adopting_label = "muster.dev/adopting";
/// On an object that another controller made and an attempt took over: its uid, as ReplicaSets have
/// copies of what their Deployment says ("true": an earlier version took it over). What it makes
/// later has no marks of the attempt: see foster_pods.h.
inline constexpr std::string_view adopted_annotation = "muster.dev/adopted";
/// On what came along from the hub because pods name it; "true". It belongs to no one attempt: all
/// that need it own it.
inline constexpr std::string_view travelled_label = "muster.dev/travelled";
/// Of how many Jobs the attempt is made.
inline constexpr std::string_view sets_annotation = "muster.dev/sets";
/// On pods: which set of the gang they belong to, by its number.
inline constexpr std::string_view set_index_annotation = "muster.dev/set-index";
/// On everything of a job that is a list of objects: how many of them make pods.
inline constexpr std::string_view workloads_annotation = "muster.dev/workloads";
/// On those that do.
inline constexpr std::string_view makes_pods_annotation = "muster.dev/makes-pods";
/// On an object of a list, from whoever made the list: the conditions, "Complete,Failed", of which
/// one that is True makes it complete; its kind's own rule does not count then. "": it has no end.
inline constexpr std::string_view complete_when_annotation = "muster.dev/complete-when";
/// On the root: the object on a hub cluster that it is made for, "cluster/kind/namespace/name".
inline constexpr std::string_view hub_annotation = "muster.dev/hub";
/// On a Job that needs no root beside it: what the root would say, as JSON. On its pods: empty.
inline constexpr std::string_view root_annotation = "muster.dev/root";
/// On everything of a list whose pods may be forced away: how many milliseconds after they were
/// deleted. On the pods themselves, so that it holds whatever else is gone or was restarted.
inline constexpr std::string_view force_after_annotation = "muster.dev/force-after-ms";
/// When the server that made it began, in milliseconds: of two makers the later.
inline constexpr std::string_view epoch_annotation = "muster.dev/epoch";

/// A name of letters, digits and dashes, at most 52 characters (a Job adds "-" and an index to
/// make the names of its pods). Texts that had to be changed get a hash, so two never become one.
std::string object_name(const ports::Attempt& attempt, std::string_view part);

/// The headless Service that gives the pods of this job names. Few Services are shared by all jobs
/// of a server: one for each would be a second create of every gang, and one for all would have
/// every pod of the namespace looked at whenever one changes.
std::string peers_name(const ports::Attempt& attempt, const std::string& server);
/// All of them.
std::string peers_selector(const std::string& server);

/// The text itself where it is allowed as a label's value, else a short form with a hash.
std::string label_value(std::string_view text);

/// "muster.dev/job": everything of every job that the server made.
std::string server_selector(const std::string& server);
/// "muster.dev/job in (J,K),muster.dev/attempt=N", of attempts that have the same number. 0: all
/// attempts of the jobs, whichever server made them.
std::string attempts_selector(std::span<const ports::Attempt> attempts, const std::string& server);
inline std::string attempt_selector(const ports::Attempt& attempt, const std::string& server) {
  return attempts_selector({&attempt, 1}, server);
}

}  // namespace muster::clusters
