// What a watch tells about a cluster's machines: sight, never journaled.
#pragma once

#include <string>
#include <vector>

#include "base/time.h"
#include "model/amount.h"
#include "model/selector.h"

namespace muster::model {

struct NodeSpec {
  std::string name;
  Labels labels;
  std::vector<Taint> taints;
  Resources allocatable;
  int pods_max = 110;
  int gpu_count = 0;
  std::string gpu_type;  // empty when the node has no GPU
  Bytes gpu_memory{0};   // of one device; 0: unknown, then no share by memory fits
  bool ready = true;
  bool cordoned = false;
  friend bool operator==(const NodeSpec&, const NodeSpec&) = default;
};

/// A pod on the node that Muster did not put there.
struct ForeignPod {
  std::string uid;
  std::string node;
  Resources requests;
  int gpus = 0;
  Labels labels;
  std::vector<int> host_ports;
  friend bool operator==(const ForeignPod&, const ForeignPod&) = default;
};

}  // namespace muster::model
