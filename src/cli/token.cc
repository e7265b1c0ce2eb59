// `muster token create|list|revoke`.
#include <fmt/format.h>

#include "cli/cli.h"

namespace muster::cli {
namespace {

struct Options {
  std::string name;
  std::string user;
  std::string expires;
};

Result<int> create_token(Session& session, const Options& options) {
  json::object ask{{"name", options.name}};
  if (!options.user.empty()) ask["user"] = options.user;
  if (!options.expires.empty()) {
    const auto life = parse_duration(options.expires, "--expires");
    if (!life) return life.error();
    ask["expires_ms"] = (session.host().now() + *life).ms;
  }
  const auto api = session.api();
  if (!api) return api.error();
  const auto token = (*api)->post("/tokens", std::move(ask));
  if (!token) return token.error();
  if (session.is_data()) {
    session.print_data(*token);
  } else {
    session.out(text(*token, "token") + "\n");
    session.note(fmt::format("token {} of {}; it is not shown again", text(*token, "id"),
                             text(*token, "user")));
  }
  return exit_done;
}

Result<int> list_tokens(Session& session) {
  const auto api = session.api();
  if (!api) return api.error();
  const auto answer = (*api)->get("/tokens");
  if (!answer) return answer.error();
  Table table({{"ID"}, {"NAME"}, {"USER"}, {"CREATED"}, {"EXPIRES"}, {"LAST USED"}});
  for (const json::value& token : list(*answer, "tokens"))
    table.add({text(token, "id"), text(token, "name"), text(token, "user"),
               session.when(token, "created_ms"), session.when(token, "expires_ms"),
               session.when(token, "last_used_ms")});
  session.print(table, list(*answer, "tokens"), "no tokens");
  return exit_done;
}

Result<int> revoke_token(Session& session, const std::string& id) {
  const auto api = session.api();
  if (!api) return api.error();
  const auto gone = (*api)->send({.method = "DELETE", .path = "/tokens/" + segment(id)});
  if (!gone) return gone.error();
  if (session.is_data()) {
    session.print_data(json::object{{"id", id}, {"revoked", true}});
  } else {
    session.out(fmt::format("token {} revoked\n", id));
  }
  return exit_done;
}

}  // namespace

void add_token(CLI::App& app, const SharedHost& host) {
  CLI::App* token = add_noun(app, "token", "Tokens: who may ask");
  CLI::App* create = add_command(*token, "create", "Make a token and show it once");
  const auto options = std::make_shared<Options>();
  add_option(*create, "NAME", options->name, "what it is for")->required();
  add_option(*create, "--user", options->user, "whose requests they are; none: yours");
  add_option(*create, "--expires", options->expires, "after so long: 12h, 90d; none: never");
  set_body(*create, host, [options](Session& session) { return create_token(session, *options); });
  set_body(*add_command(*token, "list", "Show tokens, without their secrets"), host, list_tokens);
  set_body(*add_command(app, "tokens", "The same as token list"), host, list_tokens);
  CLI::App* revoke = add_command(*token, "revoke", "Make a token worthless");
  const auto id = std::make_shared<std::string>();
  add_option(*revoke, "ID", *id, "as token list shows it")->required();
  set_body(*revoke, host, [id](Session& session) { return revoke_token(session, *id); });
}

}  // namespace muster::cli
