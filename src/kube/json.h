// Reading objects of Kubernetes, which are JSON values as they came: paths through maps that may
// not be there. Pure; the values pointed to live in the value given.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace muster::kube {

using Path = std::initializer_list<std::string_view>;

/// The value at the end of the keys, or null when one is missing, is no map, or is null.
const boost::json::value* find(const boost::json::value& from, Path keys);
/// "" when it is not there or no text.
std::string_view text_at(const boost::json::value& from, Path keys);
/// `otherwise` when it is not there or no whole number.
std::int64_t integer_at(const boost::json::value& from, Path keys, std::int64_t otherwise = 0);
bool flag_at(const boost::json::value& from, Path keys, bool otherwise = false);
/// Empty when they are not there.
const boost::json::array& items_at(const boost::json::value& from, Path keys);
const boost::json::object& map_at(const boost::json::value& from, Path keys);
/// Makes the maps on the way.
void set_at(boost::json::value& into, Path keys, boost::json::value value);

// Of every object.
inline std::string_view name_of(const boost::json::value& object) {
  return text_at(object, {"metadata", "name"});
}
inline std::string_view namespace_of(const boost::json::value& object) {
  return text_at(object, {"metadata", "namespace"});
}
inline std::string_view uid_of(const boost::json::value& object) {
  return text_at(object, {"metadata", "uid"});
}
inline std::string_view version_of(const boost::json::value& object) {
  return text_at(object, {"metadata", "resourceVersion"});
}
/// "namespace/name", or "name" of what belongs to no namespace.
std::string key_of(const boost::json::value& object);

}  // namespace muster::kube
