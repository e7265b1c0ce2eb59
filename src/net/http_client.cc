#include "net/http_client.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <future>
#include <map>
#include <set>
#include <thread>
#include <vector>

#include "net/base64.h"
#include "net/transport.h"
#include "net/tunnel.h"
#include "net/websocket_session.h"
#include "net/wire.h"

namespace muster::net {

namespace {

using asio::ip::tcp;
using SteadyTime = std::chrono::steady_clock::time_point;
using TransportPtr = std::unique_ptr<Transport>;

SteadyTime now() { return std::chrono::steady_clock::now(); }
auto into(error_code& error) { return asio::redirect_error(asio::use_awaitable, error); }

SteadyTime after(Duration d) {
  return d.ms > 0 ? now() + std::chrono::milliseconds(d.ms) : SteadyTime::max();
}

Error unavailable(std::string message) { return {Fault::Unavailable, std::move(message)}; }

/// A stream may be quiet for hours: the kernel asks whether the other end is still there.
void notice_dead_peers(tcp::socket& socket) {
  const auto set = [&](int level, int name, int value) {
    ::setsockopt(socket.native_handle(), level, name, &value, sizeof value);
  };
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 30);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 10);
  set(IPPROTO_TCP, TCP_KEEPCNT, 3);
}

bool may_repeat(std::string_view method) {
  return method == "GET" || method == "HEAD" || method == "OPTIONS" || method == "PUT" ||
         method == "DELETE";
}

bool is_redirect(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

}  // namespace

// --- a call
// ---------------------------------------------------------------------------------------

/// Lives on the I/O thread. What is under way can be ended by interrupt(): at a deadline, or when
/// the caller cancels.
struct HttpClient::CallState {
  CallState(asio::io_context& io, ClientRequest r) : request(std::move(r)), timer(io) {}

  ClientRequest request;
  std::optional<StreamCallbacks> callbacks;
  std::shared_ptr<WebSocketSession> websocket;  // set: the call is for opening and serving it
  Response refusal;                             // the answer that was no upgrade
  Done done;
  SteadyTime total = SteadyTime::max();
  asio::steady_timer timer;
  std::function<void()> end_now;  // what the call waits for ends with an error
  bool is_late = false;
  bool is_cancelled = false;

  bool is_interrupted() const { return is_late || is_cancelled; }
  void interrupt() {
    if (end_now) end_now();
  }
  void cancel() {
    is_cancelled = true;
    interrupt();
  }
};

namespace {

/// The answer as it comes in, given to the caller's callbacks or collected.
class Receiver {
 public:
  Receiver(const std::optional<StreamCallbacks>& callbacks, const ParseLimits& limits, bool is_head)
      : callbacks_(callbacks), limits_(limits), is_head_(is_head) {
    renew();
  }

  ResponseParser& parser() { return *parser_; }
  /// Uses up what it can.
  std::size_t feed(std::string_view bytes) {
    std::size_t used = parser_->feed(bytes);
    while (parser_->is_interim()) {  // "100 Continue" and the like: the answer follows
      renew();
      used += parser_->feed(bytes.substr(used));
    }
    return used;
  }
  /// Whether the caller still listens. After each feed.
  bool look() {
    if (parser_->is_header_done() && !is_head_given_) give_head();
    return !is_stopped_;
  }
  ClientResponse take_response() {
    look();
    response_.was_stopped = is_stopped_;
    return std::move(response_);
  }

 private:
  void renew() {
    parser_ = std::make_unique<ResponseParser>(
        limits_, is_head_, [this](std::string_view bytes) { return take(bytes); });
  }
  void give_head() {
    is_head_given_ = true;
    response_.status = parser_->status();
    response_.headers = parser_->headers();
    if (callbacks_ && callbacks_->on_head && !callbacks_->on_head(response_)) is_stopped_ = true;
  }
  bool take(std::string_view bytes) {
    if (!is_head_given_) give_head();
    if (is_stopped_) return false;
    if (callbacks_ && response_.status / 100 == 2) {
      is_stopped_ = !callbacks_->on_bytes(bytes);
      return !is_stopped_;
    }
    response_.body += bytes;
    return true;
  }

