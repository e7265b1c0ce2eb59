// AppWrappers between their two dialects, and AppWrappers made of plain Kubernetes objects. Pure.
//
// What the other dialect has no word for, and what had to be written otherwise, is told: nothing is
// dropped in silence.
#pragma once

#include <boost/json/value.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "work/wrapped/app_wrapper.h"

namespace muster::work {

struct Converted {
  boost::json::value object = {};      // an AppWrapper
  std::vector<std::string> told = {};  // each begins with the field
  friend bool operator==(const Converted&, const Converted&) = default;
};

/// Errors name the field. One that is written in that dialect already stays as it is.
Result<Converted> convert_app_wrapper(const boost::json::value& object, Dialect to);

/// One AppWrapper of all of them, called as the first that makes pods. Those that wait for Kueue
/// wait for Muster then.
Result<Converted> wrap_objects(const std::vector<boost::json::value>& objects, Dialect to);

/// The documents of a file: its AppWrappers one by one, to the other dialect if none is given, and
/// all else together as one more. Lists are taken apart.
Result<std::vector<Converted>> convert_documents(const std::vector<boost::json::value>& documents,
                                                 std::optional<Dialect> to);

}  // namespace muster::work
