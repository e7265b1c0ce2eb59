// Inside of net: bytes over TCP, TCP with TLS, or a Unix socket, as one type, so that HTTP is
// written (and compiled) once. Also what a WebSocket takes over after its handshake.
//
// All of it belongs to one I/O thread. One read and one write may be under way at the same time.
// cancel() and close() end both with an error.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "net/tls.h"

namespace muster::net {

namespace asio = boost::asio;
using boost::system::error_code;
using TcpSocket = asio::ip::tcp::socket;
using UnixSocket = asio::local::stream_protocol::socket;

/// "connection refused": as it stands in the middle of a sentence.
std::string said(const error_code& error);

class Transport {
 public:
  virtual ~Transport() = default;
  /// The handshake of TLS; nothing for others.
  virtual asio::awaitable<void> start(error_code& error) = 0;
  virtual asio::awaitable<std::size_t> read_some(asio::mutable_buffer room, error_code& error) = 0;
  /// All of it, or an error.
  virtual asio::awaitable<std::size_t> write(std::span<const asio::const_buffer> bytes,
                                             error_code& error) = 0;
  /// Tells the peer that nothing more comes. Best effort.
  virtual asio::awaitable<void> finish_writing() = 0;
  virtual void cancel() = 0;
  virtual void close() = 0;
  /// Closes at once and throws away what the peer has not taken.
  virtual void abort() = 0;
  /// Of what the peer has not taken yet the system holds about so much; the writer waits for more.
  virtual void hold_at_most(int bytes) = 0;
  /// Whether the peer closed a connection that nobody reads from at the moment.
  virtual bool is_stale() = 0;
  /// Why TLS refused the peer's certificate; "" if it did not.
  virtual std::string refusal() const { return {}; }
  /// Common name of the peer's verified certificate.
  virtual std::string peer_name() const { return {}; }
  /// A client's TLS inside of this connection, which is given up for it; the certificate has to be
  /// valid for the name when the context verifies. Null where there is no TLS: Unix sockets, and
  /// TLS inside of TLS inside of TLS.
  virtual std::unique_ptr<Transport> secured(const TlsContext& context,
                                             const std::string& server_name) = 0;
};

std::unique_ptr<Transport> plain_transport(TcpSocket socket);
std::unique_ptr<Transport> plain_transport(UnixSocket socket);
std::unique_ptr<Transport> tls_server_transport(TcpSocket socket, const TlsContext& context);

/// Bytes read and not yet used. Grows while a message needs it, and is given back in between.
class ReadBuffer {
 public:
  std::string_view unread() const { return {bytes_.data() + begin_, end_ - begin_}; }
  void drop(std::size_t count) { begin_ += count; }
  asio::mutable_buffer room();
  void grew(std::size_t count);
  void release();
  /// Between messages: a large buffer is given back, a small one stays.
  void relax();

 private:
  std::vector<char> bytes_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  bool was_filled_ = false;
};

}  // namespace muster::net
