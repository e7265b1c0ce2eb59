// The status of an AppWrapper v1beta1, as MCAD writes it: states, conditions, reasons and messages
// are its own to the letter, because its clients compare them. What MCAD does not say stands in a
// condition of type Waiting and under `muster`. Pure.
//
// Conditions tell a history. The status that was written before is where it goes on: what happened
// since is added at its end, several steps at once if need be, and the same facts add nothing.
#pragma once

#include <boost/json/object.hpp>

#include "api/appwrapper/facts.h"
#include "base/time.h"

namespace muster::api {

boost::json::object status_v1beta1(const boost::json::object& before, const WrapperFacts& facts,
                                   Time now);

/// Nothing will happen any more to an AppWrapper with this status: it ended under Muster or MCAD.
bool is_final_v1beta1(const boost::json::object& status);
/// Its controller has made what it wraps.
/// `state` as these facts alone tell it.
std::string_view known_state(const WrapperFacts& facts);

bool is_dispatched_v1beta1(const boost::json::object& status);

}  // namespace muster::api
