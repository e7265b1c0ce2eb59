// Values as bytes. Numbers are variable-length, text is counted, lists and maps are counted and
// maps ascend, so that equal values are equal bytes. What a type consists of is told by a function
// fields(archive, value), found by the type's namespace or in wire; it serves both ways.
//
// Reading never trusts: bad bytes are remembered as an error, and memory stays in proportion to the
// input. Pure. Thread contract: none needed.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace muster::store::wire {

constexpr std::uint64_t zigzag(std::int64_t v) {
  return (static_cast<std::uint64_t>(v) << 1) ^ static_cast<std::uint64_t>(v >> 63);
}
constexpr std::int64_t unzigzag(std::uint64_t v) {
  return static_cast<std::int64_t>(v >> 1) ^ -static_cast<std::int64_t>(v & 1);
}

/// last_of(Choice, T) says the last value of an enum that is written.
struct Choice {};

class Writer {
 public:
  explicit Writer(std::string& out, std::uint8_t v) : version(v), out_(out) {}

  template <typename... Ts>
  void operator()(Ts&... values) {
    (put(values), ...);
  }

  void number(std::uint64_t v) {
    if (v < 0x80) {  // most of them
      out_.push_back(static_cast<char>(v));
      return;
    }
    std::array<char, 10> bytes;
    std::size_t n = 0;
    for (; v >= 0x80; v >>= 7) bytes[n++] = static_cast<char>(v | 0x80);
    bytes[n++] = static_cast<char>(v);
    out_.append(bytes.data(), n);
  }

  const std::uint8_t version;

 private:
  void put(bool v) { out_.push_back(v ? 1 : 0); }
  template <std::unsigned_integral T>
    requires(!std::same_as<T, bool>)
  void put(T v) {
    number(v);
  }
  template <std::signed_integral T>
  void put(T v) {
    number(zigzag(v));
  }
  template <typename T>
    requires std::is_enum_v<T>
  void put(T v) {
    number(static_cast<std::uint64_t>(v));
  }
  void put(const std::string& text) {
    number(text.size());
    out_.append(text);
  }
  void put(std::string& text) { put(std::as_const(text)); }
  template <typename T>
  void put(std::vector<T>& items) {
    number(items.size());
    for (T& item : items) put(item);
  }
  template <typename K, typename V>
  void put(std::map<K, V>& items) {
    number(items.size());
    for (auto& [key, value] : items) {
      put(key);
      put(value);
    }
  }
  template <typename T>
  void put(std::optional<T>& value) {
    put(value.has_value());
    if (value) put(*value);
  }
  template <typename T>
    requires std::is_class_v<T>
  void put(T& value) {
    fields(*this, value);
  }

  std::string& out_;
};

/// Remembers the first thing that is wrong and reads zeros from there on.
class Reader {
 public:
  Reader(std::string_view bytes, std::uint8_t v) : version(v), bytes_(bytes) {}

  template <typename... Ts>
  void operator()(Ts&... values) {
    (get(values), ...);
  }

  std::uint64_t number() {
    if (!bytes_.empty() && static_cast<unsigned char>(bytes_.front()) < 0x80) {  // most of them
      const auto byte = static_cast<unsigned char>(bytes_.front());
      bytes_.remove_prefix(1);
      return byte;
    }
    std::uint64_t v = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (bytes_.empty()) return fail("it ends inside a number");
      const auto byte = static_cast<unsigned char>(bytes_.front());
      bytes_.remove_prefix(1);
      if (shift == 63 && byte > 1) return fail("a number is too long");
      v |= std::uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) {
        if (byte == 0 && shift > 0) return fail("a number is padded");
        return v;
      }
    }
    return fail("a number is too long");
  }

  bool ok() const { return wrong_.empty(); }
  std::string_view wrong() const { return wrong_; }
  std::string_view rest() const { return bytes_; }
  std::uint64_t fail(std::string_view what) {
    if (wrong_.empty()) wrong_ = what;
    bytes_ = {};
    return 0;
  }

  const std::uint8_t version;

 private:
  void get(bool& v) {
    const std::uint64_t n = number();
    if (n > 1) fail("a yes or no is neither");
    v = n == 1;
  }
  template <std::unsigned_integral T>
    requires(!std::same_as<T, bool>)
  void get(T& v) {
    const std::uint64_t n = number();
    if (n > std::numeric_limits<T>::max()) fail("a number is out of range");
    v = static_cast<T>(n);
  }
  template <std::signed_integral T>
  void get(T& v) {
    const std::int64_t n = unzigzag(number());
    if (n < std::numeric_limits<T>::min() || n > std::numeric_limits<T>::max())
      fail("a number is out of range");
    v = static_cast<T>(n);
  }
  template <typename T>
    requires std::is_enum_v<T>
  void get(T& v) {
    const std::uint64_t n = number();
    if (n > static_cast<std::uint64_t>(last_of(Choice{}, T{}))) fail("an unknown choice");
    v = ok() ? static_cast<T>(n) : T{};
  }
  void get(std::string& text) {
    const std::size_t n = count();
    text.assign(bytes_.substr(0, n));
    bytes_.remove_prefix(n);
  }
  template <typename T>
  void get(std::vector<T>& items) {
    for (std::size_t left = count(); left > 0 && ok(); --left) get(items.emplace_back());
  }
  template <typename K, typename V>
  void get(std::map<K, V>& items) {
    for (std::size_t left = count(); left > 0 && ok(); --left) {
      K key{};
      get(key);
      if (!items.empty() && !(items.rbegin()->first < key)) fail("keys do not ascend");
      get(items.emplace_hint(items.end(), std::move(key), V{})->second);
    }
  }
  template <typename T>
  void get(std::optional<T>& value) {
    bool there = false;
    get(there);
    if (there) get(value.emplace());
  }
  template <typename T>
    requires std::is_class_v<T>
  void get(T& value) {
    fields(*this, value);
  }
  /// Of things that take a byte each at least.
  std::size_t count() {
    const std::uint64_t n = number();
    if (n > bytes_.size()) return fail("it ends inside a list or text");
    return static_cast<std::size_t>(n);
  }

  std::string_view bytes_;
  std::string_view wrong_;
};

}  // namespace muster::store::wire
