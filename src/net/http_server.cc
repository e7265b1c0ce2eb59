#include "net/http_server.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <future>
#include <random>

#include "net/server_io.h"

namespace muster::net {

namespace {

using asio::ip::tcp;
using UnixProtocol = asio::local::stream_protocol;

std::uint64_t random_seed() {
  std::random_device device;
  return std::uint64_t{device()} << 32 | device();
}

/// Often enough for the shortest timeout, never so often that it costs.
std::chrono::milliseconds sweep_interval(const ServerOptions& options) {
  std::int64_t shortest = 1000;
  for (const Duration timeout : {options.idle_timeout, options.header_timeout, options.body_timeout,
                                 options.answer_timeout, options.write_timeout}) {
    if (timeout.ms > 0) shortest = std::min(shortest, timeout.ms);
  }
  return std::chrono::milliseconds(std::clamp<std::int64_t>(shortest / 4, 10, 250));
}

std::shared_ptr<ServerCore> make_core(ServerOptions options, Handler handler) {
  auto core = std::make_shared<ServerCore>();
  core->options = std::move(options);
  core->handler = std::move(handler);
  core->limits.header_bytes_max = core->options.header_bytes_max;
  core->limits.body_bytes_max = core->options.body_bytes_max;
  return core;
}

std::vector<std::shared_ptr<IoThread>> make_threads(const std::shared_ptr<ServerCore>& core) {
  std::vector<std::shared_ptr<IoThread>> threads;
  const int count = std::max(1, core->options.threads);
  for (int i = 0; i < count; ++i) threads.push_back(std::make_shared<IoThread>(core));
  return threads;
}

}  // namespace

// --- an I/O thread ------------------------------------------------------------------------------

IoThread::IoThread(std::shared_ptr<ServerCore> core)
    : core_(std::move(core)),
      work_(asio::make_work_guard(io_)),
      sweep_interval_(sweep_interval(core_->options)),
      prng_(random_seed()) {}

void IoThread::start() {
  asio::post(io_, [this] { sweep(); });
  thread_ = std::thread([this] { io_.run(); });
}

void IoThread::join() {
  if (thread_.joinable()) thread_.join();
}

void IoThread::wake(std::shared_ptr<Connection> connection) {
  const std::lock_guard lock(mutex_);
  if (is_cut_) return;
  woken_.push_back(std::move(connection));
  if (woken_.size() == 1) asio::post(io_, [this] { wake_listed(); });
}

void IoThread::wake_listed() {
  std::vector<std::shared_ptr<Connection>> list;
  {
    const std::lock_guard lock(mutex_);
    list.swap(woken_);
  }
  for (const auto& connection : list) connection->look();
}

void IoThread::wake_soon(std::shared_ptr<Connection> connection) {
  const std::lock_guard lock(mutex_);
  if (is_cut_) return;
  woken_soon_.push_back(std::move(connection));
  if (woken_soon_.size() == 1) asio::post(io_, [this] { gather(); });
}

void IoThread::post(std::function<void()> run) {
  const std::lock_guard lock(mutex_);
  if (!is_cut_) asio::post(io_, std::move(run));
}

/// The first bytes after a pause leave at once; in a flood every client is written to once per
/// interval, with all that came meanwhile.
void IoThread::gather() {
  const auto due = gathered_at_ + std::chrono::milliseconds(core_->options.stream_gather.ms);
  if (due <= std::chrono::steady_clock::now()) {
    wake_gathered();
    return;
  }
  gather_timer_.expires_at(due);
  gather_timer_.async_wait([this](const error_code&) { wake_gathered(); });
}

void IoThread::wake_gathered() {
  std::vector<std::shared_ptr<Connection>> list;
  {
    const std::lock_guard lock(mutex_);
    list.swap(woken_soon_);
  }
  gathered_at_ = std::chrono::steady_clock::now();
  for (const auto& connection : list) connection->look();
}

void IoThread::sweep() {
  const SteadyTime now = std::chrono::steady_clock::now();
  // Nothing that a connection does here takes it off the list: that happens in its own turn.
  for (Connection* connection : connections_) connection->check_deadline(now);
  sweep_timer_.expires_at(now + sweep_interval_);
  sweep_timer_.async_wait([this](const error_code& error) {
    if (!error && work_) sweep();
  });
}

void IoThread::begin_stop() {
  asio::post(io_, [this] {
    is_stopping_ = true;
    for (Connection* connection : connections_) connection->begin_stop();
  });
}

void IoThread::cut() {
  std::vector<std::shared_ptr<Connection>> unseen;
  {
    const std::lock_guard lock(mutex_);
    is_cut_ = true;
    unseen.swap(woken_);
    unseen.insert(unseen.end(), woken_soon_.begin(), woken_soon_.end());
    woken_soon_.clear();
  }
  asio::post(io_, [this] {
    is_stopping_ = true;
    work_.reset();
    sweep_timer_.cancel();
    gather_timer_.cancel();
    for (Connection* connection : connections_) connection->cut();
  });
}

void IoThread::add(Connection* connection) {
  connections_.insert(connection);
  if (!work_) connection->cut();
}

void IoThread::remove(Connection* connection) {
  connections_.erase(connection);
  {
    const std::lock_guard lock(core_->mutex);
    --core_->connections;
  }
  core_->gone.notify_all();
}

std::string_view IoThread::date() {
  const std::time_t now = std::time(nullptr);
  if (now != date_of_) {
    date_of_ = now;
    date_ = fmt::format("{:%a, %d %b %Y %H:%M:%S} GMT", fmt::gmtime(now));
  }
  return date_;
}

std::string IoThread::new_request_id() { return fmt::format("{:016x}", prng_.next()); }

// --- the server ---------------------------------------------------------------------------------

class HttpServer::Impl {
 public:
  Impl(ServerOptions options, Handler handler)
      : core_(make_core(std::move(options), std::move(handler))), threads_(make_threads(core_)) {}

