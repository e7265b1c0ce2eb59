#include "clusters/kubernetes/permissions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>

#include "kube/json.h"
#include "kube/yaml.h"

namespace muster::clusters {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
namespace json = boost::json;

/// "list nodes" and "create jobs.batch in namespace x" as the roles of a manifest grant them.
std::set<std::string> granted(const std::string& manifest) {
  std::set<std::string> texts;
  const auto documents = kube::parse_yaml(manifest);
  EXPECT_TRUE(documents.ok()) << (documents ? "" : documents.error().message) << manifest;
  for (const json::value& document : *documents) {
    for (const json::value& rule : kube::items_at(document, {"rules"})) {
      for (const json::value& resource : kube::items_at(rule, {"resources"})) {
        for (const json::value& verb : kube::items_at(rule, {"verbs"})) {
          kube::Permission permission;
          permission.verb = verb.as_string();
          permission.group = kube::items_at(rule, {"apiGroups"}).at(0).as_string();
          const std::string name(resource.as_string());
          permission.resource = name.substr(0, name.find('/'));
          if (name.find('/') != std::string::npos)
            permission.subresource = name.substr(name.find('/') + 1);
          permission.ns = kube::namespace_of(document);
          for (const json::value& only : kube::items_at(rule, {"resourceNames"}))
            permission.name = only.as_string();
          texts.insert(permission.to_text());
        }
      }
    }
  }
  return texts;
}

std::set<std::string> asked(const PermissionAsk& ask) {
  std::set<std::string> texts;
  for (const NeededPermission& needed : needed_permissions(ask))
    texts.insert(needed.permission.to_text());
  return texts;
}

TEST(Permissions, TheManifestGrantsWhatTheCheckAsksForAndNothingElse) {
  PermissionAsk plain{.ns = "team"};
  EXPECT_EQ(granted(rbac_manifest(plain, {})), asked(plain));
  PermissionAsk all{.ns = "team",
                    .with_objects = true,
                    .with_hub = true,
                    .with_appwrappers = true,
                    .with_crds = true};
  all.kinds = {{"ray.io", "rayclusters"}, {"example.com", "widgets"}};
  EXPECT_EQ(granted(rbac_manifest(all, {})), asked(all));
  EXPECT_TRUE(
      asked(all).contains("patch appwrappers.workload.codeflare.dev/status in namespace "
                          "team"));
  EXPECT_TRUE(asked(all).contains("create rayclusters.ray.io in namespace team"));
  EXPECT_TRUE(asked(all).contains("update rayjobs.ray.io in namespace team")) << "labelled ones";
  EXPECT_TRUE(asked(all).contains("watch widgets.example.com in namespace team"));
  EXPECT_FALSE(asked(plain).contains("create configmaps in namespace team"));
  EXPECT_TRUE(asked(plain).contains("create pods/exec in namespace team"));
  EXPECT_TRUE(asked(plain).contains("watch events in namespace team"));
}

TEST(Permissions, EveryNamespaceThatJobsMayNameIsAskedForAndGranted) {
  PermissionAsk several{.ns = "team", .namespaces = {"other", "team"}, .with_hub = true};
  EXPECT_EQ(granted(rbac_manifest(several, {})), asked(several));
  EXPECT_TRUE(asked(several).contains("create jobs.batch in namespace team"));
  EXPECT_TRUE(asked(several).contains("create jobs.batch in namespace other"));
  EXPECT_TRUE(asked(several).contains("list secrets in namespace team"));
  EXPECT_FALSE(asked(several).contains("list secrets in namespace other"));

  PermissionAsk all{.ns = "team", .namespaces = {"*"}, .with_objects = true};
  EXPECT_EQ(granted(rbac_manifest(all, {})), asked(all));
  EXPECT_TRUE(asked(all).contains("create jobs.batch"));
  EXPECT_TRUE(asked(all).contains("watch configmaps"));
  EXPECT_THAT(rbac_manifest(all, {}), Not(HasSubstr("kind: Role\n")));
  EXPECT_THAT(rbac_manifest(all, {}), Not(HasSubstr("*")));
  all.with_hub = true;  // kubeconfigs are read in one namespace all the same
  EXPECT_EQ(granted(rbac_manifest(all, {})), asked(all));
  EXPECT_TRUE(asked(all).contains("get secrets in namespace team"));
  EXPECT_FALSE(asked(all).contains("get secrets"));
}

TEST(Permissions, WhoSendsAppWrappersAwayReadsAndWhoTakesThemMakes) {
  PermissionAsk hub{.ns = "team", .with_appwrappers = true, .with_travel = true};
  EXPECT_EQ(granted(rbac_manifest(hub, {})), asked(hub));
  EXPECT_TRUE(asked(hub).contains("get secrets in namespace team"));
  EXPECT_FALSE(asked(hub).contains("update secrets in namespace team"));
  EXPECT_FALSE(asked(hub).contains("create namespaces"));
  PermissionAsk other{.ns = "team", .namespaces = {"*"}, .with_objects = true, .with_travel = true};
  EXPECT_EQ(granted(rbac_manifest(other, {})), asked(other));
  EXPECT_TRUE(asked(other).contains("update secrets"));
  EXPECT_TRUE(asked(other).contains("create namespaces"));
  EXPECT_TRUE(asked(other).contains("create serviceaccounts"));
  EXPECT_FALSE(asked(other).contains("create persistentvolumeclaims")) << "data does not move";
  EXPECT_FALSE(asked({.ns = "team", .with_appwrappers = true})
                   .contains("get secrets in namespace "
                             "team"));
}

TEST(Permissions, TreesOfQuotaAreReadWhereverTheyArePlanted) {
  const auto hub = asked({.ns = "team", .with_appwrappers = true});
  for (const char* kind : {"quotasubtrees.quota.codeflare.dev", "quotasubtrees.ibm.com"}) {
    EXPECT_TRUE(hub.contains(std::string("list ") + kind)) << "in all namespaces";
    EXPECT_TRUE(hub.contains(std::string("watch ") + kind));
  }
}

TEST(Permissions, NothingIsGrantedWithAStar) {
  PermissionAsk all{.with_objects = true, .with_hub = true, .with_crds = true};
  EXPECT_THAT(rbac_manifest(all, {}), Not(HasSubstr("*")));
  EXPECT_THAT(rbac_manifest(all, {}), Not(HasSubstr("cluster-admin")));
}

TEST(Permissions, OnlySightAndDefinitionsAreNeededOutsideOfTheNamespace) {
  for (const NeededPermission& needed : needed_permissions({})) {
    if (!needed.permission.ns.empty() || !needed.is_vital) continue;
    EXPECT_TRUE(needed.permission.verb == "list" || needed.permission.verb == "watch")
        << needed.permission.to_text();
  }
}

TEST(Permissions, TheManifestIsForAServiceAccountOfItsOwnOrForSomebodyWhoIsThere) {
  const auto subjects = [](const std::string& manifest) {
    std::set<std::string> found;
    const auto documents = kube::parse_yaml(manifest);
    for (const json::value& document : *documents) {
      for (const json::value& subject : kube::items_at(document, {"subjects"}))
        found.insert(fmt::format("{} {}/{}", kube::text_at(subject, {"kind"}),
                                 kube::text_at(subject, {"namespace"}),
                                 kube::text_at(subject, {"name"})));
    }
    return found;
  };
  const PermissionAsk ask{.ns = "team"};
  EXPECT_EQ(subjects(rbac_manifest(ask, {.name = "queue"})),
            std::set<std::string>{"ServiceAccount team/queue"});
  EXPECT_THAT(rbac_manifest(ask, {.name = "queue"}), HasSubstr("kind: ServiceAccount\nmetadata"));
  EXPECT_EQ(subjects(rbac_manifest(ask, {.user = "jane"})), std::set<std::string>{"User /jane"});
  EXPECT_EQ(subjects(rbac_manifest(ask, {.user = "system:serviceaccount:ops:robot"})),
            std::set<std::string>{"ServiceAccount ops/robot"});
}

/// "rayclusters.ray.io" of every rule that the name stands for.
std::vector<std::string> rules_of(std::string_view name) {
  const auto rules = kind_rules(name);
  std::vector<std::string> texts;
  for (const KindRule& rule : rules ? *rules : std::vector<KindRule>())
    texts.push_back(fmt::format("{}.{}", rule.resource, rule.group));
  return texts;
}

TEST(Permissions, KindsAreNamedAloneWithTheirGroupOrAsRbacDoes) {
  EXPECT_THAT(rules_of("RayCluster"), ElementsAre("rayclusters.ray.io"));
  EXPECT_THAT(rules_of("ray.io/RayCluster"), ElementsAre("rayclusters.ray.io"));
  EXPECT_THAT(rules_of("widgets.example.com"), ElementsAre("widgets.example.com"));
  EXPECT_THAT(rules_of("Service"), ElementsAre("services."));
  EXPECT_THAT(rules_of("Ingress"), ElementsAre("ingresses.networking.k8s.io"));
  EXPECT_THAT(rules_of("PodGroup"),
              ElementsAre("podgroups.scheduling.sigs.k8s.io", "podgroups.scheduling.x-k8s.io"))
      << "two groups have one";
  EXPECT_THAT(rules_of("scheduling.x-k8s.io/PodGroup"),
              ElementsAre("podgroups.scheduling.x-k8s.io"));
  EXPECT_THAT(rules_of("ray.io/Widget"), ElementsAre()) << "not the kind 'io/Widget' of 'ray'";
}

TEST(Permissions, AnUnknownKindIsRefusedWithThoseThatThereAre) {
  const auto wrong = kind_rules("RayClutser");
  ASSERT_FALSE(wrong.ok());
  EXPECT_THAT(wrong.error().message, HasSubstr("RayCluster"));
}

TEST(Permissions, TheDocumentHasThisTable) {
  std::ifstream in("docs/kubernetes.md");
  std::vector<std::string> rows;
  bool is_in_table = false;
  for (std::string line; std::getline(in, line);) {
    if (line == "| where | what | verbs |") is_in_table = true;
    if (is_in_table && !line.starts_with("|")) break;
    if (is_in_table) rows.push_back(line);
  }
  ASSERT_GE(rows.size(), 2u) << "docs/kubernetes.md has no table of permissions";
  rows.erase(rows.begin(), rows.begin() + 2);
  EXPECT_EQ(rows, permission_rows()) << "put these rows into docs/kubernetes.md:\n"
                                     << fmt::format("{}", fmt::join(permission_rows(), "\n"));
}

}  // namespace
}  // namespace muster::clusters
