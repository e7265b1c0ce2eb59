#include "apps/muster/bench_kube/clusters.h"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <utility>

#include "apps/muster/bench_kube/parts.h"
#include "kube/kubeconfig.h"

namespace muster::app {
namespace {

constexpr std::string_view hello = "export KUBECONFIG=";

/// What follows the hello in its line; empty if the output ends before.
std::string read_path(int fd) {
  std::string text;
  char buffer[512];
  while (true) {
    const std::size_t at = text.find(hello);
    const std::size_t end = at == std::string::npos ? at : text.find('\n', at);
    if (end != std::string::npos) return text.substr(at + hello.size(), end - at - hello.size());
    const ssize_t count = ::read(fd, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return "";
    text.append(buffer, static_cast<std::size_t>(count));
  }
}

}  // namespace

Result<std::unique_ptr<BenchClusters>> BenchClusters::start(const ClustersWanted& wanted) {
  std::unique_ptr<BenchClusters> clusters(new BenchClusters());
  for (int i = 1; i <= wanted.count; ++i) clusters->names_.push_back(fmt::format("kube-{}", i));
  if (Status spawned = clusters->spawn(wanted); !spawned) return spawned.error();
  return clusters;
}

Status BenchClusters::spawn(const ClustersWanted& wanted) {
  auto input = clusters::make_pipe();
  if (!input) return input.error();
  auto output = clusters::make_pipe();
  if (!output) return output.error();
  std::vector<std::string> words = {wanted.program, "--until-eof",
                                    fmt::format("--count={}", wanted.count),
                                    fmt::format("--nodes={}", wanted.nodes),
                                    // How requests share the server is not what is measured.
                                    "--api-flag=--enable-priority-and-fairness=false"};
  if (wanted.is_bare) words.emplace_back("--bare");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, input->read.get(), 0);
  ::posix_spawn_file_actions_adddup2(&actions, output->write.get(), 1);
  const int failed = ::posix_spawnp(&pid_, argv[0], &actions, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) {
    pid_ = 0;
    errno = failed;
    return clusters::io_error("start", wanted.program);
  }
  input_ = std::move(input->write);
  output->write.close();
  kubeconfig_ = read_path(output->read.get());
  if (kubeconfig_.empty()) return Error{Fault::Unavailable, "no clusters: see above"};
  return Ok{};
}

BenchClusters::~BenchClusters() {
  input_.close();
  int status = 0;
  while (pid_ != 0 && ::waitpid(pid_, &status, 0) < 0 && errno == EINTR) continue;
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
        name, kubeconfig_, name, bench_namespace, bench_image);
  }
  return yaml;
}

}  // namespace muster::app
