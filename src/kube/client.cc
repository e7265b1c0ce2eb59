#include "kube/client.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <boost/json/monotonic_resource.hpp>
#include <boost/json/parse.hpp>
#include <chrono>
#include <deque>
#include <future>
#include <mutex>
#include <optional>
#include <random>

#include "base/prng.h"
#include "net/http_client.h"

namespace muster::kube {

namespace {

namespace json = boost::json;

constexpr Duration patience = seconds(2);  // of patient requests in line

std::int64_t steady_ms() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(since).count();
}

bool is_read(const ApiRequest& request) { return request.method == "GET"; }

bool is_server_failure(int code) {
  return code == 500 || code == 502 || code == 503 || code == 504;
}

Reply<json::value> parse_answer(const std::string& body) {
  // Of a list, thousands of small values are made and given up together.
  constexpr std::size_t large_bytes = 64U << 10;
  json::storage_ptr storage;
  if (body.size() > large_bytes) {
    storage = json::make_shared_resource<json::monotonic_resource>(body.size());
  }
  json::error_code error;
  json::value value = json::parse(body, error, storage);
  if (!error) return value;
  ApiError wrong;
  wrong.message = fmt::format("the answer is not JSON: {}", error.message());
  return wrong;
}

ApiError cancelled() { return no_answer(Error{Fault::Unavailable, "cancelled"}); }

}  // namespace

/// A request from its start to its last attempt. The mutex is for what cancel() touches.
struct Client::State {
  ApiRequest request;     // without its body
  net::SharedBytes body;  // of all attempts
  // Exactly one of these three kinds.
  Done done;
  OnBytes on_bytes;
  std::function<void()> on_open;
  StreamDone stream_done;
  std::optional<SocketCallbacks> socket;
  std::vector<std::string> protocols;

  int attempts = 0;
  bool was_refused = false;  // a 401 has been answered by new credentials
  bool has_slot = false;     // counts as one of requests_max
  std::int64_t in_line_since_ms = 0;
  std::uint64_t generation = 0;

  std::mutex mutex;
  bool is_cancelled = false;    // guarded by mutex, as the next two
  std::optional<ApiError> cut;  // ended because the server is not heard any more
  net::HttpClient::Call http = {};

  void take(ApiRequest given) {
    request = std::move(given);
    body = std::make_shared<const std::string>(std::move(request.body));
    request.body.clear();
  }
  bool cancelled_now() {
    const std::lock_guard lock(mutex);
    return is_cancelled;
  }
  std::optional<ApiError> cut_now() {
    const std::lock_guard lock(mutex);
    return cut;
  }
};

void Client::Call::cancel() const {
  const auto state = std::static_pointer_cast<State>(state_.lock());
  if (!state) return;
  const std::lock_guard lock(state->mutex);
  state->is_cancelled = true;
  state->http.cancel();
}

class Client::Core {
 public:
  using StatePtr = std::shared_ptr<State>;

  Core(const Access& access, ClientOptions options, std::unique_ptr<net::HttpClient> http)
      : access_(access),
        options_(std::move(options)),
        base_(access.cluster.server),
        jitter_(std::random_device{}()),
        credentials_(access, options_.credentials),
        http_(std::move(http)) {
    while (base_.ends_with('/')) base_.pop_back();
  }
  ~Core() { credentials_.stop(); }

  const Access& access() const { return access_; }
  Status renew(const Access& access) {
    const ClusterEntry& now = access.cluster;
    if (now.server != access_.cluster.server || now.proxy_url != access_.cluster.proxy_url)
      return Error{Fault::Conflict,
                   fmt::format("it is reached at another address, {}", now.server)};
    credentials_.renew(access);
    return Ok{};
  }
  net::HttpClient& http() { return *http_; }

  /// Takes its turn: only so many requests are under way.
  void begin(const StatePtr& state) {
    if (state->done && !take_slot(state)) return;
    if (state->on_bytes || state->socket) listen_to(state);
    attempt(state);
  }

