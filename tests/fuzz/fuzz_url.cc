// URLs, escapes, queries and addresses: what is read can be written and read again.
#include <array>
#include <string>

#include "base/check.h"
#include "net/base64.h"
#include "net/proxy.h"
#include "net/url.h"
#include "tests/fuzz/input.h"

namespace net = muster::net;

// NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static constexpr std::array<std::string_view, 24> words = {
      "http://", "https", "://", "h",  "[::1]", ":", "80", "/", "?",      "#",          "%41", "%",
      "@",       "a",     "B",   "..", "&",     "=", "+",  "[", "unix:/", "10.0.0.0/8", "-",   ";"};
  muster::fuzz::Bytes bytes(data, size);
  const bool raw = muster::fuzz::take(bytes) % 2 == 0;
  const std::string text = raw ? muster::fuzz::text_of(bytes) : muster::fuzz::text_of(bytes, words);

  if (const auto url = net::parse_url(text)) {
    const std::string shown = to_text(*url);
    const auto back = net::parse_url(shown);
    MUSTER_CHECK(back.ok(), "'{}' became '{}', which is no URL", text, shown);
    MUSTER_CHECK(*back == *url, "'{}' became '{}'", text, shown);
    MUSTER_CHECK(url->path.starts_with('/') && !url->host.empty(), "'{}'", text);
    const net::ProxyOptions options{.http = "p:1", .https = "p:1", .no_proxy = text};
    MUSTER_CHECK(net::proxy_for(*url, options).ok(), "'{}'", text);
    if (const auto next = net::resolve_url(*url, text)) {
      MUSTER_CHECK(!next->host.empty(), "'{}'", text);
    }
  }
  MUSTER_CHECK(*net::percent_decode(net::percent_encode(text)) == text, "escapes");
  if (const auto pairs = net::parse_query(text)) {
    const auto again = net::parse_query(net::format_query(*pairs));
    MUSTER_CHECK(again.ok() && *again == *pairs, "query '{}'", text);
  }
  if (const auto segments = net::path_segments(text)) {
    for (const std::string& segment : *segments) MUSTER_CHECK(segment != "..", "'{}'", text);
  }
  if (const auto address = net::parse_address(text, "listen")) {
    const auto again = net::parse_address(to_text(*address), "listen");
    MUSTER_CHECK(again.ok() && *again == *address, "address '{}'", text);
  }
  MUSTER_CHECK(*net::base64_decode(net::base64_encode(text)) == text, "base64");
  if (const auto decoded = net::base64_decode(text)) {
    MUSTER_CHECK(net::base64_encode(*decoded) == text, "base64 '{}'", text);
  }
  return 0;
}
