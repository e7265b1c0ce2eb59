// Which Secrets, ConfigMaps, service accounts and volume claims of their namespace the pods of a
// template name: by volumes, by environment, to pull images, to run as. Pure.
#pragma once

#include <boost/json/value.hpp>
#include <vector>

#include "manifest/pod_sets.h"
#include "model/named_object.h"

namespace muster::manifest {

/// Of all pod templates of a list, without those that the list itself makes; each once, in order.
/// One that is optional everywhere is optional. Secrets to pull images with always are: a kubelet
/// tries without.
std::vector<model::NamedObject> named_objects(const ObjectList& list);

}  // namespace muster::manifest
