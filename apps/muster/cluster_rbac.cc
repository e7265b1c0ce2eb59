#include "apps/muster/cluster_rbac.h"

#include <fmt/format.h>

#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "cli/options.h"
#include "clusters/kubernetes/permissions.h"
#include "kube/yaml.h"

namespace muster::app {
namespace {

struct RbacOptions {
  clusters::PermissionAsk ask;
  clusters::RbacSubject subject;
  std::vector<std::string> kinds;
  std::string format = "yaml";
};

void print_manifest(RbacOptions options) {
  for (const std::string& name : options.kinds) {
    const auto kinds = clusters::kind_rules(name);
    if (!kinds) {
      fmt::print(stderr, "muster: {}\n", kinds.error().message);
      throw CLI::RuntimeError(2);
    }
    options.ask.kinds.insert(options.ask.kinds.end(), kinds->begin(), kinds->end());
  }
  const std::string yaml = clusters::rbac_manifest(options.ask, options.subject);
  if (options.format == "yaml") {
    fmt::print("{}", yaml);
    return;
  }
  const auto objects = kube::parse_yaml(yaml);
  MUSTER_CHECK(objects.ok(), "the manifest is no YAML: {}", objects.error().message);
  boost::json::array items(objects->begin(), objects->end());
  const boost::json::object list{{"apiVersion", "v1"}, {"kind", "List"}, {"items", items}};
  fmt::print("{}\n", boost::json::serialize(list));
}

}  // namespace

void add_cluster_rbac(CLI::App& app) {
  CLI::App* command = cli::add_command(*app.get_subcommand("cluster"), "rbac",
                                       "Print what a Kubernetes cluster has to allow");
  command->footer(
      "Examples:\n"
      "  muster cluster rbac --namespace muster | kubectl apply -f -\n"
      "  muster cluster rbac --kinds RayCluster,JobSet,widgets.example.com\n"
      "  muster cluster rbac --namespaces team-a,team-b      or '*': as in the configuration\n"
      "  muster cluster rbac --appwrappers --namespaces '*' --kinds RayCluster,Job\n"
      "  muster cluster rbac --objects --travel --namespaces '*' --kinds RayCluster,Job\n"
      "\n"
      "Without --user a service account is made in the namespace, which must be there.");
  const auto options = std::make_shared<RbacOptions>();
  cli::add_option(*command, "--name", options->subject.name, "of the service account and the roles")
      ->capture_default_str();
  cli::add_option(*command, "--namespace", options->ask.ns, "where jobs are made")
      ->capture_default_str();
  cli::add_option(*command, "--namespaces", options->ask.namespaces,
                  "others that pools and jobs may name; *: all there are")
      ->delimiter(',');
  cli::add_option(*command, "--kinds", options->kinds, "kinds that lists of objects may have")
      ->delimiter(',');
  cli::add_flag(*command, "--objects", options->ask.with_objects,
                "lists of objects, also without further kinds");
  cli::add_option(*command, "--user", options->subject.user,
                  "whom to allow it, as Kubernetes calls them; none: a service account");
  cli::add_flag(*command, "--hub", options->ask.with_hub,
                "to find kubeconfigs in Secrets, and ClusterProfiles, in the namespace");
  cli::add_flag(*command, "--appwrappers", options->ask.with_appwrappers,
                "to take its AppWrappers as jobs; --kinds are what they may wrap");
  cli::add_flag(*command, "--travel", options->ask.with_travel,
                "for AppWrappers of another cluster that run here, with --appwrappers for those "
                "of this one that run elsewhere: their namespaces, Secrets and ConfigMaps");
  cli::add_flag(*command, "--crds", options->ask.with_crds, "to install definitions of kinds");
  cli::add_option(*command, "-o,--output", options->format,
                  "yaml, or json: one object of kind List")
      ->check(CLI::IsMember({"yaml", "json"}))
      ->capture_default_str();
  command->callback([options] { print_manifest(*options); });
}

}  // namespace muster::app
