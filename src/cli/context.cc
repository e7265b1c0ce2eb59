// `muster context list|use|set|delete`: which servers there are, and which one is meant.
#include <fmt/format.h>

#include <filesystem>

#include "cli/cli.h"
#include "net/url.h"

namespace muster::cli {
namespace {

/// Without its token: that is for the server alone.
json::object data_of(const Context& context, const std::string& current) {
  return json::object{{"name", context.name},
                      {"url", context.url},
                      {"has_token", !context.token.empty()},
                      {"ca", context.ca},
                      {"current", context.name == current}};
}

Result<int> list_contexts(Session& session) {
  const auto contexts = load_contexts(session.host());
  if (!contexts) return contexts.error();
  Table table({{""}, {"NAME"}, {"URL"}, {"TOKEN"}, {"CA"}});
  json::array data;
  for (const Context& context : contexts->all) {
    const bool is_current = context.name == contexts->current;
    const bool has_token = !context.token.empty();
    table.add(
        {is_current ? "*" : "", context.name, context.url, has_token ? "yes" : "", context.ca});
    data.push_back(data_of(context, contexts->current));
  }
  const auto server = choose_server({}, session.host());
  session.print(
      table, data,
      fmt::format("no contexts; commands speak to {}", server ? server->url : default_url));
  return exit_done;
}

Result<int> use_context(Session& session, const std::string& name) {
  auto contexts = load_contexts(session.host());
  if (!contexts) return contexts.error();
  const Context* context = contexts->find(name);
  if (context == nullptr)
    return Error{
        Fault::NotFound,
        fmt::format("no context {}; make it: muster context set {} --url URL", name, name)};
  contexts->current = name;
  if (Status saved = save_contexts(session.host(), *contexts); !saved) return saved.error();
  if (session.is_data()) {
    session.print_data(data_of(*context, name));
  } else {
    session.out(fmt::format("commands speak to {} now\n", context->url));
  }
  return exit_done;
}

Result<int> delete_context(Session& session, const std::string& name) {
  auto contexts = load_contexts(session.host());
  if (!contexts) return contexts.error();
  const Context* context = contexts->find(name);
  if (context == nullptr)
    return Error{Fault::NotFound,
                 fmt::format("no context {}; `muster context list` shows those there are", name)};
  const json::object data = data_of(*context, contexts->current);
  std::erase_if(contexts->all, [&](const Context& one) { return one.name == name; });
  if (contexts->current == name) contexts->current.clear();
  if (Status saved = save_contexts(session.host(), *contexts); !saved) return saved.error();
  if (session.is_data()) {
    session.print_data(data);
  } else {
    session.out(fmt::format("context {} deleted\n", name));
  }
  return exit_done;
}

struct Options {
  std::string name;
  std::string ca;
};

/// What --url and --token say is kept here, instead of used.
Result<int> set_context(Session& session, const Options& options) {
  const Wishes& wishes = session.wishes();
  auto contexts = load_contexts(session.host());
  if (!contexts) return contexts.error();
  if (!wishes.url.empty()) {
    const auto url = net::parse_url(wishes.url, "--url");
    if (!url) return url.error();
  }
  Context* context = contexts->find(options.name);
  if (context == nullptr) {
    if (wishes.url.empty()) return invalid("a new context needs --url URL");
    context = &contexts->all.emplace_back(Context{options.name, "", "", ""});
  }
  if (!wishes.url.empty()) context->url = wishes.url;
  if (!wishes.token.empty()) context->token = wishes.token;
  // Commands are given in other folders too.
  if (!options.ca.empty()) context->ca = std::filesystem::absolute(options.ca).lexically_normal();
  if (contexts->current.empty()) contexts->current = options.name;
  if (Status saved = save_contexts(session.host(), *contexts); !saved) return saved.error();
  if (session.is_data()) {
    session.print_data(data_of(*context, contexts->current));
  } else {
    session.out(
        fmt::format("context {} kept in {}\n", options.name, contexts_path(session.host())));
  }
  return exit_done;
}

}  // namespace

void add_context(CLI::App& app, const SharedHost& host) {
  CLI::App* context = add_noun(app, "context", "Contexts: the servers you speak to");
  set_body(*add_command(*context, "list", "Show contexts"), host, list_contexts);
  set_body(*add_command(app, "contexts", "The same as context list"), host, list_contexts);
  CLI::App* use = add_command(*context, "use", "Speak to this server from now on");
  const auto name = std::make_shared<std::string>();
  add_option(*use, "NAME", *name, "as context list shows it")->required();
  set_body(*use, host, [name](Session& session) { return use_context(session, *name); });
  CLI::App* set =
      add_command(*context, "set", "Keep --url and --token under a name, where only you can read");
  set->footer("Example: muster context set lab --url https://muster.lab:8443 --token ...");
  const auto options = std::make_shared<Options>();
  add_option(*set, "NAME", options->name, "what to call it")->required();
  add_option(*set, "--ca", options->ca, "file of the authority that signed its certificate");
  set_body(*set, host, [options](Session& session) { return set_context(session, *options); });
  CLI::App* remove = add_command(*context, "delete", "Forget a server and its token");
  const auto forgotten = std::make_shared<std::string>();
  add_option(*remove, "NAME", *forgotten, "as context list shows it")->required();
  set_body(*remove, host,
           [forgotten](Session& session) { return delete_context(session, *forgotten); });
}

}  // namespace muster::cli
