#include "cli/contexts.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/text.h"
#include "config/node.h"

namespace muster::cli {
namespace {

Error wrong(const config::Node& node, std::string_view message) {
  return invalid(fmt::format("line {}: {}", node.line, message));
}

Status read_context(const config::Node& node, Context& context) {
  const std::array<std::pair<std::string_view, std::string*>, 4> keys = {{{"name", &context.name},
                                                                          {"url", &context.url},
                                                                          {"token", &context.token},
                                                                          {"ca", &context.ca}}};
  for (const config::Member& member : node.members()) {
    const auto known = std::find_if(keys.begin(), keys.end(),
                                    [&](const auto& key) { return key.first == member.key; });
    if (known == keys.end())
      return wrong(node,
                   fmt::format("unknown key {}: expected name, url, token or ca", member.key));
    if (!member.value.is_scalar() && !member.value.is_null())
      return wrong(node, fmt::format("{}: expected a text", member.key));
    *known->second = std::string(member.value.text);
  }
  if (context.name.empty()) return wrong(node, "a context needs a name");
  return Ok{};
}

}  // namespace

Context* Contexts::find(std::string_view name) {
  for (Context& context : all) {
    if (context.name == name) return &context;
  }
  return nullptr;
}

Result<Contexts> read_contexts(std::string_view yaml) {
  Contexts contexts;
  const config::Parsed parsed = config::parse_yaml(yaml);
  if (config::has_errors(parsed.problems))
    return invalid(config::to_text(parsed.problems.front(), "contexts"));
  if (parsed.roots.empty() || parsed.roots.front().is_null()) return contexts;
  const config::Node& root = parsed.roots.front();
  if (root.kind != config::Node::Kind::Map)
    return wrong(root, "expected current-context and contexts");
  for (const config::Member& member : root.members()) {
    if (member.key == "current-context") {
      contexts.current = std::string(member.value.text);
    } else if (member.key == "contexts") {
      for (const config::Node& item : member.value.items()) {
        Context context;
        if (Status read = read_context(item, context); !read) return read.error();
        if (contexts.find(context.name) != nullptr)
          return wrong(item, fmt::format("context {} stands there twice", context.name));
        contexts.all.push_back(std::move(context));
      }
    } else {
      return wrong(member.value,
                   fmt::format("unknown key {}: expected current-context or contexts", member.key));
    }
  }
  return contexts;
}

std::string to_yaml(const Contexts& contexts) {
  config::Tree tree;
  std::vector<config::Node> items;
  for (const Context& context : contexts.all) {
    config::MapMaker item(tree);
    item.add("name", context.name).add("url", context.url);
    if (!context.token.empty()) item.add("token", context.token);
    if (!context.ca.empty()) item.add("ca", context.ca);
    items.push_back(item.done());
  }
  config::MapMaker root(tree);
  if (!contexts.current.empty()) root.add("current-context", contexts.current);
  if (!items.empty()) root.add("contexts", tree.list(items));
  return config::to_yaml(root.done());
}

std::string contexts_path(const Host& host) {
  if (std::string path = host.variable("MUSTER_CONFIG"); !path.empty()) return path;
  if (const std::string base = host.variable("XDG_CONFIG_HOME"); !base.empty())
    return base + "/muster/config.yaml";
  const std::string home = host.variable("HOME");
  return home.empty() ? "" : home + "/.config/muster/config.yaml";
}

Result<Contexts> load_contexts(const Host& host) {
  const std::string path = contexts_path(host);
  std::error_code error;
  if (path.empty() || !std::filesystem::exists(path, error)) return Contexts{};
  const auto text = host.read_file(path);
  if (!text) return text.error();
  auto contexts = read_contexts(*text);
  if (!contexts) return invalid(fmt::format("{}: {}", path, contexts.error().message));
  return contexts;
}

Status save_contexts(const Host& host, const Contexts& contexts) {
  const std::string path = contexts_path(host);
  if (path.empty()) return invalid("no home directory: set HOME or MUSTER_CONFIG");
  std::error_code error;
  const auto folder = std::filesystem::path(path).parent_path();
  if (!folder.empty()) std::filesystem::create_directories(folder, error);
  const std::string text = to_yaml(contexts);
  const std::string fresh = fmt::format("{}.{}", path, getpid());
  // It holds tokens: nobody else may read it, not even for a moment.
  const int file = open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  bool written =
      file >= 0 && write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (file >= 0) written = close(file) == 0 && written;
  if (!written || rename(fresh.c_str(), path.c_str()) != 0) {
    const int why = errno;
    unlink(fresh.c_str());
    return invalid(fmt::format("cannot write {}: {}", path, std::strerror(why)));
  }
  return Ok{};
}

Result<Context> choose_server(const Wishes& wishes, const Host& host) {
  Context chosen;
  auto contexts = load_contexts(host);
  if (!contexts) return contexts.error();
  const std::string url = host.variable("MUSTER_URL");
  const std::string name =
      !wishes.context.empty() ? wishes.context : (url.empty() ? contexts->current : "");
  if (!name.empty() && (wishes.url.empty() || !wishes.context.empty())) {
    const Context* context = contexts->find(name);
    if (context == nullptr)
      return Error{Fault::NotFound,
                   fmt::format("no context {}; `muster context list` shows those there are", name)};
    chosen = *context;
  }
  if (wishes.context.empty()) {
    if (!url.empty()) chosen.url = url;
    // A token of the environment is not for another server than the one it was set for.
    if (const std::string token = host.variable("MUSTER_TOKEN"); !token.empty())
      chosen.token = token;
  }
  if (!wishes.url.empty()) chosen.url = wishes.url;
  if (!wishes.token.empty()) chosen.token = wishes.token;
  if (const std::string ca = host.variable("MUSTER_CA"); !ca.empty() && chosen.ca.empty())
    chosen.ca = ca;
  if (chosen.url.empty()) chosen.url = default_url;
  return chosen;
}

}  // namespace muster::cli
