// A job that is a list of Kubernetes objects, ready to be made: as its owner wrote them, with
// Muster's labels on everything, the planned nodes in the pod templates, and one root object that
// owns all, so that whatever their controllers make of them goes when the root goes. A list of one
// Job is its own root: Jobs are found and deleted anyway, and most lists are one Job. Pure; the
// same input gives the same objects.
#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "clusters/kubernetes/attempt_care.h"
#include "clusters/kubernetes/command_objects.h"
#include "kube/resource.h"
#include "manifest/pod_sets.h"
#include "model/command.h"
#include "model/named_object.h"
#include "ports/cluster.h"
#include "ports/departures.h"

namespace muster::clusters {

/// What the root says of its attempt, for whoever finds it.
struct RootSight {
  std::string job = {};
  std::uint32_t attempt = 0;
  std::string name = {};
  std::string uid = {};
  std::size_t workloads = 0;    // objects that make pods, or have conditions by which they are done
  std::int64_t pods = 0;        // that must be ready
  std::int64_t least_pods = 0;  // of what scales itself: that stay; otherwise all of them
  std::vector<kube::Resource> kinds = {};  // of the workloads
  /// Of those that miss every object that somebody deletes: how many are no workloads, and of which
  /// kinds.
  std::size_t others = 0;
  std::vector<kube::Resource> other_kinds = {};
  AttemptCare care = {};
  bool is_deleting = false;
  bool is_root = true;  // false: a ConfigMap of the list itself, which has the same labels
};
RootSight root_sight_of(const boost::json::value& config_map);
/// Of a Job that is its own root; none: it is not.
std::optional<RootSight> own_root_of(const boost::json::value& job);

struct ListedObjects {
  boost::json::value root = {};  // a ConfigMap
  bool is_own_root = false;      // no root is made: the one Job says what it would
  std::vector<boost::json::value> objects = {};
  std::vector<bool> is_workload = {};                 // of each object: see RootSight
  bool takes_existing = false;                        // see model::ObjectCare
  bool misses_all = false;                            // not only workloads: see RootSight
  std::vector<manifest::PodTemplate> templates = {};  // all that are in them
  /// What their pods name as their owner wrote them, if the list comes from another cluster.
  std::vector<model::NamedObject> named = {};
  ports::Luggage luggage = {};  // what comes along from there
  /// The list is one object that is there, with this uid, and is started in its place; "": it is
  /// not.
  std::string in_place_uid = {};
  boost::json::value queued = {};  // that object as it was queued
};

/// Fault::Invalid if the list does not read, does not belong to the placement, or wants something
/// that is not possible here (another namespace).
Result<ListedObjects> listed_objects(const ports::Action& action, const model::Command& command,
                                     const ObjectOptions& options);

/// As all names begin that are made up for an object that only says how its name begins.
std::string_view made_up_prefix(const boost::json::value& object);
/// Whether the list stands for an object of another cluster than this one.
bool is_from_elsewhere(const model::Command& command, const std::string& cluster);
/// The root with how often the job was requeued before this attempt.
void put_requeues(boost::json::value& root, int requeues);
/// What the root says, said by the Job that is its own root.
void put_own_root(ListedObjects& listed);
/// The root with the kinds of its workloads, each once.
void put_kinds(boost::json::value& root, const std::vector<kube::Resource>& kinds);
/// The same of each object that is no workload.
void put_others(boost::json::value& root, const std::vector<kube::Resource>& kinds);
/// The object as a part of what the root owns.
void put_owner(boost::json::value& object, const boost::json::value& made_root);
/// Whether an object in the cluster belongs to the attempt of the other.
bool is_same_attempt(const boost::json::value& there, const boost::json::value& ours);

}  // namespace muster::clusters