  const std::optional<StreamCallbacks>& callbacks_;
  const ParseLimits limits_;
  const bool is_head_;
  ClientResponse response_;
  bool is_head_given_ = false;
  bool is_stopped_ = false;
  std::unique_ptr<ResponseParser> parser_;
};

struct Link {
  TransportPtr transport;
  bool was_kept = false;  // it served a request before, and may have been closed since
};

struct Kept {
  TransportPtr transport;
  SteadyTime until;
};

}  // namespace

class HttpClient::Core : public std::enable_shared_from_this<Core> {
 public:
  using State = std::shared_ptr<CallState>;

  Core(ClientOptions options, TlsContext tls)
      : options_(std::move(options)), tls_(std::move(tls)), work_(asio::make_work_guard(io_)) {}

  void start() {
    thread_ = std::thread([this] { io_.run(); });
  }

  void stop() {
    asio::post(io_, [this] {
      is_stopping_ = true;
      kept_.clear();
      const auto calls = calls_;  // a call that ends takes itself off the list
      for (const State& call : calls) call->cancel();
      for (const auto& timer : timers_) timer->cancel();
      work_.reset();
    });
    thread_.join();
  }

  asio::io_context& io() { return io_; }
  bool is_own_thread() const { return std::this_thread::get_id() == thread_.get_id(); }

  void run_after(Duration wait, std::function<void(bool)> function) {
    const auto timer = std::make_shared<asio::steady_timer>(io_);
    timer->expires_after(std::chrono::milliseconds(is_stopping_ ? 0 : wait.ms));
    timers_.insert(timer);
    timer->async_wait([this, timer, function = std::move(function)](const error_code&) {
      timers_.erase(timer);
      function(is_stopping_);
    });
  }

  void use_tls(TlsClientOptions options, TlsContext context) {
    options_.tls = std::move(options);
    tls_ = std::move(context);
    kept_.clear();
    ++tls_generation_;
  }

  void begin(const State& call) {
    calls_.insert(call);
    if (is_stopping_) call->is_cancelled = true;
    asio::co_spawn(io_, run(call), [this, call](const std::exception_ptr& thrown, Answer answer) {
      call->end_now = nullptr;
      call->timer.cancel();
      calls_.erase(call);
      if (thrown) answer = unavailable(fmt::format("{}: {}", call->request.url, text_of(thrown)));
      if (!answer) answer = unavailable("no result");
      call->done(std::move(*answer));
    });
  }

 private:
  /// Empty only because a coroutine's result must have a value to begin with.
  using Answer = std::optional<Result<ClientResponse>>;

  static std::string text_of(const std::exception_ptr& thrown) {
    try {
      std::rethrow_exception(thrown);
    } catch (const std::exception& e) {
      return e.what();
    } catch (...) {
      return "unknown exception";
    }
  }

  asio::awaitable<Answer> run(State call);
  asio::awaitable<Answer> exchange(State call, const Url& url);
  asio::awaitable<Answer> serve_websocket(State call, const Url& url);
  asio::awaitable<Answer> talk(State call, const Url& url, Link& link, Receiver& receiver);
  asio::awaitable<bool> receive(State call, Transport& transport, Receiver& receiver,
                                error_code& error);
  asio::awaitable<Result<TransportPtr>> connect(State call, const Url& url,
                                                const std::optional<Url>& proxy);
  asio::awaitable<Result<TransportPtr>> connect_unix(State call, const Url& url);
  asio::awaitable<Result<TransportPtr>> secure(State call, const Url& url, TransportPtr link,
                                               std::string server_name);

