// Why a request to an API server failed, and what the server said about it (a Status object), as a
// value one can decide by. Reply<T> is a value or an ApiError, as Result<T> is a value or an Error.
#pragma once

#include <boost/json/value.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/check.h"
#include "base/result.h"
#include "base/time.h"
#include "net/http.h"

namespace muster::kube {

struct ApiError {
  struct Cause {
    std::string reason = {};  // "FieldValueInvalid", "FieldManagerConflict", "ExitCode"
    std::string field = {};   // ".spec.replicas"
    std::string message = {};
  };

  int code = 0;              // of HTTP; 0: there was no answer
  std::string reason = {};   // of the Status: "NotFound", "Conflict", "Expired"; "" without one
  std::string message = {};  // one line that names the cluster or the object
  std::string kind = {};     // of the object it is about, as far as the server says
  std::string name = {};
  std::vector<Cause> causes = {};
  std::optional<Duration> retry_after = {};
  /// Of an expired list: where it can be taken up, inconsistent with what was read before.
  std::string continue_token = {};
  /// Set: the caller or the end of the client stopped it.
  bool is_cancelled = false;

  bool is_not_found() const { return code == 404; }
  bool is_already_exists() const { return code == 409 && reason == "AlreadyExists"; }
  bool is_conflict() const { return code == 409 && reason != "AlreadyExists"; }
  /// The uid that a patch names is not that of what is there: another one of its name came. Other
  /// conflicts tell nothing of it: two wrote at once, or a quota or a webhook is in the way.
  bool is_of_another() const {
    return (is_invalid() && message.find("metadata.uid") != std::string::npos) ||
           (is_conflict() && message.find("UID in precondition") != std::string::npos);
  }
  bool is_forbidden() const { return code == 403; }
  bool is_unauthorized() const { return code == 401; }
  bool is_invalid() const { return code == 422; }
  bool is_too_many_requests() const { return code == 429; }
  /// The resourceVersion or the continue token is older than what the server keeps: list again.
  bool is_gone() const { return code == 410 || reason == "Expired" || reason == "Gone"; }
  /// The resourceVersion is one the server has not reached, or will never: list again.
  bool is_from_the_future() const;
  bool has_cause(std::string_view cause_reason) const;

  /// Without an answer and with 429 or 5xx: Unavailable; 404: NotFound; 409, 410: Conflict.
  Fault fault() const;
  Error to_error() const { return {fault(), message}; }
};

/// From a body that is a Status, or is not: then the status line and the beginning of the body.
ApiError api_error_of(int code, const net::Headers& headers, std::string_view body);
/// From a parsed Status, as in a watch's ERROR event. The code is the Status's.
ApiError api_error_of(const boost::json::value& status);
ApiError no_answer(const Error& error);

template <typename T>
class [[nodiscard]] Reply {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor): implicit by design
  Reply(T value) : held_(std::in_place_index<0>, std::move(value)) {}
  // NOLINTNEXTLINE(google-explicit-constructor): implicit by design
  Reply(ApiError error) : held_(std::in_place_index<1>, std::move(error)) {}

  explicit operator bool() const { return ok(); }
  bool ok() const { return held_.index() == 0; }
  const T& operator*() const& { return value(); }
  T& operator*() & { return value(); }
  T&& operator*() && { return std::move(value()); }
  const T* operator->() const { return &value(); }
  T* operator->() { return &value(); }
  const T& value() const {
    MUSTER_CHECK(ok(), "value of a failed reply: {}", std::get<1>(held_).message);
    return std::get<0>(held_);
  }
  T& value() {
    MUSTER_CHECK(ok(), "value of a failed reply: {}", std::get<1>(held_).message);
    return std::get<0>(held_);
  }
  const ApiError& error() const { return std::get<1>(held_); }

 private:
  std::variant<T, ApiError> held_;
};

}  // namespace muster::kube
