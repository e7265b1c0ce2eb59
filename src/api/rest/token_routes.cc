// Tokens: made, listed, revoked. Making and revoking write a file, so they run on a worker; both
// leave a row in the audit log, after the fact, because a token that was revoked is revoked
// whatever the store does.
#include <boost/json.hpp>
#include <utility>

#include "api/rest/admin_routes.h"
#include "api/rest/answers.h"

namespace muster::api {
namespace {

namespace json = boost::json;

json::value time_value(Time t) { return t.is_never() ? json::value(nullptr) : json::value(t.ms); }

json::object token_object(const auth::TokenInfo& info) {
  return {{"id", info.id},
          {"name", info.name},
          {"user", info.user},
          {"created_ms", info.created.ms},
          {"expires_ms", time_value(info.expires)},
          {"last_used_ms", time_value(info.last_used)}};
}

struct TokenAsk {
  std::string name;
  std::string user;  // "": the caller
  Time expires = Time::never();
};

Result<TokenAsk> read_ask(const std::string& body) {
  boost::system::error_code bad;
  const json::value parsed = json::parse(body, bad);
  if (bad || !parsed.is_object())
    return invalid("the body must be a JSON object {name, user, expires_ms}");
  TokenAsk ask;
  for (const auto& member : parsed.get_object()) {
    const std::string_view key = member.key();
    const json::value& value = member.value();
    if (key == "name" || key == "user") {
      if (!value.is_string()) return invalid(fmt::format("{}: must be a text", key));
      (key == "name" ? ask.name : ask.user) = std::string(value.get_string());
    } else if (key == "expires_ms") {
      if (value.is_null()) continue;
      if (!value.is_int64()) return invalid("expires_ms: must be a whole number or null");
      ask.expires = Time{value.get_int64()};
    } else {
      return invalid(fmt::format("{}: is not known; there are name, user and expires_ms", key));
    }
  }
  if (ask.name.empty()) return invalid("name: is missing; say what the token is for");
  return ask;
}

/// The client is answered, then the row is written if the store can.
void audit_later(const AdminParts& parts, const CallPtr& call, const std::string& verb,
                 const auth::TokenInfo& info) {
  control::Request request;
  request.ask = [row = audit_row(call->request, verb, "token/" + info.id,
                                 fmt::format("{} of {}", info.name, info.user))](
                    const sched::World&, Time) -> Result<control::Asked> {
    control::Asked asked;
    asked.audit.push_back(row);
    return asked;
  };
  request.done = [](const Result<control::Answer>&) {};
  parts.requests.put(std::move(request));
}

void create_token(const AdminParts& parts, const CallPtr& call) {
  auto ask = read_ask(call->request.body);
  if (!ask) {
    call->answer(ask.error());
    return;
  }
  if (ask->user.empty()) ask->user = user_of(call->request);
  on_worker(parts.work, call, [&parts, call, ask = *ask]() -> Status {
    const auto made = parts.tokens.create(ask.user, ask.name, parts.clock(), ask.expires);
    if (!made) return made.error();
    json::object out = token_object(made->info);
    out["token"] = made->secret;
    net::Response response = net::json_response(201, json::serialize(out));
    response.headers.set("Cache-Control", "no-store");
    call->responder.send(std::move(response));
    audit_later(parts, call, "create", made->info);
    return Ok{};
  });
}

void revoke_token(const AdminParts& parts, const CallPtr& call) {
  on_worker(parts.work, call, [&parts, call]() -> Status {
    const auto revoked = parts.tokens.revoke(call->request.param("token"));
    if (!revoked) return revoked.error();
    call->responder.send({204, {}, {}});
    audit_later(parts, call, "revoke", *revoked);
    return Ok{};
  });
}

void list_tokens(const AdminParts& parts, const CallPtr& call) {
  json::array list;
  for (const auth::TokenInfo& info : parts.tokens.list()) list.push_back(token_object(info));
  call->answer(200, json::serialize(json::object{{"tokens", std::move(list)}}));
}

}  // namespace

void add_token_routes(net::Router& router, const AdminParts& parts) {
  add_route(router, "GET", "/tokens", [&parts](const CallPtr& call) { list_tokens(parts, call); });
  add_route(router, "POST", "/tokens",
            [&parts](const CallPtr& call) { create_token(parts, call); });
  add_route(router, "DELETE", "/tokens/{token}",
            [&parts](const CallPtr& call) { revoke_token(parts, call); });
}

}  // namespace muster::api