  Status listen() {
    for (const Address& address : core_->options.listen) {
      const Status listening =
          address.unix_path.empty() ? listen_tcp(address) : listen_unix(address);
      if (!listening) return listening;
    }
    return Ok{};
  }

  void run() {
    for (auto& acceptor : tcp_) {
      asio::co_spawn(threads_[0]->io(), accept_tcp(acceptor), asio::detached);
    }
    for (auto& acceptor : unix_) {
      asio::co_spawn(threads_[0]->io(), accept_unix(acceptor), asio::detached);
    }
    for (const auto& thread : threads_) thread->start();
    is_running_ = true;
  }

  void stop(Duration grace) {
    const std::lock_guard once(stop_mutex_);
    if (!is_running_) return;
    is_running_ = false;
    is_stopping_ = true;
    // Before any thread ends, so that none is handed a connection afterwards.
    std::promise<void> closed;
    asio::post(threads_[0]->io(), [this, &closed] {
      close_acceptors();
      closed.set_value();
    });
    closed.get_future().wait();
    for (const auto& thread : threads_) thread->begin_stop();
    {
      std::unique_lock lock(core_->mutex);
      core_->gone.wait_for(lock, std::chrono::milliseconds(grace.ms),
                           [this] { return core_->connections == 0; });
    }
    for (const auto& thread : threads_) thread->cut();
    for (const auto& thread : threads_) thread->join();
    for (const Address& address : addresses_) {
      if (!address.unix_path.empty()) ::unlink(address.unix_path.c_str());
    }
  }

  Status reload_tls() {
    if (!core_->options.tls) return Ok{};
    auto context = make_tls_context(*core_->options.tls);
    if (!context) return context.error();
    const std::lock_guard lock(tls_mutex_);
    tls_ = std::move(*context);
    return Ok{};
  }

  const std::vector<Address>& addresses() const { return addresses_; }
  const ServerCore& core() const { return *core_; }

