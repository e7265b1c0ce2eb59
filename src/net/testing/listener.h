// A listening socket on loopback for tests that play a server by hand.
#pragma once

#include "net/testing/raw_client.h"

namespace muster::net::testing {

class Listener {
 public:
  Listener() {
    socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in at = {};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    const bool listens = ::bind(socket_, reinterpret_cast<const sockaddr*>(&at), size) == 0 &&
                         ::listen(socket_, 16) == 0 &&
                         ::getsockname(socket_, reinterpret_cast<sockaddr*>(&at), &size) == 0;
    MUSTER_CHECK(listens, "listen: {}", std::strerror(errno));
    port_ = ntohs(at.sin_port);
  }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  ~Listener() { ::close(socket_); }

  std::uint16_t port() const { return port_; }
  RawClient accept() {
    pollfd wait = {socket_, POLLIN, 0};
    MUSTER_CHECK(::poll(&wait, 1, 10'000) == 1, "nobody connected within 10 s");
    return RawClient::of_socket(::accept(socket_, nullptr, nullptr));
  }

 private:
  int socket_ = -1;
  std::uint16_t port_ = 0;
};

}  // namespace muster::net::testing
