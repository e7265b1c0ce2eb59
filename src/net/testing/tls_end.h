// The server's end of a TLS connection, blocking, for tests that play a proxy by hand.
#pragma once

#include <openssl/ssl.h>
#include <poll.h>

#include <array>
#include <string>
#include <string_view>

#include "base/check.h"
#include "net/testing/raw_client.h"
#include "net/tls.h"

namespace muster::net::testing {

class TlsEnd {
 public:
  /// Waits for the client's handshake; one that fails shows as a connection that ends at once.
  TlsEnd(const RawClient& socket, const TlsServerOptions& options) : socket_(socket) {
    auto context = make_tls_context(options);
    MUSTER_CHECK(context.ok(), "{}", context.error().message);
    context_ = *context;
    ssl_ = SSL_new(context_.get());
    SSL_set_fd(ssl_, socket.socket());
    is_open_ = SSL_accept(ssl_) == 1;
  }
  TlsEnd(const TlsEnd&) = delete;
  TlsEnd& operator=(const TlsEnd&) = delete;
  ~TlsEnd() { SSL_free(ssl_); }

  std::string read_until(std::string_view mark) {
    std::string found;
    char byte = 0;
    while (is_open_ && found.find(mark) == std::string::npos) {
      is_open_ = SSL_read(ssl_, &byte, 1) == 1;
      if (is_open_) found += byte;
    }
    return found;
  }

  void send(std::string_view bytes) {
    if (!bytes.empty()) SSL_write(ssl_, bytes.data(), static_cast<int>(bytes.size()));
  }

  /// Passes bytes between this end and a plain connection until one of them closes.
  void splice(RawClient& to) {
    std::array<char, 16384> bytes = {};
    for (;;) {
      std::array<pollfd, 2> wait = {pollfd{socket_.socket(), POLLIN, 0},
                                    pollfd{to.socket(), POLLIN, 0}};
      if (SSL_pending(ssl_) == 0 && ::poll(wait.data(), wait.size(), 10'000) <= 0) return;
      if (SSL_pending(ssl_) > 0 || wait[0].revents != 0) {
        const int count = SSL_read(ssl_, bytes.data(), static_cast<int>(bytes.size()));
        if (count <= 0) return;
        to.send({bytes.data(), static_cast<std::size_t>(count)});
      }
      if (wait[1].revents != 0) {
        const ssize_t count = ::recv(to.socket(), bytes.data(), bytes.size(), 0);
        if (count <= 0) return;
        send({bytes.data(), static_cast<std::size_t>(count)});
      }
    }
  }

 private:
  const RawClient& socket_;
  TlsContext context_;
  SSL* ssl_ = nullptr;
  bool is_open_ = false;
};

}  // namespace muster::net::testing
