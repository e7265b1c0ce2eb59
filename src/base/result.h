// Errors as values. Three kinds of wrong exist: the caller's (Fault::Invalid, NotFound, Conflict),
// the world's (Fault::Unavailable: try again later) and our own, which is not an Error but a failed
// MUSTER_CHECK. Library exceptions stop at the adapter that calls the library and become an Error
// there.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "base/check.h"

namespace muster {

enum class Fault { Invalid, NotFound, Conflict, Unavailable };

struct Error {
  Fault fault = Fault::Invalid;
  std::string message;  // one line that names the field and, where there is one, the fix
};

inline Error invalid(std::string message) { return {Fault::Invalid, std::move(message)}; }

struct Ok {};

template <typename T>
class [[nodiscard]] Result {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor): implicit by design
  Result(T value) : held_(std::in_place_index<0>, std::move(value)) {}
  // NOLINTNEXTLINE(google-explicit-constructor): implicit by design
  Result(Error error) : held_(std::in_place_index<1>, std::move(error)) {}

  explicit operator bool() const { return held_.index() == 0; }
  bool ok() const { return held_.index() == 0; }
  const T& operator*() const& { return value(); }
  T& operator*() & { return value(); }
  T&& operator*() && { return std::move(value()); }
  const T* operator->() const { return &value(); }
  T* operator->() { return &value(); }
  const T& value() const {
    MUSTER_CHECK(ok(), "value of a failed result: {}", std::get<1>(held_).message);
    return std::get<0>(held_);
  }
  T& value() {
    MUSTER_CHECK(ok(), "value of a failed result: {}", std::get<1>(held_).message);
    return std::get<0>(held_);
  }
  const Error& error() const { return std::get<1>(held_); }

 private:
  std::variant<T, Error> held_;
};

using Status = Result<Ok>;

}  // namespace muster
