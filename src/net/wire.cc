#include "net/wire.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>
#include <iterator>

#include "net/url.h"

namespace muster::net {

namespace {

namespace beast_http = boost::beast::http;
using boost::beast::string_view;
using boost::system::error_code;

std::string_view view(string_view text) { return {text.data(), text.size()}; }

bool is_token(std::string_view text) {
  static constexpr std::string_view others = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           others.find(c) != std::string_view::npos;
  });
}

bool breaks_line(char c) { return c == '\r' || c == '\n' || c == '\0'; }

ParseFailure failure_of(const error_code& error, const ParseLimits& limits) {
  if (error == beast_http::error::header_limit) {
    return {431, fmt::format("the headers exceed {} bytes or {} lines", limits.header_bytes_max,
                             limits.headers_max)};
  }
  if (error == beast_http::error::body_limit) {
    return {413, fmt::format("the body exceeds {} bytes", limits.body_bytes_max)};
  }
  if (error == beast_http::error::bad_version) return {505, "only HTTP/1.0 and HTTP/1.1"};
  if (error == beast_http::error::partial_message) return {400, "the message ends too early"};
  return {400, "malformed HTTP: " + error.message()};
}

/// Beast sets no limit to the line before a chunk.
std::optional<ParseFailure> endless_line(std::size_t unread, const ParseLimits& limits) {
  if (unread <= limits.header_bytes_max) return std::nullopt;
  return ParseFailure{431, fmt::format("a line exceeds {} bytes", limits.header_bytes_max)};
}

}  // namespace

// --- requests ----------------------------------------------------------------------------------

class RequestParser::Impl final : public beast_http::basic_parser<true> {
 public:
  explicit Impl(const ParseLimits& limits) : limits_(limits) {
    eager(true);
    header_limit(limits.header_bytes_max);
    body_limit(limits.body_bytes_max);
  }

  std::size_t parse(std::string_view bytes) {
    if (failure || is_done() || bytes.empty()) return 0;
    error_code error;
    const std::size_t used = put(boost::asio::buffer(bytes.data(), bytes.size()), error);
    if (error && error != beast_http::error::need_more && !failure) {
      failure = failure_of(error, limits_);
    }
    if (!failure && !is_done()) failure = endless_line(bytes.size() - used, limits_);
    return used;
  }

  Request request;
  std::optional<ParseFailure> failure;

 private:
  void fail(int status, std::string message, error_code& error) {
    failure = ParseFailure{status, std::move(message)};
    error = beast_http::error::bad_value;  // any error stops Beast; ours says more
  }

  void on_request_impl(beast_http::verb, string_view method, string_view target, int version,
                       error_code&) override {
    request.method = view(method);
    request.target = view(target);
    request.version = version;
  }
  void on_response_impl(int, string_view, int, error_code&) override {}

  void on_field_impl(beast_http::field, string_view name, string_view value,
                     error_code& error) override {
    if (in_body_) return;  // trailers: nobody reads them
    if (request.headers.size() >= limits_.headers_max) {
      error = beast_http::error::header_limit;
      return;
    }
    request.headers.add(std::string(view(name)), std::string(view(value)));
  }

  void on_header_impl(error_code& error) override {
    in_body_ = true;
    const Headers& headers = request.headers;
    const auto hosts = std::count_if(headers.begin(), headers.end(), [](const Header& header) {
      return equals_ignoring_case(header.name, "Host");
    });
    if (request.version > 11) return fail(505, "only HTTP/1.0 and HTTP/1.1", error);
    if (hosts > 1 || (hosts == 0 && request.version == 11)) {
      return fail(400, "Host: exactly one such header is needed", error);
    }
    // Read as a request without a body, an unknown coding would smuggle its body in as the next.
    if (headers.has("Transfer-Encoding") && !chunked()) {
      return fail(501, "Transfer-Encoding: only 'chunked' is known", error);
    }
    const std::string_view expect = headers.get("Expect");
    if (!expect.empty() && !equals_ignoring_case(expect, "100-continue")) {
      return fail(400, "Expect: only '100-continue' is known", error);
    }
    read_target(error);
  }

