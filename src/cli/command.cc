#include "cli/command.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "cli/report.h"
#include "cli/words.h"

namespace muster::cli {

Result<Api*> Session::api() {
  if (!api_) {
    const auto server = choose_server(wishes_, *host_);
    if (!server) return server.error();
    auto made = Api::make(*server, *host_);
    if (!made) return made.error();
    api_ = std::make_unique<Api>(std::move(*made));
  }
  return api_.get();
}

Layout Session::layout() const {
  Layout layout;
  layout.color = color();
  if (host_->out_is_terminal && format_ == Format::Table) layout.width = host_->columns();
  return layout;
}

void Session::warn(const json::value& answer) const {
  for (const json::value& warning : list(answer, "warnings"))
    note(fmt::format("warning: {}", one_line(text(warning))));
}

void Session::print_data(const json::value& value) const {
  out(format_ == Format::Yaml ? yaml(value) : pretty_json(value));
}

void Session::print_next(const json::value& value) const {
  out(format_ == Format::Yaml ? "---\n" + yaml(value) : json::serialize(value) + "\n");
}

void Session::print(const Table& table, const json::value& data, std::string_view nothing) const {
  if (is_data()) return print_data(data);
  if (table.size() == 0) return note(nothing);
  out(table.to_text(layout()));
}

std::string Session::when(const json::value& object, std::string_view name) const {
  const Time t = time_of(object, name);
  return is_wide() ? moment(t) : ago(t, host_->now());
}

int exit_code_of(const Error& error) {
  switch (error.fault) {
    case Fault::Invalid:
      return exit_wrong;
    case Fault::Unavailable:
      return exit_unavailable;
    case Fault::NotFound:
    case Fault::Conflict:
      return exit_refused;
  }
  return exit_refused;
}

void set_body(CLI::App& command, const SharedHost& host, Body body) {
  set_body(command, host, std::move(body), "--context");
}

void set_body(CLI::App& command, const SharedHost& host, Body body, const std::string& context) {
  struct Options {
    Wishes wishes;
    std::string format = "table";
  };
  const auto options = std::make_shared<Options>();
  const std::string group = "Server and output";
  add_option(command, "-o,--output", options->format, "table, wide, json or yaml")
      ->check(CLI::IsMember({"table", "wide", "json", "yaml"}))
      ->capture_default_str()
      ->group(group);
  add_option(command, "--url", options->wishes.url, "address of the server (MUSTER_URL)")
      ->group(group);
  add_option(command, "--token", options->wishes.token, "who is asking (MUSTER_TOKEN)")
      ->group(group);
  add_option(command, context, options->wishes.context, "server by its name in your contexts")
      ->group(group);
  const CLI::App* self = &command;
  command.callback([host, options, body = std::move(body), self] {
    static const std::map<std::string, Format> formats = {{"table", Format::Table},
                                                          {"wide", Format::Wide},
                                                          {"json", Format::Json},
                                                          {"yaml", Format::Yaml}};
    if (!self->get_subcommands().empty()) return;  // a noun given with a verb
    Session session(*host, formats.at(options->format), options->wishes);
    const Result<int> code = body(session);
    if (!code) host->err(fmt::format("muster: {}\n", one_line(code.error().message)));
    const int exit = code ? *code : exit_code_of(code.error());
    if (exit != exit_done) throw CLI::RuntimeError(exit);
  });
}

CLI::App* add_noun(CLI::App& app, const std::string& noun, const std::string& help) {
  CLI::App* command = add_command(app, noun, help);
  command->require_subcommand(1);
  return command;
}

CLI::Option* add_words(CLI::App& command, std::vector<std::string>& words,
                       const std::string& help) {
  const CLI::Validator unshield(
      [](std::string& word) {
        if (word.starts_with(shield)) word.erase(0, 1);
        return std::string();
      },
      "");
  return add_option(command, "CMD", words, help)->transform(unshield);
}

}  // namespace muster::cli
