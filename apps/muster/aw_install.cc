#include "apps/muster/aw_install.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "api/appwrapper/install.h"
#include "cli/options.h"
#include "kube/client.h"
#include "kube/kubeconfig.h"
#include "work/wrapped/crds.h"
#include "work/wrapped/rights.h"

namespace muster::app {
namespace {

constexpr Duration served_within = seconds(30);

struct InstallOptions {
  std::string kubeconfig;
  std::string context;
  std::string format = "text";
  bool print = false;
  bool with_old_group = false;
  bool with_creators = false;
};

Result<kube::Access> access_of(const InstallOptions& options) {
  const auto config =
      options.kubeconfig.empty()
          ? kube::load_kubeconfigs([](const char* name) { return std::getenv(name); })
          : kube::load_kubeconfig(options.kubeconfig);
  if (!config) return config.error();
  return kube::access_of(*config, options.context);
}

std::string_view text_of(api::InstalledCrd::How how) {
  switch (how) {
    case api::InstalledCrd::How::Created:
      return "created";
    case api::InstalledCrd::How::Changed:
      return "changed";
    case api::InstalledCrd::How::AsBefore:
      break;
  }
  return "as before";
}

Status install(const InstallOptions& options) {
  const auto access = access_of(options);
  if (!access) return access.error();
  const auto client = kube::Client::make(*access);
  if (!client) return client.error();
  const auto old_group = options.with_old_group ? api::OldGroup::Always : api::OldGroup::IfThere;
  boost::json::array done;
  const auto tell = [&](std::string_view name, std::string_view how) {
    if (options.format == "text") fmt::print("{} {}\n", name, how);
    done.push_back({{"name", name}, {"done", how}});
  };
  const Status crds =
      api::install_crds(**client, old_group, served_within,
                        [&](const api::InstalledCrd& crd) { tell(crd.name, text_of(crd.how)); });
  if (!crds) return crds;
  if (options.with_creators) {
    if (const Status policy = api::install_creators_policy(**client); !policy) return policy;
    tell(work::creators_policy_name, "applied");
  }
  if (options.format == "json") fmt::print("{}\n", boost::json::serialize(done));
  return Ok{};
}

void run_install(const InstallOptions& options) {
  if (options.print) {
    fmt::print("{}", work::appwrapper_crds());
    if (!options.with_creators) return;
    for (const auto& object : work::creators_policy())
      fmt::print("---\n{}\n", boost::json::serialize(object));  // JSON is YAML
    return;
  }
  const Status done = install(options);
  if (done) return;
  fmt::print(stderr, "muster: {}\n", done.error().message);
  throw CLI::RuntimeError(1);
}

}  // namespace

void add_aw_install(CLI::App& app) {
  CLI::App* aw = app.get_subcommand("aw");
  CLI::App* command =
      cli::add_command(*aw, "install", "Put the definitions of AppWrapper into a cluster");
  command->footer(
      "Examples:\n"
      "  muster aw install --context hub\n"
      "  muster aw install --print | kubectl apply --server-side -f -\n"
      "\n"
      "Definitions that MCAD or its successor left are taken over; their objects stay.");
  const auto options = std::make_shared<InstallOptions>();
  cli::add_option(*command, "--kubeconfig", options->kubeconfig,
                  "file; none: as kubectl finds it, KUBECONFIG or ~/.kube/config");
  cli::add_option(*command, "--context", options->context, "of the file; none: its current one");
  cli::add_flag(*command, "--mcad-ibm-com", options->with_old_group,
                "AppWrappers of mcad.ibm.com too, for clients of MCAD before 1.35; then\n"
                "`kubectl get appwrapper` means those, unless the group is said");
  cli::add_flag(*command, "--creators", options->with_creators,
                "a policy too: an AppWrapper is refused when its creator may not create what\n"
                "it wraps (Kubernetes 1.30 and later; see appwrappers.creators)");
  cli::add_option(*command, "-o,--output", options->format, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  cli::add_flag(*command, "--print", options->print, "print them as YAML instead");
  command->callback([options] { run_install(*options); });
}

}  // namespace muster::app