  void set_deadline(const State& call, SteadyTime at);
  Error interrupted(const CallState& call, std::string_view doing, const Url& url) const;
  std::string head_of(const CallState& call, const Url& url, const std::optional<Url>& proxy) const;
  TransportPtr take_kept(const std::string& key);
  void keep(const std::string& key, TransportPtr transport);
  Duration idle_timeout(const CallState& call) const {
    return call.request.idle_timeout.value_or(options_.idle_timeout);
  }

  ClientOptions options_;  // of the I/O thread once it runs, as use_tls() changes it
  TlsContext tls_;
  asio::io_context io_{1};
  std::optional<asio::executor_work_guard<asio::io_context::executor_type>> work_;
  std::thread thread_;
  // Of the I/O thread; so is tls_, null until it is needed.
  bool is_stopping_ = false;
  int tls_generation_ = 0;
  std::set<State> calls_;
  std::set<std::shared_ptr<asio::steady_timer>> timers_;
  std::map<std::string, std::vector<Kept>> kept_;
};

// --- timeouts and kept connections
// ----------------------------------------------------------------

void HttpClient::Core::set_deadline(const State& call, SteadyTime at) {
  call->timer.expires_at(std::min(at, call->total));
  call->timer.async_wait([weak = std::weak_ptr(call)](const error_code& error) {
    const State state = weak.lock();
    if (error || !state || state->timer.expiry() > now()) return;
    state->is_late = true;
    state->interrupt();
  });
}

Error HttpClient::Core::interrupted(const CallState& call, std::string_view doing,
                                    const Url& url) const {
  if (call.is_cancelled) return unavailable("cancelled");
  return unavailable(
      fmt::format("{} {}: no answer in time; is the server running?", doing, url.origin()));
}

TransportPtr HttpClient::Core::take_kept(const std::string& key) {
  std::vector<Kept>& list = kept_[key];
  while (!list.empty()) {
    Kept last = std::move(list.back());
    list.pop_back();
    if (last.until > now() && !last.transport->is_stale()) return std::move(last.transport);
  }
  return nullptr;
}

void HttpClient::Core::keep(const std::string& key, TransportPtr transport) {
  std::vector<Kept>& list = kept_[key];
  std::erase_if(list, [](const Kept& kept) { return kept.until <= now(); });
  if (is_stopping_ || list.size() >= options_.idle_connections_max) return;
  list.push_back({std::move(transport), after(options_.idle_connection_age)});
}

// --- connecting
// -----------------------------------------------------------------------------------

asio::awaitable<Result<TransportPtr>> HttpClient::Core::connect(State call, const Url& url,
                                                                const std::optional<Url>& proxy) {
  set_deadline(call, after(options_.connect_timeout));
  if (!options_.unix_path.empty()) co_return co_await connect_unix(call, url);
  const Url& to = proxy ? *proxy : url;
  tcp::resolver resolver(io_);
  tcp::socket socket(io_);
  call->end_now = [&] {
    error_code ignored;
    resolver.cancel();
    socket.close(ignored);
  };
  error_code error;
  const auto found =
      co_await resolver.async_resolve(to.host, std::to_string(to.effective_port()), into(error));
  if (call->is_interrupted()) co_return interrupted(*call, "cannot find", to);
  if (error) {
    co_return unavailable(
        fmt::format("cannot find host '{}' of {}: {}", to.host, to.origin(), said(error)));
  }
  co_await asio::async_connect(socket, found, into(error));
  if (call->is_interrupted()) co_return interrupted(*call, "cannot connect to", to);
  if (error) {
    co_return unavailable(
        fmt::format("cannot connect to {}: {}{}", to.origin(), said(error),
                    error == asio::error::connection_refused ? "; is the server running?" : ""));
  }
  socket.set_option(tcp::no_delay(true), error);
  notice_dead_peers(socket);
  TransportPtr link = plain_transport(std::move(socket));
  call->end_now = [&] { link->close(); };
  if (proxy && proxy->is_tls()) {
    auto made = co_await secure(call, *proxy, std::move(link), proxy->host);
    if (!made) co_return made.error();
    link = std::move(*made);
    call->end_now = [&] { link->close(); };
  }
  if (proxy && (url.is_tls() || is_socks(*proxy))) {
    const Status made = co_await open_tunnel(*link, url, *proxy);
    if (call->is_interrupted()) co_return interrupted(*call, "cannot connect to", to);
    if (!made) co_return made.error();
  }
  if (!url.is_tls()) co_return std::move(link);
  const std::string& name = options_.tls.server_name;
  co_return co_await secure(call, url, std::move(link), name.empty() ? url.host : name);
}

