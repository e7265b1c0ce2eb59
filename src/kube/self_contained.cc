#include "kube/self_contained.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <utility>

#include "base/text.h"
#include "kube/files.h"
#include "kube/json.h"
#include "net/base64.h"

namespace muster::kube {

namespace {

namespace json = boost::json;

struct FileField {
  std::string where;  // "users[admin].client-key"
  std::string* file;
  std::string* text;
};

std::string place(std::string_view list, std::string_view name, std::string_view field) {
  return fmt::format("{}[{}].{}", list, name, field);
}

/// Everything that is the name of a file in an access; empty ones too.
std::array<FileField, 4> file_fields(Access& access) {
  ClusterEntry& cluster = access.cluster;
  UserEntry& user = access.user;
  return {{{place("clusters", cluster.name, "certificate-authority"), &cluster.ca.file,
            &cluster.ca.data},
           {place("users", user.name, "client-certificate"), &user.cert.file, &user.cert.data},
           {place("users", user.name, "client-key"), &user.key.file, &user.key.data},
           {place("users", user.name, "tokenFile"), &user.token_file, &user.token}}};
}

void put(json::object& into, std::string_view key, const std::string& value) {
  if (!value.empty()) into[key] = value;
}
/// Its content, or else the file that has it.
void put_pem(json::object& into, const std::string& key, const PemSource& source) {
  if (!source.data.empty()) {
    into[key + "-data"] = net::base64_encode(source.data);
  } else {
    put(into, key, source.file);
  }
}
json::array texts(const std::vector<std::string>& list) {
  return json::array(list.begin(), list.end());
}

json::object cluster_object(const ClusterEntry& cluster) {
  json::object made;
  put(made, "server", cluster.server);
  put(made, "tls-server-name", cluster.tls_server_name);
  if (!cluster.verify) made["insecure-skip-tls-verify"] = true;
  put_pem(made, "certificate-authority", cluster.ca);
  put(made, "proxy-url", cluster.proxy_url);
  if (cluster.disable_compression) made["disable-compression"] = true;
  if (!cluster.exec_config.is_null()) {
    made["extensions"] = json::array{json::object{{"name", "client.authentication.k8s.io/exec"},
                                                  {"extension", cluster.exec_config}}};
  }
  return made;
}

json::object plugin_object(const ExecPlugin& plugin) {
  json::object made{{"apiVersion", plugin.api_version},
                    {"command", plugin.command},
                    {"interactiveMode", "Never"}};
  if (!plugin.args.empty()) made["args"] = texts(plugin.args);
  json::array env;
  for (const auto& [name, value] : plugin.env)
    env.push_back(json::object{{"name", name}, {"value", value}});
  if (!env.empty()) made["env"] = std::move(env);
  put(made, "installHint", plugin.install_hint);
  if (plugin.provide_cluster_info) made["provideClusterInfo"] = true;
  return made;
}

json::object user_object(const UserEntry& user) {
  json::object made;
  put(made, "token", user.token);
  put(made, "tokenFile", user.token_file);
  put(made, "username", user.username);
  put(made, "password", user.password);
  put_pem(made, "client-certificate", user.cert);
  put_pem(made, "client-key", user.key);
  put(made, "as", user.impersonate.user);
  put(made, "as-uid", user.impersonate.uid);
  if (!user.impersonate.groups.empty()) made["as-groups"] = texts(user.impersonate.groups);
  json::object extra;
  for (const auto& [key, values] : user.impersonate.extra) extra[key] = texts(values);
  if (!extra.empty()) made["as-user-extra"] = std::move(extra);
  if (user.exec) made["exec"] = plugin_object(*user.exec);
  return made;
}

/// What loaders, shells, interpreters and libraries read before a program does what it is for, and
/// where programs look for other programs.
bool changes_code(std::string_view name) {
  constexpr std::array<std::string_view, 17> prefixes = {
      "LD_",  "DYLD_",          "MALLOC_",         "BASH", "PYTHON",
      "PERL", "RUBY",           "NODE_",           "JAVA", "_JAVA",
      "JDK_", "OPENSSL",        "CLOUDSDK_PYTHON", "LUA_", "GIT_",
      "XDG_", "CLOUDSDK_CONFIG"};
  constexpr std::array<std::string_view, 20> names = {
      "PATH",     "ENV",       "IFS",      "CDPATH",     "HOME",           "SHELL",     "SHELLOPTS",
      "PS4",      "ZDOTDIR",   "EDITOR",   "VISUAL",     "PAGER",          "BROWSER",   "AWS_PAGER",
      "GEM_HOME", "CLASSPATH", "GEM_PATH", "GCONV_PATH", "GLIBC_TUNABLES", "KUBECONFIG"};
  // Files that say which programs give credentials.
  constexpr std::array<std::string_view, 6> files = {"AWS_CONFIG_FILE",
                                                     "AWS_SHARED_CREDENTIALS_FILE",
                                                     "AZURE_CONFIG_DIR",
                                                     "AZURE_EXTENSION_DIR",
                                                     "GOOGLE_APPLICATION_CREDENTIALS",
                                                     "GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES"};
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](std::string_view prefix) { return name.starts_with(prefix); }) ||
         std::find(names.begin(), names.end(), name) != names.end() ||
         std::find(files.begin(), files.end(), name) != files.end();
}