  void read_target(error_code& error) {
    std::string_view target = request.target;
    if (target == "*" && request.method == "OPTIONS") return;
    if (!target.starts_with('/')) {  // absolute form, as sent to a proxy
      const auto url = parse_url(target, "request target");
      if (!url) return fail(400, url.error().message, error);
      request.path = url->path;
      read_query(url->query, error);
    } else {
      target = target.substr(0, target.find('#'));
      const std::size_t mark = std::min(target.find('?'), target.size());
      request.path = target.substr(0, mark);
      if (mark < target.size()) read_query(target.substr(mark + 1), error);
    }
    if (failure) return;
    auto segments = path_segments(request.path);
    if (!segments) return fail(400, segments.error().message, error);
    request.segments = std::move(*segments);
  }

  void read_query(std::string_view text, error_code& error) {
    auto pairs = parse_query(text);
    if (!pairs) return fail(400, pairs.error().message, error);
    for (auto& [key, value] : *pairs) request.query[std::move(key)] = std::move(value);
  }

  void on_body_init_impl(const boost::optional<std::uint64_t>& length, error_code&) override {
    // What a header promises is not yet worth memory: the body has to come first.
    constexpr std::uint64_t believed_max = 1U << 20;
    if (length) request.body.reserve(static_cast<std::size_t>(std::min(*length, believed_max)));
  }
  std::size_t on_body_impl(string_view bytes, error_code&) override {
    request.body.append(bytes.data(), bytes.size());
    return bytes.size();
  }
  void on_chunk_header_impl(std::uint64_t, string_view, error_code&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, string_view bytes, error_code&) override {
    request.body.append(bytes.data(), bytes.size());
    return bytes.size();
  }
  void on_finish_impl(error_code&) override {}

  const ParseLimits limits_;
  bool in_body_ = false;
};

RequestParser::RequestParser(const ParseLimits& limits) : impl_(std::make_unique<Impl>(limits)) {}
RequestParser::~RequestParser() = default;
std::size_t RequestParser::feed(std::string_view bytes) { return impl_->parse(bytes); }
bool RequestParser::has_begun() const { return impl_->got_some(); }
bool RequestParser::is_header_done() const { return impl_->is_header_done() && !impl_->failure; }
bool RequestParser::is_done() const { return impl_->is_done() && !impl_->failure; }
const std::optional<ParseFailure>& RequestParser::failure() const { return impl_->failure; }
bool RequestParser::keep_alive() const { return impl_->keep_alive(); }
const std::string& RequestParser::method() const { return impl_->request.method; }
const std::string& RequestParser::target() const { return impl_->request.target; }
Request RequestParser::take() { return std::move(impl_->request); }
bool RequestParser::expects_continue() const {
  return impl_->request.version == 11 && !impl_->request.headers.get("Expect").empty();
}

// --- responses ---------------------------------------------------------------------------------

class ResponseParser::Impl final : public beast_http::basic_parser<false> {
 public:
  Impl(const ParseLimits& limits, bool is_head, BodySink sink)
      : limits_(limits), sink_(std::move(sink)) {
    eager(true);
    header_limit(limits.header_bytes_max);
    body_limit(limits.body_bytes_max);
    if (is_head) skip(true);
  }

  std::size_t parse(std::string_view bytes) {
    if (failure || is_done() || bytes.empty()) return 0;
    error_code error;
    const std::size_t used = put(boost::asio::buffer(bytes.data(), bytes.size()), error);
    note(error);
    if (!failure && !is_done()) failure = endless_line(bytes.size() - used, limits_);
    return used;
  }

  void end() {
    if (failure || is_done()) return;
    error_code error;
    if (got_some()) put_eof(error);
    if (!got_some()) error = beast_http::error::partial_message;
    note(error);
  }

  int status = 0;
  Headers headers;
  std::optional<ParseFailure> failure;

