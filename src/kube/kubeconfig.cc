#include "kube/kubeconfig.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/value.hpp>
#include <filesystem>
#include <set>
#include <utility>

#include "base/text.h"
#include "kube/files.h"
#include "kube/yaml.h"
#include "net/base64.h"
#include "net/proxy.h"
#include "net/url.h"

namespace muster::kube {

namespace {

namespace json = boost::json;

/// Thrown inside this file only: a tree of optional fields reads better without a check per line.
struct Wrong {
  std::string message;
};

/// An object of the file and where it stands. All scalars are texts; null is like not there.
class Fields {
 public:
  Fields(const json::value* value, std::string where) : where_(std::move(where)) {
    if (value == nullptr || value->is_null()) return;
    map_ = value->if_object();
    if (map_ == nullptr) fail("", "must be a map");
  }

  explicit operator bool() const { return map_ != nullptr; }
  const std::string& where() const { return where_; }
  const json::value* find(std::string_view key) const {
    const json::value* value = map_ == nullptr ? nullptr : map_->if_contains(key);
    return value == nullptr || value->is_null() ? nullptr : value;
  }
  std::string path(std::string_view key) const {
    return key.empty() ? where_ : fmt::format("{}.{}", where_, key);
  }
  [[noreturn]] void fail(std::string_view key, std::string_view what) const {
    throw Wrong{fmt::format("{}: {}", path(key), what)};
  }

  std::string text(std::string_view key) const {
    const json::value* value = find(key);
    if (value == nullptr) return {};
    if (!value->is_string()) fail(key, "must be a text");
    return std::string(value->as_string());
  }
  bool flag(std::string_view key) const {
    const std::string word = text(key);
    if (word.empty() || word == "false") return false;
    if (word != "true") fail(key, fmt::format("must be true or false, not '{}'", word));
    return true;
  }
  std::vector<std::string> texts(std::string_view key) const {
    std::vector<std::string> found;
    for (const json::value& item : list(key)) {
      if (!item.is_string()) fail(key, "must be a list of texts");
      found.emplace_back(item.as_string());
    }
    return found;
  }
  const json::array& list(std::string_view key) const {
    static const json::array none;
    const json::value* value = find(key);
    if (value == nullptr) return none;
    const json::array* items = value->if_array();
    if (items == nullptr) fail(key, "must be a list");
    return *items;
  }
  Fields inner(std::string_view key) const { return {find(key), path(key)}; }

 private:
  std::string where_;
  const json::object* map_ = nullptr;
};

class Reader {
 public:
  Reader(std::string_view text, const std::string& path)
      : text_(text), path_(path), folder_(std::filesystem::path(path).parent_path()) {}

  Kubeconfig read(const json::value& document) {
    const Fields root(&document, path_);
    if (const std::string kind = root.text("kind"); !kind.empty() && kind != "Config") {
      root.fail("kind", fmt::format("'{}' is not a kubeconfig, which has kind Config", kind));
    }
    if (const std::string v = root.text("apiVersion"); !v.empty() && v != "v1") {
      root.fail("apiVersion", fmt::format("'{}' is not known; only v1 is", v));
    }
    Kubeconfig config;
    config.files = {path_};
    config.current_context = root.text("current-context");
    each(root, "clusters", "cluster", [&](std::string name, const Fields& fields) {
      config.clusters.push_back(cluster(std::move(name), fields));
    });
    each(root, "users", "user", [&](std::string name, const Fields& fields) {
      config.users.push_back(user(std::move(name), fields));
    });
    each(root, "contexts", "context", [&](std::string name, const Fields& fields) {
      config.contexts.push_back(context(std::move(name), fields));
    });
    return config;
  }

 private:
  template <typename Take>
  void each(const Fields& root, std::string_view list, std::string_view inner, Take take) {
    std::set<std::string> names;
    std::size_t index = 0;
    for (const json::value& item : root.list(list)) {
      const Fields entry(&item, fmt::format("{}: {}[{}]", path_, list, index++));
      std::string name = entry.text("name");
      if (name.empty()) entry.fail("name", "is missing");
      // As kubectl: which of them is meant nobody knows.
      if (!names.insert(name).second) entry.fail("name", fmt::format("'{}' is there twice", name));
      const Fields named(entry.find(inner), fmt::format("{}: {}[{}]", path_, list, name));
      take(std::move(name), named);
    }
  }

  std::string beside(const std::string& file) const {
    if (file.empty() || std::filesystem::path(file).is_absolute()) return file;
    return (folder_ / file).lexically_normal().string();
  }

