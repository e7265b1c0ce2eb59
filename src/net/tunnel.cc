#include "net/tunnel.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <array>
#include <string>

#include "net/base64.h"
#include "net/proxy.h"
#include "net/wire.h"

namespace muster::net {

namespace {

Error refused(const Url& to, const Url& proxy, std::string_view why) {
  return {Fault::Unavailable,
          fmt::format("proxy {} does not connect to {}: {}", proxy.origin(), to.authority(), why)};
}

asio::awaitable<Status> connect_http(Transport& link, const Url& to, const Url& proxy) {
  Headers headers;
  if (!proxy.userinfo.empty()) {
    headers.add("Proxy-Authorization", "Basic " + base64_encode(proxy.userinfo));
  }
  const std::string head = request_head("CONNECT", to.authority(), to.authority(), headers, 0);
  error_code error;
  co_await link.write(std::array{asio::const_buffer(asio::buffer(head))}, error);
  ResponseParser parser({}, true, [](std::string_view) { return true; });
  ReadBuffer buffer;
  while (!error && !parser.is_done() && !parser.failure()) {
    buffer.grew(co_await link.read_some(buffer.room(), error));
    buffer.drop(parser.feed(buffer.unread()));
  }
  if (!error && !parser.failure() && parser.status() / 100 == 2) co_return Ok{};
  co_return refused(to, proxy,
                    parser.is_done()
                        ? fmt::format("{} {}", parser.status(), reason_phrase(parser.status()))
                    : error ? said(error)
                            : "not an HTTP proxy");
}

// --- SOCKS 5: RFC 1928, and 1929 for names and passwords

constexpr char version = 5;

/// A text with its size in one byte before it; cut off where that ends.
std::string counted(std::string_view text) {
  text = text.substr(0, 255);
  return static_cast<char>(text.size()) + std::string(text);
}

/// To connect to a host and a port: an address as it is, a name for the proxy to look up.
std::string socks_request(const Url& to) {
  std::string request = {version, 1, 0};
  std::array<char, 16> address = {};
  if (::inet_pton(AF_INET, to.host.c_str(), address.data()) == 1) {
    request += '\x01' + std::string(address.data(), 4);
  } else if (::inet_pton(AF_INET6, to.host.c_str(), address.data()) == 1) {
    request += '\x04' + std::string(address.data(), address.size());
  } else {
    request += '\x03' + counted(to.host);
  }
  request += static_cast<char>(to.port >> 8);
  request += static_cast<char>(to.port & 0xff);
  return request;
}

std::string socks_refusal(unsigned char code) {
  constexpr std::array<std::string_view, 9> words = {"",
                                                     "it failed",
                                                     "its rules forbid it",
                                                     "no way to that network",
                                                     "no way to that host",
                                                     "connection refused",
                                                     "it took too long",
                                                     "it cannot connect",
                                                     "it does not know such addresses"};
  return code < words.size() ? std::string(words.at(code)) : fmt::format("error {}", code);
}

/// What was said to a SOCKS proxy and what it answered.
class Socks {
 public:
  Socks(Transport& link, const Url& to, const Url& proxy) : link_(link), to_(to), proxy_(proxy) {}

  asio::awaitable<Status> connect() {
    if (to_.host.size() > 255) co_return no("the host's name is too long");
    const bool has_name = !proxy_.userinfo.empty();
    const std::string ways = has_name ? std::string("\x02\x00\x02", 3) : std::string("\x01\x00", 2);
    if (!co_await ask(version + ways, 2)) co_return no(failure());
    if (answer_[0] != version) co_return no("not a SOCKS 5 proxy");
    if (answer_[1] == 2 && has_name) {
      const std::size_t colon = std::min(proxy_.userinfo.find(':'), proxy_.userinfo.size());
      const std::string_view user = std::string_view(proxy_.userinfo).substr(0, colon);
      const std::string_view secret =
          std::string_view(proxy_.userinfo).substr(std::min(colon + 1, proxy_.userinfo.size()));
      if (!co_await ask('\x01' + counted(user) + counted(secret), 2)) co_return no(failure());
      if (answer_[1] != 0) co_return no("it does not know that name and password");
    } else if (answer_[1] != 0) {
      co_return no("it wants a name and a password");
    }
    if (!co_await ask(socks_request(to_), 4)) co_return no(failure());
    if (answer_[1] != 0) co_return no(socks_refusal(static_cast<unsigned char>(answer_[1])));
    // Where the proxy's own end is: nobody needs it, but it has to be read.
    std::size_t rest = 4;
    if (answer_[3] == 4) rest = 16;
    if (answer_[3] == 3) {
      if (!co_await ask("", 1)) co_return no(failure());
      rest = static_cast<unsigned char>(answer_[0]);
    }
    if (!co_await ask("", rest + 2)) co_return no(failure());
    co_return Ok{};
  }

 private:
  /// False: it did not answer with so many bytes.
  asio::awaitable<bool> ask(std::string bytes, std::size_t size) {
    co_await link_.write(std::array{asio::const_buffer(asio::buffer(bytes))}, error_);
    answer_.assign(size, '\0');
    std::size_t read = 0;
    while (!error_ && read < size) {
      read += co_await link_.read_some(asio::buffer(answer_) + read, error_);
    }
    co_return !error_;
  }
  std::string failure() const {
    return error_ == asio::error::eof ? "it closed the connection" : said(error_);
  }
  Error no(std::string_view why) const { return refused(to_, proxy_, why); }

  Transport& link_;
  const Url& to_;
  const Url& proxy_;
  std::string answer_;
  error_code error_;
};

}  // namespace

asio::awaitable<Status> open_tunnel(Transport& link, Url to, const Url& proxy) {
  to.port = to.effective_port();
  if (!is_socks(proxy)) co_return co_await connect_http(link, to, proxy);
  Socks socks(link, to, proxy);
  co_return co_await socks.connect();
}

}  // namespace muster::net