 private:
  static Error cannot_listen(const Address& address, const error_code& error) {
    return {Fault::Unavailable, fmt::format("listen: {}: {}", to_text(address), error.message())};
  }

  Status listen_tcp(Address address) {
    error_code error;
    asio::ip::address ip = asio::ip::address_v6::any();
    if (address.host == "localhost") {
      ip = asio::ip::address_v4::loopback();
    } else if (!address.host.empty()) {
      ip = asio::ip::make_address(address.host, error);
      if (error) {
        return invalid(fmt::format("listen: '{}' is not an IP address", address.host));
      }
    }
    tcp::acceptor acceptor(threads_[0]->io());
    acceptor.open(tcp::endpoint(ip, 0).protocol(), error);
    if (error && address.host.empty()) {  // no IPv6 on this machine
      ip = asio::ip::address_v4::any();
      acceptor.open(tcp::v4(), error);
    }
    if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error && address.host.empty() && ip.is_v6()) {
      acceptor.set_option(asio::ip::v6_only(false), error);
    }
    if (!error) acceptor.bind({ip, address.port}, error);
    if (!error) acceptor.listen(4096, error);
    if (error) return cannot_listen(address, error);
    address.port = acceptor.local_endpoint().port();
    addresses_.push_back(address);
    tcp_.push_back(std::move(acceptor));
    return Ok{};
  }

  Status listen_unix(const Address& address) {
    error_code error;
    UnixProtocol::endpoint endpoint;
    if (address.unix_path.size() > 107) {
      return invalid(fmt::format("listen: {}: longer than 107 bytes", to_text(address)));
    }
    endpoint.path(address.unix_path);
    // What a server that was killed left behind is in the way; a server that answers is not ours.
    UnixProtocol::socket probe(threads_[0]->io());
    probe.connect(endpoint, error);
    if (!error) return cannot_listen(address, asio::error::address_in_use);
    struct stat found = {};
    if (::stat(address.unix_path.c_str(), &found) == 0 && S_ISSOCK(found.st_mode)) {
      ::unlink(address.unix_path.c_str());
    }
    UnixProtocol::acceptor acceptor(threads_[0]->io());
    error = {};
    acceptor.open(UnixProtocol(), error);
    if (!error) acceptor.bind(endpoint, error);
    // Whoever may open it is a local user to us: only its owner may.
    if (!error && ::chmod(address.unix_path.c_str(), 0600) != 0) {
      error = error_code(errno, boost::system::system_category());
    }
    if (!error) acceptor.listen(4096, error);
    if (error) return cannot_listen(address, error);
    addresses_.push_back(address);
    unix_.push_back(std::move(acceptor));
    return Ok{};
  }

  void close_acceptors() {
    error_code ignored;
    for (auto& acceptor : tcp_) acceptor.close(ignored);
    for (auto& acceptor : unix_) acceptor.close(ignored);
    pause_.cancel();
  }

  const std::shared_ptr<IoThread>& next_thread() { return threads_[turn_++ % threads_.size()]; }

  /// Counts the connection; whether it is served, told to come later, or closed without a word.
  bool admit(Peer& peer) {
    const std::int64_t open = ++core_->connections;
    const std::int64_t max = core_->options.connections_max;
    if (open <= max) return true;
    ++core_->refused;
    peer.is_refused = true;
    if (open <= max + 64) return true;
    --core_->connections;
    return false;
  }

  asio::awaitable<void> accept_tcp(tcp::acceptor& acceptor) {
    while (!is_stopping_) {
      const std::shared_ptr<IoThread>& thread = next_thread();
      tcp::socket socket(thread->io());
      tcp::endpoint from;
      error_code error;
      co_await acceptor.async_accept(socket, from,
                                     asio::redirect_error(asio::use_awaitable, error));
      if (error || is_stopping_) {
        co_await pause_after(error);
        continue;
      }
      socket.set_option(tcp::no_delay(true), error);
      asio::ip::address ip = from.address();
      if (ip.is_v6() && ip.to_v6().is_v4_mapped()) {
        ip = asio::ip::make_address_v4(asio::ip::v4_mapped, ip.to_v6());
      }
      const TlsContext tls = tls_context();
      Peer peer{ip.to_string(), from.port(), ip.is_loopback(), tls != nullptr, false};
      if (!admit(peer)) continue;
      hand_over(
          thread,
          tls ? tls_server_transport(std::move(socket), tls) : plain_transport(std::move(socket)),
          std::move(peer));
    }
  }

