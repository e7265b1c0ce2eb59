// A wrapped object as the AppWrapper's own controller would create it: with its labels, also in the
// pod templates, its name and its namespace. Pure.
#pragma once

#include <boost/json/value.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/node_health.h"
#include "work/wrapped/app_wrapper.h"

namespace muster::work {

constexpr std::string_view mcad_label = "appwrapper.mcad.ibm.com";
constexpr std::string_view mcad_item_label = "resourceName";
constexpr std::string_view app_wrapper_label = "workload.codeflare.dev/appwrapper";
/// Conditions that complete the object, as an item's completionstatus has them.
constexpr std::string_view complete_when_annotation = "muster.dev/complete-when";

/// Fault::Invalid with the field: what podSetInfos add contradicts the template. `health`: which
/// nodes pods of v1beta2 keep away from.
Result<boost::json::value> dressed_object(const AppWrapper& wrapper, const WrappedItem& item,
                                          const std::vector<model::NodeHealth>& health = {});

/// The text where it may be a label's value, else as much of it as may.
std::string label_value(std::string_view text);

}  // namespace muster::work
