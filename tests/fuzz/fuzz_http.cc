// The parsers of requests and responses: no crash, limits held, the same outcome in any pieces; and
// the router against a slow matcher.
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/text.h"
#include "net/router.h"
#include "net/wire.h"
#include "tests/fuzz/input.h"

namespace {

namespace net = muster::net;

constexpr net::ParseLimits limits{
    .header_bytes_max = 2000, .headers_max = 20, .body_bytes_max = 300};

struct Outcome {
  std::string seen;  // the requests, or as many as were well formed
  int failure = 0;   // status
};

std::string shown(const net::Request& request) {
  std::string out = request.method + ' ' + request.target + '|' + request.path + '|' + request.body;
  for (const auto& header : request.headers) out += '|' + header.name + '=' + header.value;
  for (const auto& segment : request.segments) out += '/' + segment;
  return out;
}

/// As a connection does it: unread bytes are given again with those that follow.
Outcome read_requests(std::string_view text, std::size_t piece) {
  Outcome outcome;
  std::string unread;
  std::optional<net::RequestParser> parser;
  parser.emplace(limits);
  for (std::size_t at = 0; at < text.size(); at += piece) {
    unread += text.substr(at, piece);
    while (!unread.empty()) {
      unread.erase(0, parser->feed(unread));
      if (parser->failure()) {
        outcome.failure = parser->failure()->status;
        MUSTER_CHECK(outcome.failure >= 400, "{}", outcome.failure);
        return outcome;
      }
      if (!parser->is_done()) break;
      const net::Request request = parser->take();
      MUSTER_CHECK(request.body.size() <= limits.body_bytes_max, "{}", request.body.size());
      outcome.seen += shown(request) + '\n';
      parser.emplace(limits);
    }
    MUSTER_CHECK(unread.size() <= limits.header_bytes_max + piece, "{} unread", unread.size());
  }
  return outcome;
}

void read_response(std::string_view text, bool is_head) {
  std::size_t bytes = 0;
  net::ResponseParser parser(limits, is_head, [&](std::string_view body) {
    bytes += body.size();
    return true;
  });
  std::string unread(text);
  unread.erase(0, parser.feed(unread));
  parser.feed_end();
  MUSTER_CHECK(parser.is_done() || parser.failure(), "neither done nor failed");
  MUSTER_CHECK(bytes <= limits.body_bytes_max, "{} bytes", bytes);
}

bool slow_matches(std::string_view pattern, const std::vector<std::string>& segments) {
  const std::string_view tail = pattern.substr(1);
  const auto parts = tail.empty() ? std::vector<std::string_view>{} : muster::split(tail, '/');
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].ends_with("...}")) return i <= segments.size();
    if (i >= segments.size()) return false;
    if (!parts[i].starts_with('{') && parts[i] != segments[i]) return false;
  }
  return parts.size() == segments.size();
}

void route(muster::fuzz::Bytes bytes) {
  static constexpr std::array<std::string_view, 10> words = {"/a", "/b", "/{x}", "/{y}", "/{z...}",
                                                             "/",  "",   "/{",   "/a",   "/{x}"};
  net::Router router;
  std::vector<std::string> patterns;
  for (std::size_t i = 0; i < 6; ++i) {
    std::string pattern;
    for (std::size_t k = muster::fuzz::take(bytes) % 5; k > 0; --k) {
      pattern += words[muster::fuzz::take(bytes) % words.size()];
    }
    const auto added =
        router.try_add("GET", pattern, [](const net::Request&, const net::Responder&) {});
    if (added) patterns.push_back(pattern);
  }
  std::vector<std::string> segments;
  for (const std::size_t byte : bytes.first(std::min<std::size_t>(bytes.size(), 6))) {
    segments.emplace_back(1, static_cast<char>('a' + byte % 3));
  }
  const net::Match match = router.match("GET", segments);
  const bool any = std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
    return slow_matches(pattern, segments);
  });
  MUSTER_CHECK(any == (match.handler != nullptr), "{} patterns", patterns.size());
  if (any) MUSTER_CHECK(slow_matches(match.pattern, segments), "{}", match.pattern);
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static constexpr std::array<std::string_view, 32> words = {"GET",
                                                             "POST",
                                                             " ",
                                                             "/a",
                                                             "?k=v",
                                                             "%41",
                                                             " HTTP/1.1",
                                                             "\r\n",
                                                             "Host: x\r\n",
                                                             "\r\n\r\n",
                                                             "Content-Length: ",
                                                             "3",
                                                             "abc",
                                                             "Transfer-Encoding: chunked\r\n",
                                                             "1\r\nx\r\n",
                                                             "0\r\n\r\n",
                                                             "Connection: close\r\n",
                                                             "Expect: 100-continue\r\n",
                                                             ":",
                                                             ";",
                                                             "\n",
                                                             "\r",
                                                             "\0",
                                                             "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
                                                             "POST /a HTTP/1.1\r\nHost: x\r\n",
                                                             "HTTP/1.1 200 OK\r\n",
                                                             "HTTP/1.1 100 Continue\r\n\r\n",
                                                             "99999999999999999999",
                                                             "-1",
                                                             "\xff",
                                                             "HTTP/1.0",
                                                             "*"};
  muster::fuzz::Bytes bytes(data, size);
  const std::size_t mode = muster::fuzz::take(bytes);
  if (mode % 4 == 3) {
    route(bytes);
    return 0;
  }
  const std::string text =
      mode % 4 == 0 ? muster::fuzz::text_of(bytes) : muster::fuzz::text_of(bytes, words);
  const Outcome whole = read_requests(text, text.size() + 1);
  const Outcome cut = read_requests(text, 1 + mode % 7);
  MUSTER_CHECK(whole.seen == cut.seen, "'{}' and '{}'", whole.seen, cut.seen);
  // In pieces a mistake may go unseen until its line is whole; what is fine is fine in any case.
  MUSTER_CHECK(whole.failure != 0 || cut.failure == 0, "{} only in pieces", cut.failure);
  read_response(text, mode % 2 == 0);
  return 0;
}
