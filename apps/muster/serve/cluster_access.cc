#include "apps/muster/serve/cluster_access.h"

#include <fmt/format.h>

#include <cstdlib>
#include <utility>

#include "kube/files.h"
#include "kube/kubeconfig.h"
#include "kube/self_contained.h"

namespace muster::app {

namespace {

Error at(std::string_view key, const Error& error) {
  return {error.fault, fmt::format("{}: {}", key, error.message)};
}

}  // namespace

Result<kube::Access> access_of_text(const std::string& text, const std::string& context,
                                    const std::string& origin, Trust trust,
                                    const std::vector<std::string>& exec_plugins) {
  const auto config = kube::parse_kubeconfig(text, origin);
  if (!config) return config.error();
  auto access = kube::access_of(*config, context);
  if (!access || trust == Trust::Operator) return access;
  if (Status fine = kube::check_without_files(*access); !fine) return fine.error();
  if (Status fine = kube::check_plugin(*access, exec_plugins); !fine) return fine.error();
  return access;
}

Result<AccessReader::Text> AccessReader::text_of(const config::Cluster& cluster) const {
  if (cluster.kubeconfig) {
    auto text = kube::read_small_file(*cluster.kubeconfig);
    if (!text)
      return at("kubeconfig", {text.error().fault,
                               fmt::format("{}: {}", *cluster.kubeconfig, text.error().message)});
    return Text{"kubeconfig", *cluster.kubeconfig, std::move(*text)};
  }
  if (cluster.kubeconfig_inline)
    return Text{"kubeconfig_inline", "kubeconfig", *cluster.kubeconfig_inline};
  if (!cluster.kubeconfig_secret) return invalid("kubeconfig: is missing");
  auto text = read_secret_(*cluster.kubeconfig_secret);
  if (!text) return at("kubeconfig_secret", text.error());
  return Text{"kubeconfig_secret", "its kubeconfig", std::move(*text)};
}

Result<kube::Access> AccessReader::read(const config::Cluster& cluster, Trust trust,
                                        const std::vector<std::string>& exec_plugins) {
  if (cluster.in_cluster) {
    const auto around = kube::in_cluster_access([](const char* name) { return std::getenv(name); });
    return around ? around : at("in_cluster", around.error());
  }
  auto text = text_of(cluster);
  if (!text) return text.error();
  if (cluster.kubeconfig_secret) trust = Trust::Sender;
  const std::string context = cluster.context.value_or("");
  std::string made_of = fmt::format("{}\n{}\n{}\n{}\n{}", trust == Trust::Operator, context,
                                    fmt::join(exec_plugins, ","), text->origin, text->text);
  const auto known = kept_.find(cluster.name);
  if (known != kept_.end() && known->second.made_of == made_of) return known->second.access;
  auto access = access_of_text(text->text, context, text->origin, trust, exec_plugins);
  if (!access) access = at(text->key, access.error());
  kept_.insert_or_assign(cluster.name, Kept{std::move(made_of), access});
  return access;
}

std::string fingerprint(const Result<kube::Access>& access) {
  if (!access) return "error: " + access.error().message;
  std::string text = kube::kubeconfig_of(*access);
  for (const std::string& file : {access->cluster.ca.file, access->user.cert.file,
                                  access->user.key.file, access->user.token_file})
    text += "\n" + file;
  return text;
}

}  // namespace muster::app
