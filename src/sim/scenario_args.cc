#include "sim/scenario_args.h"

#include <fmt/format.h>

#include "base/text.h"

namespace muster::sim {

Args::Args(std::string_view line) {
  const auto words = split_words(line);
  if (words.empty()) return;
  verb_ = words[0];
  for (std::size_t i = 1; i < words.size(); ++i) {
    Item item;
    const std::size_t equals = words[i].find('=');
    if (equals == std::string_view::npos) {
      item.value = words[i];
    } else {
      const std::string_view left = words[i].substr(0, equals);
      const std::size_t colon = left.find(':');
      item.key = left.substr(0, colon);
      if (colon != std::string_view::npos) item.name = left.substr(colon + 1);
      item.value = words[i].substr(equals + 1);
    }
    items_.push_back(std::move(item));
  }
}

Args::Item* Args::find(std::string_view key) {
  for (Item& item : items_) {
    if (!item.taken && item.key == key && item.name.empty()) {
      item.taken = true;
      return &item;
    }
  }
  return nullptr;
}

std::string Args::word() {
  Item* item = find("");
  return item == nullptr ? "" : item->value;
}

bool Args::flag(std::string_view name) {
  for (Item& item : items_) {
    if (!item.taken && item.key.empty() && item.value == name) {
      item.taken = true;
      return true;
    }
  }
  return false;
}

std::optional<std::string> Args::text(std::string_view key) {
  Item* item = find(key);
  if (item == nullptr) return std::nullopt;
  return item->value;
}

std::vector<std::pair<std::string, std::string>> Args::named(std::string_view key) {
  std::vector<std::pair<std::string, std::string>> found;
  for (Item& item : items_) {
    if (item.taken || item.key != key || item.name.empty()) continue;
    item.taken = true;
    found.emplace_back(item.name, item.value);
  }
  return found;
}

std::vector<std::string> Args::list(std::string_view key) {
  std::vector<std::string> found;
  if (const auto value = text(key)) {
    for (const auto part : split(*value, ',')) found.emplace_back(part);
  }
  return found;
}

std::int64_t Args::number(std::string_view key, std::int64_t otherwise, std::int64_t low,
                          std::int64_t high) {
  const auto value = text(key);
  if (!value) return otherwise;
  const auto parsed = parse_int(*value, key, low, high);
  if (!parsed) fail(parsed.error().message);
  return parsed ? *parsed : otherwise;
}

std::int64_t Args::quantity(std::string_view key, std::int64_t otherwise, model::Scale scale) {
  const auto value = text(key);
  if (!value) return otherwise;
  const auto parsed = model::parse_quantity(*value, key, scale);
  if (!parsed) fail(parsed.error().message);
  return parsed ? *parsed : otherwise;
}

Duration Args::duration(std::string_view key, Duration otherwise) {
  const auto value = text(key);
  if (!value) return otherwise;
  const auto parsed = parse_duration(*value, key);
  if (!parsed) fail(parsed.error().message);
  return parsed ? *parsed : otherwise;
}

std::int64_t Args::milli(std::string_view key, std::int64_t otherwise) {
  return quantity(key, otherwise, model::Scale::Milli);
}

Status Args::finish() const {
  if (error_) return invalid(*error_);
  for (const Item& item : items_) {
    if (item.taken) continue;
    std::string shown = item.key;
    if (!item.name.empty()) shown += ":" + item.name;
    shown += item.key.empty() ? item.value : "=" + item.value;
    return invalid(fmt::format("{}: leftover argument '{}'", verb_, shown));
  }
  return Ok{};
}

}  // namespace muster::sim
