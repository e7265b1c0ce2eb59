#include "kube/watch.h"

#include <fmt/format.h>

#include <boost/json/monotonic_resource.hpp>
#include <boost/json/parse.hpp>
#include <utility>

#include "kube/json.h"

namespace muster::kube {

namespace {

namespace json = boost::json;

constexpr std::size_t line_bytes_max = 64U << 20;  // objects have 1.5 MiB at most in etcd
constexpr std::size_t room_bytes = 64U << 10;

}  // namespace

json::value own_copy(const json::value& of) { return json::value(of, json::storage_ptr()); }

WatchDecoder::WatchDecoder(OnEvent on_event)
    : on_event_(std::move(on_event)),
      room_(room_bytes),
      lines_([this](std::string_view line) { return take(line); }, line_bytes_max) {}

bool WatchDecoder::feed(std::string_view bytes) { return lines_.feed(bytes); }

bool WatchDecoder::take(std::string_view line) {
  if (line.empty()) return true;
  json::monotonic_resource storage(room_.data(), room_.size());
  json::error_code wrong;
  const json::value event = json::parse(line, wrong, &storage);
  const std::string_view type = wrong ? std::string_view() : text_at(event, {"type"});
  const json::value* object = wrong ? nullptr : find(event, {"object"});
  if (type.empty() || object == nullptr) {
    error_ = ApiError{};
    error_->message = "a line of the watch is no event";
    return false;
  }
  if (type == "ERROR") {
    error_ = api_error_of(*object);
    return false;
  }
  static constexpr std::pair<std::string_view, WatchEvent::Kind> kinds[] = {
      {"ADDED", WatchEvent::Kind::Added},
      {"MODIFIED", WatchEvent::Kind::Modified},
      {"DELETED", WatchEvent::Kind::Deleted},
      {"BOOKMARK", WatchEvent::Kind::Bookmark}};
  for (const auto& [name, kind] : kinds) {
    if (type == name) return on_event_({kind, object});
  }
  return true;  // a kind of event from after our time
}

}  // namespace muster::kube
