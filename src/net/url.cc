#include "net/url.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/url/parse.hpp>
#include <boost/url/url_view.hpp>

#include "base/text.h"

namespace muster::net {

namespace {

constexpr std::string_view hex_digits = "0123456789ABCDEF";

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool is_unreserved(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
         c == '.' || c == '_' || c == '~';
}

std::string lowered(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return text;
}

std::string host_text(std::string_view host) {
  return host.find(':') == std::string_view::npos ? std::string(host) : fmt::format("[{}]", host);
}

/// A name as DNS and certificates know it, or an address; anything else would need escapes that
/// nobody resolves.
bool is_plain_host(std::string_view host) {
  return !host.empty() && std::all_of(host.begin(), host.end(), [](char c) {
    return is_unreserved(c) || c == ':' || c == '%';
  });
}

Result<std::uint16_t> parse_port(std::string_view text, std::string_view field) {
  auto port = parse_int(text, field, 0, 65535);
  if (!port) return port.error();
  return static_cast<std::uint16_t>(*port);
}

}  // namespace

std::uint16_t Url::effective_port() const {
  if (port != 0) return port;
  if (scheme == "http" || scheme == "ws") return 80;
  if (is_tls()) return 443;
  if (scheme == "socks5" || scheme == "socks5h") return 1080;
  return 0;
}

std::string Url::authority() const {
  return port == 0 ? host_text(host) : fmt::format("{}:{}", host_text(host), port);
}

std::string Url::origin() const { return fmt::format("{}://{}", scheme, authority()); }

std::string Url::target() const { return query.empty() ? path : fmt::format("{}?{}", path, query); }

Result<Url> parse_url(std::string_view text, std::string_view field) {
  const auto parsed = boost::urls::parse_uri({text.data(), text.size()});
  if (parsed.has_error()) {
    return invalid(
        fmt::format("{}: '{}' is not a URL; write it like http://host:8080", field, text));
  }
  const boost::urls::url_view& view = *parsed;
  Url url;
  url.scheme = lowered(std::string(view.scheme()));
  url.host = lowered(std::string(view.host_address()));
  // Boost 1.81 takes what follows a malformed authority for a path: "http://h:x", "http://a@b@c".
  const std::string_view path(view.encoded_path().data(), view.encoded_path().size());
  if (!is_plain_host(url.host) || (!path.empty() && path.front() != '/')) {
    return invalid(
        fmt::format("{}: '{}' has no host; write it like http://host:8080", field, text));
  }
  if (view.has_port() && !view.port().empty()) {
    const std::string_view digits(view.port().data(), view.port().size());
    auto port = parse_port(digits, field);
    if (!port || *port == 0) {
      return invalid(fmt::format("{}: '{}' is not a port, which is 1 to 65535", field, digits));
    }
    url.port = *port;
  }
  url.userinfo = std::string(view.userinfo());
  url.path = path.empty() ? "/" : path;
  url.query = std::string(view.encoded_query());
  url.fragment = std::string(view.encoded_fragment());
  return url;
}

std::string to_text(const Url& url) {
  std::string user;
  if (!url.userinfo.empty()) {
    for (const auto part : split(url.userinfo, ':')) {  // a colon divides name and password
      if (!user.empty() || part.data() != url.userinfo.data()) user += ':';
      user += percent_encode(part);
    }
    user += '@';
  }
  std::string out = fmt::format("{}://{}{}{}", url.scheme, user, url.authority(), url.target());
  if (!url.fragment.empty()) out += "#" + url.fragment;
  return out;
}

Result<Url> resolve_url(const Url& base, std::string_view reference) {
  if (reference.find("://") < reference.find_first_of("/?#")) {
    return parse_url(reference, "location");
  }
  std::string text = base.origin();
  if (reference.starts_with("//")) {
    text = fmt::format("{}:", base.scheme);
  } else if (!reference.starts_with('/')) {
    text += base.path.substr(0, base.path.rfind('/') + 1);
  }
  auto url = parse_url(text.append(reference), "location");
  if (url && !reference.starts_with("//")) url->userinfo = base.userinfo;
  return url;
}

std::string percent_encode(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    if (is_unreserved(c)) {
      out += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out += '%';
      out += hex_digits[byte >> 4];
      out += hex_digits[byte & 15];
    }
  }
  return out;
}

Result<std::string> percent_decode(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    const int high = i + 1 < text.size() ? hex_value(text[i + 1]) : -1;
    const int low = i + 2 < text.size() ? hex_value(text[i + 2]) : -1;
    if (high < 0 || low < 0) {
      return invalid(fmt::format("'{}' has a broken escape; write a % as %25", text));
    }
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return out;
}

Result<std::vector<std::string>> path_segments(std::string_view path) {
  std::vector<std::string> segments;
  if (path.starts_with('/')) path.remove_prefix(1);
  if (path.empty()) return segments;
  for (const std::string_view part : split(path, '/')) {
    auto segment = percent_decode(part);
    if (!segment) return invalid("path: " + segment.error().message);
    if (*segment == "." || *segment == ".." || segment->find('\0') != std::string::npos) {
      return invalid("path: '.', '..' and zero bytes are refused");
    }
    segments.push_back(std::move(*segment));
  }
  return segments;
}

Result<QueryPairs> parse_query(std::string_view query) {
  QueryPairs pairs;
  if (query.empty()) return pairs;
  for (const std::string_view part : split(query, '&')) {
    if (part.empty()) continue;
    std::string text(part);
    std::replace(text.begin(), text.end(), '+', ' ');
    const std::size_t equals = std::min(text.find('='), text.size());
    auto key = percent_decode(std::string_view(text).substr(0, equals));
    if (!key) return invalid("query: " + key.error().message);
    auto value = percent_decode(equals == text.size() ? std::string_view{}
                                                      : std::string_view(text).substr(equals + 1));
    if (!value) return invalid("query: " + value.error().message);
    pairs.emplace_back(std::move(*key), std::move(*value));
  }
  return pairs;
}

std::string format_query(const QueryPairs& pairs) {
  std::string out;
  for (const auto& [key, value] : pairs) {
    if (!out.empty()) out += '&';
    out += percent_encode(key) + '=' + percent_encode(value);
  }
  return out;
}

Result<Address> parse_address(std::string_view text, std::string_view field) {
  Address address;
  if (text.starts_with("unix:")) {
    address.unix_path = text.substr(5);
    if (!address.unix_path.empty()) return address;
    return invalid(
        fmt::format("{}: '{}' has no path; write it like unix:/run/x.sock", field, text));
  }
  const std::size_t colon = text.rfind(':');
  std::string_view host = text.substr(0, std::min(colon, text.size()));
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  if (colon == std::string_view::npos ||
      (!bracketed && host.find_first_of("[]:") != std::string_view::npos) ||
      (!host.empty() && !is_plain_host(host))) {
    return invalid(
        fmt::format("{}: '{}' is not an address; write it like 127.0.0.1:8080, [::1]:8080 or :8080",
                    field, text));
  }
  auto port = parse_port(text.substr(colon + 1), field);
  if (!port) return port.error();
  address.host = host;
  address.port = *port;
  return address;
}

std::string to_text(const Address& address) {
  if (!address.unix_path.empty()) return "unix:" + address.unix_path;
  return fmt::format("{}:{}", host_text(address.host), address.port);
}

}  // namespace muster::net
