// What a cluster says about the pods of an attempt, or the objects that make them, for people to
// read: an image that cannot be pulled, an eviction. Nothing is decided by it.
#pragma once

#include <cstdint>
#include <string>

#include "base/time.h"

namespace muster::model {

struct PodNote {
  std::string job = {};
  std::uint32_t attempt = 0;
  Time at = {};
  std::string key = {};     // tells notes of an attempt apart: one that comes again has it again
  std::string object = {};  // "Pod train-1-0"
  std::string reason = {};  // one word: "BackOff"
  std::string message = {};
  bool is_warning = false;
  friend bool operator==(const PodNote&, const PodNote&) = default;
};

}  // namespace muster::model
