#include "kube/exec_credential.h"

#include <fmt/format.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include "base/text.h"
#include "kube/files.h"
#include "kube/subprocess.h"
#include "kube/timestamp.h"
#include "net/base64.h"

namespace muster::kube {

namespace {

namespace json = boost::json;

std::string text_at(const json::object& map, std::string_view key) {
  const json::value* value = map.if_contains(key);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
}

json::object cluster_info(const ClusterEntry& cluster) {
  json::object info;
  info["server"] = cluster.server;
  if (!cluster.tls_server_name.empty()) info["tls-server-name"] = cluster.tls_server_name;
  if (!cluster.verify) info["insecure-skip-tls-verify"] = true;
  std::string ca = cluster.ca.data;
  if (ca.empty() && !cluster.ca.file.empty()) {
    // A file that cannot be read is reported where the connection needs it.
    if (auto text = read_small_file(cluster.ca.file)) ca = std::move(*text);
  }
  if (!ca.empty()) info["certificate-authority-data"] = net::base64_encode(ca);
  if (!cluster.proxy_url.empty()) info["proxy-url"] = cluster.proxy_url;
  if (cluster.disable_compression) info["disable-compression"] = true;
  if (!cluster.exec_config.is_null()) info["config"] = cluster.exec_config;
  return info;
}

}  // namespace

std::string exec_info(const ExecPlugin& plugin, const ClusterEntry& cluster) {
  json::object spec;
  spec["interactive"] = false;
  if (plugin.provide_cluster_info) spec["cluster"] = cluster_info(cluster);
  json::object info;
  info["apiVersion"] = plugin.api_version;
  info["kind"] = "ExecCredential";
  info["spec"] = std::move(spec);
  return json::serialize(info);
}

Result<ExecCredential> parse_exec_credential(std::string_view output,
                                             const std::string& api_version) {
  json::error_code error;
  const json::value value = json::parse(output, error);
  const json::object* root = error ? nullptr : value.if_object();
  if (root == nullptr) return invalid("printed no JSON object");
  if (const std::string kind = text_at(*root, "kind"); kind != "ExecCredential") {
    return invalid(fmt::format("printed kind '{}', not ExecCredential", kind));
  }
  if (const std::string version = text_at(*root, "apiVersion"); version != api_version) {
    return invalid(
        fmt::format("printed apiVersion '{}', but the kubeconfig says '{}'", version, api_version));
  }
  const json::value* status_value = root->if_contains("status");
  const json::object* status = status_value == nullptr ? nullptr : status_value->if_object();
  if (status == nullptr) return invalid("printed no status");
  ExecCredential credential;
  credential.token = text_at(*status, "token");
  credential.cert_pem = text_at(*status, "clientCertificateData");
  credential.key_pem = text_at(*status, "clientKeyData");
  if (credential.cert_pem.empty() != credential.key_pem.empty()) {
    return invalid("status: clientCertificateData and clientKeyData come together");
  }
  if (credential.token.empty() && credential.cert_pem.empty()) {
    return invalid("status: has neither token nor clientCertificateData");
  }
  if (const std::string text = text_at(*status, "expirationTimestamp"); !text.empty()) {
    auto expires = parse_timestamp(text, "status.expirationTimestamp");
    if (!expires) return expires.error();
    credential.expires = *expires;
  }
  return credential;
}

Result<ExecCredential> run_exec_plugin(const UserEntry& user, const ClusterEntry& cluster,
                                       const ExecLimits& limits) {
  const ExecPlugin& plugin = *user.exec;
  const std::string where =
      fmt::format("{}: users[{}].exec: {}", user.origin, user.name, plugin.command);
  std::vector<std::pair<std::string, std::string>> more = plugin.env;
  more.emplace_back("KUBERNETES_EXEC_INFO", exec_info(plugin, cluster));
  const Command command{.program = plugin.command,
                        .args = plugin.args,
                        .env = environment_with(more),
                        .time_limit = limits.time,
                        .output_bytes_max = limits.output_bytes,
                        .is_stopped = limits.is_stopped};
  const auto output = run_command(command);
  if (!output) {
    const bool is_missing = output.error().fault == Fault::NotFound;
    const std::string hint =
        is_missing && !plugin.install_hint.empty() ? "; " + plugin.install_hint : "";
    return Error{Fault::Unavailable, fmt::format("{}: {}{}", where, output.error().message, hint)};
  }
  if (output->exit_code != 0) {
    return Error{Fault::Unavailable, fmt::format("{}: ended with code {}: {}", where,
                                                 output->exit_code, trim(output->errors))};
  }
  auto credential = parse_exec_credential(output->out, plugin.api_version);
  if (!credential) {
    return Error{Fault::Unavailable, fmt::format("{}: {}", where, credential.error().message)};
  }
  return credential;
}

}  // namespace muster::kube
