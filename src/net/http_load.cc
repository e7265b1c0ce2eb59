#include "net/http_load.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <optional>

#include "net/http_server.h"
#include "net/wire.h"

namespace muster::net {

namespace {

using Clock = std::chrono::steady_clock;

Error broken(std::string_view doing) {
  return {Fault::Unavailable, fmt::format("load: {}: {}", doing, std::strerror(errno))};
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

/// A connection with at most one request under way.
struct Lane {
  explicit Lane(int fd) : socket(fd) {}
  Descriptor socket;
  std::string out;
  std::size_t sent = 0;
  std::string in;
  std::string body;
  std::optional<ResponseParser> parser;
  Clock::time_point begun;
};

class Load {
 public:
  explicit Load(const LoadOptions& options) : options_(options), epoll_(::epoll_create1(0)) {}

  Result<LoadResult> run() {
    if (epoll_.get() < 0) return broken("epoll");
    for (int i = 0; i < options_.connections; ++i) {
      if (const Status opened = open(); !opened) return opened.error();
    }
    started_ = Clock::now();
    until_ = started_ + std::chrono::milliseconds(options_.length.ms);
    for (const auto& lane : lanes_) {
      if (const Status begun = begin(*lane); !begun) return begun.error();
    }
    std::array<epoll_event, 64> events;
    while (busy_ > 0) {
      const int count = ::epoll_wait(epoll_.get(), events.data(), events.size(), 30'000);
      if (count == 0) return Error{Fault::Unavailable, "load: no answer for 30 s"};
      if (count < 0 && errno != EINTR) return broken("epoll");
      for (int i = 0; i < count; ++i) {
        const epoll_event& event = events[static_cast<std::size_t>(i)];
        const Status served = serve(*static_cast<Lane*>(event.data.ptr), event.events);
        if (!served) return served.error();
      }
    }
    return result();
  }

 private:
  Status open() {
    sockaddr_in to = {};
    to.sin_family = AF_INET;
    to.sin_port = htons(options_.port);
    if (::inet_pton(AF_INET, options_.host.c_str(), &to.sin_addr) != 1) {
      return invalid(fmt::format("host: '{}' is not an IPv4 address", options_.host));
    }
    auto lane = std::make_unique<Lane>(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const int fd = lane->socket.get();
    const int yes = 1;
    if (fd < 0 || ::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) {
      return broken(fmt::format("connect to {}:{}", options_.host, options_.port));
    }
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    epoll_event event = {};
    event.events = EPOLLIN;
    event.data.ptr = lane.get();
    if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) return broken("epoll");
    lanes_.push_back(std::move(lane));
    return Ok{};
  }

  Status begin(Lane& lane) {
    const bool enough = options_.requests_max > 0 && begun_ >= options_.requests_max;
    if (enough || Clock::now() >= until_) return Ok{};
    const std::string body = options_.body ? options_.body(begun_) : "";
    const std::string target = options_.target_of ? options_.target_of(begun_) : options_.target;
    ++begun_;
    ++busy_;
    lane.out = fmt::format("{} {} HTTP/1.1\r\nHost: {}:{}\r\nContent-Length: {}\r\n",
                           options_.method, target, options_.host, options_.port, body.size());
    for (const std::string& header : options_.headers) lane.out += header + "\r\n";
    lane.out += "\r\n" + body;
    lane.sent = 0;
    lane.body.clear();
    lane.parser.emplace(ParseLimits{.body_bytes_max = 1U << 30}, options_.method == "HEAD",
                        [&lane](std::string_view bytes) {
                          lane.body += bytes;
                          return true;
                        });
    lane.begun = Clock::now();
    return write(lane);
  }

  Status write(Lane& lane) {
    while (lane.sent < lane.out.size()) {
      const ssize_t count = ::send(lane.socket.get(), lane.out.data() + lane.sent,
                                   lane.out.size() - lane.sent, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (count < 0 && errno == EAGAIN) return listen_for(lane, EPOLLIN | EPOLLOUT);
      if (count <= 0) return broken("write");
      lane.sent += static_cast<std::size_t>(count);
    }
    return Ok{};
  }

  Status listen_for(Lane& lane, std::uint32_t what) {
    epoll_event event = {};
    event.events = what;
    event.data.ptr = &lane;
    if (::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, lane.socket.get(), &event) != 0) {
      return broken("epoll");
    }
    return Ok{};
  }

  Status serve(Lane& lane, std::uint32_t what) {
    if ((what & EPOLLOUT) != 0) {
      if (Status listening = listen_for(lane, EPOLLIN); !listening) return listening;
      if (Status written = write(lane); !written) return written;
    }
    if ((what & ~static_cast<std::uint32_t>(EPOLLOUT)) == 0) return Ok{};
    std::array<char, 65536> bytes;
    const ssize_t count = ::recv(lane.socket.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (count < 0 && errno == EAGAIN) return Ok{};
    if (count < 0) return broken("read");
    if (count == 0 || !lane.parser) {
      return Error{Fault::Unavailable, "load: the server closed a connection"};
    }
    lane.in.append(bytes.data(), static_cast<std::size_t>(count));
    lane.in.erase(0, lane.parser->feed(lane.in));
    if (lane.parser->failure()) {
      return Error{Fault::Unavailable, "load: answer: " + lane.parser->failure()->message};
    }
    return lane.parser->is_done() ? finish(lane) : Ok{};
  }

  Status finish(Lane& lane) {
    --busy_;
    const int status = lane.parser->status();
    const bool stays = lane.parser->keep_alive();
    lane.parser.reset();
    const auto took = Clock::now() - lane.begun;
    took_us_.push_back(static_cast<std::uint32_t>(
        std::chrono::duration_cast<std::chrono::microseconds>(took).count()));
    if (status / 100 != 2) ++refused_;
    if (options_.on_answer) options_.on_answer(status, lane.body);
    if (!stays) return Error{Fault::Unavailable, "load: the server keeps no connection"};
    return begin(lane);
  }

  LoadResult result() {
    LoadResult result;
    result.answers = took_us_.size();
    result.refused = refused_;
    result.seconds = std::chrono::duration<double>(Clock::now() - started_).count();
    result.per_second = static_cast<double>(result.answers - refused_) / result.seconds;
    if (took_us_.empty()) return result;
    std::sort(took_us_.begin(), took_us_.end());
    const auto at = [this](std::size_t percent) {
      return took_us_[(took_us_.size() - 1) * percent / 100] / 1000.0;
    };
    result.p50_ms = at(50);
    result.p99_ms = at(99);
    result.max_ms = at(100);
    return result;
  }

  const LoadOptions& options_;
  Descriptor epoll_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  Clock::time_point started_;
  Clock::time_point until_;
  std::uint64_t begun_ = 0;
  std::uint64_t refused_ = 0;
  int busy_ = 0;
  std::vector<std::uint32_t> took_us_;
};

}  // namespace

Result<LoadResult> run_load(const LoadOptions& options) { return Load(options).run(); }

Result<LoadResult> measure_http_limit(int connections, Duration length) {
  auto server = HttpServer::start({}, [](const Request&, const Responder& answer) {
    static const SharedBytes constant = share("hello\n");
    answer.send({200, {}, constant});
  });
  if (!server) return server.error();
  return run_load({.port = (*server)->port(), .connections = connections, .length = length});
}

}  // namespace muster::net