asio::awaitable<Result<TransportPtr>> HttpClient::Core::connect_unix(State call, const Url& url) {
  UnixSocket socket(io_);
  call->end_now = [&] {
    error_code ignored;
    socket.close(ignored);
  };
  error_code error = asio::error::name_too_long;
  if (options_.unix_path.size() <= 107) {
    const asio::local::stream_protocol::endpoint to(options_.unix_path);
    co_await socket.async_connect(to, into(error));
  }
  if (call->is_interrupted()) co_return interrupted(*call, "cannot connect to", url);
  if (error) {
    co_return unavailable(fmt::format("cannot connect to unix:{}: {}; is the server running?",
                                      options_.unix_path, said(error)));
  }
  co_return plain_transport(std::move(socket));
}

asio::awaitable<Result<TransportPtr>> HttpClient::Core::secure(State call, const Url& url,
                                                               TransportPtr link,
                                                               std::string server_name) {
  if (!tls_) {
    auto made = make_tls_context(options_.tls);
    if (!made) co_return made.error();
    tls_ = std::move(*made);
  }
  TransportPtr transport = link->secured(tls_, server_name);
  call->end_now = [&] { transport->close(); };
  error_code error;
  co_await transport->start(error);
  if (call->is_interrupted()) co_return interrupted(*call, "cannot connect to", url);
  if (error) {
    const std::string refusal = options_.tls.verify ? transport->refusal() : "";
    co_return unavailable(
        refusal.empty()
            ? fmt::format("no TLS with {}: {}", url.origin(), said(error))
            : fmt::format("cannot trust {}: {}; name its certificate authority if it is yours",
                          url.origin(), refusal));
  }
  co_return std::move(transport);
}

// --- one request
// ----------------------------------------------------------------------------------

asio::awaitable<HttpClient::Core::Answer> HttpClient::Core::run(State call) {
  call->total = after(
      call->request.total_timeout.value_or(call->callbacks ? Duration{} : options_.total_timeout));
  auto url = parse_url(call->request.url);
  if (!url) co_return url.error();
  if (call->websocket) co_return co_await serve_websocket(call, *url);
  for (int redirects = 0;; ++redirects) {
    if (url->scheme != "http" && url->scheme != "https") {
      co_return invalid(fmt::format("url: '{}': begin with http:// or https://", to_text(*url)));
    }
    Answer answer = co_await exchange(call, *url);
    if (!answer->ok()) co_return answer;
    ClientResponse& response = answer->value();
    response.url = to_text(*url);
    const std::string& method = call->request.method;
    if (!is_redirect(response.status) || redirects >= options_.redirects_max ||
        (method != "GET" && method != "HEAD") || !response.headers.has("Location")) {
      co_return answer;
    }
    auto next = resolve_url(*url, response.headers.get("Location"));
    if (!next) co_return unavailable(fmt::format("{}: {}", response.url, next.error().message));
    // An empty value is not sent, and hides the client's own.
    if (next->origin() != url->origin()) call->request.headers.set("Authorization", "");
    url = std::move(next);
  }
}

