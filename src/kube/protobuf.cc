#include "kube/protobuf.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <utility>

#include "base/time.h"
#include "kube/timestamp.h"

namespace muster::kube {

namespace {

namespace json = boost::json;
using Kind = ProtoField::Kind;

constexpr std::string_view mark("k8s\0", 4);

/// One field as it stands in the bytes: a number or bytes.
struct WireField {
  std::uint32_t number = 0;
  bool is_bytes = false;
  std::uint64_t integer = 0;
  std::string_view bytes = {};
};

class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : rest_(bytes) {}

  /// None: the end, or no message; has_failed() tells.
  std::optional<WireField> next() {
    if (rest_.empty() || has_failed_) return std::nullopt;
    const std::uint64_t key = varint();
    WireField field{.number = static_cast<std::uint32_t>(key >> 3)};
    switch (key & 7) {
      case 0:
        field.integer = varint();
        break;
      case 1:
        take(8);
        break;
      case 2:
        field.is_bytes = true;
        field.bytes = take(varint());
        break;
      case 5:
        take(4);
        break;
      default:
        has_failed_ = true;  // groups, which nobody uses
    }
    if (has_failed_) return std::nullopt;
    return field;
  }
  bool has_failed() const { return has_failed_; }

 private:
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      value |= std::uint64_t{byte & 0x7fU} << shift;
      if ((byte & 0x80U) == 0) return value;
    }
    has_failed_ = true;
    return 0;
  }
  std::string_view take(std::uint64_t count) {
    has_failed_ |= count > rest_.size();
    if (has_failed_) return {};
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }

  std::string_view rest_;
  bool has_failed_ = false;
};

json::string text_of(std::string_view text, const json::storage_ptr& storage) {
  return json::string(text.data(), text.size(), storage);
}

std::uint64_t integer_of(std::string_view message, std::uint32_t number) {
  WireReader reader(message);
  std::uint64_t found = 0;
  while (const auto field = reader.next()) {
    if (field->number == number && !field->is_bytes) found = field->integer;
  }
  return found;
}

/// A map is a list of messages with a key and a value.
void put_entry(json::value& map, const WireField& field, Kind kind) {
  if (!map.is_object()) map.emplace_object();
  const std::string_view value = proto_bytes(field.bytes, 2);
  const std::string_view said = kind == Kind::QuantityMap ? proto_bytes(value, 1) : value;
  map.get_object().insert_or_assign(proto_bytes(field.bytes, 1), text_of(said, map.storage()));
}

/// None: it is not what the table says.
std::optional<json::value> value_of(const WireField& field, const ProtoField& wanted,
                                    const json::storage_ptr& storage) {
  const bool is_number = wanted.kind == Kind::Integer || wanted.kind == Kind::Flag;
  if (is_number == field.is_bytes) return std::nullopt;
  switch (wanted.kind) {
    case Kind::Integer:
      return json::value(static_cast<std::int64_t>(field.integer), storage);
    case Kind::Flag:
      return json::value(field.integer != 0, storage);
    case Kind::Time: {
      const auto seconds_since = static_cast<std::int64_t>(integer_of(field.bytes, 1));
      // Of the years that the form of the text has.
      constexpr std::int64_t most = 253'402'300'799;
      const Time at{std::clamp<std::int64_t>(seconds_since, 0, most) * 1000};
      return json::value(text_of(to_timestamp(at), storage));
    }
    case Kind::Message:
      return read_proto(field.bytes, *wanted.message, storage);
    default:
      return json::value(text_of(field.bytes, storage));
  }
}

bool put(json::object& into, const WireField& field, const ProtoField& wanted) {
  if (wanted.kind == Kind::TextMap || wanted.kind == Kind::QuantityMap) {
    if (!field.is_bytes) return false;
    put_entry(into[wanted.name], field, wanted.kind);
    return true;
  }
  if (wanted.kind == Kind::Text && !wanted.is_list && field.bytes.empty()) return field.is_bytes;
  auto value = value_of(field, wanted, into.storage());
  if (!value) return false;
  if (!wanted.is_list) {
    into.insert_or_assign(wanted.name, std::move(*value));
    return true;
  }
  json::value& list = into[wanted.name];
  if (!list.is_array()) list.emplace_array();
  list.get_array().push_back(std::move(*value));
  return true;
}

}  // namespace

std::optional<json::value> read_proto(std::string_view bytes, const ProtoMessage& message,
                                      json::storage_ptr storage) {
  json::object made(std::move(storage));
  WireReader reader(bytes);
  while (const auto field = reader.next()) {
    const auto wanted = std::find_if(message.fields.begin(), message.fields.end(),
                                     [&](const auto& one) { return one.number == field->number; });
    if (wanted != message.fields.end() && !put(made, *field, *wanted)) return std::nullopt;
  }
  if (reader.has_failed()) return std::nullopt;
  return json::value(std::move(made));
}

std::string_view proto_bytes(std::string_view message, std::uint32_t number) {
  WireReader reader(message);
  std::string_view found;
  while (const auto field = reader.next()) {
    if (field->number == number && field->is_bytes) found = field->bytes;
  }
  return reader.has_failed() ? std::string_view() : found;
}

std::string_view unwrap_proto(std::string_view bytes) {
  if (!bytes.starts_with(mark)) return {};
  return proto_bytes(bytes.substr(mark.size()), 2);
}

}  // namespace muster::kube