  PemSource pem(const Fields& fields, std::string_view key) const {
    const std::string data_key = std::string(key) + "-data";
    PemSource source{.file = beside(fields.text(key))};
    std::string encoded = fields.text(data_key);
    std::erase_if(encoded, [](char c) { return c == '\n' || c == '\r' || c == ' '; });
    if (encoded.empty()) return source;
    auto decoded = net::base64_decode(encoded);
    if (!decoded) fields.fail(data_key, "is not base64");
    source.data = std::move(*decoded);
    return source;
  }

  ClusterEntry cluster(std::string name, const Fields& fields) {
    ClusterEntry entry;
    entry.name = std::move(name);
    entry.origin = path_;
    entry.server = fields.text("server");
    entry.tls_server_name = fields.text("tls-server-name");
    entry.verify = !fields.flag("insecure-skip-tls-verify");
    entry.ca = pem(fields, "certificate-authority");
    entry.proxy_url = fields.text("proxy-url");
    entry.disable_compression = fields.flag("disable-compression");
    for (const json::value& item : fields.list("extensions")) {
      const Fields extension(&item, fields.path("extensions"));
      if (extension.text("name") == exec_extension) entry.exec_config = exec_config(entry.name);
    }
    return entry;
  }

  static constexpr std::string_view exec_extension = "client.authentication.k8s.io/exec";

  /// The plugin gets the value as it is written, so it is read again with its types.
  json::value exec_config(std::string_view cluster_name) const {
    const auto documents = parse_yaml(text_, Scalars::Typed);
    if (!documents || documents->empty()) return {};
    const auto value_at = [](const json::value* from, std::string_view key) {
      const json::object* map = from == nullptr ? nullptr : from->if_object();
      return map == nullptr ? nullptr : map->if_contains(key);
    };
    const auto items_of = [](const json::value* from) -> const json::array& {
      static const json::array none;
      return from != nullptr && from->is_array() ? from->get_array() : none;
    };
    for (const json::value& entry : items_of(value_at(&documents->front(), "clusters"))) {
      const json::value* name = value_at(&entry, "name");
      if (name == nullptr || !name->is_string() || name->get_string() != cluster_name) continue;
      const json::value* inner = value_at(&entry, "cluster");
      for (const json::value& extension : items_of(value_at(inner, "extensions"))) {
        const json::value* title = value_at(&extension, "name");
        const json::value* value = value_at(&extension, "extension");
        if (title != nullptr && title->is_string() && title->get_string() == exec_extension &&
            value != nullptr) {
          return *value;
        }
      }
      return {};
    }
    return {};
  }

  /// One that cannot be used is in nobody's way until it is: others of the file may be fine.
  UserEntry user(std::string name, const Fields& fields) {
    UserEntry entry;
    entry.name = std::move(name);
    entry.origin = path_;
    try {
      read_user(fields, entry);
    } catch (const Wrong& wrong) {
      entry.problem = wrong.message;
    }
    return entry;
  }

  void read_user(const Fields& fields, UserEntry& entry) {
    entry.token = fields.text("token");
    entry.token_file = beside(fields.text("tokenFile"));
    entry.username = fields.text("username");
    entry.password = fields.text("password");
    entry.cert = pem(fields, "client-certificate");
    entry.key = pem(fields, "client-key");
    entry.impersonate.user = fields.text("as");
    entry.impersonate.uid = fields.text("as-uid");
    entry.impersonate.groups = fields.texts("as-groups");
    const Fields extra = fields.inner("as-user-extra");
    if (const json::value* map = fields.find("as-user-extra")) {
      for (const auto& member : map->as_object()) {
        entry.impersonate.extra[std::string(member.key())] = extra.texts(member.key());
      }
    }
    if (fields.find("auth-provider") != nullptr) {
      fields.fail("auth-provider", "was removed from Kubernetes; use exec with a plugin");
    }
    if (const Fields exec = fields.inner("exec")) entry.exec = plugin(exec);
  }

  ExecPlugin plugin(const Fields& fields) {
    ExecPlugin exec;
    exec.api_version = fields.text("apiVersion");
    const bool is_v1 = exec.api_version == "client.authentication.k8s.io/v1";
    if (!is_v1 && exec.api_version != "client.authentication.k8s.io/v1beta1") {
      fields.fail("apiVersion",
                  fmt::format("'{}' is not known; write client.authentication.k8s.io/v1 or "
                              "client.authentication.k8s.io/v1beta1",
                              exec.api_version));
    }
    exec.command = fields.text("command");
    if (exec.command.empty()) fields.fail("command", "is missing");
    if (exec.command.find('/') != std::string::npos) exec.command = beside(exec.command);
    exec.args = fields.texts("args");
    for (const json::value& item : fields.list("env")) {
      const Fields pair(&item, fields.path("env"));
      std::string name = pair.text("name");
      if (name.empty() || name.find('=') != std::string::npos) {
        pair.fail("name", fmt::format("'{}' is not the name of a variable", name));
      }
      exec.env.emplace_back(std::move(name), pair.text("value"));
    }
    exec.install_hint = fields.text("installHint");
    exec.provide_cluster_info = fields.flag("provideClusterInfo");
    const std::string mode = fields.text("interactiveMode");
    if (mode == "Always") {
      fields.fail("interactiveMode", "Always needs a terminal; use Never or IfAvailable");
    }
    if (mode.empty() && is_v1) fields.fail("interactiveMode", "is missing; write Never");
    if (!mode.empty() && mode != "Never" && mode != "IfAvailable") {
      fields.fail("interactiveMode", fmt::format("'{}' is not known; write Never", mode));
    }
    return exec;
  }