 private:
  void note(const error_code& error) {
    if (error && error != beast_http::error::need_more && !failure) {
      failure = failure_of(error, limits_);
    }
  }
  void on_request_impl(beast_http::verb, string_view, string_view, int, error_code&) override {}
  void on_response_impl(int code, string_view, int, error_code&) override { status = code; }
  void on_field_impl(beast_http::field, string_view name, string_view value,
                     error_code& error) override {
    if (in_body_) return;
    if (headers.size() >= limits_.headers_max) {
      error = beast_http::error::header_limit;
      return;
    }
    headers.add(std::string(view(name)), std::string(view(value)));
  }
  void on_header_impl(error_code&) override { in_body_ = true; }
  void on_body_init_impl(const boost::optional<std::uint64_t>&, error_code&) override {}
  std::size_t take_body(string_view bytes, error_code& error) {
    if (!sink_(view(bytes))) {
      failure = ParseFailure{0, "stopped"};
      error = beast_http::error::bad_value;
    }
    return bytes.size();
  }
  std::size_t on_body_impl(string_view bytes, error_code& error) override {
    return take_body(bytes, error);
  }
  void on_chunk_header_impl(std::uint64_t, string_view, error_code&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, string_view bytes, error_code& error) override {
    return take_body(bytes, error);
  }
  void on_finish_impl(error_code&) override {}

  const ParseLimits limits_;
  BodySink sink_;
  bool in_body_ = false;
};

ResponseParser::ResponseParser(const ParseLimits& limits, bool is_head, BodySink sink)
    : impl_(std::make_unique<Impl>(limits, is_head, std::move(sink))) {}
ResponseParser::~ResponseParser() = default;
std::size_t ResponseParser::feed(std::string_view bytes) { return impl_->parse(bytes); }
void ResponseParser::feed_end() { impl_->end(); }
bool ResponseParser::has_begun() const { return impl_->got_some(); }
bool ResponseParser::is_header_done() const { return impl_->is_header_done(); }
bool ResponseParser::is_done() const { return impl_->is_done() && !impl_->failure; }
bool ResponseParser::keep_alive() const { return impl_->keep_alive() && !impl_->need_eof(); }
bool ResponseParser::is_interim() const { return is_done() && status() / 100 == 1; }
const std::optional<ParseFailure>& ResponseParser::failure() const { return impl_->failure; }
int ResponseParser::status() const { return impl_->status; }
const Headers& ResponseParser::headers() const { return impl_->headers; }

// --- writing -----------------------------------------------------------------------------------

namespace {

void append_header(std::string& out, std::string_view name, std::string_view value) {
  out += name;
  out += ": ";
  for (const char c : value) out += breaks_line(c) ? ' ' : c;
  out += "\r\n";
}

bool is_framing(std::string_view name) {
  return equals_ignoring_case(name, "Content-Length") ||
         equals_ignoring_case(name, "Transfer-Encoding") ||
         equals_ignoring_case(name, "Connection");
}

}  // namespace

bool is_sane_header(const Header& header) {
  return is_token(header.name) &&
         std::none_of(header.value.begin(), header.value.end(), breaks_line);
}

bool is_sane_request_id(std::string_view id) {
  return !id.empty() && id.size() <= 128 && std::all_of(id.begin(), id.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '_' || c == '.' || c == ':';
  });
}

void append_response_head(std::string& out, int status, const Headers& headers,
                          const HeadOptions& options) {
  fmt::format_to(std::back_inserter(out), "HTTP/1.1 {} {}\r\n", status, reason_phrase(status));
  if (!options.date.empty()) append_header(out, "Date", options.date);
  for (const Header& header : headers) {
    if (is_token(header.name) && !is_framing(header.name)) {
      append_header(out, header.name, header.value);
    }
  }
  if (options.framing == Framing::Length) {
    fmt::format_to(std::back_inserter(out), "Content-Length: {}\r\n", options.length);
  } else if (options.framing == Framing::Chunked) {
    out += "Transfer-Encoding: chunked\r\n";
  }
  if (!options.keep_alive) {
    out += "Connection: close\r\n";
  } else if (options.version < 11) {
    out += "Connection: keep-alive\r\n";
  }
  out += "\r\n";
}

std::string request_head(std::string_view method, std::string_view target, std::string_view host,
                         const Headers& headers, std::size_t body_bytes) {
  std::string out = fmt::format("{} {} HTTP/1.1\r\nHost: {}\r\n", method, target, host);
  for (const Header& header : headers) {
    if (!is_framing(header.name) && !equals_ignoring_case(header.name, "Host")) {
      append_header(out, header.name, header.value);
    }
  }
  const bool has_body_by_nature = method == "POST" || method == "PUT" || method == "PATCH";
  if (body_bytes > 0 || has_body_by_nature) {
    fmt::format_to(std::back_inserter(out), "Content-Length: {}\r\n", body_bytes);
  }
  out += "\r\n";
  return out;
}

}  // namespace muster::net
