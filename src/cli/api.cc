#include "cli/api.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

#include "base/text.h"
#include "net/proxy.h"

namespace muster::cli {
namespace {

constexpr std::string_view root = "/api/muster/v1";

Fault fault_of(int status) {
  if (status == 404 || status == 410) return Fault::NotFound;
  if (status == 409 || status == 401 || status == 403) return Fault::Conflict;
  if (status == 429 || status >= 500) return Fault::Unavailable;
  return Fault::Invalid;
}

net::ClientOptions options_of(const Context& server, const Host& host) {
  net::ClientOptions options;
  options.headers.set("User-Agent", "muster");
  if (!server.token.empty()) options.headers.set("Authorization", "Bearer " + server.token);
  options.tls.ca_file = server.ca;
  options.proxy = net::proxy_from_environment([&host](const char* name) -> const char* {
    static thread_local std::string value;
    value = host.variable(name);
    return value.empty() ? nullptr : value.c_str();
  });
  return options;
}

}  // namespace

std::string segment(std::string_view name) { return net::percent_encode(name); }

Result<Api> Api::make(const Context& server, const Host& host) {
  const auto url = net::parse_url(server.url, "url");
  if (!url) return url.error();
  if (url->scheme != "http" && url->scheme != "https")
    return invalid(fmt::format("url {}: expected http:// or https://", server.url));
  auto client = net::HttpClient::make(options_of(server, host));
  if (!client) return client.error();
  Context kept = server;
  while (kept.url.ends_with('/')) kept.url.pop_back();
  return Api(std::move(kept), host, std::move(*client));
}

net::ClientRequest Api::request_of(const Ask& ask) const {
  net::ClientRequest request;
  request.method = ask.method;
  request.url = fmt::format("{}{}{}", server_.url, root, ask.path);
  if (!ask.query.empty()) request.url += "?" + net::format_query(ask.query);
  request.headers = ask.headers;
  if (!ask.body.is_null()) {
    request.headers.set("Content-Type", "application/json");
    request.body = json::serialize(ask.body);
  }
  return request;
}

Error Api::no_answer(const Error& error) const {
  const bool refused = error.message.find("refused") != std::string::npos;
  if (refused)
    return {Fault::Unavailable,
            fmt::format("cannot reach {}; is the server running? start it with `muster serve`, or "
                        "name another with --url",
                        server_.url)};
  if (error.message.starts_with("cannot trust ") && server_.ca.empty())
    return {Fault::Unavailable, error.message + ": muster context set NAME --url URL --ca FILE"};
  if (error.message.ends_with("closed the connection without an answer") &&
      server_.url.starts_with("http://"))
    return {Fault::Unavailable, error.message + "; if it has a certificate, write https://"};
  if (error.message.starts_with("no TLS with "))
    return {Fault::Unavailable, error.message + "; if it has no certificate, write http://"};
  return {Fault::Unavailable, error.message};
}

Error Api::refusal(int status, std::string_view body) const {
  const auto parsed = parse_json(body);
  const json::value& error = parsed ? field(*parsed, "error") : field(json::value(), "");
  std::string message = text(error, "message");
  if (message.empty())
    message = fmt::format("{} answered {} {}; is that a Muster server?", server_.url, status,
                          net::reason_phrase(status));
  for (const std::string_view noun : {"queue", "cluster", "pool", "token"}) {
    if (message.find(fmt::format("there is no {} ", noun)) != std::string::npos &&
        message.find("did you mean") == std::string::npos)
      message += fmt::format("; `muster {} list` shows those there are", noun);
  }
  const std::string fix = text(error, "fix");
  if (!fix.empty() && message.find(fix) == std::string::npos) message += "; " + fix;
  if (status == 401 && fix.empty())
    message += "; give a token with --token, MUSTER_TOKEN or `muster context set`";
  return {fault_of(status), message};
}

Result<Api::Answer> Api::exchange(const Ask& ask) {
  auto response = client_->send(request_of(ask));
  if (!response) return no_answer(response.error());
  Answer answer;
  answer.status = response->status;
  const auto wait = parse_int(response->headers.get("Retry-After"), "Retry-After", 0, 3600);
  answer.retry_after = seconds(wait ? *wait : 1);
  if (response->status >= 300) {
    const Error error = refusal(response->status, response->body);
    answer.body = json::string(error.message);
    return answer;
  }
  if (response->body.empty()) return answer;
  auto body = parse_json(response->body);
  if (!body)
    return Error{Fault::Unavailable, fmt::format("{} answered something that is no JSON; is that a "
                                                 "Muster server?",
                                                 server_.url)};
  answer.body = std::move(*body);
  return answer;
}

Result<json::value> Api::send(const Ask& ask) {
  auto answer = exchange(ask);
  if (!answer) return answer.error();
  if (answer->status >= 300) return Error{fault_of(answer->status), text(answer->body)};
  return std::move(answer->body);
}

Result<json::value> Api::send_patiently(const Ask& ask, int tries) {
  while (true) {
    auto answer = exchange(ask);
    if (!answer) return answer.error();
    if (answer->status < 300) return std::move(answer->body);
    const Fault fault = fault_of(answer->status);
    if (fault != Fault::Unavailable || --tries <= 0) return Error{fault, text(answer->body)};
    host_->sleep(std::clamp(answer->retry_after, milliseconds(100), seconds(5)));
  }
}

Result<json::value> Api::get(std::string path, net::QueryPairs query) {
  return send({.path = std::move(path), .query = std::move(query)});
}

Result<json::value> Api::post(std::string path, json::value body) {
  return send({.method = "POST", .path = std::move(path), .body = std::move(body)});
}

Result<Api::Socket> Api::open_socket(const Ask& ask, net::WebSocketOptions options,
                                     net::WebSocketCallbacks callbacks) {
  auto client = net::HttpClient::make(options_of(server_, *host_));
  if (!client) return client.error();
  Socket socket{.client = std::move(*client), .socket = {}, .call = {}};
  auto open =
      socket.client->open_websocket(request_of(ask), std::move(options), std::move(callbacks));
  socket.socket = open.socket;
  socket.call = open.call;
  return socket;
}

Error Api::socket_error(const Error& error, const net::Response& refusal) const {
  if (refusal.status != 0) return this->refusal(refusal.status, refusal.body.view());
  return no_answer(error);
}

/// What the I/O thread of the client hands to the thread of the command. Bounded: the I/O thread
/// waits when the command does not keep up, which slows down the sender.
struct Api::Round {
  static constexpr std::size_t events_max = 4096;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<net::SseEvent> events;  // guarded by mutex, as all that follows
  std::optional<Result<net::ClientResponse>> end;
  bool stopped = false;

