#include "kube/json.h"

namespace muster::kube {

namespace json = boost::json;

const json::value* find(const json::value& from, Path keys) {
  const json::value* at = &from;
  for (const std::string_view key : keys) {
    const json::object* map = at->if_object();
    at = map == nullptr ? nullptr : map->if_contains(key);
    if (at == nullptr) return nullptr;
  }
  return at->is_null() ? nullptr : at;
}

std::string_view text_at(const json::value& from, Path keys) {
  const json::value* value = find(from, keys);
  if (value == nullptr || !value->is_string()) return {};
  return {value->get_string().data(), value->get_string().size()};
}

std::int64_t integer_at(const json::value& from, Path keys, std::int64_t otherwise) {
  const json::value* value = find(from, keys);
  if (value == nullptr || !value->is_number()) return otherwise;
  json::error_code error;
  const auto number = value->to_number<std::int64_t>(error);
  return error ? otherwise : number;
}

bool flag_at(const json::value& from, Path keys, bool otherwise) {
  const json::value* value = find(from, keys);
  return value != nullptr && value->is_bool() ? value->get_bool() : otherwise;
}

const json::array& items_at(const json::value& from, Path keys) {
  static const json::array none;
  const json::value* value = find(from, keys);
  return value != nullptr && value->is_array() ? value->get_array() : none;
}

const json::object& map_at(const json::value& from, Path keys) {
  static const json::object none;
  const json::value* value = find(from, keys);
  return value != nullptr && value->is_object() ? value->get_object() : none;
}

void set_at(json::value& into, Path keys, json::value value) {
  json::value* at = &into;
  for (const std::string_view key : keys) {
    if (!at->is_object()) *at = json::object(into.storage());
    at = &at->get_object()[key];
  }
  *at = std::move(value);
}

std::string key_of(const json::value& object) {
  const std::string_view ns = namespace_of(object);
  std::string key(ns);
  if (!ns.empty()) key += '/';
  key += name_of(object);
  return key;
}

}  // namespace muster::kube
