#include "net/stream_load.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <mutex>
#include <thread>

namespace muster::net {

namespace {

constexpr Duration head_limit = seconds(60);
constexpr std::chrono::milliseconds look_pause{20};
constexpr int small_buffer = 4096;  // of those that do not read: they shall fall behind

Error broken(std::string_view doing) {
  return {Fault::Unavailable, fmt::format("streams: {}: {}", doing, std::strerror(errno))};
}

}  // namespace

void StreamCounter::feed(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    if (end == std::string_view::npos) {
      begun_ += bytes;
      return;
    }
    if (begun_.empty()) {
      line(bytes.substr(0, end));
    } else {
      begun_ += bytes.substr(0, end);
      line(begun_);
      begun_.clear();
    }
    bytes.remove_prefix(end + 1);
  }
}

void StreamCounter::line(std::string_view text) {
  constexpr std::string_view head = "HTTP/1.1 ";
  constexpr std::string_view id = "id: ";
  if (seen_.status == 0 && text.starts_with(head)) {
    std::from_chars(text.data() + head.size(), text.data() + text.size(), seen_.status);
    return;
  }
  if (!text.starts_with(id)) return;
  std::uint64_t number = 0;
  std::from_chars(text.data() + id.size(), text.data() + text.size(), number);
  if (seen_.first_id == 0) seen_.first_id = number;
  const bool follows = seen_.last_id == 0 || number == seen_.last_id || number == seen_.last_id + 1;
  if (!follows) ++seen_.gaps;
  seen_.last_id = number;
  ++seen_.events;
}

class StreamLoad::Impl {
 public:
  explicit Impl(std::size_t clients) : epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
    lanes_.reserve(clients);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() {
    stopping_ = true;
    if (thread_.joinable()) thread_.join();
    for (const Lane& lane : lanes_) ::close(lane.fd);
    if (epoll_ >= 0) ::close(epoll_);
  }

  Status connect(const std::string& host, std::uint16_t port, const StreamClient& client) {
    sockaddr_in to = {};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    if (::inet_pton(AF_INET, host.c_str(), &to.sin_addr) != 1)
      return invalid(fmt::format("host: '{}' is not an IPv4 address", host));
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return broken("socket");
    lanes_.push_back({fd, client.reads, {}});
    if (!client.reads) ::setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small_buffer, sizeof small_buffer);
    if (::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0)
      return broken("connect");
    std::string request =
        fmt::format("GET {} HTTP/1.1\r\nHost: {}:{}\r\n", client.target, host, port);
    if (!client.last_event_id.empty())
      request += fmt::format("Last-Event-ID: {}\r\n", client.last_event_id);
    request += "\r\n";
    if (::send(fd, request.data(), request.size(), MSG_NOSIGNAL) !=
        static_cast<ssize_t>(request.size()))
      return broken("write");
    return client.reads ? listen_to(lanes_.size() - 1) : Status(Ok{});
  }

  void start() {
    thread_ = std::thread([this] { run(); });
  }

  std::vector<StreamSeen> seen() const {
    const std::lock_guard lock(mutex_);
    std::vector<StreamSeen> all;
    all.reserve(lanes_.size());
    for (const Lane& lane : lanes_) all.push_back(lane.counter.seen());
    return all;
  }

  void read_all() {
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      if (!std::exchange(lanes_[i].reads, true)) static_cast<void>(listen_to(i));
    }
  }

 private:
  struct Lane {
    int fd = -1;
    bool reads = true;
    StreamCounter counter;
  };

  Status listen_to(std::size_t lane) {
    epoll_event event = {};
    event.events = EPOLLIN;
    event.data.u64 = lane;
    if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, lanes_[lane].fd, &event) != 0) return broken("epoll");
    return Ok{};
  }

  void run() {
    ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), 19);
    std::array<epoll_event, 256> events;
    while (!stopping_) {
      const int count = ::epoll_wait(epoll_, events.data(), events.size(), 100);
      const std::lock_guard lock(mutex_);
      for (int i = 0; i < count; ++i) read(lanes_[events[static_cast<std::size_t>(i)].data.u64]);
    }
  }

  void read(Lane& lane) {
    const ssize_t count = ::recv(lane.fd, buffer_.data(), buffer_.size(), MSG_DONTWAIT);
    if (count > 0) {
      lane.counter.feed({buffer_.data(), static_cast<std::size_t>(count)});
    } else if (count == 0 || errno != EAGAIN) {
      lane.counter.end();
      ::epoll_ctl(epoll_, EPOLL_CTL_DEL, lane.fd, nullptr);
    }
  }

  int epoll_;
  std::atomic<bool> stopping_{false};
  mutable std::mutex mutex_;  // of the lanes, once it is started
  std::vector<Lane> lanes_;
  std::array<char, 65536> buffer_;
  std::thread thread_;
};

StreamLoad::StreamLoad(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
StreamLoad::~StreamLoad() = default;

Result<std::unique_ptr<StreamLoad>> StreamLoad::open(const std::string& host, std::uint16_t port,
                                                     const std::vector<StreamClient>& clients) {
  auto impl = std::make_unique<Impl>(clients.size());
  for (const StreamClient& client : clients) {
    if (Status connected = impl->connect(host, port, client); !connected) return connected.error();
  }
  impl->start();
  std::unique_ptr<StreamLoad> load(new StreamLoad(std::move(impl)));
  const auto have_heads = [&](const std::vector<StreamSeen>& seen) {
    for (std::size_t i = 0; i < seen.size(); ++i) {
      if (clients[i].reads && seen[i].status == 0 && !seen[i].ended) return false;
    }
    return true;
  };
  if (!load->wait(have_heads, head_limit))
    return Error{Fault::Unavailable, "streams: no answer for a minute"};
  for (const StreamSeen& seen : load->seen()) {
    if (seen.status != 0 && seen.status != 200)
      return Error{Fault::Unavailable, fmt::format("streams: answered {}", seen.status)};
  }
  return load;
}

std::vector<StreamSeen> StreamLoad::seen() const { return impl_->seen(); }
void StreamLoad::read_all() { impl_->read_all(); }

bool StreamLoad::wait(const std::function<bool(const std::vector<StreamSeen>&)>& until,
                      Duration at_most) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(at_most.ms);
  while (!until(seen())) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(look_pause);
  }
  return true;
}

}  // namespace muster::net
