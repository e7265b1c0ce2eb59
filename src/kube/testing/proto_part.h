// Of an object's JSON what a watch in protobuf tells: whoever reads objects that are watched so is
// tested with it, so that a field that the table lacks is missed by a test.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "kube/json.h"
#include "kube/protobuf.h"

namespace muster::kube {

inline bool is_nothing(const boost::json::value& value) {
  return value.is_null() || value == boost::json::value("") || value == boost::json::value(0) ||
         value == boost::json::value(false) || (value.is_object() && value.get_object().empty()) ||
         (value.is_array() && value.get_array().empty());
}

/// That a message is there at all may say something (`running: {}`); to be compared, a form that
/// leaves it out is the same as one that does not.
enum class EmptyMessages { Kept, Dropped };

/// What the table names and what is not nothing: JSON leaves out zeros.
inline boost::json::value proto_part(const boost::json::value& object, const ProtoMessage& message,
                                     EmptyMessages empty = EmptyMessages::Kept) {
  boost::json::object part;
  for (const ProtoField& field : message.fields) {
    const boost::json::value* said = find(object, {field.name});
    if (said == nullptr) continue;
    boost::json::value taken = *said;
    const bool is_message = field.kind == ProtoField::Kind::Message;
    if (is_message && field.is_list) {
      for (boost::json::value& one : taken.as_array()) one = proto_part(one, *field.message, empty);
    } else if (is_message) {
      taken = proto_part(taken, *field.message, empty);
    }
    const bool stays = is_message && empty == EmptyMessages::Kept;
    if (stays || !is_nothing(taken)) part[field.name] = taken;
  }
  return part;
}

}  // namespace muster::kube
