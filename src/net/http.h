// The words of HTTP that server and client share: headers, a body, a request as a handler sees it
// and the response it gives. Plain values; no sockets and no Boost here.
//
// Invariant: bytes that leave through these types are well formed. Header names and values with
// line breaks cannot split a message: whoever serializes them (net/wire.h) replaces the breaks.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace muster::net {

/// Immutable bytes that any number of connections send without copying them.
using SharedBytes = std::shared_ptr<const std::string>;

inline SharedBytes share(std::string bytes) {
  return std::make_shared<const std::string>(std::move(bytes));
}

/// ASCII case ignored, as in header names.
bool equals_ignoring_case(std::string_view a, std::string_view b);
/// Whether a comma-separated header value has this token: "keep-alive, Upgrade" has "upgrade".
bool has_token(std::string_view list, std::string_view token);

struct Header {
  std::string name;
  std::string value;
  friend bool operator==(const Header&, const Header&) = default;
};

/// Headers in the order they came; names compare without case. Few, so a search is a walk.
class Headers {
 public:
  Headers() = default;
  Headers(std::initializer_list<Header> items) : items_(items) {}

  void add(std::string name, std::string value);
  /// Replaces all of that name.
  void set(std::string_view name, std::string value);
  void erase(std::string_view name);
  /// The first value of that name, or "".
  std::string_view get(std::string_view name) const;
  bool has(std::string_view name) const;

  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }
  std::size_t size() const { return items_.size(); }

 private:
  std::vector<Header> items_;
};

/// Bytes of a message: owned, or shared with others who send the same.
class Body {
 public:
  Body() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): a response is written with a literal
  Body(std::string bytes) : owned_(std::move(bytes)) {}
  // NOLINTNEXTLINE(google-explicit-constructor): a response is written with a literal
  Body(const char* bytes) : owned_(bytes) {}
  // NOLINTNEXTLINE(google-explicit-constructor): shared bytes are a body as they are
  Body(SharedBytes bytes) : shared_(std::move(bytes)) {}

  std::string_view view() const { return shared_ ? *shared_ : owned_; }
  std::size_t size() const { return view().size(); }
  bool empty() const { return view().empty(); }

 private:
  std::string owned_;
  SharedBytes shared_;
};

using QueryMap = std::map<std::string, std::string, std::less<>>;

/// A request as a handler sees it.
struct Request {
  std::string method;                 // as sent: "GET"
  std::string target;                 // as sent: "/jobs/7?wide=1"
  std::string path;                   // target without the query, still encoded
  std::vector<std::string> segments;  // decoded: {"jobs", "7"}; an encoded slash stays inside one
  QueryMap query;                     // decoded; of a repeated key the last value
  QueryMap params;                    // what {name} in the route's pattern stands for
  Headers headers;
  std::string body;
  int version = 11;  // 10 or 11

  std::string id;              // of X-Request-Id if that is sane, else made here
  std::string remote_address;  // "127.0.0.1", "::1", "unix"
  std::uint16_t remote_port = 0;
  /// Of the connection itself: forwarding headers are not believed.
  bool is_loopback = false;
  bool is_tls = false;
  std::string peer_name;  // common name of the verified client certificate, "" without one

  /// "" when the pattern has no such name.
  std::string_view param(std::string_view name) const;
  /// "" when the query has no such key.
  std::string_view query_value(std::string_view key) const;
};

struct Response {
  int status = 200;
  Headers headers = {};
  Body body = {};
};

/// "Not Found"; "Unknown" for codes nobody defined.
std::string_view reason_phrase(int status);

/// A text as a JSON string, with its quotes.
std::string json_quoted(std::string_view text);

/// {"error":{"code":"not_found","message":"..."}} with that status.
Response error_response(int status, std::string_view message);

Response json_response(int status, Body body);

}  // namespace muster::net
