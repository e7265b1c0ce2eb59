// The status of an AppWrapper v1beta2: phases and conditions of its controller, where Muster takes
// the place of Kueue: a job that waits is Suspended. Pure; the same facts add nothing.
#pragma once

#include <boost/json/object.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "api/appwrapper/facts.h"
#include "base/time.h"

namespace muster::api {

boost::json::object status_v1beta2(const boost::json::object& before, const WrapperFacts& facts,
                                   Time now);

/// Succeeded, or Failed for good.
bool is_final_v1beta2(const boost::json::object& status);
/// It failed, and what it wraps is kept for a while.
struct KeptFailure {
  std::string why;
  Time since;
};
std::optional<KeptFailure> kept_failure_v1beta2(const boost::json::object& status);
/// `phase` as these facts alone tell it; "": they do not.
std::string_view known_phase(const WrapperFacts& facts);

/// Its controller has made what it wraps, or is about to.
bool is_deployed_v1beta2(const boost::json::object& status);
/// The objects that it wraps are being deleted, in whichever phase.
bool is_removing_v1beta2(const boost::json::object& status);
/// What was deployed is being removed.
bool is_stopping_v1beta2(const boost::json::object& status);

}  // namespace muster::api