  std::size_t waiting() const {
    const std::lock_guard lock(mutex_);
    return line_.size() + patient_line_.size();
  }
  Duration unheard_for() const { return milliseconds(steady_ms() - heard_at_ms_); }

 private:
  /// False: it is in line.
  bool take_slot(const StatePtr& state) {
    const std::lock_guard lock(mutex_);
    if (running_ < options_.requests_max) {
      ++running_;
      state->has_slot = true;
      return true;
    }
    state->in_line_since_ms = steady_ms();
    (state->request.is_patient ? patient_line_ : line_).push_back(state);
    return false;
  }

  void attempt(const StatePtr& state) {
    ++state->attempts;
    credentials_.get([this, state](const Result<Credential>& credential) {
      if (state->cancelled_now()) return finish_later(state, cancelled());
      if (!credential) return finish_later(state, no_answer(credential.error()));
      state->generation = credential->generation;
      if (auto used = use_tls(*credential); !used) {
        return finish_later(state, no_answer(used.error()));
      }
      send(state, *credential);
    });
  }

  /// From any thread: callers are called back on the I/O thread, and never before they got the
  /// Call.
  void finish_later(const StatePtr& state, const ApiError& error) {
    http_->run_after({}, [this, state, error](bool) { finish(state, error); });
  }

  /// Connections are made with the newest certificates.
  Status use_tls(const Credential& credential) {
    const std::lock_guard lock(tls_mutex_);
    if (tls_in_use_ == credential.tls) return Ok{};
    const bool needs_context = base_.starts_with("https");
    if (needs_context) {
      auto set = http_->set_tls(*credential.tls);
      if (!set) return set;
    }
    tls_in_use_ = credential.tls;
    return Ok{};
  }

  net::ClientRequest http_request(const State& state, const Credential& credential) const {
    const ApiRequest& request = state.request;
    net::ClientRequest made{.method = request.method,
                            .url = base_ + target_of(request),
                            .headers = credential.headers,
                            .body = {}};
    if (state.body) made.body = state.body;
    made.headers.set("Accept", request.accept);
    made.headers.set("User-Agent", options_.user_agent);
    if (!request.content_type.empty()) made.headers.set("Content-Type", request.content_type);
    if (state.done) made.total_timeout = request.timeout.value_or(options_.timeout);
    if (!state.done && request.timeout) made.total_timeout = request.timeout;
    // A quiet log is no dead one: streams have no limit of silence unless they ask for it.
    made.idle_timeout = request.idle_timeout;
    if (!request.idle_timeout) made.idle_timeout = state.done ? *made.total_timeout : Duration{};
    return made;
  }

  void send(const StatePtr& state, const Credential& credential) {
    net::ClientRequest request = http_request(*state, credential);
    const std::lock_guard lock(state->mutex);
    if (state->socket) {
      open(state, std::move(request));
      return;
    }
    const auto answered = [this, state](Result<net::ClientResponse> response) {
      take(state, std::move(response));
    };
    if (state->on_bytes) {
      net::StreamCallbacks callbacks;
      callbacks.on_bytes = [this, state](std::string_view bytes) {
        heard();
        return state->on_bytes(bytes);
      };
      callbacks.on_head = [this, state](const net::ClientResponse& head) {
        heard();
        if (head.status / 100 == 2 && state->on_open) state->on_open();
        return true;
      };
      state->http = http_->stream_later(std::move(request), std::move(callbacks), answered);
    } else {
      state->http = http_->send_later(std::move(request), answered);
    }
    if (state->is_cancelled || state->cut) state->http.cancel();
  }

