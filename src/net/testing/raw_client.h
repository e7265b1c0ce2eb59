// A blocking socket for tests: sends whatever bytes the test writes, reads with a limit of time.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "base/check.h"

namespace muster::net::testing {

class RawClient {
 public:
  explicit RawClient(std::uint16_t port, int receive_buffer = 0) {
    socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    MUSTER_CHECK(socket_ >= 0, "socket: {}", std::strerror(errno));
    if (receive_buffer > 0) {
      ::setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    }
    sockaddr_in to = {};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connect(&to, sizeof to);
  }
  explicit RawClient(const std::string& unix_path) {
    socket_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un to = {};
    to.sun_family = AF_UNIX;
    std::memcpy(to.sun_path, unix_path.c_str(), unix_path.size() + 1);
    connect(&to, sizeof to);
  }
  static RawClient of_socket(int socket) {
    RawClient client;
    client.socket_ = socket;
    return client;
  }
  RawClient(RawClient&& other) noexcept
      : socket_(std::exchange(other.socket_, -1)), unread_(std::move(other.unread_)) {}
  RawClient& operator=(RawClient&&) = delete;
  ~RawClient() { close(); }

  void close() {
    if (socket_ >= 0) ::close(std::exchange(socket_, -1));
  }
  void close_writing() { ::shutdown(socket_, SHUT_WR); }

  /// False when the peer closed.
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }

  /// All up to and with the mark; what was there when the peer closed or 10 s passed, otherwise.
  std::string read_until(std::string_view mark) {
    while (unread_.find(mark) == std::string::npos) {
      if (!read_more()) return std::exchange(unread_, {});
    }
    const std::size_t end = unread_.find(mark) + mark.size();
    std::string found = unread_.substr(0, end);
    unread_.erase(0, end);
    return found;
  }

  /// One response with a Content-Length, head and body.
  std::string read_response() {
    std::string head = read_until("\r\n\r\n");
    const std::size_t at = head.find("Content-Length: ");
    if (at == std::string::npos) return head;
    return head + read_bytes(static_cast<std::size_t>(std::stoul(head.substr(at + 16))));
  }

  std::string read_bytes(std::size_t count) {
    while (unread_.size() < count && read_more()) {
    }
    std::string found = unread_.substr(0, count);
    unread_.erase(0, count);
    return found;
  }

  /// Everything until the peer closes.
  std::string read_all() {
    while (read_more()) {
    }
    return std::exchange(unread_, {});
  }

  int socket() const { return socket_; }
  bool is_closed_by_peer() { return read_all().empty() && has_ended_; }

 private:
  RawClient() = default;
  void connect(const void* to, socklen_t size) {
    const int result = ::connect(socket_, static_cast<const sockaddr*>(to), size);
    MUSTER_CHECK(result == 0, "connect: {}", std::strerror(errno));
  }

  bool read_more() {
    pollfd wait = {socket_, POLLIN, 0};
    if (::poll(&wait, 1, 10'000) <= 0) return false;
    char bytes[16384];
    const ssize_t count = ::recv(socket_, bytes, sizeof bytes, 0);
    if (count <= 0) {
      has_ended_ = true;
      return false;
    }
    unread_.append(bytes, static_cast<std::size_t>(count));
    return true;
  }

  int socket_ = -1;
  bool has_ended_ = false;
  std::string unread_;
};

/// Passes bytes both ways until one side closes.
inline void splice(RawClient& a, RawClient& b) {
  while (true) {
    pollfd wait[2] = {{a.socket(), POLLIN, 0}, {b.socket(), POLLIN, 0}};
    if (::poll(wait, 2, 10'000) <= 0) return;
    for (int i = 0; i < 2; ++i) {
      if ((wait[i].revents & (POLLIN | POLLHUP | POLLERR)) == 0) continue;
      char bytes[16384];
      const ssize_t count = ::recv(wait[i].fd, bytes, sizeof bytes, 0);
      if (count <= 0) return;
      (i == 0 ? b : a).send({bytes, static_cast<std::size_t>(count)});
    }
  }
}

}  // namespace muster::net::testing
