// Labels by which an administrator, or a tool such as Autopilot, says how well a node's devices
// are. Plain values.
#pragma once

#include <string>
#include <vector>

namespace muster::model {

/// What the values of one label mean for pods that ask for one resource.
struct NodeHealth {
  std::string resource;
  std::string label;
  std::vector<std::string> avoid = {};   // other nodes are preferred
  std::vector<std::string> refuse = {};  // no pod is placed there
  std::vector<std::string> evict = {};   // and those that run are taken away
  friend bool operator==(const NodeHealth&, const NodeHealth&) = default;
};

/// A node with this label is no place for pods that ask for this resource.
struct NodeMark {
  std::string resource;
  std::string label;
  std::string value;
  friend auto operator<=>(const NodeMark&, const NodeMark&) = default;
};

}  // namespace muster::model
