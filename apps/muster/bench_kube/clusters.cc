#include "apps/muster/bench_kube/clusters.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "apps/muster/bench_kube/parts.h"
#include "kube/kubeconfig.h"

namespace muster::app {
Result<std::unique_ptr<BenchClusters>> BenchClusters::start(const ClustersWanted& wanted) {
  std::unique_ptr<BenchClusters> clusters(new BenchClusters());
  for (int i = 1; i <= wanted.count; ++i) clusters->names_.push_back(fmt::format("kube-{}", i));
  if (Status spawned = clusters->spawn(wanted); !spawned) return spawned.error();
  return clusters;
}

Status BenchClusters::spawn(const ClustersWanted& wanted) {
  std::vector<std::string> words = {wanted.program, "--until-eof",
                                    fmt::format("--count={}", wanted.count),
                                    fmt::format("--nodes={}", wanted.nodes),
                                    // How requests share the server is not what is measured.
                                    "--api-flag=--enable-priority-and-fairness=false"};
  if (wanted.is_bare) words.emplace_back("--bare");
  if (wanted.is_audited) words.emplace_back("--audit");
  is_audited_ = wanted.is_audited;
  auto path = process_.start({.words = std::move(words), .hello = "export KUBECONFIG="});
  if (!path) return path.error();
  kubeconfig_ = std::move(*path);
  return Ok{};
}

Result<std::unique_ptr<kube::Client>> BenchClusters::client(const std::string& name) const {
  const auto config = kube::load_kubeconfig(kubeconfig_);
  if (!config) return config.error();
  const auto access = kube::access_of(*config, name);
  if (!access) return access.error();
  return kube::Client::make(*access);
}

Result<std::vector<std::unique_ptr<kube::Client>>> BenchClusters::clients() const {
  std::vector<std::unique_ptr<kube::Client>> all;
  for (const std::string& name : names_) {
    auto made = client(name);
    if (!made) return made.error();
    all.push_back(std::move(*made));
  }
  return all;
}

std::string BenchClusters::server_yaml() const {
  std::string yaml = "clusters:\n";
  for (const std::string& name : names_) {
    yaml += fmt::format(
        "- {{name: {}, type: kubernetes, kubeconfig: {}, context: {}, namespace: {}, image: {}}}\n",
        name, kubeconfig_, is_audited_ ? name + "-token" : name, bench_namespace, bench_image);
  }
  return yaml;
}

std::string BenchClusters::audit_log(const std::string& name) const {
  return (std::filesystem::path(kubeconfig_).parent_path() / name / "audit.log").string();
}

}  // namespace muster::app