  ContextEntry context(std::string name, const Fields& fields) const {
    return {std::move(name), path_, fields.text("cluster"), fields.text("user"),
            fields.text("namespace")};
  }

  std::string_view text_;
  std::string path_;
  std::filesystem::path folder_;
};

template <typename Entry>
const Entry* find_named(const std::vector<Entry>& entries, std::string_view name) {
  const auto found = std::find_if(entries.begin(), entries.end(),
                                  [&](const Entry& entry) { return entry.name == name; });
  return found == entries.end() ? nullptr : &*found;
}

template <typename Entry>
void add_missing(std::vector<Entry>& into, std::vector<Entry>& from) {
  for (Entry& entry : from) {
    if (find_named(into, entry.name) == nullptr) into.push_back(std::move(entry));
  }
}

template <typename Entry>
std::string names_of(const std::vector<Entry>& entries) {
  std::string names;
  for (const Entry& entry : entries) names += (names.empty() ? "" : ", ") + entry.name;
  return names.empty() ? "none" : names;
}

Status check_cluster(const ClusterEntry& cluster) {
  const std::string where = fmt::format("{}: clusters[{}]", cluster.origin, cluster.name);
  if (cluster.server.empty()) return invalid(where + ".server: is missing");
  const auto url = net::parse_url(cluster.server, where + ".server");
  if (!url) return url.error();
  if (url->scheme != "https" && url->scheme != "http") {
    return invalid(fmt::format("{}.server: '{}': begin with https://", where, cluster.server));
  }
  if (!cluster.verify && !cluster.ca.empty()) {
    return invalid(where +
                   ": insecure-skip-tls-verify and certificate-authority exclude each other; drop "
                   "one");
  }
  if (cluster.proxy_url.empty()) return Ok{};
  const auto proxy = net::parse_url(cluster.proxy_url, where + ".proxy-url");
  if (!proxy) return proxy.error();
  if (!net::is_known_proxy(*proxy)) {
    return invalid(
        fmt::format("{}.proxy-url: '{}': only proxies at http://, https:// and socks5:// are known",
                    where, cluster.proxy_url));
  }
  return Ok{};
}

Status check_user(const UserEntry& user) {
  if (!user.problem.empty()) return invalid(user.problem);
  const std::string where = fmt::format("{}: users[{}]", user.origin, user.name);
  if (user.cert.empty() != user.key.empty()) {
    return invalid(fmt::format("{}.{}: is missing; certificate and key come together", where,
                               user.cert.empty() ? "client-certificate" : "client-key"));
  }
  if (!user.username.empty() && (!user.token.empty() || !user.token_file.empty())) {
    return invalid(where + ": token and username exclude each other; drop one");
  }
  const bool acts = !user.impersonate.uid.empty() || !user.impersonate.groups.empty() ||
                    !user.impersonate.extra.empty();
  if (acts && user.impersonate.user.empty()) {
    return invalid(where + ".as: is missing; the other as-… fields need it");
  }
  return Ok{};
}

}  // namespace

Result<Kubeconfig> parse_kubeconfig(std::string_view text, const std::string& path) {
  const auto documents = parse_yaml(text, Scalars::Text);
  if (!documents) return invalid(fmt::format("{}: {}", path, documents.error().message));
  if (documents->size() > 1) return invalid(path + ": has more than one document");
  if (documents->empty()) return Kubeconfig{.files = {path}};  // kubectl takes an empty file
  try {
    return Reader(text, path).read(documents->front());
  } catch (const Wrong& wrong) {
    return invalid(wrong.message);
  }
}

Kubeconfig merge_kubeconfigs(std::vector<Kubeconfig> configs) {
  Kubeconfig merged;
  for (Kubeconfig& config : configs) {
    if (merged.current_context.empty()) merged.current_context = config.current_context;
    merged.files.insert(merged.files.end(), config.files.begin(), config.files.end());
    add_missing(merged.clusters, config.clusters);
    add_missing(merged.users, config.users);
    add_missing(merged.contexts, config.contexts);
  }
  return merged;
}

std::vector<std::string> kubeconfig_paths(std::string_view variable, std::string_view home) {
  std::vector<std::string> paths;
  for (const std::string_view path : split(variable, ':')) {
    if (path.empty() || std::find(paths.begin(), paths.end(), path) != paths.end()) continue;
    paths.emplace_back(path);
  }
  if (paths.empty() && !home.empty()) paths.push_back(std::string(home) + "/.kube/config");
  return paths;
}

Result<Kubeconfig> load_kubeconfig(const std::string& path) {
  const auto text = read_small_file(path);
  if (!text) return Error{text.error().fault, fmt::format("{}: {}", path, text.error().message)};
  return parse_kubeconfig(*text, path);
}

Result<Kubeconfig> load_kubeconfigs(const std::function<const char*(const char*)>& variable) {
  const auto text_of = [&](const char* name) {
    const char* value = variable(name);
    return std::string_view(value == nullptr ? "" : value);
  };
  const auto paths = kubeconfig_paths(text_of("KUBECONFIG"), text_of("HOME"));
  std::vector<Kubeconfig> configs;
  for (const std::string& path : paths) {
    auto config = load_kubeconfig(path);
    if (config) {
      configs.push_back(std::move(*config));
    } else if (config.error().fault != Fault::NotFound) {
      return config.error();
    }
  }
  if (!configs.empty()) return merge_kubeconfigs(std::move(configs));
  std::string names;
  for (const std::string& path : paths) names += (names.empty() ? "" : ", ") + path;
  return Error{Fault::NotFound,
               fmt::format("no kubeconfig: {}; set KUBECONFIG to one",
                           names.empty() ? "neither KUBECONFIG nor HOME is set" : names)};
}

Result<Access> access_of(const Kubeconfig& config, std::string_view context) {
  const std::string name(context.empty() ? config.current_context : context);
  const std::string file = config.files.empty() ? "kubeconfig" : config.files.front();
  if (name.empty()) {
    return invalid(fmt::format("{}: current-context: is missing; name one of: {}", file,
                               names_of(config.contexts)));
  }
  const ContextEntry* entry = find_named(config.contexts, name);
  if (entry == nullptr) {
    return Error{Fault::NotFound, fmt::format("{}: contexts: there is no '{}'; there are: {}", file,
                                              name, names_of(config.contexts))};
  }
  const std::string where = fmt::format("{}: contexts[{}]", entry->origin, name);
  const ClusterEntry* cluster = find_named(config.clusters, entry->cluster);
  if (cluster == nullptr) {
    return invalid(fmt::format("{}.cluster: there is no '{}'; there are: {}", where, entry->cluster,
                               names_of(config.clusters)));
  }
  if (auto checked = check_cluster(*cluster); !checked) return checked.error();
  Access access{.context = name, .cluster = *cluster};
  if (!entry->ns.empty()) access.ns = entry->ns;
  if (!entry->user.empty()) {  // without one: anonymous
    const UserEntry* user = find_named(config.users, entry->user);
    if (user == nullptr) {
      return invalid(fmt::format("{}.user: there is no '{}'; there are: {}", where, entry->user,
                                 names_of(config.users)));
    }
    if (auto checked = check_user(*user); !checked) return checked.error();
    access.user = *user;
  }
  return access;
}

std::string plain_name(std::string_view context) {
  const std::size_t slash = context.rfind('/');
  std::string name(slash != std::string_view::npos && slash + 1 < context.size()
                       ? context.substr(slash + 1)
                       : context);
  for (char& c : name) {
    const bool fits = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '.' || c == '_' || c == '-';
    if (!fits) c = '-';
  }
  name.erase(0, name.find_first_not_of("-."));
  return name;
}

Result<Access> in_cluster_access(const std::function<const char*(const char*)>& variable,
                                 const std::string& root) {
  const char* host = variable("KUBERNETES_SERVICE_HOST");
  const char* port = variable("KUBERNETES_SERVICE_PORT");
  if (host == nullptr || port == nullptr || *host == '\0' || *port == '\0') {
    return Error{Fault::NotFound,
                 "not in a cluster: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not "
                 "set"};
  }
  Access access;
  const bool is_v6 = std::string_view(host).find(':') != std::string_view::npos;
  const std::string bracketed = is_v6 ? fmt::format("[{}]", host) : host;
  access.cluster.name = "in-cluster";
  access.cluster.origin = root;
  access.cluster.server = fmt::format("https://{}:{}", bracketed, port);
  access.cluster.ca.file = root + "/ca.crt";
  access.user.name = "service-account";
  access.user.origin = root;
  access.user.token_file = root + "/token";
  for (const std::string& file : {access.cluster.ca.file, access.user.token_file}) {
    const auto text = read_small_file(file);
    if (!text) return Error{text.error().fault, fmt::format("{}: {}", file, text.error().message)};
  }
  if (auto ns = read_small_file(root + "/namespace")) access.ns = std::string(trim(*ns));
  return access;
}

}  // namespace muster::kube