  void take(const StatePtr& state, Result<net::ClientResponse> response) {
    if (state->cancelled_now()) return finish(state, cancelled());
    if (response) heard();
    if (auto cut = state->cut_now(); cut && !response) return finish(state, std::move(*cut));
    if (!response) {
      ApiError error = no_answer(response.error());
      const bool again = !error.is_cancelled && !state->on_bytes && is_read(state->request) &&
                         state->request.may_retry && state->attempts < options_.read_attempts_max;
      return again ? wait_and_retry(state, backoff(state->attempts)) : finish(state, error);
    }
    if (response->status / 100 == 2) {
      if (state->on_bytes) return finish_stream(state, Ok{});
      if (!state->request.is_answer_read) return finish(state, json::value());
      return finish(state, parse_answer(response->body));
    }
    ApiError error = api_error_of(response->status, response->headers, response->body);
    if (may_renew(state, error)) return attempt(state);
    const std::optional<Duration> wait = wait_before_retry(*state, error);
    if (wait) return wait_and_retry(state, *wait);
    finish(state, std::move(error));
  }

  bool may_renew(const StatePtr& state, const ApiError& error) {
    if (!error.is_unauthorized() || state->was_refused) return false;
    state->was_refused = true;
    return credentials_.reject(state->generation);
  }

  /// None: the error is the answer.
  std::optional<Duration> wait_before_retry(const State& state, const ApiError& error) {
    if (!state.request.may_retry || state.on_bytes) return std::nullopt;
    const bool is_asked = error.retry_after && (error.code == 429 || error.code >= 500);
    if (is_asked && state.attempts < options_.attempts_max &&
        *error.retry_after <= options_.retry_wait_max) {
      return *error.retry_after + milliseconds(draw(error.retry_after->ms / 4 + 50));
    }
    if (is_asked) return std::nullopt;
    const bool is_busy = error.code == 429 && state.attempts < options_.attempts_max;
    const bool has_failed = is_server_failure(error.code) && is_read(state.request) &&
                            state.attempts < options_.read_attempts_max;
    if (is_busy || has_failed) return backoff(state.attempts);
    return std::nullopt;
  }