  bool put(net::SseEvent event) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return stopped || events.size() < events_max; });
    if (!stopped) events.push_back(std::move(event));
    changed.notify_all();
    return !stopped;
  }
};

/// True: stopped by the follower, or ended by the server; false: the connection broke.
Result<bool> Api::follow_once(const Ask& ask, const Follower& follower, std::string& last_id) {
  const auto round = std::make_shared<Round>();
  // A client of its own: its I/O thread may wait for the command, which may ask something else.
  const auto client = net::HttpClient::make(options_of(server_, *host_));
  if (!client) return client.error();
  net::ClientRequest request = request_of(ask);
  request.headers.set("Accept", "text/event-stream");
  if (!last_id.empty()) request.headers.set("Last-Event-ID", last_id);
  const auto parser = std::make_shared<net::SseParser>(
      [round](net::SseEvent event) { round->put(std::move(event)); });
  net::StreamCallbacks callbacks;
  callbacks.on_bytes = [round, parser](std::string_view bytes) {
    const bool fine = parser->feed(bytes).ok();
    const std::lock_guard lock(round->mutex);
    return fine && !round->stopped;
  };
  const auto call = (*client)->stream_later(std::move(request), std::move(callbacks),
                                            [round](Result<net::ClientResponse> end) {
                                              const std::lock_guard lock(round->mutex);
                                              round->end = std::move(end);
                                              round->changed.notify_all();
                                            });
  const auto stop = [&] {
    const std::lock_guard lock(round->mutex);
    round->stopped = true;
    round->changed.notify_all();
    call.cancel();
    return true;
  };
  while (true) {
    std::deque<net::SseEvent> events;
    bool ended = false;
    {
      std::unique_lock lock(round->mutex);
      round->changed.wait_for(lock, std::chrono::milliseconds(100),
                              [&] { return round->end || !round->events.empty(); });
      events.swap(round->events);
      ended = round->end.has_value();
      round->changed.notify_all();
    }
    for (const net::SseEvent& event : events) {
      if (!event.id.empty()) last_id = event.id;
      if (follower.on_event(event) == Next::Stop) return stop();
    }
    if (follower.on_pause && follower.on_pause() == Next::Stop) return stop();
    if (!ended || !events.empty()) continue;  // what came before the end is given out first
    if (!*round->end) {
      if (last_id.empty()) return no_answer(round->end->error());
      return false;
    }
    if ((*round->end)->status >= 300) return refusal((*round->end)->status, (*round->end)->body);
    return true;
  }
}

Status Api::follow(const Ask& ask, const Follower& follower) {
  std::string last_id;
  constexpr int tries_max = 30;
  for (int tries = 0;;) {
    const std::string before = last_id;
    const Result<bool> over = follow_once(ask, follower, last_id);
    if (over && *over) return Ok{};
    tries = last_id != before ? 0 : tries + 1;
    const bool again = follower.resume && !last_id.empty() && tries < tries_max &&
                       (over || over.error().fault == Fault::Unavailable);
    if (!again) {
      if (!over) return over.error();
      return Error{Fault::Unavailable, fmt::format("the connection to {} broke", server_.url)};
    }
    host_->sleep(std::min(seconds(2), milliseconds(100 * (tries + 1))));
    if (follower.on_pause && follower.on_pause() == Next::Stop) return Ok{};
  }
}

}  // namespace muster::cli
