// URLs: parsing, writing and percent-encoding. Pure; Boost.URL is used inside and does not show.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace muster::net {

/// An absolute URL of a server: "https://user:pw@host:8443/path?query#fragment".
struct Url {
  std::string scheme;      // lower case
  std::string userinfo;    // decoded; "" without one
  std::string host;        // decoded, lower case, an IPv6 address without brackets
  std::uint16_t port = 0;  // 0: not given
  std::string path = "/";  // as written (encoded), never empty
  std::string query;       // as written, without '?'
  std::string fragment;    // as written, without '#'

  /// The port given, or the scheme's: 80 for http and ws, 443 for https and wss, 1080 for SOCKS,
  /// else 0.
  std::uint16_t effective_port() const;
  bool is_tls() const { return scheme == "https" || scheme == "wss"; }
  /// "https://host:8443": no user, no path; the port only where it was given.
  std::string origin() const;
  /// "host:8443" as the Host header wants it.
  std::string authority() const;
  /// "/path?query", what stands in a request line.
  std::string target() const;

  friend bool operator==(const Url&, const Url&) = default;
};

/// An error names the field and what is wrong with the text.
Result<Url> parse_url(std::string_view text, std::string_view field = "url");
/// parse_url reads it back to an equal Url.
std::string to_text(const Url& url);
/// A Location header: an absolute URL, or "/path", or a path beside the base's.
Result<Url> resolve_url(const Url& base, std::string_view reference);

/// All but letters, digits and "-._~" become %XX. Fit for a path segment and for a query value.
std::string percent_encode(std::string_view text);
/// Broken escapes ("%", "%4", "%zz") are errors.
Result<std::string> percent_decode(std::string_view text);

/// The decoded parts between slashes: "/a%2Fb/c" has {"a/b", "c"}; "/" has none. "." and ".."
/// are refused, as are zero bytes: no handler shall meet them.
Result<std::vector<std::string>> path_segments(std::string_view path);

using QueryPairs = std::vector<std::pair<std::string, std::string>>;
/// "a=1&b=x+y" decoded in order, '+' being a blank. A key without '=' has the value "".
Result<QueryPairs> parse_query(std::string_view query);
std::string format_query(const QueryPairs& pairs);

/// Where to listen or connect: "127.0.0.1:8080", "[::1]:80", ":8080" (every address), "unix:/path".
struct Address {
  std::string host;        // "" means every address
  std::uint16_t port = 0;  // 0 when listening: any free one
  std::string unix_path;   // set: a Unix socket, and the two above mean nothing
  friend bool operator==(const Address&, const Address&) = default;
};
Result<Address> parse_address(std::string_view text, std::string_view field);
std::string to_text(const Address& address);

}  // namespace muster::net
