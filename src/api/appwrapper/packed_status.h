// The text of an AppWrapper's status, small: 100,000 of them are kept while they wait. What is in
// nearly all of them is one letter each, and so are the id of its job and a time that is the one
// before it again. Those letters are control characters, which JSON never has. Pure.
#pragma once

#include <boost/json/object.hpp>
#include <string>
#include <string_view>

namespace muster::api {

std::string pack_status(const boost::json::object& status, std::string_view job);
/// With the same id.
boost::json::object unpack_status(std::string_view packed, std::string_view job);

}  // namespace muster::api
