// A value that most of many objects leave as it is by default: until it is another one it takes the
// room of a pointer. Copies are copies, as of the value itself.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

namespace muster {

template <typename T>
class Boxed {
 public:
  Boxed() = default;
  Boxed(T value)  // NOLINT(google-explicit-constructor): it stands for the value
      : value_(std::make_unique<T>(std::move(value))) {}
  template <typename From>
    requires(std::is_convertible_v<From, T> && !std::is_same_v<std::remove_cvref_t<From>, Boxed>)
  Boxed(From&& value)  // NOLINT(google-explicit-constructor): as T is made of it
      : value_(std::make_unique<T>(std::forward<From>(value))) {}
  Boxed(const Boxed& other) : value_(other.value_ ? std::make_unique<T>(*other.value_) : nullptr) {}
  Boxed(Boxed&&) noexcept = default;
  Boxed& operator=(const Boxed& other) { return *this = Boxed(other); }
  Boxed& operator=(Boxed&&) noexcept = default;
  ~Boxed() = default;

  const T& operator*() const {
    static const T by_default{};
    return value_ ? *value_ : by_default;
  }
  const T* operator->() const { return &**this; }
  /// To be changed.
  T& edit() {
    if (!value_) value_ = std::make_unique<T>();
    return *value_;
  }
  /// It is the default one afterwards.
  T take() {
    T taken = value_ ? std::move(*value_) : T{};
    value_.reset();
    return taken;
  }
  friend bool operator==(const Boxed& a, const Boxed& b) { return *a == *b; }

 private:
  std::unique_ptr<T> value_;
};

}  // namespace muster
