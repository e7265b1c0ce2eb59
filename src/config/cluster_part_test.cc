#include "config/cluster_part.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace muster::config {
namespace {

using Names = std::vector<std::string>;

/// Of the cluster k, which may name every namespace, beside another one.
ClusterPart part(std::string_view rest, std::string_view of_cluster = "") {
  std::string yaml = "clusters: [{name: k, type: kubernetes, kubeconfig: /k, namespaces: ['*']";
  yaml += of_cluster;
  yaml += "}, {name: other, type: kubernetes, kubeconfig: /o}]\n";
  yaml += rest;
  const Checked checked = check(yaml);
  EXPECT_TRUE(checked.ok()) << to_text(checked.problems.at(0), "f");
  return part_of(checked.config, checked.config.clusters.at(0));
}

/// Whether one that was opened as `before` is opened again.
bool is_opened_again(const ClusterPart& before, const ClusterPart& now) {
  return !makes_pods_alike(before, following(before, now));
}

/// By pool: "p: NAMESPACE".
Names namespaces_of(const ClusterPart& part) {
  Names names;
  for (const Pool& pool : part.pools)
    names.push_back(pool.name + ": " + pool.kube_namespace.value_or("-"));
  return names;
}

TEST(ClusterPart, HasThePoolsOfTheClusterAndWhatOfFleetPoolsIsHere) {
  const ClusterPart has = part(
      "pools: [{name: p, cluster: k}, {name: o, cluster: other}, {name: q, cluster: k}]\n"
      "fleet_pools: [{name: f, pools: [o, p]}, {name: elsewhere, pools: [o]}]");
  EXPECT_EQ(namespaces_of(has), (Names{"p: -", "q: -"}));
  ASSERT_EQ(has.fleet_pools.size(), 1U);
  EXPECT_EQ(has.fleet_pools[0].name, "f");
  EXPECT_EQ(has.fleet_pools[0].pools, Names{"p"});
}

TEST(ClusterPart, WhatPodsOfItsPoolsAreMadeOfOpensItAgain) {
  const ClusterPart before = part("pools: [{name: p, cluster: k}]");
  for (const char* rest :
       {"pools: [{name: p, cluster: k, tolerations: [{key: gpu, operator: Exists}]}]",
        "pools: [{name: p, cluster: k, pod: {service_account: s}}]",
        "pools: [{name: p, cluster: k}, {name: new, cluster: k}]",
        "pools: [{name: p, cluster: k}]\nfleet_pools: [{name: f, pools: [p]}]"})
    EXPECT_TRUE(is_opened_again(before, part(rest))) << rest;
  EXPECT_TRUE(is_opened_again(before, part("pools: [{name: p, cluster: k}]", ", image: x")));
}

TEST(ClusterPart, WhatMattersToThePlanAloneOrToOtherClustersDoesNot) {
  const ClusterPart before =
      part("pools: [{name: p, cluster: k}]\nfleet_pools: [{name: f, pools: [p]}]");
  EXPECT_FALSE(is_opened_again(
      before, part("pools: [{name: p, cluster: k, node_selector: {a: b}}, "
                   "{name: o, cluster: other, pod: {service_account: s}}]\n"
                   "fleet_pools: [{name: f, pools: [o, p]}, {name: g, pools: [o]}]\n"
                   "scheduling: {reservation_depth: 3}\nqueues: [{name: a}]",
                   ", labels: {site: a}, grace: 1m")));
}

TEST(ClusterPart, WhatWaitsForARestartStaysWhateverElseChanges) {
  const ClusterPart before = part(
      "pools: [{name: p, cluster: k, namespace: a}, {name: plain, cluster: k}]\n"
      "gpu_aliases: {NVIDIA-A100: A100}\nscheduling: {start_retry_pause: 3s}",
      ", namespace: own");
  const ClusterPart now = following(
      before,
      part("pools: [{name: p, cluster: k, namespace: b}, {name: plain, cluster: k, namespace: c}]\n"
           "gpu_aliases: {NVIDIA-A100: big}\nscheduling: {start_retry_pause: 9s}\n"
           "appwrappers: {cluster: k}",
           ", namespace: moved, image: x"));
  EXPECT_EQ(now.cluster.kube_namespace, "own");
  EXPECT_EQ(now.cluster.image, "x");
  EXPECT_EQ(namespaces_of(now), (Names{"p: a", "plain: -"}));
  EXPECT_EQ(now.gpu_aliases, before.gpu_aliases);
  EXPECT_EQ(now.start_retry_pause, seconds(3));
  EXPECT_FALSE(now.appwrappers);
}

TEST(ClusterPart, AllowedNamespacesStayToo) {
  ClusterPart before = part("");
  ClusterPart now = before;
  before.cluster.namespaces = {"a"};
  now.cluster.namespaces = {"b"};
  EXPECT_EQ(following(before, now).cluster.namespaces, Names{"a"});
}

TEST(ClusterPart, TheNamespaceOfAContextHoldsOnceItIsKnown) {
  ClusterPart before = part("");
  before.cluster.kube_namespace = "of-the-context";
  EXPECT_EQ(following(before, part("")).cluster.kube_namespace, "of-the-context");
  EXPECT_FALSE(is_opened_again(before, part("")));
}

TEST(ClusterPart, ANewPoolHasItsNamespaceAtOnceAndOneThatIsGoneKeepsIt) {
  const ClusterPart before =
      part("pools: [{name: gone, cluster: k, namespace: a}, {name: plain, cluster: k}]");
  const ClusterPart wanted = part("pools: [{name: new, cluster: k, namespace: b}]");
  const ClusterPart now = following(before, wanted);
  EXPECT_EQ(namespaces_of(now), (Names{"new: b", "gone: a"})) << "jobs run there";
  EXPECT_FALSE(is_opened_again(now, wanted)) << "once";
  const ClusterPart back =
      following(now, part("pools: [{name: gone, cluster: k, namespace: elsewhere}]"));
  EXPECT_EQ(namespaces_of(back), (Names{"gone: a", "new: b"}));
}

}  // namespace
}  // namespace muster::config
