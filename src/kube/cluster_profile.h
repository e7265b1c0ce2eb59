// ClusterProfiles of the Cluster Inventory API (multicluster.x-k8s.io/v1alpha1): how to reach the
// cluster that one describes. A profile offers ways by name; a file of the consumer says which it
// takes and which program gets the credentials: {"providers": [{"name", "execConfig",
// "profileSourcedCLIArgsPolicy", "profileSourcedEnvVarsPolicy"}]}. The first of that file that the
// profile offers wins. Pure.
//
// What a profile says goes into the program's arguments and variables only as far as the file's
// policies let it, and they do not unless told so: profiles are written by others.
#pragma once

#include <boost/json/value.hpp>
#include <string>

#include "base/result.h"
#include "kube/resource.h"

namespace muster::kube {

Resource cluster_profiles();

/// A kubeconfig with one context, which has the profile's name.
Result<std::string> kubeconfig_of_profile(const boost::json::value& profile,
                                          const boost::json::value& providers);

}  // namespace muster::kube
