#include "kube/watch.h"

#include <fmt/format.h>

#include <boost/json/monotonic_resource.hpp>
#include <boost/json/parse.hpp>
#include <utility>

#include "kube/json.h"
#include "kube/proto_objects.h"

namespace muster::kube {

namespace {

namespace json = boost::json;

constexpr std::size_t event_bytes_max = 64U << 20;  // objects have 1.5 MiB at most in etcd
constexpr std::size_t room_bytes = 64U << 10;

}  // namespace

json::value own_copy(const json::value& of) { return json::value(of, json::storage_ptr()); }

WatchDecoder::WatchDecoder(OnEvent on_event, const ProtoMessage* message)
    : on_event_(std::move(on_event)),
      message_(message),
      form_(message == nullptr ? Form::Lines : Form::Unknown),
      room_(room_bytes),
      lines_([this](std::string_view line) { return take_line(line); }, event_bytes_max) {}

bool WatchDecoder::feed(std::string_view bytes) {
  if (form_ == Form::Unknown && !bytes.empty()) {
    // A frame begins with its length, of which the first byte is zero in all that are read.
    form_ = bytes.front() == '{' ? Form::Lines : Form::Frames;
  }
  return form_ == Form::Frames ? take_frames(bytes) : lines_.feed(bytes);
}

bool WatchDecoder::fail() {
  error_ = ApiError{};
  error_->message =
      fmt::format("a {} of the watch is no event", form_ == Form::Frames ? "frame" : "line");
  return false;
}

bool WatchDecoder::take_line(std::string_view line) {
  if (line.empty()) return true;
  json::monotonic_resource storage(room_.data(), room_.size());
  json::error_code wrong;
  const json::value event = json::parse(line, wrong, &storage);
  if (wrong) return fail();
  return take(text_at(event, {"type"}), find(event, {"object"}));
}

bool WatchDecoder::take_frames(std::string_view bytes) {
  constexpr std::size_t head = 4;  // the length, the highest byte first
  frames_ += bytes;
  std::string_view rest = frames_;
  bool goes_on = true;
  while (goes_on && rest.size() >= head) {
    std::size_t length = 0;
    for (const char byte : rest.substr(0, head))
      length = length << 8 | static_cast<unsigned char>(byte);
    if (length > event_bytes_max) return fail();
    if (rest.size() < head + length) break;
    goes_on = take_frame(rest.substr(head, length));
    rest.remove_prefix(head + length);
  }
  frames_.erase(0, frames_.size() - rest.size());
  return goes_on;
}

bool WatchDecoder::take_frame(std::string_view frame) {
  const std::string_view type = proto_bytes(frame, 1);
  const std::string_view object = unwrap_proto(proto_bytes(proto_bytes(frame, 2), 1));
  json::monotonic_resource storage(room_.data(), room_.size());
  const auto read = read_proto(object, type == "ERROR" ? proto_status : *message_, &storage);
  return take(type, object.empty() || !read ? nullptr : &*read);
}

bool WatchDecoder::take(std::string_view type, const json::value* object) {
  if (type.empty() || object == nullptr) return fail();
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