  asio::awaitable<void> accept_unix(UnixProtocol::acceptor& acceptor) {
    while (!is_stopping_) {
      const std::shared_ptr<IoThread>& thread = next_thread();
      UnixProtocol::socket socket(thread->io());
      error_code error;
      co_await acceptor.async_accept(socket, asio::redirect_error(asio::use_awaitable, error));
      if (error || is_stopping_) {
        co_await pause_after(error);
        continue;
      }
      Peer peer{"unix", 0, true, false, false};
      if (admit(peer)) hand_over(thread, plain_transport(std::move(socket)), std::move(peer));
    }
  }

  /// Out of file descriptors, accepting fails at once and again: not in a hot loop.
  asio::awaitable<void> pause_after(const error_code& error) {
    if (is_stopping_ || error == asio::error::connection_aborted) co_return;
    error_code ignored;
    pause_.expires_after(std::chrono::milliseconds(100));
    co_await pause_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  }

  static void hand_over(const std::shared_ptr<IoThread>& thread,
                        std::unique_ptr<Transport> transport, Peer peer) {
    auto connection = std::make_shared<Connection>(thread, std::move(transport), std::move(peer));
    asio::post(thread->io(), [connection] { Connection::spawn(connection); });
  }

  TlsContext tls_context() {
    const std::lock_guard lock(tls_mutex_);
    return tls_;
  }

  const std::shared_ptr<ServerCore> core_;
  const std::vector<std::shared_ptr<IoThread>> threads_;
  std::vector<tcp::acceptor> tcp_;
  std::vector<UnixProtocol::acceptor> unix_;
  std::vector<Address> addresses_;
  asio::steady_timer pause_{threads_[0]->io()};
  std::size_t turn_ = 0;
  std::mutex tls_mutex_;
  TlsContext tls_;  // guarded by tls_mutex_
  std::mutex stop_mutex_;
  bool is_running_ = false;  // guarded by stop_mutex_
  std::atomic<bool> is_stopping_ = false;
};

Result<std::unique_ptr<HttpServer>> HttpServer::start(ServerOptions options, Handler handler) {
  auto impl = std::make_unique<Impl>(std::move(options), std::move(handler));
  if (auto loaded = impl->reload_tls(); !loaded) return loaded.error();
  if (auto listening = impl->listen(); !listening) return listening.error();
  impl->run();
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpServer::~HttpServer() { impl_->stop({}); }

const std::vector<Address>& HttpServer::addresses() const { return impl_->addresses(); }

std::uint16_t HttpServer::port() const {
  for (const Address& address : impl_->addresses()) {
    if (address.unix_path.empty()) return address.port;
  }
  return 0;
}

std::string HttpServer::url() const {
  for (Address address : impl_->addresses()) {
    if (!address.unix_path.empty()) continue;
    const bool is_any = address.host.empty() || address.host == "0.0.0.0" || address.host == "::";
    if (is_any) address.host = "localhost";
    return fmt::format("{}://{}", impl_->core().options.tls ? "https" : "http", to_text(address));
  }
  return {};
}

ServerStats HttpServer::stats() const {
  const ServerCore& core = impl_->core();
  return {core.connections, core.streams, core.requests, core.refused, core.dropped};
}

Status HttpServer::reload_tls() { return impl_->reload_tls(); }
void HttpServer::stop(Duration grace) { impl_->stop(grace); }

}  // namespace muster::net