asio::awaitable<HttpClient::Core::Answer> HttpClient::Core::exchange(State call, const Url& url) {
  auto proxy = proxy_for(url, options_.proxy);
  if (!proxy) co_return proxy.error();
  const std::string key = url.origin();
  const int generation = tls_generation_;  // what was made under older ones is not kept
  const ParseLimits limits{
      .header_bytes_max = 256U << 10,
      .headers_max = 1000,
      .body_bytes_max = call->callbacks ? std::uint64_t(-1) : options_.body_bytes_max};
  for (bool may_use_kept = true;; may_use_kept = false) {
    if (call->is_cancelled) co_return unavailable("cancelled");
    Link link;
    if (may_use_kept) link.transport = take_kept(key);
    link.was_kept = link.transport != nullptr;
    if (!link.transport) {
      auto made = co_await connect(call, url, *proxy);
      call->end_now = nullptr;
      if (!made) co_return made.error();
      link.transport = std::move(*made);
    }
    Receiver receiver(call->callbacks, limits, call->request.method == "HEAD");
    Answer answer = co_await talk(call, url, link, receiver);
    call->end_now = nullptr;
    const bool was_stale = link.was_kept && !answer->ok() && !receiver.parser().has_begun() &&
                           !call->is_interrupted() && may_repeat(call->request.method);
    if (was_stale) continue;
    if (answer->ok() && receiver.parser().is_done() && receiver.parser().keep_alive() &&
        generation == tls_generation_) {
      keep(key, std::move(link.transport));
    }
    co_return answer;
  }
}

std::string HttpClient::Core::head_of(const CallState& call, const Url& url,
                                      const std::optional<Url>& proxy) const {
  Headers headers;
  for (const Header& header : options_.headers) {
    if (!call.request.headers.has(header.name)) headers.add(header.name, header.value);
  }
  for (const Header& header : call.request.headers) {
    if (!header.value.empty()) headers.add(header.name, header.value);
  }
  if (!headers.has("Accept")) headers.add("Accept", "*/*");
  const bool through_proxy = proxy && !url.is_tls() && !is_socks(*proxy);
  if (through_proxy && !proxy->userinfo.empty()) {
    headers.add("Proxy-Authorization", "Basic " + base64_encode(proxy->userinfo));
  }
  const std::string target = through_proxy ? url.origin() + url.target() : url.target();
  return request_head(call.request.method, target, url.authority(), headers,
                      call.request.body.size());
}

asio::awaitable<HttpClient::Core::Answer> HttpClient::Core::talk(State call, const Url& url,
                                                                 Link& link, Receiver& receiver) {
  for (const Header& header : call->request.headers) {
    if (!is_sane_header(header)) {
      co_return invalid(fmt::format("header '{}': cannot be sent as it is", header.name));
    }
  }
  call->end_now = [&] { link.transport->close(); };
  set_deadline(call, after(idle_timeout(*call)));
  const auto proxy = proxy_for(url, options_.proxy);
  const std::string head = head_of(*call, url, proxy ? *proxy : std::nullopt);
  const std::string_view body = call->request.body.view();
  const std::array<asio::const_buffer, 2> bytes = {asio::buffer(head),
                                                   asio::buffer(body.data(), body.size())};
  error_code write_error;
  co_await link.transport->write(bytes, write_error);
  // A server that refuses a body may answer and close before it has read it all: look first.
  error_code error;
  const bool whole = co_await receive(call, *link.transport, receiver, error);
  if (whole) co_return receiver.take_response();
  if (call->is_interrupted()) co_return interrupted(*call, "waiting for", url);
  const auto& failure = receiver.parser().failure();
  if (failure && receiver.parser().has_begun()) {
    co_return unavailable(fmt::format("answer of {}: {}", url.origin(), failure->message));
  }
  if (error == asio::error::eof) {
    co_return unavailable(fmt::format("{} closed the connection without an answer", url.origin()));
  }
  co_return unavailable(
      fmt::format("connection to {}: {}", url.origin(), said(error ? error : write_error)));
}

