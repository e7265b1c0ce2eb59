// HTTP/1.1 between bytes and messages, without sockets: what the server reads and the client
// writes, and the other way round. Bytes of a peer are never trusted: every limit and every error
// has a status. Beast's parser is used inside and does not show.
//
// Both parsers are fed like this: give all unread bytes, drop as many from the front as feed()
// returns, read more from the peer, repeat until is_done() or failure(). Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "net/http.h"

namespace muster::net {

struct ParseLimits {
  std::uint32_t header_bytes_max = 32U << 10;
  std::size_t headers_max = 100;
  std::uint64_t body_bytes_max = 16U << 20;
};

struct ParseFailure {
  int status = 400;  // what a server answers
  std::string message;
};

class RequestParser {
 public:
  explicit RequestParser(const ParseLimits& limits);
  ~RequestParser();

  /// Bytes consumed; stops at the end of the message, so that the next one stays unread.
  std::size_t feed(std::string_view bytes);
  bool has_begun() const;
  bool is_header_done() const;
  bool is_done() const;
  const std::optional<ParseFailure>& failure() const;
  /// Whether the client waits for "100 Continue" before it sends the body. Once header is done.
  bool expects_continue() const;
  /// Whether the connection may carry another request afterwards.
  bool keep_alive() const;
  /// The method once its line was read, for the log; "" before.
  const std::string& method() const;
  const std::string& target() const;
  /// Once done: method, target, path, segments, query, headers, body and version.
  Request take();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

class ResponseParser {
 public:
  /// The body goes to the sink in pieces; false stops the parser with a failure "stopped".
  using BodySink = std::function<bool(std::string_view)>;
  ResponseParser(const ParseLimits& limits, bool is_head, BodySink sink);
  ~ResponseParser();

  std::size_t feed(std::string_view bytes);
  /// The peer closed: the end of a body without a length, or a failure.
  void feed_end();
  bool has_begun() const;
  bool is_header_done() const;
  bool is_done() const;
  bool keep_alive() const;
  bool is_interim() const;  // a 1xx: drop this parser and read on with a new one
  const std::optional<ParseFailure>& failure() const;
  int status() const;
  const Headers& headers() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

enum class Framing { Length, Chunked, UntilClose, None };

struct HeadOptions {
  Framing framing = Framing::Length;
  std::uint64_t length = 0;  // with Framing::Length
  bool keep_alive = true;
  int version = 11;            // of the request answered
  std::string_view date = {};  // as the Date header wants it; "" leaves it out
};

/// Status line and headers up to and with the empty line, appended. What the framing decides
/// (Content-Length, Transfer-Encoding, Connection) is not taken from the headers.
void append_response_head(std::string& out, int status, const Headers& headers,
                          const HeadOptions& options);
/// Request line and headers; Content-Length for a body or a method that has one by nature.
std::string request_head(std::string_view method, std::string_view target, std::string_view host,
                         const Headers& headers, std::size_t body_bytes);
/// Whether a header can be sent: a name of token characters and a value without line breaks.
bool is_sane_header(const Header& header);
/// 1 to 128 characters out of letters, digits and "-_.:".
bool is_sane_request_id(std::string_view id);

}  // namespace muster::net
