#include "config/config_diff.h"

#include <gtest/gtest.h>

#include <string>
#include <variant>
#include <vector>

namespace muster::config {
namespace {

Config config_of(std::string_view yaml) {
  Checked checked = check(yaml);
  EXPECT_TRUE(checked.ok()) << to_text(checked.problems.at(0), "f");
  return checked.config;
}

struct Name {
  std::string operator()(const model::QueueSet& e) { return "queue+ " + e.spec.name; }
  std::string operator()(const model::QueueRemoved& e) { return "queue- " + e.queue; }
  std::string operator()(const model::PoolSet& e) {
    return (e.spec.cluster.empty() ? "pool- " : "pool+ ") + e.spec.name;
  }
  std::string operator()(const model::FleetPoolSet& e) {
    return (e.spec.pools.empty() ? "fleet- " : "fleet+ ") + e.spec.name;
  }
  std::string operator()(const model::ClusterSet& e) { return "cluster+ " + e.spec.name; }
  std::string operator()(const model::ClusterLeft& e) { return "cluster- " + e.cluster; }
  template <typename T>
  std::string operator()(const T&) {
    return "other";
  }
};

/// The events by name: "queue+ a", "cluster- b".
std::vector<std::string> names_of(const std::vector<model::EventBody>& events) {
  std::vector<std::string> names;
  for (const auto& event : events) names.push_back(std::visit(Name{}, event));
  return names;
}

using Lines = std::vector<std::string>;

TEST(ConfigDiff, TheSameConfigurationChangesNothing) {
  const Config demo = config_of(demo_yaml());
  const Diff same = diff(demo, demo);
  EXPECT_TRUE(same.empty());
  EXPECT_TRUE(same.events.empty());
  EXPECT_TRUE(same.restart.empty());
  EXPECT_FALSE(same.policy);
}

TEST(ConfigDiff, AFirstStartSetsEverythingParentsFirst) {
  EXPECT_EQ(names_of(events_of(config_of(demo_yaml()))),
            (Lines{"cluster+ here", "cluster+ sim-a", "cluster+ sim-b", "queue+ research",
                   "queue+ vision", "queue+ speech", "queue+ production", "queue+ default"}));
  EXPECT_EQ(names_of(events_of(Config{})), Lines{"queue+ default"});
}

TEST(ConfigDiff, OnlyWhatChangedIsSetAndSaid) {
  const Diff d =
      diff(config_of("queues: [{name: a, guaranteed: {gpu: 4}}, {name: b}]"),
           config_of("queues: [{name: a, weight: 3, guaranteed: {gpu: 4.5}}, {name: b}]"));
  EXPECT_EQ(names_of(d.events), Lines{"queue+ a"});
  EXPECT_EQ(d.lines, (Lines{"queue a: weight 1 -> 3", "queue a: guaranteed.gpu 4 -> 4.5"}));
  EXPECT_EQ(d.queues, Lines{"a"});
}

TEST(ConfigDiff, AQueueThatMovesIsSetBelowItsNewParentAndChildrenGoBeforeParents) {
  const Diff d =
      diff(config_of("queues: [{name: a, queues: [{name: b, queues: [{name: c}, {name: d}]}]}]"),
           config_of("queues: [{name: c, queues: [{name: n}]}]"));
  EXPECT_EQ(names_of(d.events),
            (Lines{"queue+ c", "queue+ n", "queue- d", "queue- b", "queue- a"}));
  EXPECT_EQ(d.lines[0], "queue c: moves from b to the top");
  EXPECT_EQ(d.lines[1], "queue n: is new, below c");
  EXPECT_EQ(d.lines[2], "queue d: is removed; its jobs wait until they are moved");
}

TEST(ConfigDiff, ClustersAndPoolsComeBeforeAndLeaveAfterWhatNamesThem) {
  const std::string nodes = "type: simulated, nodes: [{}]";
  const Diff d = diff(config_of("clusters: [{name: old, " + nodes + "}]\n" +
                                "pools: [{name: p, cluster: old}]\n"
                                "fleet_pools: [{name: f, pools: [p]}]"),
                      config_of("clusters: [{name: new, grace: 1m, " + nodes + "}]\n" +
                                "pools: [{name: q, cluster: new}]\n"));
  EXPECT_EQ(names_of(d.events),
            (Lines{"cluster+ new", "pool+ q", "pool- p", "fleet- f", "cluster- old"}));
  EXPECT_EQ(d.clusters_added, Lines{"new"});
  EXPECT_EQ(d.clusters_removed, Lines{"old"});
}

TEST(ConfigDiff, WhatNeedsARestartIsSaid) {
  Config before;
  before.store.postgres = "postgresql://m:one@db/x";
  Config after = before;
  after.listen = "127.0.0.1:9090";
  after.store.postgres = "postgresql://m:two@db/x";
  after.log.level = LogLevel::Debug;
  after.scheduling.reservation_depth = 4;
  after.scheduling.cluster_weights.price = 7;
  const Diff d = diff(before, after);
  EXPECT_EQ(d.restart, (Lines{"listen 127.0.0.1:8080 -> 127.0.0.1:9090 (after a restart)",
                              "store.postgres has another password (after a restart)"}));
  EXPECT_EQ(d.lines.size(), 5U);
  EXPECT_EQ(d.lines[2], "scheduling.cluster_weights.price 100 -> 7");
  EXPECT_EQ(d.lines[3], "scheduling.reservation_depth 16 -> 4");
  EXPECT_EQ(d.lines[4], "log.level info -> debug");
  EXPECT_TRUE(d.policy);
  EXPECT_TRUE(d.events.empty());
}

TEST(ConfigDiff, ClustersOfThisMachineAndSimulatedOnesChangeWithoutARestart) {
  const Diff d =
      diff(config_of("clusters: [{name: here, type: local, slots: 2}, "
                     "{name: sim, type: simulated, nodes: [{count: 1}]}]"),
           config_of("clusters: [{name: here, type: local, slots: 4, stop_grace: 1s}, "
                     "{name: sim, type: simulated, run_time: 2m, nodes: [{count: 3}]}]"));
  EXPECT_EQ(d.clusters_changed, (Lines{"here", "sim"}));
  EXPECT_EQ(d.restart, Lines{});
  EXPECT_EQ(d.lines[0], "cluster here: slots 2 -> 4");
}

TEST(ConfigDiff, OfAKubernetesClusterOnlyItsNamespacesWaitForARestart) {
  const auto cluster = [](const std::string& rest) {
    return config_of("clusters: [{name: k, type: kubernetes, kubeconfig: /k, " + rest + "}]");
  };
  const Diff d =
      diff(cluster("namespace: a, image: x"),
           cluster("namespace: b, image: y, ready_within: 30m, pod: {service_account: z}"));
  EXPECT_EQ(d.restart, Lines{"cluster k: namespace a -> b (after a restart)"});
  EXPECT_EQ(d.lines.size(), 4U);
}

TEST(ConfigDiff, OfAPoolOnlyAnotherNamespaceWaitsForARestart) {
  const auto pools = [](const std::string& rest) {
    return config_of(
        "clusters: [{name: k, type: kubernetes, kubeconfig: /k, namespaces: ['*']}]\n"
        "pools: [" +
        rest + "]");
  };
  const Diff d = diff(pools("{name: p, cluster: k, namespace: a}, {name: q, cluster: k}"),
                      pools("{name: p, cluster: k, namespace: b}, "
                            "{name: q, cluster: k, pod: {service_account: s}}, "
                            "{name: new, cluster: k, namespace: c, pod: {service_account: s}}"));
  EXPECT_EQ(d.restart, Lines{"pool p: namespace (after a restart)"});
}

TEST(ConfigDiff, OfClustersThatAreFoundOnlyTheirNamespacesWaitForARestart) {
  const auto source = [](const std::string& rest) {
    return config_of("cluster_sources: [{directory: /d, " + rest + "}]");
  };
  EXPECT_EQ(diff(source("namespace: a"), source("namespace: a, image: y")).restart, Lines{});
  EXPECT_EQ(diff(source("namespace: a"), source("namespace: b, image: y")).restart,
            Lines{"cluster_sources: namespaces of clusters that were found already (after a "
                  "restart)"});
}

TEST(ConfigDiff, ThePauseAfterAFailedStartIsTheClustersUntilARestart) {
  const Diff d = diff(config_of(""), config_of("scheduling: {start_retry_pause: 5s}"));
  EXPECT_EQ(d.restart, Lines{"scheduling.start_retry_pause 10s -> 5s (after a restart)"});
}

TEST(ConfigDiff, OfTheLimitsAndTheLogSomeHoldForGood) {
  const Config before;
  Config after = before;
  after.limits.jobs_per_submit = 5;
  after.limits.connections = 7;
  after.log.format = LogFormat::Json;
  const Diff d = diff(before, after);
  EXPECT_EQ(d.restart, (Lines{"limits.connections 20000 -> 7 (after a restart)",
                              "log.format text -> json (after a restart)"}));
  EXPECT_EQ(d.lines.size(), 3U);
}

}  // namespace
}  // namespace muster::config
