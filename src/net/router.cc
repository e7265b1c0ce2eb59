#include "net/router.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace muster::net {

namespace {

struct Route {
  std::string pattern;
  std::vector<std::string> names;  // of its {} from left to right
  Handler handler;
};

using Segments = std::vector<std::string>;

bool is_name(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
  });
}

}  // namespace

struct Router::Node {
  std::map<std::string, std::unique_ptr<Node>, std::less<>> written;
  std::unique_ptr<Node> named;
  std::unique_ptr<Node> rest;
  std::map<std::string, Route, std::less<>> routes;  // by method

  /// The first node with routes that the segments lead to; what names stand for is left in values.
  /// Every node has one depth, so each is visited at most once.
  const Node* find(const Segments& segments, std::size_t at, Segments& values) const {
    if (at == segments.size()) {
      if (!routes.empty()) return this;
    } else {
      if (const auto it = written.find(segments[at]); it != written.end()) {
        if (const Node* found = it->second->find(segments, at + 1, values)) return found;
      }
      if (named) {
        values.push_back(segments[at]);
        if (const Node* found = named->find(segments, at + 1, values)) return found;
        values.pop_back();
      }
    }
    if (!rest) return nullptr;
    std::string joined;
    for (std::size_t i = at; i < segments.size(); ++i) {
      if (i > at) joined += '/';
      joined += segments[i];
    }
    values.push_back(std::move(joined));
    return rest.get();
  }

  std::string allowed() const {
    std::string out;
    for (const auto& [method, route] : routes) out += (out.empty() ? "" : ", ") + method;
    if (routes.contains("GET") && !routes.contains("HEAD")) out += ", HEAD";
    if (!routes.contains("OPTIONS")) out += ", OPTIONS";
    return out;
  }
};

Router::Router() : root_(std::make_unique<Node>()) {}
Router::~Router() = default;
Router::Router(Router&&) noexcept = default;
Router& Router::operator=(Router&&) noexcept = default;

Status Router::try_add(std::string_view method, std::string_view pattern, Handler handler) {
  if (!pattern.starts_with('/')) {
    return invalid(fmt::format("pattern: '{}' does not begin with /", pattern));
  }
  Node* node = root_.get();
  Route route{std::string(pattern), {}, std::move(handler)};
  const std::string_view tail = pattern.substr(1);
  const auto parts = tail.empty() ? std::vector<std::string_view>{} : split(tail, '/');
  for (std::size_t i = 0; i < parts.size(); ++i) {
    std::string_view part = parts[i];
    const bool braced = part.starts_with('{') && part.ends_with('}') && part.size() > 2;
    if (!braced) {
      if (part.find_first_of("{}") != std::string_view::npos) {
        return invalid(fmt::format("pattern: '{}': a name is a whole segment", pattern));
      }
      auto& next = node->written[std::string(part)];
      if (!next) next = std::make_unique<Node>();
      node = next.get();
      continue;
    }
    part = part.substr(1, part.size() - 2);
    const bool is_rest = part.ends_with("...");
    if (is_rest) part.remove_suffix(3);
    const bool taken = std::find(route.names.begin(), route.names.end(), part) != route.names.end();
    if (!is_name(part) || taken || (is_rest && i + 1 != parts.size())) {
      return invalid(fmt::format("pattern: '{}': bad name '{}'", pattern, parts[i]));
    }
    route.names.emplace_back(part);
    auto& next = is_rest ? node->rest : node->named;
    if (!next) next = std::make_unique<Node>();
    node = next.get();
  }
  const auto [it, added] = node->routes.try_emplace(std::string(method), std::move(route));
  if (!added) {
    return Error{Fault::Conflict, fmt::format("pattern: {} {} is there already as {}", method,
                                              pattern, it->second.pattern)};
  }
  return Ok{};
}

void Router::add(std::string_view method, std::string_view pattern, Handler handler) {
  const Status added = try_add(method, pattern, std::move(handler));
  MUSTER_CHECK(added.ok(), "{}", added.error().message);
}

void Router::add(std::string_view method, std::string_view pattern, AnswerNow handler) {
  add(method, pattern,
      Handler([answer = std::move(handler)](const Request& request, const Responder& responder) {
        responder.send(answer(request));
      }));
}

Match Router::match(std::string_view method, const Segments& segments) const {
  Match match;
  Segments values;
  const Node* node = root_->find(segments, 0, values);
  if (node == nullptr) return match;
  auto it = node->routes.find(method);
  if (it == node->routes.end() && method == "HEAD") it = node->routes.find("GET");
  if (it == node->routes.end()) {
    match.allowed = node->allowed();
    return match;
  }
  const Route& route = it->second;
  match.handler = &route.handler;
  match.pattern = route.pattern;
  for (std::size_t i = 0; i < route.names.size(); ++i) match.params[route.names[i]] = values[i];
  return match;
}

void Router::dispatch(Request request, Responder responder) const {
  if (request.method == "OPTIONS" && request.target == "*") {
    responder.send({204, {}, {}});
    return;
  }
  Match found = match(request.method, request.segments);
  if (found.handler != nullptr) {
    responder.set_route(std::string(found.pattern));
    request.params = std::move(found.params);
    (*found.handler)(std::move(request), std::move(responder));
    return;
  }
  if (found.allowed.empty()) {
    responder.send(error_response(404, fmt::format("nothing is at {}", request.path)));
    return;
  }
  Response response{204, {}, {}};
  if (request.method != "OPTIONS") {
    response = error_response(405, fmt::format("{} is not for {}; it takes {}", request.method,
                                               request.path, found.allowed));
  }
  response.headers.add("Allow", std::move(found.allowed));
  responder.send(std::move(response));
}

}  // namespace muster::net
