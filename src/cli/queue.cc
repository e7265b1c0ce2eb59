// `muster queue list|show|create|edit|delete`.
#include <fmt/format.h>

#include <array>

#include "cli/cli.h"
#include "cli/jobs.h"
#include "cli/words.h"

namespace muster::cli {
namespace {

std::string path_of(const std::string& queue) { return "/queues/" + segment(queue); }

/// "8 of 16 (64)": in use, guaranteed, maximum; what is not set is left out.
std::string use_of_gpus(const json::value& queue) {
  const json::value& limits = field(field(queue, "limits"), "gpu");
  const std::string used = amount(field(field(queue, "use"), "gpu"));
  const std::string guaranteed = amount(field(limits, "guaranteed"));
  const std::string maximum = amount(field(limits, "maximum"));
  std::string out = used.empty() ? "0" : used;
  if (!guaranteed.empty()) out += " of " + guaranteed;
  if (!maximum.empty()) out += " (" + maximum + ")";
  return out;
}

std::string share_text(const json::value& queue) {
  const auto ppm = number(queue, "share_ppm");
  return ppm ? fmt::format("{:.1f}%", static_cast<double>(*ppm) / 10'000) : "";
}

Table queue_table(const Session& session, const json::array& queues) {
  std::vector<Column> columns = {{"NAME"},          {"PARENT"},        {"WEIGHT", true},
                                 {"WAITING", true}, {"RUNNING", true}, {"GPUS IN USE"},
                                 {"SHARE", true}};
  if (session.is_wide()) {
    for (const char* heading : {"STRATEGY", "TREE", "USE"}) columns.push_back({heading});
  }
  Table table(std::move(columns));
  for (const json::value& queue : queues) {
    std::vector<Cell> row = {text(queue, "name"),    text(queue, "parent"),  text(queue, "weight"),
                             text(queue, "waiting"), text(queue, "running"), use_of_gpus(queue),
                             share_text(queue)};
    if (session.is_wide()) {
      row.emplace_back(text(queue, "strategy"));
      row.emplace_back(text(queue, "tree"));
      row.emplace_back(amounts(members(queue, "use")));
    }
    table.add(std::move(row));
  }
  return table;
}

Result<int> list_queues(Session& session) {
  const auto api = session.api();
  if (!api) return api.error();
  const auto answer = (*api)->get("/queues");
  if (!answer) return answer.error();
  const json::array& queues = list(*answer, "queues");
  session.print(queue_table(session, queues), queues, "no queues");
  return exit_done;
}

void print_queue(Session& session, const json::value& queue, const json::value& usage) {
  Sheet sheet;
  sheet.add("name", text(queue, "name"));
  sheet.add("parent", text(queue, "parent"));
  sheet.add("tree", text(queue, "tree"));
  sheet.add("weight", text(queue, "weight"));
  sheet.add("strategy", text(queue, "strategy"));
  if (number(queue, "priority_cap").value_or(0) < 1'000'000'000)
    sheet.add("priority cap", text(queue, "priority_cap"));
  sheet.add("share", share_text(queue));
  sheet.add("waiting", text(queue, "waiting"));
  sheet.add("running", text(queue, "running"));
  session.out(sheet.to_text(session.color()));
  Table table({{"RESOURCE"},
               {"IN USE", true},
               {"GUARANTEED", true},
               {"MAXIMUM", true},
               {"BORROW", true},
               {"LEND", true}});
  std::map<std::string, json::value> resources;
  for (const auto& member : members(queue, "use")) resources[std::string(member.key())];
  for (const auto& member : members(queue, "limits"))
    resources[std::string(member.key())] = member.value();
  for (const auto& [name, limit] : resources)
    table.add({name, amount(field(field(queue, "use"), name)), amount(field(limit, "guaranteed")),
               amount(field(limit, "maximum")), amount(field(limit, "borrow")),
               amount(field(limit, "lend"))});
  session.out(table.to_text(session.layout()));
  Table users({{"USER"}, {"WAITING", true}, {"RUNNING", true}, {"USE"}});
  for (const json::value& user : list(usage, "users"))
    users.add({text(user, "user"), text(user, "waiting"), text(user, "running"),
               amounts(members(user, "use"))});
  session.out(users.to_text(session.layout()));
}

Result<int> show_queue(Session& session, const std::string& name) {
  const auto api = session.api();
  if (!api) return api.error();
  const auto queue = (*api)->get(path_of(name));
  if (!queue) return queue.error();
  if (session.is_data()) {
    session.print_data(*queue);
    return exit_done;
  }
  const auto usage = (*api)->get(path_of(name) + "/usage");
  if (!usage) return usage.error();
  print_queue(session, *queue, *usage);
  return exit_done;
}

struct Options {
  std::string name;
  std::optional<std::string> parent;
  std::optional<int> weight;
  std::string strategy;
  std::optional<int> priority_cap;
  std::string guaranteed;
  std::string maximum;
  std::string borrow;
  std::string lend;
};

/// "none" takes a limit away, where that can be said.
Result<json::object> body_of(const Options& options, bool is_edit) {
  json::object body;
  if (options.parent) body["parent"] = *options.parent;
  if (options.weight) body["weight"] = *options.weight;
  if (!options.strategy.empty()) body["strategy"] = options.strategy;
  if (options.priority_cap) body["priority_cap"] = *options.priority_cap;
  const std::array<std::pair<const char*, const std::string*>, 4> limits = {
      {{"guaranteed", &options.guaranteed},
       {"maximum", &options.maximum},
       {"borrow", &options.borrow},
       {"lend", &options.lend}}};
  for (const auto& [name, given] : limits) {
    if (given->empty()) continue;
    const auto pairs = parse_amounts(*given, fmt::format("--{}", name));
    if (!pairs) return pairs.error();
    json::object by_resource;
    for (const auto& [resource, value] : *pairs)
      by_resource[resource] =
          is_edit && value == "none" ? json::value(nullptr) : json::value(value);
    body[name] = std::move(by_resource);
  }
  return body;
}

Result<int> write_queue(Session& session, const Options& options, bool is_edit) {
  auto body = body_of(options, is_edit);
  if (!body) return body.error();
  if (is_edit && body->empty())
    return invalid("nothing to change: give --weight, --maximum or another option");
  if (!is_edit) (*body)["name"] = options.name;
  const auto api = session.api();
  if (!api) return api.error();
  const auto queue = (*api)->send({.method = is_edit ? "PATCH" : "POST",
                                   .path = is_edit ? path_of(options.name) : "/queues",
                                   .body = std::move(*body)});
  if (!queue) return queue.error();
  if (session.is_data()) {
    session.print_data(*queue);
  } else {
    session.out(fmt::format("queue {} {}\n", options.name, is_edit ? "changed" : "made"));
  }
  return exit_done;
}

Result<int> delete_queue(Session& session, const std::string& name) {
  const auto api = session.api();
  if (!api) return api.error();
  const auto gone = (*api)->send({.method = "DELETE", .path = path_of(name)});
  if (!gone) return gone.error();
  if (session.is_data()) {
    session.print_data(json::object{{"name", name}, {"deleted", true}});
  } else {
    session.out(fmt::format("queue {} deleted\n", name));
  }
  return exit_done;
}

void add_write(CLI::App& queue, const SharedHost& host, bool is_edit) {
  CLI::App* command = is_edit ? add_command(queue, "edit", "Change what is given, keep the rest")
                              : add_command(queue, "create", "Make a queue");
  const auto options = std::make_shared<Options>();
  const char* amounts = is_edit ? ": gpu=8,cpu=64; gpu=none takes it away" : ": gpu=8,cpu=64";
  add_option(*command, "QUEUE", options->name, "its name")->required();
  add_option(*command, "--parent", options->parent, "the queue above it");
  add_option(*command, "--weight", options->weight, "its share beside others")
      ->check(CLI::Range(0, 65'535));
  add_option(*command, "--strategy", options->strategy, "backfill, skip_ahead or fifo")
      ->check(CLI::IsMember({"backfill", "skip_ahead", "fifo"}));
  add_option(*command, "--priority-cap", options->priority_cap, "highest priority of its jobs");
  add_option(*command, "--guaranteed", options->guaranteed, fmt::format("promised{}", amounts));
  add_option(*command, "--maximum", options->maximum, fmt::format("never more{}", amounts));
  add_option(*command, "--borrow", options->borrow, fmt::format("above guaranteed{}", amounts));
  add_option(*command, "--lend", options->lend, fmt::format("of guaranteed to others{}", amounts));
  set_body(*command, host, [options, is_edit](Session& session) {
    return write_queue(session, *options, is_edit);
  });
}

}  // namespace

void add_queue(CLI::App& app, const SharedHost& host) {
  CLI::App* queue = add_noun(app, "queue", "Queues: who may use how much");
  set_body(*add_command(*queue, "list", "Show all queues"), host, list_queues);
  set_body(*add_command(app, "queues", "The same as queue list"), host, list_queues);
  const auto name = std::make_shared<std::string>();
  CLI::App* show = add_command(*queue, "show", "Show one queue, its limits and who uses it");
  add_option(*show, "QUEUE", *name, "its name")->required();
  set_body(*show, host, [name](Session& session) { return show_queue(session, *name); });
  add_write(*queue, host, false);
  add_write(*queue, host, true);
  CLI::App* remove = add_command(*queue, "delete", "Remove a queue without jobs");
  add_option(*remove, "QUEUE", *name, "its name")->required();
  set_body(*remove, host, [name](Session& session) { return delete_queue(session, *name); });
}

}  // namespace muster::cli
