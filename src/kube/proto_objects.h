// What is read of objects that come as protobuf: their metadata, how they stand, and of what they
// ask for the parts that tell whose they are and what they take.
//
// The numbers are those of generated.proto in k8s.io/api and k8s.io/apimachinery; they never
// change.
#pragma once

#include "kube/protobuf.h"

namespace muster::kube {

extern const ProtoMessage proto_job;
extern const ProtoMessage proto_pod;
/// An error.
extern const ProtoMessage proto_status;

}  // namespace muster::kube
