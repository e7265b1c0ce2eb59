// Reading what the server answers: a field that is missing or of another kind than expected reads
// as empty, so an older or newer server never crashes a command. Pure.
#pragma once

#include <boost/json.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace muster::cli {

namespace json = boost::json;

Result<json::value> parse_json(std::string_view text);

/// null when there is no such field.
const json::value& field(const json::value& object, std::string_view name);
/// A text as it is, a number or a truth value written out, else "".
std::string text(const json::value& value);
std::string text(const json::value& object, std::string_view name);
std::optional<std::int64_t> number(const json::value& object, std::string_view name);
bool truth(const json::value& object, std::string_view name);
/// Of a field in milliseconds; never for null.
Time time_of(const json::value& object, std::string_view name);
/// Empty when it is no list.
const json::array& list(const json::value& object, std::string_view name);
/// Empty when it is no object.
const json::object& members(const json::value& object, std::string_view name);

/// For -o json and -o yaml; both end with a line break.
std::string pretty_json(const json::value& value);
std::string yaml(const json::value& value);

}  // namespace muster::cli
