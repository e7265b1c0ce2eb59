// `muster cluster join`: of this machine and of simulated clusters by a few options, of Kubernetes
// clusters by a kubeconfig, which is read here and sent whole: files that it names are copied into
// it. Programs that it runs for credentials are run by the server.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <utility>

#include "cli/cluster.h"
#include "config/node.h"
#include "kube/kubeconfig.h"
#include "kube/self_contained.h"

namespace muster::cli {
namespace {

struct JoinOptions {
  std::string file;
  std::string name;
  std::string type;
  std::optional<int> slots;
  std::string kubeconfig;
  std::string context;
  bool all_contexts = false;
  std::string kube_namespace;
  std::vector<std::string> namespaces;
  std::string image;
  bool objects = false;
  std::vector<std::string> kinds;
  bool unchecked = false;
  bool dry_run = false;

  /// Those of a kubeconfig join whatever nothing else describes.
  bool is_by_kubeconfig() const { return file.empty() && (type.empty() || type == "kubernetes"); }
};

/// Options that would be passed over without a word, or contradict each other.
Status check(const JoinOptions& options) {
  if (options.dry_run && options.unchecked)
    return invalid("--dry-run and --unchecked exclude each other; drop one");
  if (options.is_by_kubeconfig())
    return options.slots ? Status(invalid("--slots: is for clusters of --type local")) : Ok{};
  const std::pair<std::string_view, bool> of_kubeconfigs[] = {
      {"--kubeconfig", !options.kubeconfig.empty()},
      {"--context", !options.context.empty()},
      {"--all-contexts", options.all_contexts},
      {"--namespace", !options.kube_namespace.empty()},
      {"--namespaces", !options.namespaces.empty()},
      {"--image", !options.image.empty()}};
  for (const auto& [name, is_given] : of_kubeconfigs) {
    if (!is_given) continue;
    return invalid(
        options.file.empty()
            ? fmt::format("{}: is not for clusters of type {}", name, options.type)
            : fmt::format("{}: cannot stand beside -f; write it into {}", name, options.file));
  }
  return Ok{};
}

// ----------------------------------------------------------------------------------------------
// kubeconfigs

Result<kube::Kubeconfig> read_kubeconfig(const Session& session, const std::string& path) {
  if (path.empty()) {  // as kubectl finds it
    std::map<std::string, std::string> kept;
    return kube::load_kubeconfigs([&](const char* name) -> const char* {
      std::string& value = kept[name] = session.host().variable(name);
      return value.empty() ? nullptr : value.c_str();
    });
  }
  const auto text = session.host().read_file(path);
  if (!text) return text.error();
  return kube::parse_kubeconfig(*text, path == "-" ? "standard input" : path);
}

/// Puts the context, whole, into the description of a cluster.
Status put_kubeconfig(const Session& session, const kube::Kubeconfig& config,
                      const std::string& context, json::object& spec) {
  auto access = kube::access_of(config, context);
  if (!access) return access.error();
  auto whole = kube::copy_files(std::move(*access));
  if (!whole) return whole.error();
  for (const std::string& file : whole->copied)
    session.note(
        fmt::format("the token in {} is copied as it is now; join again when it changes", file));
  spec["kubeconfig_inline"] = kube::kubeconfig_of(whole->access);
  if (!spec.contains("name")) spec["name"] = kube::plain_name(whole->access.context);
  return Ok{};
}

// ----------------------------------------------------------------------------------------------
// joining contexts

/// What came of one context, or of one description.
struct Joined {
  std::string context;
  std::string name;
  std::string error;    // "": it is joined, or nothing is wrong with it
  json::value check;    // null: it did not come to that
  json::value cluster;  // null: not joined
};

std::string texts(const json::array& list, std::string_view indent) {
  std::string lines;
  for (const json::value& item : list) lines += fmt::format("{}{}\n", indent, text(item));
  return lines;
}

/// Asks the server whether it can be joined. For a dry run one that is joined already is as good:
/// that is how its permissions are looked at again.
void check_spec(Api& api, const json::value& spec, const JoinOptions& options, Joined& joined) {
  net::QueryPairs query;
  if (options.objects) query.emplace_back("objects", "true");
  if (!options.kinds.empty())
    query.emplace_back("kinds", fmt::format("{}", fmt::join(options.kinds, ",")));
  auto check =
      api.send({.method = "POST", .path = "/clusters/check", .query = query, .body = spec});
  if (!check) {
    joined.error = check.error().message;
    return;
  }
  joined.check = std::move(*check);
  const std::string other = text(joined.check, "same_as");
  if (!truth(joined.check, "reachable"))
    joined.error = "cannot be reached: " + text(joined.check, "reason");
  else if (!list(joined.check, "missing").empty())
    joined.error = "permissions are missing";
  else if (!other.empty() && !options.dry_run)
    joined.error = "is joined already, as " + other;
}

Result<json::value> post_spec(Api& api, json::value spec, const JoinOptions& options) {
  net::QueryPairs query;
  if (options.unchecked) query.emplace_back("unchecked", "true");
  return api.send({.method = "POST", .path = "/clusters", .query = query, .body = std::move(spec)});
}

Joined join_context(Session& session, const kube::Kubeconfig& config, const std::string& context,
                    const JoinOptions& options) {
  Joined joined{.context = context, .name = options.name, .error = {}, .check = {}, .cluster = {}};
  json::object spec{{"type", "kubernetes"}};
  if (!options.name.empty()) spec["name"] = options.name;
  if (!options.kube_namespace.empty()) spec["namespace"] = options.kube_namespace;
  if (!options.namespaces.empty())
    spec["namespaces"] = json::array(options.namespaces.begin(), options.namespaces.end());
  if (!options.image.empty()) spec["image"] = options.image;
  if (Status put = put_kubeconfig(session, config, context, spec); !put) {
    joined.error = put.error().message;
    return joined;
  }
  joined.name = text(spec.at("name"));
  Api& api = **session.api();
  if (!options.unchecked) check_spec(api, spec, options, joined);
  if (!joined.error.empty() || options.dry_run) return joined;
  auto cluster = post_spec(api, std::move(spec), options);
  if (cluster)
    joined.cluster = std::move(*cluster);
  else
    joined.error = cluster.error().message;
  return joined;
}

void say(const Session& session, const Joined& joined, bool dry_run) {
  std::string facts;
  if (const std::string version = text(joined.check, "version"); !version.empty())
    facts = fmt::format(" (Kubernetes {}, as {})", version, text(joined.check, "user"));
  const std::string other = text(joined.check, "same_as");
  const std::string title = joined.name.empty() ? joined.context : joined.name;
  const std::string already = "is joined already, as " + other;
  const std::string good = !dry_run ? "joined" : other.empty() ? "can be joined" : already;
  const std::string bad = dry_run && !other.empty() ? already : "not joined";
  session.out(joined.error.empty()
                  ? fmt::format("{}: {}{}\n", title, good, facts)
                  : fmt::format("{}: {}: {}{}\n", title, bad, one_line(joined.error), facts));
  session.out(texts(list(joined.check, "missing"), "  needed:  "));
  session.out(texts(list(joined.check, "wanted"), "  missing, works without:  "));
  if (joined.error.empty() || list(joined.check, "missing").empty()) return;
  session.out(fmt::format("# rules for {}: save them and `kubectl --context {} apply -f FILE`\n{}",
                          title, joined.context, text(joined.check, "rbac")));
}

json::object to_json(const Joined& joined) {
  return {{"context", joined.context},
          {"name", joined.name},
          {"joined", joined.cluster.is_object()},
          {"error", joined.error.empty() ? json::value(nullptr) : json::value(joined.error)},
          {"check", joined.check},
          {"cluster", joined.cluster}};
}

Result<int> join_contexts(Session& session, const JoinOptions& options) {
  if (options.all_contexts && (!options.name.empty() || !options.context.empty()))
    return invalid("--all-contexts: the contexts give the names; drop NAME and --context");
  const auto config = read_kubeconfig(session, options.kubeconfig);
  if (!config) {
    const bool may_be_another = options.kubeconfig.empty() && options.context.empty() &&
                                !options.all_contexts && options.type.empty();
    if (!may_be_another) return config.error();
    return Error{config.error().fault,
                 config.error().message + "; other clusters have a --type: --type local"};
  }
  if (const auto api = session.api(); !api) return api.error();
  std::vector<std::string> contexts;
  if (options.all_contexts) {
    for (const kube::ContextEntry& entry : config->contexts) contexts.push_back(entry.name);
    if (contexts.empty()) return invalid("--all-contexts: the kubeconfig has no contexts");
  } else {
    contexts.push_back(options.context.empty() ? config->current_context : options.context);
  }
  json::array all;
  std::size_t failed = 0;
  for (const std::string& context : contexts) {
    const Joined joined = join_context(session, *config, context, options);
    failed += joined.error.empty() ? 0 : 1;
    if (!session.is_data()) say(session, joined, options.dry_run);
    all.push_back(to_json(joined));
  }
  if (session.is_data()) session.print_data(all);
  if (failed > 0 && contexts.size() > 1)
    session.note(fmt::format("{} of {} contexts were not joined", failed, contexts.size()));
  return failed > 0 ? exit_refused : exit_done;
}

// ----------------------------------------------------------------------------------------------
// one cluster by its description

/// The file has one entry of the configuration's `clusters`.
Result<json::value> spec_of(const Session& session, const JoinOptions& options) {
  json::object spec;
  if (!options.file.empty()) {
    const auto content = session.host().read_file(options.file);
    if (!content) return content.error();
    const config::Parsed parsed = config::parse_yaml(*content);
    if (config::has_errors(parsed.problems))
      return invalid(config::to_text(parsed.problems.front(), options.file));
    if (parsed.roots.size() != 1 || parsed.roots.front().kind != config::Node::Kind::Map)
      return invalid(fmt::format("{}: expected one cluster: name, type and so on", options.file));
    auto read = parse_json(config::to_json(parsed.roots.front()));
    if (!read) return read.error();
    spec = read->as_object();
  }
  if (!options.name.empty()) spec["name"] = options.name;
  if (!options.type.empty()) spec["type"] = options.type;
  if (options.slots) spec["slots"] = *options.slots;
  if (spec.contains("kubeconfig")) {
    const auto config = read_kubeconfig(session, text(spec.at("kubeconfig")));
    if (!config) return config.error();
    const std::string context = text(json::value(spec), "context");
    if (Status put = put_kubeconfig(session, *config, context, spec); !put) return put.error();
    spec.erase("kubeconfig");
    spec.erase("context");
  }
  if (!spec.contains("name") || !spec.contains("type"))
    return invalid("a cluster needs a name and a type: muster cluster join NAME --type local");
  return json::value(std::move(spec));
}

Result<int> check_one(Session& session, Api& api, const json::value& spec,
                      const JoinOptions& options) {
  Joined joined{.context = {}, .name = text(spec, "name"), .error = {}, .check = {}, .cluster = {}};
  check_spec(api, spec, options, joined);
  if (session.is_data())
    session.print_data(json::array{to_json(joined)});
  else
    say(session, joined, true);
  return joined.error.empty() ? exit_done : exit_refused;
}

Result<int> join_one(Session& session, const JoinOptions& options) {
  auto spec = spec_of(session, options);
  if (!spec) return spec.error();
  const auto api = session.api();
  if (!api) return api.error();
  if (options.dry_run) return check_one(session, **api, *spec, options);
  const auto cluster = post_spec(**api, std::move(*spec), options);
  if (!cluster) return cluster.error();
  print_cluster(session, *cluster);
  return exit_done;
}

Result<int> join(Session& session, const JoinOptions& options) {
  if (Status fine = check(options); !fine) return fine.error();
  return options.is_by_kubeconfig() ? join_contexts(session, options) : join_one(session, options);
}

}  // namespace

void add_cluster_join(CLI::App& cluster, const SharedHost& host) {
  CLI::App* command = add_command(cluster, "join", "Join a cluster");
  command->footer(
      "Examples:\n"
      "  muster cluster join --kubeconfig east.yaml --namespace muster --image tools:1\n"
      "  muster cluster join --kubeconfig all.yaml --all-contexts     each under its context's "
      "name\n"
      "  muster cluster join east --context east      of KUBECONFIG or ~/.kube/config, as "
      "kubectl\n"
      "  muster cluster join --context east --dry-run --kinds RayCluster,JobSet\n"
      "  muster cluster join here --type local --slots 4\n"
      "  muster cluster join -f cluster.yaml      an entry as in `clusters` of the configuration\n"
      "\n"
      "A kubeconfig is sent to the server with the files that it names; the server keeps it where "
      "only it\ncan read it. Programs that it runs for credentials (exec) are run by the server, "
      "if the\nserver's configuration allows them in `exec_plugins`.");
  const auto options = std::make_shared<JoinOptions>();
  add_option(*command, "NAME,--name", options->name, "what to call it; else the context's name");
  add_option(*command, "--type", options->type, "local, simulated or kubernetes")
      ->check(CLI::IsMember({"local", "simulated", "kubernetes"}));
  add_option(*command, "--slots", options->slots, "artificial GPUs of a local cluster");
  add_option(*command, "-f,--file", options->file, "the rest of its description, as YAML");
  add_option(
      *command, "--kubeconfig", options->kubeconfig,
      "file that says how to reach a Kubernetes; - is the standard input; else KUBECONFIG or "
      "~/.kube/config, as kubectl reads them");
  add_option(*command, "--context", options->context, "of the kubeconfig; else its current one");
  add_flag(*command, "--all-contexts", options->all_contexts, "join every context of it");
  add_option(*command, "--namespace", options->kube_namespace,
             "where jobs are made; else the context's");
  add_option(*command, "--namespaces", options->namespaces,
             "others that pools and jobs may name; *: all there are")
      ->delimiter(',');
  add_option(*command, "--image", options->image, "container image that commands run in");
  add_flag(*command, "--objects", options->objects,
           "check what lists of objects need, too, also without further kinds");
  add_option(*command, "--kinds", options->kinds,
             "kinds that lists of objects may have: check what they need, too")
      ->delimiter(',');
  add_flag(*command, "--dry-run", options->dry_run,
           "only check: whether it can be joined, or what one that is joined lacks");
  add_flag(*command, "--unchecked", options->unchecked,
           "join it even if it cannot be reached or permissions are missing");
  set_body(
      *command, host, [options](Session& session) { return join(session, *options); },
      "--muster-context");
}

}  // namespace muster::cli