/// "LD_PRELOAD=x" as a name would set LD_PRELOAD.
bool is_plain_name(std::string_view name) {
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  return !name.empty() && std::all_of(name.begin(), name.end(), is_letter);
}

}  // namespace

Result<SelfContained> copy_files(Access access) {
  SelfContained made{.access = std::move(access)};
  for (const FileField& field : file_fields(made.access)) {
    if (field.file->empty()) continue;
    const bool is_token = field.file == &made.access.user.token_file;
    // The text of a PEM wins over its file; the file of a token over its text.
    if (!field.text->empty() && !is_token) {
      field.file->clear();
      continue;
    }
    const auto read = read_small_file(*field.file);
    if (!read)
      return Error{read.error().fault,
                   fmt::format("{}: {}: {}", field.where, *field.file, read.error().message)};
    *field.text = is_token ? std::string(trim(*read)) : *read;
    if (field.text->empty())
      return invalid(fmt::format("{}: {}: is empty", field.where, *field.file));
    if (is_token) made.copied.push_back(*field.file);
    field.file->clear();
  }
  return made;
}

std::string kubeconfig_of(const Access& access) {
  const std::string context = access.context.empty() ? "context" : access.context;
  const std::string cluster = access.cluster.name.empty() ? context : access.cluster.name;
  const std::string user = access.user.name.empty() ? context : access.user.name;
  json::object inner{{"cluster", cluster}, {"user", user}};
  put(inner, "namespace", access.ns);
  const json::object document{
      {"apiVersion", "v1"},
      {"kind", "Config"},
      {"current-context", context},
      {"clusters",
       json::array{json::object{{"name", cluster}, {"cluster", cluster_object(access.cluster)}}}},
      {"users", json::array{json::object{{"name", user}, {"user", user_object(access.user)}}}},
      {"contexts", json::array{json::object{{"name", context}, {"context", std::move(inner)}}}}};
  return json::serialize(document);
}

Status check_without_files(const Access& access) {
  Access copy = access;
  for (const FileField& field : file_fields(copy)) {
    if (!field.file->empty())
      return invalid(
          fmt::format("{}: names a file; put its content into the kubeconfig, as "
                      "`kubectl config view --flatten` does",
                      field.where));
  }
  return Ok{};
}

Status check_plugin(const Access& access, std::span<const std::string> allowed) {
  if (!access.user.exec) return Ok{};
  const std::string& command = access.user.exec->command;
  if (std::find(allowed.begin(), allowed.end(), command) == allowed.end()) {
    return invalid(fmt::format(
        "{}: it runs {}, which is not among the exec_plugins that the configuration allows",
        place("users", access.user.name, "exec.command"), command));
  }
  for (const auto& [name, value] : access.user.exec->env) {
    if (is_plain_name(name) && !changes_code(name)) continue;
    return invalid(
        fmt::format("{}: {} may change which code {} runs; take it out of the kubeconfig, and set "
                    "it for the server itself if it is needed",
                    place("users", access.user.name, "exec.env"), name, command));
  }
  return Ok{};
}

}  // namespace muster::kube
