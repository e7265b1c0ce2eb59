// RayClusters and RayJobs that rest: KubeRay keeps one with spec.suspend without pods, and stops
// one that gets it. What it says of that in their statuses, and what it wants before it does so. As
// of KubeRay 1.4.2. Pure.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <string>
#include <string_view>

namespace muster::manifest {

bool is_ray_job(const boost::json::value& object);

/// It is to rest, and says so in the way that KubeRay follows: a RayJob has to shut its cluster
/// down when it finishes, too.
bool is_told_to_rest(const boost::json::value& object);
void tell_to_rest(boost::json::value& object);
/// "": KubeRay can hold it; else why it cannot, with the field.
std::string why_it_cannot_rest(const boost::json::value& object);

/// What its author asks for, to be compared: the spec without whether it rests, and without what is
/// empty. KubeRay writes a RayJob anew for a finalizer, and leaves empty maps in it.
boost::json::object asked_of(const boost::json::value& object);

/// What its operator says of it.
enum class RayRest {
  Rests,   // nothing of it runs
  Unseen,  // nothing was said: the operator has not looked at it yet, or there is none
  Busy     // it runs, or it is being stopped
};
RayRest rest_of(const boost::json::value& object);

/// A RayJob that succeeded or failed. It does not begin again, and does not rest any more.
bool has_ended(const boost::json::value& object);
/// Of a RayJob: the RayCluster that was made for it; "": there is none.
std::string_view cluster_made_for(const boost::json::value& ray_job);

}  // namespace muster::manifest