/// True when the answer is whole or the caller wants no more of it.
asio::awaitable<bool> HttpClient::Core::receive(State call, Transport& transport,
                                                Receiver& receiver, error_code& error) {
  ReadBuffer buffer;
  const Duration idle = idle_timeout(*call);
  while (true) {
    const std::size_t count = co_await transport.read_some(buffer.room(), error);
    buffer.grew(count);
    if (call->is_interrupted()) co_return false;
    buffer.drop(receiver.feed(buffer.unread()));
    if (!receiver.look()) co_return true;
    ResponseParser& parser = receiver.parser();
    if (error == asio::error::eof) parser.feed_end();
    if (parser.is_done()) co_return true;
    if (error || parser.failure()) co_return false;
    set_deadline(call, after(idle));
  }
}

/// The answer carries the words of the close frame: code as status, reason as body.
asio::awaitable<HttpClient::Core::Answer> HttpClient::Core::serve_websocket(State call,
                                                                            const Url& url) {
  auto proxy = proxy_for(url, options_.proxy);
  if (!proxy) co_return proxy.error();
  auto made = co_await connect(call, url, *proxy);
  call->end_now = nullptr;
  if (!made) co_return made.error();
  const TransportPtr transport = std::move(*made);
  call->end_now = [&] { transport->close(); };
  set_deadline(call, call->total);  // that of connecting is over
  call->websocket->add_headers(call->request.headers);
  std::string head = head_of(*call, url, *proxy);
  head.insert(head.size() - 2, "Connection: Upgrade\r\n");
  const std::array<asio::const_buffer, 1> bytes = {asio::buffer(head)};
  error_code error;
  co_await transport->write(bytes, error);
  // A refusal has a body to read; the body of an upgrade is the WebSocket's.
  const ParseLimits limits{.header_bytes_max = 256U << 10, .headers_max = 1000};
  ResponseParser parser(limits, false, [&](std::string_view piece) {
    call->refusal.body = std::string(call->refusal.body.view()) + std::string(piece);
    return true;
  });
  ReadBuffer buffer;
  while (!error && !parser.is_done() && !parser.failure()) {
    buffer.grew(co_await transport->read_some(buffer.room(), error));
    buffer.drop(parser.feed(buffer.unread()));
    if (error == asio::error::eof) parser.feed_end();
  }
  if (call->is_interrupted()) co_return interrupted(*call, "waiting for", url);
  if (!parser.is_done()) {
    co_return unavailable(fmt::format("no WebSocket with {}: {}", url.origin(),
                                      parser.failure() ? parser.failure()->message : said(error)));
  }
  call->refusal.status = parser.status();
  call->refusal.headers = parser.headers();
  if (auto agreed = call->websocket->check(call->refusal); !agreed) co_return agreed.error();
  call->refusal = {.status = 0};
  call->total = SteadyTime::max();  // that was for the answer; from here on it lasts as it lasts
  set_deadline(call, SteadyTime::max());
  call->end_now = [&] {
    transport->close();
    call->websocket->interrupt();
  };
  auto how =
      co_await call->websocket->run(*transport, std::string(buffer.unread()),
                                    std::string(parser.headers().get("Sec-WebSocket-Protocol")));
  if (call->is_interrupted()) co_return interrupted(*call, "websocket with", url);
  if (!how) co_return how.error();
  co_return ClientResponse{.status = how->code, .body = how->reason};
}

// --- the face
// -------------------------------------------------------------------------------------

Result<std::unique_ptr<HttpClient>> HttpClient::make(ClientOptions options) {
  // Reading the system's authorities takes a tenth of a second, which most commands can save;
  // files that were named are read now, for the errors.
  TlsContext tls;
  const TlsClientOptions& named = options.tls;
  if (!named.ca_file.empty() || !named.ca_pem.empty() || !named.cert_file.empty() ||
      !named.cert_pem.empty()) {
    auto made = make_tls_context(named);
    if (!made) return made.error();
    tls = std::move(*made);
  }
  auto core = std::make_shared<Core>(std::move(options), std::move(tls));
  core->start();
  return std::unique_ptr<HttpClient>(new HttpClient(std::move(core)));
}

