// Objects in the protobuf form of Kubernetes, as the JSON that they stand for. Of each message only
// the fields that a table names are read. Pure.
//
// Why: an API server encodes a change once for all who watch in the same form. Its own controllers
// watch in this one, so that one more costs it nothing to encode; in JSON it is done once more, for
// ten times the price. Where only objects of CRDs are served, or by whoever knows only JSON, there
// is none of it: whoever asks for it must be ready for JSON too.
#pragma once

#include <boost/json/storage_ptr.hpp>
#include <boost/json/value.hpp>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace muster::kube {

inline constexpr std::string_view protobuf_media_type = "application/vnd.kubernetes.protobuf";

struct ProtoMessage;

/// A field of a message that is wanted.
struct ProtoField {
  enum class Kind { Text, Integer, Flag, Time, Message, TextMap, QuantityMap };
  std::uint32_t number = 0;
  std::string_view name = {};  // in JSON
  Kind kind = Kind::Text;
  bool is_list = false;
  const ProtoMessage* message = nullptr;  // of Kind::Message
};

struct ProtoMessage {
  std::span<const ProtoField> fields;
};

/// None: the bytes are no message. Texts that are empty are left out, as JSON leaves them out;
/// other fields that are optional in JSON are there with their zero.
std::optional<boost::json::value> read_proto(std::string_view bytes, const ProtoMessage& message,
                                             boost::json::storage_ptr storage = {});

/// The bytes of a field of a message: a text, or a message inside; "": there is none.
std::string_view proto_bytes(std::string_view message, std::uint32_t number);

/// What an API server sends is marked, and an envelope tells its kind: the message inside. "": the
/// bytes are not marked.
std::string_view unwrap_proto(std::string_view bytes);

}  // namespace muster::kube
