// What AppWrappers may wrap: whoever may create an AppWrapper has Muster create what is in it. So
// either only kinds are allowed that everybody may have, or the API server checks, when an
// AppWrapper is created, that its creator may create what it wraps (a ValidatingAdmissionPolicy:
// nothing has to be served, and nothing that is not allowed is ever stored). Pure.
#pragma once

#include <boost/json/value.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "work/wrapped/app_wrapper.h"

namespace muster::work {

/// "batch/Job", "Pod": workloads and what goes with them, in a namespace, and no kind that gives
/// rights.
std::vector<std::string> usual_kinds();

/// Fault::Invalid with the item that is not of these kinds; "*" allows all.
Status check_kinds(const AppWrapper& wrapper, const std::vector<std::string>& allowed);

inline constexpr std::string_view creators_policy_name = "muster-appwrapper-creators";
/// The policy and its binding. It knows the usual kinds only, and refuses others.
std::vector<boost::json::value> creators_policy();
/// Whether one of them is there as it was installed. What the API server adds by itself means
/// nothing; whatever else was added may make it check less.
bool is_as_installed(const boost::json::value& there, const boost::json::value& wanted);

}  // namespace muster::work
