#include "net/transport.h"

#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <sys/socket.h>

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <cerrno>
#include <cstring>

namespace muster::net {

namespace {

auto into(error_code& error) { return asio::redirect_error(asio::use_awaitable, error); }

bool closed_by_peer(int descriptor) {
  char byte = 0;
  const ssize_t seen = ::recv(descriptor, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return seen == 0 || (seen < 0 && errno != EAGAIN && errno != EWOULDBLOCK);
}

template <typename Socket>
void abort_socket(Socket& socket) {
  error_code ignored;
  socket.set_option(asio::socket_base::linger(true, 0), ignored);
  socket.close(ignored);
}

template <typename Socket>
void limit_send_buffer(Socket& socket, int bytes) {
  error_code ignored;
  socket.set_option(asio::socket_base::send_buffer_size(bytes), ignored);
}

SSL* client_session(const TlsContext& context, const std::string& server_name) {
  SSL* ssl = SSL_new(context.get());
  X509_VERIFY_PARAM* checks = SSL_get0_param(ssl);
  if (X509_VERIFY_PARAM_set1_ip_asc(checks, server_name.c_str()) != 1) {
    X509_VERIFY_PARAM_set1_host(checks, server_name.data(), server_name.size());
    SSL_set_tlsext_host_name(ssl, server_name.c_str());
  }
  static constexpr unsigned char protocols[] = "\x08http/1.1";
  SSL_set_alpn_protos(ssl, protocols, sizeof protocols - 1);
  return ssl;
}

/// TLS over a socket, or over the TLS of a proxy.
template <typename Below>
std::unique_ptr<Transport> tls_over(Below below, SSL* ssl,
                                    asio::ssl::stream_base::handshake_type role);

template <typename Socket>
class PlainTransport final : public Transport {
 public:
  explicit PlainTransport(Socket socket) : socket_(std::move(socket)) {}

  asio::awaitable<void> start(error_code& error) override {
    error = {};
    co_return;
  }
  asio::awaitable<std::size_t> read_some(asio::mutable_buffer room, error_code& error) override {
    return socket_.async_read_some(room, into(error));
  }
  asio::awaitable<std::size_t> write(std::span<const asio::const_buffer> bytes,
                                     error_code& error) override {
    return asio::async_write(socket_, bytes, into(error));
  }
  asio::awaitable<void> finish_writing() override {
    error_code ignored;
    socket_.shutdown(Socket::shutdown_send, ignored);
    co_return;
  }
  void cancel() override {
    error_code ignored;
    socket_.cancel(ignored);
  }
  void close() override {
    error_code ignored;
    socket_.close(ignored);
  }
  void abort() override { abort_socket(socket_); }
  void hold_at_most(int bytes) override { limit_send_buffer(socket_, bytes); }
  bool is_stale() override { return closed_by_peer(socket_.native_handle()); }
  std::unique_ptr<Transport> secured(const TlsContext& context,
                                     const std::string& server_name) override {
    if constexpr (std::is_same_v<Socket, TcpSocket>) {
      return tls_over(std::move(socket_), client_session(context, server_name),
                      asio::ssl::stream_base::client);
    }
    return nullptr;
  }

 private:
  Socket socket_;
};

template <typename Below>
class TlsTransport final : public Transport {
 public:
  TlsTransport(Below below, SSL* ssl, asio::ssl::stream_base::handshake_type role)
      : stream_(std::move(below), ssl), role_(role) {}

  asio::awaitable<void> start(error_code& error) override {
    return stream_.async_handshake(role_, into(error));
  }
  asio::awaitable<std::size_t> read_some(asio::mutable_buffer room, error_code& error) override {
    return stream_.async_read_some(room, into(error));
  }
  asio::awaitable<std::size_t> write(std::span<const asio::const_buffer> bytes,
                                     error_code& error) override {
    return asio::async_write(stream_, bytes, into(error));
  }
  asio::awaitable<void> finish_writing() override {
    error_code ignored;
    co_await stream_.async_shutdown(into(ignored));
    stream_.lowest_layer().shutdown(TcpSocket::shutdown_send, ignored);
  }
  void cancel() override {
    error_code ignored;
    stream_.lowest_layer().cancel(ignored);
  }
  void close() override {
    error_code ignored;
    stream_.lowest_layer().close(ignored);
  }
  void abort() override { abort_socket(stream_.lowest_layer()); }
  void hold_at_most(int bytes) override { limit_send_buffer(stream_.lowest_layer(), bytes); }
  bool is_stale() override { return closed_by_peer(stream_.lowest_layer().native_handle()); }

  std::unique_ptr<Transport> secured(const TlsContext& context,
                                     const std::string& server_name) override {
    if constexpr (std::is_same_v<Below, TcpSocket>) {
      return tls_over(std::move(stream_), client_session(context, server_name),
                      asio::ssl::stream_base::client);
    }
    return nullptr;
  }

  std::string refusal() const override {
    const long result = SSL_get_verify_result(handle());
    return result == X509_V_OK ? "" : X509_verify_cert_error_string(result);
  }
  std::string peer_name() const override {
    X509* cert = SSL_get1_peer_certificate(handle());
    if (cert == nullptr) return {};
    char name[256] = {};
    const int size =
        X509_NAME_get_text_by_NID(X509_get_subject_name(cert), NID_commonName, name, sizeof name);
    X509_free(cert);
    // A zero byte inside would let "admin\0.evil" pass for "admin".
    return size > 0 && std::strlen(name) == static_cast<std::size_t>(size) ? name : "";
  }

 private:
  SSL* handle() const { return const_cast<asio::ssl::stream<Below>&>(stream_).native_handle(); }

  asio::ssl::stream<Below> stream_;
  asio::ssl::stream_base::handshake_type role_;
};

template <typename Below>
std::unique_ptr<Transport> tls_over(Below below, SSL* ssl,
                                    asio::ssl::stream_base::handshake_type role) {
  return std::make_unique<TlsTransport<Below>>(std::move(below), ssl, role);
}

}  // namespace

std::string said(const error_code& error) {
  std::string text = error.message();
  if (!text.empty() && text[0] >= 'A' && text[0] <= 'Z') text[0] = static_cast<char>(text[0] + 32);
  return text;
}

std::unique_ptr<Transport> plain_transport(TcpSocket socket) {
  return std::make_unique<PlainTransport<TcpSocket>>(std::move(socket));
}

std::unique_ptr<Transport> plain_transport(UnixSocket socket) {
  return std::make_unique<PlainTransport<UnixSocket>>(std::move(socket));
}

std::unique_ptr<Transport> tls_server_transport(TcpSocket socket, const TlsContext& context) {
  return tls_over(std::move(socket), SSL_new(context.get()), asio::ssl::stream_base::server);
}

asio::mutable_buffer ReadBuffer::room() {
  constexpr std::size_t first_bytes = 4096;
  constexpr std::size_t eager_bytes_max = 64U << 10;
  if (begin_ > 0) {
    std::memmove(bytes_.data(), bytes_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  // More comes at once than fits, or a message needs more than there is: twice as much.
  const bool grows = was_filled_ && bytes_.size() < eager_bytes_max;
  if (grows || end_ == bytes_.size()) bytes_.resize(std::max(first_bytes, bytes_.size() * 2));
  return asio::buffer(bytes_.data() + end_, bytes_.size() - end_);
}

void ReadBuffer::grew(std::size_t count) {
  end_ += count;
  was_filled_ = end_ == bytes_.size();
}

void ReadBuffer::release() {
  bytes_ = {};
  begin_ = end_ = 0;
  was_filled_ = false;
}

void ReadBuffer::relax() {
  constexpr std::size_t kept_bytes_max = 16U << 10;
  if (begin_ == end_ && bytes_.size() > kept_bytes_max) release();
}

}  // namespace muster::net