  Duration backoff(int attempt) {
    const std::int64_t full = std::min<std::int64_t>(100LL << std::min(attempt, 8), 10'000);
    return milliseconds(full / 2 + draw(full / 2));
  }

  std::int64_t draw(std::int64_t high) {
    const std::lock_guard lock(mutex_);
    return jitter_.between(0, std::max<std::int64_t>(high, 1));
  }

  void wait_and_retry(const StatePtr& state, Duration wait) {
    http_->run_after(wait, [this, state](bool is_stopping) {
      if (is_stopping || state->cancelled_now()) return finish(state, cancelled());
      attempt(state);
    });
  }

  void finish_stream(const StatePtr& state, Reply<Ok> reply) {
    if (state->stream_done) state->stream_done(std::move(reply));
  }

  void finish(const StatePtr& state, Reply<json::value> reply) {
    if (state->has_slot) pass_on_slot();
    if (state->done) return state->done(std::move(reply));
    const ApiError error = reply ? ApiError{} : reply.error();
    if (state->on_bytes) return finish_stream(state, error);
    if (state->socket && state->socket->on_close) state->socket->on_close(error);
  }

  /// Of those in line; null: nobody. Under the mutex.
  StatePtr take_next() {
    const bool is_patience_over =
        !patient_line_.empty() &&
        steady_ms() - patient_line_.front()->in_line_since_ms >= patience.ms;
    std::deque<StatePtr>& line = line_.empty() || is_patience_over ? patient_line_ : line_;
    if (line.empty()) return nullptr;
    StatePtr next = std::move(line.front());
    line.pop_front();
    return next;
  }

  void pass_on_slot() {
    StatePtr next;
    {
      const std::lock_guard lock(mutex_);
      next = take_next();
      if (!next) {
        --running_;
        return;
      }
      next->has_slot = true;
    }
    // Not from here: a thousand cancelled ones in line would be a thousand calls deep.
    http_->run_after(milliseconds(0), [this, next](bool is_stopping) {
      if (is_stopping || next->cancelled_now()) return finish(next, cancelled());
      attempt(next);
    });
  }

  // --- whether the server is still there

  void heard() { heard_at_ms_ = steady_ms(); }

  void listen_to(const StatePtr& stream) {
    {
      const std::lock_guard lock(mutex_);
      streams_.push_back(stream);
      if (std::exchange(is_listening_, true)) return;
    }
    listen_after(options_.pulse.quiet);
  }

  void listen_after(Duration wait) {
    http_->run_after(wait, [this](bool is_stopping) {
      if (!is_stopping) listen();
    });
  }

  void listen() {
    {
      const std::lock_guard lock(mutex_);
      std::erase_if(streams_, [](const auto& stream) { return stream.expired(); });
      is_listening_ = !streams_.empty();
      if (!is_listening_) return;
    }
    const Duration unheard = unheard_for();
    if (unheard < options_.pulse.quiet) return listen_after(options_.pulse.quiet - unheard);
    const auto question = std::make_shared<State>();
    question->request = {.path = "/version", .timeout = options_.pulse.timeout, .may_retry = false};
    question->done = [this](const Reply<json::value>& reply) {
      if (!reply) cut_streams(reply.error());
      listen_after({options_.pulse.quiet.ms / 5});  // it waits longer if anything was heard
    };
    attempt(question);  // it does not wait in line: those there may wait for the same server
  }

  /// Those for which it has been quiet too long.
  void cut_streams(ApiError error) {
    const Duration unheard = unheard_for();
    error.message = fmt::format("nothing was heard for {} s: {}", unheard.ms / 1000, error.message);
    std::vector<StatePtr> streams;
    {
      const std::lock_guard lock(mutex_);
      for (const auto& one : streams_) streams.push_back(one.lock());
    }
    for (const StatePtr& stream : streams) {
      const PulseOptions& pulse = options_.pulse;
      if (!stream || unheard < (stream->socket ? pulse.lost_socket : pulse.lost)) continue;
      const std::lock_guard lock(stream->mutex);
      stream->cut = error;
      stream->http.cancel();
    }
  }

  /// Under the state's mutex.
  void open(const StatePtr& state, net::ClientRequest request) {
    const auto socket = std::make_shared<net::WebSocket>();
    net::WebSocketCallbacks callbacks;
    callbacks.on_open = [this, state, socket](const std::string& protocol) {
      heard();
      if (state->socket->on_open) state->socket->on_open(*socket, protocol);
    };
    callbacks.on_message = [this, state](std::string_view message, bool) {
      heard();
      if (state->socket->on_message) state->socket->on_message(message);
    };
    callbacks.on_drained = [state] {
      if (state->socket->on_drained) state->socket->on_drained();
    };
    callbacks.on_close = [this, state, socket](const Result<net::WebSocketClose>& how,
                                               const net::Response& refusal) {
      *socket = {};  // the session holds these callbacks: a circle otherwise
      closed(state, how, refusal);
    };
    auto opened = http_->open_websocket(std::move(request),
                                        net::WebSocketOptions{.protocols = state->protocols},
                                        std::move(callbacks));
    *socket = opened.socket;
    state->http = opened.call;
    if (state->is_cancelled || state->cut) state->http.cancel();
  }

  void closed(const StatePtr& state, const Result<net::WebSocketClose>& how,
              const net::Response& refusal) {
    if (how) {
      if (state->socket->on_close) state->socket->on_close(*how);
      return;
    }
    if (auto cut = state->cut_now()) return finish(state, std::move(*cut));
    if (refusal.status == 0) return finish(state, no_answer(how.error()));
    heard();
    ApiError error = api_error_of(refusal.status, refusal.headers, refusal.body.view());
    if (may_renew(state, error)) return attempt(state);
    finish(state, std::move(error));
  }

  const Access access_;
  const ClientOptions options_;
  std::string base_;
  mutable std::mutex mutex_;
  Prng jitter_;              // guarded by mutex_, as the next five
  std::size_t running_ = 0;  // requests under way
  std::deque<StatePtr> line_;
  std::deque<StatePtr> patient_line_;
  std::vector<std::weak_ptr<State>> streams_;
  bool is_listening_ = false;  // will look at streams_ again
  std::atomic<std::int64_t> heard_at_ms_ = steady_ms();
  std::mutex tls_mutex_;
  std::shared_ptr<const net::TlsClientOptions> tls_in_use_;  // guarded by tls_mutex_
  Credentials credentials_;
  std::unique_ptr<net::HttpClient> http_;  // ends first: its callbacks use all of the above
};

Result<std::unique_ptr<Client>> Client::make(const Access& access, ClientOptions options) {
  net::ClientOptions http{.connect_timeout = options.connect_timeout,
                          .total_timeout = options.timeout,
                          .body_bytes_max = std::uint64_t{1} << 30,
                          .idle_connections_max = options.requests_max};
  // Of kubectl's ways: what the kubeconfig names, else what the environment does.
  http.proxy = access.cluster.proxy_url.empty()
                   ? net::proxy_from_environment([](const char* name) { return std::getenv(name); })
                   : net::ProxyOptions{.http = access.cluster.proxy_url,
                                       .https = access.cluster.proxy_url,
                                       .even_for_this_machine = true};
  auto made = net::HttpClient::make(std::move(http));
  if (!made) return made.error();
  return std::unique_ptr<Client>(
      new Client(std::make_unique<Core>(access, std::move(options), std::move(*made))));
}

Client::Client(std::unique_ptr<Core> core) : core_(std::move(core)) {}
Client::~Client() = default;

const Access& Client::access() const { return core_->access(); }

Status Client::renew(const Access& access) { return core_->renew(access); }

Client::Call Client::send_later(ApiRequest request, Done done) {
  const auto state = std::make_shared<State>();
  state->take(std::move(request));
  state->done = std::move(done);
  core_->begin(state);
  Call call;
  call.state_ = state;
  return call;
}

Client::Call Client::stream_later(ApiRequest request, OnBytes on_bytes, StreamDone done,
                                  std::function<void()> on_open) {
  const auto state = std::make_shared<State>();
  state->take(std::move(request));
  state->on_open = std::move(on_open);
  state->on_bytes = std::move(on_bytes);
  state->stream_done = std::move(done);
  core_->begin(state);
  Call call;
  call.state_ = state;
  return call;
}

Client::Call Client::open_socket(ApiRequest request, std::vector<std::string> protocols,
                                 SocketCallbacks callbacks) {
  const auto state = std::make_shared<State>();
  state->take(std::move(request));
  state->protocols = std::move(protocols);
  state->socket = std::move(callbacks);
  core_->begin(state);
  Call call;
  call.state_ = state;
  return call;
}

Reply<Client::Json> Client::send(ApiRequest request) {
  MUSTER_CHECK(!is_io_thread(), "a callback must not wait: use send_later");
  std::promise<Reply<Json>> promise;
  send_later(std::move(request), [&](Reply<Json> reply) { promise.set_value(std::move(reply)); });
  return promise.get_future().get();
}

Reply<Ok> Client::stream(ApiRequest request, OnBytes on_bytes) {
  MUSTER_CHECK(!is_io_thread(), "a callback must not wait: use stream_later");
  std::promise<Reply<Ok>> promise;
  stream_later(std::move(request), std::move(on_bytes),
               [&](Reply<Ok> reply) { promise.set_value(std::move(reply)); });
  return promise.get_future().get();
}

void Client::run_after(Duration wait, std::function<void(bool is_stopping)> function) {
  core_->http().run_after(wait, std::move(function));
}

Duration Client::unheard_for() const { return core_->unheard_for(); }

std::size_t Client::waiting() const { return core_->waiting(); }

bool Client::is_io_thread() const { return core_->http().is_io_thread(); }

}  // namespace muster::kube
