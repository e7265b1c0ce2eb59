// The bytes of a watch as events: lines of JSON, or frames of protobuf. Pure: fed with whatever
// came; an event that was cut off by a broken connection is never taken for one.
#pragma once

#include <boost/json/value.hpp>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/api_error.h"
#include "kube/protobuf.h"
#include "net/lines.h"

namespace muster::kube {

/// A copy that may be kept. What watches and lists tell lives in storage of theirs, and a plain
/// copy of a Boost.JSON value lives in the storage of the first.
boost::json::value own_copy(const boost::json::value& of);

struct WatchEvent {
  enum class Kind { Added, Modified, Deleted, Bookmark };
  Kind kind = Kind::Added;
  /// Lives until the callback returns; copy what is to be kept.
  const boost::json::value* object = nullptr;
};

class WatchDecoder {
 public:
  /// False stops the watch.
  using OnEvent = std::function<bool(const WatchEvent&)>;
  /// With a message it takes both forms, whichever the server chose, and reads that of the objects.
  explicit WatchDecoder(OnEvent on_event, const ProtoMessage* message = nullptr);

  /// False: stopped, or failed: then error() says why.
  bool feed(std::string_view bytes);
  /// The server's ERROR event (410 and the like), or a line that is no event.
  const std::optional<ApiError>& error() const { return error_; }

 private:
  bool take_line(std::string_view line);
  bool take_frames(std::string_view bytes);
  bool take_frame(std::string_view frame);
  bool take(std::string_view type, const boost::json::value* object);
  bool fail();

  OnEvent on_event_;
  const ProtoMessage* const message_;
  enum class Form { Unknown, Lines, Frames } form_;
  std::optional<ApiError> error_;
  std::vector<unsigned char> room_;  // for the values of one event
  net::LineCutter lines_;
  std::string frames_;  // what came and was not taken yet
};

}  // namespace muster::kube