HttpClient::HttpClient(std::shared_ptr<Core> core) : core_(std::move(core)) {}
HttpClient::~HttpClient() { core_->stop(); }

HttpClient::Call HttpClient::start(ClientRequest request, std::optional<StreamCallbacks> callbacks,
                                   Done done) {
  auto state = std::make_shared<CallState>(core_->io(), std::move(request));
  state->callbacks = std::move(callbacks);
  state->done = std::move(done);
  asio::post(core_->io(), [core = core_.get(), state] { core->begin(state); });
  Call call;
  call.core_ = core_;
  call.state_ = state;
  return call;
}

void HttpClient::Call::cancel() const {
  const auto core = std::static_pointer_cast<Core>(core_.lock());
  if (!core) return;
  asio::post(core->io(), [weak = state_] {
    if (const auto state = std::static_pointer_cast<CallState>(weak.lock())) state->cancel();
  });
}

HttpClient::Call HttpClient::send_later(ClientRequest request, Done done) {
  return start(std::move(request), std::nullopt, std::move(done));
}

HttpClient::Call HttpClient::stream_later(ClientRequest request, StreamCallbacks callbacks,
                                          Done done) {
  return start(std::move(request), std::move(callbacks), std::move(done));
}

HttpClient::OpenSocket HttpClient::open_websocket(ClientRequest request, WebSocketOptions options,
                                                  WebSocketCallbacks callbacks) {
  auto session = std::make_shared<WebSocketSession>(
      Side::Client, std::move(options), std::move(callbacks),
      [io = core_->io().get_executor()](std::function<void()> run) { asio::post(io, run); });
  auto state = std::make_shared<CallState>(core_->io(), std::move(request));
  state->websocket = session;
  state->done = [session, raw = state.get()](const Result<ClientResponse>& answer) {
    session->end();
    const auto& on_close = session->callbacks().on_close;
    if (!on_close) return;
    if (answer) on_close(WebSocketClose{answer->status, answer->body}, raw->refusal);
    if (!answer) on_close(answer.error(), raw->refusal);
  };
  OpenSocket open;
  open.socket = WebSocket(session);
  open.call.core_ = core_;
  open.call.state_ = state;
  asio::post(core_->io(), [core = core_.get(), state] { core->begin(state); });
  return open;
}

void HttpClient::run_after(Duration wait, std::function<void(bool is_stopping)> function) {
  asio::post(core_->io(), [core = core_.get(), wait, function = std::move(function)]() mutable {
    core->run_after(wait, std::move(function));
  });
}

Status HttpClient::set_tls(TlsClientOptions options) {
  auto made = make_tls_context(options);
  if (!made) return made.error();
  asio::post(core_->io(), [core = core_.get(), options = std::move(options),
                           context = std::move(*made)]() mutable {
    core->use_tls(std::move(options), std::move(context));
  });
  return Ok{};
}

bool HttpClient::is_io_thread() const { return core_->is_own_thread(); }

Result<ClientResponse> HttpClient::wait(ClientRequest request,
                                        std::optional<StreamCallbacks> callbacks) {
  MUSTER_CHECK(!core_->is_own_thread(), "a callback must not wait: use send_later");
  std::promise<Result<ClientResponse>> promise;
  start(std::move(request), std::move(callbacks),
        [&promise](Result<ClientResponse> result) { promise.set_value(std::move(result)); });
  return promise.get_future().get();
}

Result<ClientResponse> HttpClient::send(ClientRequest request) {
  return wait(std::move(request), std::nullopt);
}

Result<ClientResponse> HttpClient::stream(ClientRequest request, StreamCallbacks callbacks) {
  return wait(std::move(request), std::move(callbacks));
}

}  // namespace muster::net
