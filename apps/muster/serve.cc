#include "apps/muster/serve.h"

#include <fmt/format.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <sstream>
#include <string>

#include "apps/muster/read_text.h"
#include "apps/muster/serve/health_port.h"
#include "apps/muster/serve/mcad_profile.h"
#include "apps/muster/serve/overrides.h"
#include "apps/muster/serve/server.h"
#include "base/text.h"
#include "cli/options.h"
#include "config/config.h"
#include "config/example_jobs.h"

namespace muster::app {
namespace {

struct ServeOptions {
  std::string config;
  Overrides over;
  std::string tls_cert;
  std::string tls_key;
  bool demo = false;
  std::string profile;
  std::shared_ptr<McadFlags> mcad;
};

/// What the options come to.
struct Setup {
  config::Config config;
  std::string health_address;  // "": none
};

/// None, with the problems printed, if it cannot be used.
std::optional<Setup> setup_of(const ServeOptions& options) {
  Setup made;
  std::string text;
  std::string name = "the built-in configuration";
  if (options.demo) text = config::demo_yaml();
  if (options.profile == "mcad") {
    const auto setup =
        mcad_setup(*options.mcad, [](const char* variable) { return std::getenv(variable); });
    if (!setup) {
      fmt::print(stderr, "muster serve: {}\n", setup.error().message);
      return std::nullopt;
    }
    name = "the profile mcad";
    text = setup->yaml;
    made.health_address = setup->health_address;
    for (const std::string& note : setup->notes) fmt::print(stderr, "no effect: {}\n", note);
  }
  if (!options.config.empty()) {
    name = options.config;
    const auto all = read_text(options.config);
    if (!all) {
      fmt::print(stderr, "muster serve: {}\n", all.error().message);
      return std::nullopt;
    }
    text = *all;
  }
  config::Checked checked = config::check(text);
  for (const config::Problem& problem : checked.problems)
    fmt::print(stderr, "{}\n", config::to_text(problem, name));
  if (!checked.ok()) return std::nullopt;
  options.over.put_over(checked.config);
  made.config = std::move(checked.config);
  return made;
}

std::string_view kind_text(config::ClusterType type) {
  switch (type) {
    case config::ClusterType::Local:
      return "runs processes on this machine";
    case config::ClusterType::Simulated:
      return "simulated";
    case config::ClusterType::Kubernetes:
      break;
  }
  return "Kubernetes";
}

/// Below the current folder, as one writes it there: the path as it is if it is elsewhere.
std::string from_here(const std::filesystem::path& path) {
  std::error_code unknown;
  const auto relative = path.lexically_relative(std::filesystem::current_path(unknown));
  const bool is_below = !unknown && !relative.empty() && *relative.begin() != "..";
  if (is_below && relative == ".") return ".";
  return is_below ? "./" + relative.string() : path.string();
}

/// Of this program, if the shell would not find it by its name: "" otherwise.
std::string folder_to_add() {
  std::error_code unknown;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", unknown);
  const char* path = std::getenv("PATH");
  if (unknown || path == nullptr) return "";
  for (const std::string_view folder : split(path, ':')) {
    std::error_code missing;
    if (std::filesystem::equivalent(std::filesystem::path(folder) / "muster", self, missing))
      return "";
  }
  const std::string folder = from_here(self.parent_path());
  if (folder == ".") return "$PWD";
  return folder.starts_with("./") ? "$PWD/" + folder.substr(2) : folder;
}

void say_hello(const config::Config& config, const std::string& url,
               const std::string& token_file) {
  fmt::print("muster serves at {}\n", url);
  fmt::print("  data      {}\n", config.data_dir);
  for (const config::Cluster& cluster : config.clusters)
    fmt::print("  cluster   {} ({})\n", cluster.name, kind_text(cluster.type));
  if (config.clusters.empty())
    fmt::print("  no clusters: jobs wait until the configuration has one (or use --demo)\n");
  if (!token_file.empty())
    fmt::print("  token     {} (for MUSTER_TOKEN; on this machine none is needed)\n",
               from_here(token_file));
  fmt::print("\nTry, in another terminal:\n");
  if (const std::string folder = folder_to_add(); !folder.empty())
    fmt::print("  export PATH={}:$PATH\n", folder);
  if (url != "http://127.0.0.1:8080") fmt::print("  export MUSTER_URL={}\n", url);
  for (const std::string& job : config::example_jobs(config)) fmt::print("  {}\n", job);
  fmt::print("  muster list --all\n\n");
  std::fflush(stdout);
}

/// The signals that main waits for; blocked in all threads.
sigset_t waited_signals() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) ::sigaddset(&set, number);
  return set;
}

int serve(ServeOptions& options) {
  if (options.tls_cert.empty() != options.tls_key.empty()) {
    fmt::print(stderr, "muster serve: --tls-cert and --tls-key come together\n");
    return 1;
  }
  if (!options.tls_cert.empty()) options.over.tls = config::Tls{options.tls_cert, options.tls_key};
  const std::optional<Setup> setup = setup_of(options);
  if (!setup) return 1;
  const sigset_t signals = waited_signals();
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  std::atomic<bool> failed{false};
  std::unique_ptr<net::HttpServer> health;
  if (!setup->health_address.empty()) {
    auto opened = open_health_port(setup->health_address);
    if (!opened) {
      fmt::print(stderr, "muster serve: {}\n", opened.error().message);
      return 1;
    }
    health = std::move(*opened);
  }
  Server server(setup->config, options.config, options.over, [&failed] {
    failed = true;
    ::kill(::getpid(), SIGTERM);
  });
  if (const Status started = server.start(); !started) {
    fmt::print(stderr, "muster serve: {}\n", started.error().message);
    return 1;
  }
  say_hello(setup->config, server.url(), server.first_token_file());
  while (true) {
    int number = 0;
    ::sigwait(&signals, &number);
    if (number != SIGHUP) break;
    const std::optional<Setup> again = setup_of(options);
    const Status reloaded = again ? server.reload(again->config) : Status(invalid("it has errors"));
    if (!reloaded) fmt::print(stderr, "muster serve: not reloaded: {}\n", reloaded.error().message);
  }
  server.stop();
  return failed ? 1 : 0;
}

}  // namespace

void add_serve(CLI::App& app) {
  const auto options = std::make_shared<ServeOptions>();
  CLI::App* command = cli::add_command(app, "serve", "run the server");
  cli::add_option(*command, "--config", options->config, "YAML file; none: SQLite in ./data");
  cli::add_option(*command, "--listen", options->over.listen,
                  "address, instead of that in the file");
  cli::add_option(*command, "--data-dir", options->over.data_dir,
                  "folder, instead of that in the file");
  cli::add_option(*command, "--tls-cert", options->tls_cert, "certificate chain, PEM");
  cli::add_option(*command, "--tls-key", options->tls_key, "its key, PEM");
  cli::add_flag(*command, "--demo", options->demo, "this machine and two simulated clusters");
  cli::add_option(*command, "--profile", options->profile,
                  "mcad: in the place of the MCAD controller of the cluster in KUBECONFIG")
      ->check(CLI::IsMember({"mcad"}));
  options->mcad = add_mcad_flags(*command);
  command->callback([options] { std::exit(serve(*options)); });
}

}  // namespace muster::app
