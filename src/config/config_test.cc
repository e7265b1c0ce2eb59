#include "config/config.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "config/config_diff.h"

namespace muster::config {
namespace {

std::vector<std::string> problems_of(std::string_view yaml) {
  std::vector<std::string> lines;
  for (const Problem& problem : check(yaml).problems) lines.push_back(to_text(problem, "f"));
  return lines;
}

struct Case {
  std::string yaml;
  std::vector<std::string> problems;
};

void expect_all(const std::vector<Case>& cases) {
  for (const Case& c : cases) EXPECT_EQ(problems_of(c.yaml), c.problems) << c.yaml;
}

TEST(Config, AnEmptyFileIsAValidConfiguration) {
  for (const std::string_view text :
       {"", "\n", "# nothing\n", "---\n", "{}", "null", "queues:\n"}) {
    const Checked checked = check(text);
    EXPECT_TRUE(checked.problems.empty()) << text;
    EXPECT_EQ(checked.config, Config{}) << text;
  }
  const auto queues = queue_specs(Config{});
  ASSERT_EQ(queues.size(), 1U);
  EXPECT_EQ(queues[0].name, "default");
}

TEST(Config, TheExampleOfTheReadmeIsRead) {
  const Checked checked = check(R"(
data_dir: ./data
listen: 127.0.0.1:8080
clusters:
- {name: here, type: local, slots: 4}
- {name: sim-a, type: simulated, nodes: [{count: 100, cpu: 96, memory: 1Ti, gpu: {A100: 8}}]}
queues:
- {name: research, weight: 2, guaranteed: {gpu: 400}, queues: [{name: vision}, {name: speech}]}
)");
  ASSERT_EQ(problems_of(""), std::vector<std::string>{});
  EXPECT_TRUE(checked.problems.empty());
  const Config& config = checked.config;
  EXPECT_EQ(config.data_dir, "./data");
  ASSERT_EQ(config.clusters.size(), 2U);
  EXPECT_EQ(config.clusters[0].slots, 4);
  const auto nodes = node_specs(config.clusters[1]);
  ASSERT_EQ(nodes.size(), 100U);
  EXPECT_EQ(nodes[99].name, "node-99");
  EXPECT_EQ(nodes[0].gpu_type, "A100");
  EXPECT_EQ(nodes[0].gpu_count, 8);
  EXPECT_EQ(nodes[0].allocatable.cpu.v, 96'000);
  EXPECT_EQ(nodes[0].allocatable.memory.v, std::int64_t{1} << 40);
  const auto queues = queue_specs(config);
  ASSERT_EQ(queues.size(), 4U);
  EXPECT_EQ(queues[0].name, "research");
  EXPECT_EQ(queues[0].weight, 2U);
  EXPECT_EQ(queues[0].limits.at("gpu").guaranteed, 400'000);
  EXPECT_EQ(queues[1].name, "vision");
  EXPECT_EQ(queues[1].parent, "research");
  EXPECT_EQ(queues[3].name, "default");
}

TEST(Config, EveryKeyReachesTheEngine) {
  const Checked checked = check(R"(
clusters:
- name: sim
  type: simulated
  labels: {zone: a}
  gpu_price: {A100: 1.25}
  grace: 90
  nodes: [{gpu: {A100: 2}, labels: {rack: r1}, taints: [{key: dedicated, value: ml}],
           resources: {rdma/hca: 2}, gpu_memory: 80Gi, pods_max: 20}]
pools:
- {name: fast, cluster: sim, node_selector: {rack: r1},
   tolerations: [{key: dedicated, operator: Exists, effect: NoSchedule}]}
fleet_pools: [{name: any, pools: [fast]}]
queues:
- {name: q, strategy: fifo, priority_cap: 7, maximum: {cpu: 1500m, memory: 2Gi, gpu.A100: 1.5},
   guaranteed: {rdma/hca: 3}, borrow: {rdma/hca: 1}, lend: {rdma/hca: 2}}
trees: [{name: sponsors, queues: [{name: acme}]}]
)");
  ASSERT_TRUE(checked.problems.empty()) << checked.problems[0].message;
  const auto clusters = cluster_specs(checked.config);
  EXPECT_EQ(clusters[0].labels.at("zone"), "a");
  EXPECT_EQ(clusters[0].gpu_price_milli.at("A100"), 1250);
  EXPECT_EQ(clusters[0].grace, seconds(90));
  const auto nodes = node_specs(checked.config.clusters[0]);
  EXPECT_EQ(nodes[0].labels.at("rack"), "r1");
  EXPECT_EQ(nodes[0].taints.at(0), (model::Taint{"dedicated", "ml", {}}));
  EXPECT_EQ(nodes[0].allocatable.extended.at("rdma/hca"), 2);
  EXPECT_EQ(nodes[0].gpu_memory.v, std::int64_t{80} << 30);
  EXPECT_EQ(nodes[0].pods_max, 20);
  const auto pools = pool_specs(checked.config);
  EXPECT_EQ(pools[0].cluster, "sim");
  EXPECT_EQ(pools[0].node_selector.at("rack"), "r1");
  EXPECT_EQ(pools[0].tolerations.at(0), (model::Toleration{"dedicated", true, "", "NoSchedule"}));
  EXPECT_EQ(fleet_pool_specs(checked.config)[0].pools, std::vector<std::string>{"fast"});
  const auto queues = queue_specs(checked.config);
  EXPECT_EQ(queues[0].strategy, model::Strategy::Fifo);
  EXPECT_EQ(queues[0].priority_cap, 7);
  EXPECT_EQ(queues[0].limits.at("cpu").maximum, 1500);
  EXPECT_EQ(queues[0].limits.at("memory").maximum, std::int64_t{2} << 30);
  EXPECT_EQ(queues[0].limits.at("gpu.A100").maximum, 1500);
  EXPECT_EQ(queues[0].limits.at("rdma/hca"), (model::Limit{3, {}, 1, 2}));
  EXPECT_EQ(queues[1].tree, "sponsors");
}

TEST(Config, WrongValuesAreNamedWithPlaceAndPath) {
  expect_all({
      {"queues: [{name: a, wieght: 2}]",
       {"f:1:20: queues[0]: unknown key 'wieght'; did you mean 'weight'?"}},
      {"blah: 1\n",
       {"f:1:1: unknown key 'blah'; the keys here are data_dir, listen, tls, store, clusters, "
        "cluster_sources, exec_plugins, gpu_aliases, pools, fleet_pools, queues, trees, "
        "appwrappers, scheduling, retention, limits, log, defaults"}},
      {"queues:\n- weight: 1\n", {"f:2:3: queues[0]: 'name' is missing"}},
      {"queues:\n- name: a\n  weight: heavy\n",
       {"f:3:11: queues[0].weight: not a whole number: 'heavy'"}},
      {"queues:\n- name: a\n  weight: 70000\n",
       {"f:3:11: queues[0].weight: 70000 is outside 0 to 65535"}},
      {"queues:\n- name: a\n  weight: '2'\n",
       {"f:3:11: queues[0].weight: is text, not a whole number: '2'; drop the quotes"}},
      {"queues: {name: a}", {"f:1:9: queues: is a map, not a list"}},
      {"queues: [a]", {"f:1:10: queues[0]: is a single value, not a map of keys and values"}},
      {"queues: [{name: a b}]",
       {"f:1:17: queues[0].name: not a name: 'a b'; use letters, digits and . _ -"}},
      {"appwrappers: {cluster: c, travel: {secrets: labeled}}",
       {"f:1:24: appwrappers.cluster: no cluster 'c'",
        "f:1:45: appwrappers.travel.secrets: unknown: 'labeled'; did you mean 'labelled'?"}},
      {"appwrappers: {cluster: c, events: problem}",
       {"f:1:24: appwrappers.cluster: no cluster 'c'",
        "f:1:35: appwrappers.events: unknown: 'problem'; did you mean 'problems'?"}},
      {"queues: [{name: a, strategy: bakfill}]",
       {"f:1:30: queues[0].strategy: unknown: 'bakfill'; did you mean 'backfill'?"}},
      {"queues: [{name: a, guaranteed: {gpus: 4}}]",
       {"f:1:33: queues[0].guaranteed: unknown resource 'gpus'; did you mean 'gpu'?"}},
      {"queues: [{name: a, guaranteed: {gpu: 4x}}]",
       {"f:1:38: queues[0].guaranteed.gpu: unknown suffix 'x' in '4x'; the suffixes are n u m k M "
        "G T P E "
        "and Ki Mi Gi Ti Pi Ei"}},
      {"clusters:\n- name: s\n  type: simulated\n  nodes:\n  - {cpu: -1}\n",
       {"f:5:11: clusters[0].nodes[0].cpu: negative: '-1'; write 0 or more"}},
      {"scheduling: {half_life: soon}",
       {"f:1:25: scheduling.half_life: not a duration: 'soon'; write for example 90s, 45m or "
        "1h30m"}},
      {"log: {level: loud}",
       {"f:1:14: log.level: unknown: 'loud'; use one of debug, info, warn, error"}},
      {"listen: 8080",
       {"f:1:9: listen: not an address with a port; write for example "
        "127.0.0.1:8080"}},
      {"limits: {batch: 0}", {"f:1:17: limits.batch: 0 is outside 1 to 1000000"}},
      {"tls: {cert: '', key: b}", {"f:1:13: tls.cert: must not be empty"}},
      {"tls: {cert: a.pem}", {"f:1:6: tls: 'key' is missing"}},
  });
}

TEST(Config, WhatIsNotOurYamlIsRefused) {
  expect_all({
      {"a: [", {"f:1:1: not YAML: end of sequence flow not found"}},
      {"log: {}\nlog: {}\n", {"f:2:1: key 'log' is there twice"}},
      {"log: {level: info, level: warn}", {"f:1:20: log: key 'level' is there twice"}},
      {"log: {}\n---\nlog: {}\n", {"f:3:1: a second document; the configuration is one document"}},
      {"x: &x {level: info}\nlog:\n  <<: *x\n",
       {"f:3:3: log: merge keys ('<<') are not read; write the fields out"}},
      {"data_dir: !secret x", {"f:1:11: data_dir: tag '!secret' is not read; drop it"}},
      {"data_dir: \xff", {"f:1:11: not UTF-8; save the file as UTF-8"}},
      {"data_dir: a\x04", {"f:1:12: control character 0x04; remove it"}},
      {"queues: &q [*q]", {"f:1:13: queues[0]: an alias inside of what it stands for"}},
      {"? [a]\n: b\n", {"f:1:3: a key is a single word, not a list or a map"}},
      {std::string(100, '[') + std::string(100, ']'),
       {fmt::format("f:1:65: {}: nested deeper than 64 levels",
                    [] {
                      std::string path;
                      for (int i = 0; i < 64; ++i) path += "[0]";
                      return path;
                    }())}},
      {"- 1\n", {"f:1:1: is a list, not a map of keys and values"}},
  });
}

TEST(Config, AnAliasBombStopsAtTheLimit) {
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    bomb += fmt::format("a{0}: &a{0} [*a{1}, *a{1}, *a{1}, *a{1}, *a{1}, *a{1}, *a{1}, *a{1}]\n", i,
                        i - 1);
  }
  const Checked checked = check(bomb);
  ASSERT_FALSE(checked.ok());
  EXPECT_EQ(checked.problems.back().message,
            "more than 500000 values, aliases counted as what they stand for");
}

TEST(Config, AnAliasStandsForWhatItNames) {
  const Checked checked =
      check("queues:\n- {name: a, guaranteed: &g {gpu: 4}}\n- {name: b, guaranteed: *g}\n");
  ASSERT_TRUE(checked.problems.empty());
  EXPECT_EQ(checked.config.queues[1].guaranteed.of.at("gpu"), 4000);
}

TEST(Config, TypesOfGpusHaveShortNames) {
  const Checked checked = check("gpu_aliases: {NVIDIA-A100: A100, Tesla-T4: T4}\n");
  ASSERT_TRUE(checked.problems.empty());
  EXPECT_EQ(checked.config.gpu_aliases.at("NVIDIA-A100"), "A100");
  expect_all(
      {{"gpu_aliases: [A100]", {"f:1:14: gpu_aliases: is a list, not a map of keys and values"}}});
}

TEST(Config, WhatPodsHaveByDefaultIsCheckedAsInAJob) {
  expect_all({
      {"clusters: [{name: k, type: kubernetes, kubeconfig: k, node_binding: prefer, pod: {image: i,"
       " env: {A: 1}, volumes: [{name: v, emptyDir: {}}], mounts: [{name: v, mountPath: /v}]}}]\n"
       "pools: [{name: p, cluster: k, pod: {runtime_class: gvisor, pull_secrets: [s]}}]",
       {}},
      {"clusters: [{name: k, type: local, pod: {image: i}, node_binding: none}]\n"
       "pools: [{name: p, cluster: k, pod: {image: i}}]",
       {"f:1:40: clusters[0].pod: is for clusters of type kubernetes",
        "f:1:66: clusters[0].node_binding: is for clusters of type kubernetes",
        "f:2:36: pools[0].pod: is for pools of clusters of type kubernetes"}},
      {"clusters: [{name: k, type: kubernetes, kubeconfig: k, ready_within: 30m}]", {}},
      {"clusters: [{name: k, type: kubernetes, kubeconfig: k, ready_within: 0s}]",
       {"f:1:69: clusters[0].ready_within: is less than 1s, in which no pod gets ready"}},
      {"clusters: [{name: k, type: local, ready_within: 30m}]",
       {"f:1:49: clusters[0].ready_within: is for clusters of type kubernetes"}},
      {"clusters: [{name: k, type: kubernetes, kubeconfig: k, namespace: a, namespaces: [b]}]\n"
       "pools: [{name: p, cluster: k, namespace: b}, {name: q, cluster: k, namespace: a}]",
       {}},
      {"clusters: [{name: k, type: kubernetes, kubeconfig: k, namespace: a, namespaces: [b]}]\n"
       "pools: [{name: p, cluster: k, namespace: c}]",
       {"f:2:42: pools[0].namespace: is not one of cluster k; add it to its namespaces"}},
      {"clusters: [{name: k, type: kubernetes, kubeconfig: k, namespaces: ['*']}]\n"
       "pools: [{name: p, cluster: k, namespace: any}]",
       {}},
      {"clusters: [{name: k, type: kubernetes, kubeconfig: k, namespaces: [team-*]}]",
       {"f:1:68: clusters[0].namespaces[0]: not a name: 'team-*'; use letters, digits and . _ -"}},
      {"clusters: [{name: k, type: local, namespaces: [b]}]\n"
       "pools: [{name: p, cluster: k, namespace: c}]",
       {"f:1:47: clusters[0].namespaces: is for clusters of type kubernetes",
        "f:2:42: pools[0].namespace: is for pools of clusters of type kubernetes"}},
      {"clusters: [{name: k, type: kubernetes, kubeconfig: k, image: i, pod: {image: j}}]",
       {"f:1:78: clusters[0].pod.image: is given as the cluster's image too; drop one of them"}},
      {"clusters: [{name: k, type: kubernetes, kubeconfig: k, pod: {volumes: [{emptyDir: {}},"
       " {name: a}], mounts: [{name: a, mountPath: b}]}}]",
       {"f:1:60: clusters[0].pod: mounts[0].mountPath: 'b' is not an absolute path",
        "f:1:71: clusters[0].pod.volumes[0]: 'name' is missing; mounts call the volume by it",
        "f:1:71: clusters[0].pod.volumes[0]: needs exactly one source beside its name, as {name: a,"
        " emptyDir: {}}",
        "f:1:87: clusters[0].pod.volumes[1]: needs exactly one source beside its name, as {name: a,"
        " emptyDir: {}}"}},
  });
}

TEST(Config, WhatDoesNotGoTogetherIsNamed) {
  const std::string sim = "clusters: [{name: s, type: simulated, nodes: [{gpu: {T4: 4}}]}]\n";
  expect_all({
      {"clusters: [{name: k, type: kubernetes}]",
       {"f:1:12: clusters[0]: a kubernetes cluster needs kubeconfig, the file that says how to "
        "reach it, or kubeconfig_inline, or kubeconfig_secret, or in_cluster"}},
      {"clusters: [{name: k, type: kubernetes, kubeconfig: '', image: i, slots: 1}]",
       {"f:1:52: clusters[0].kubeconfig: is empty",
        "f:1:73: clusters[0].slots: is for clusters of type local"}},
      {"clusters: [{name: k, type: local, image: i, namespace: n}]",
       {"f:1:42: clusters[0].image: is for clusters of type kubernetes",
        "f:1:56: clusters[0].namespace: is for clusters of type kubernetes"}},
      {"clusters: [{name: k, type: kubernetes, kubeconfig: k, context: c, namespace: n, image: i}]"
       "\nqueues: [{name: q, guaranteed: {gpu: 8}}]",
       {}},
      {"clusters: [{name: s, type: simulated}]",
       {"f:1:12: clusters[0]: a simulated cluster needs nodes"}},
      {"clusters: [{name: s, type: local, nodes: [{}], run_time: 1m}]",
       {"f:1:42: clusters[0].nodes: is for clusters of type simulated",
        "f:1:58: clusters[0].run_time: is for clusters of type simulated"}},
      {"clusters: [{name: a, type: local}, {name: a, type: local}]",
       {"f:1:43: clusters[1].name: 'a' is there twice",
        "f:1:52: clusters[1].type: a second local cluster; this machine is one"}},
      {"listen: 0.0.0.0:80\nclusters: [{name: a, type: local}]",
       {"f:1:9: warning: listen: beyond this machine without tls: tokens travel in plain text",
        "f:2:28: clusters[0].type: a local cluster runs commands on this machine: listen on "
        "127.0.0.1 only"}},
      {"clusters: [{name: s, type: simulated, nodes: [{gpu: {T4: 4, A100: 8}}, {}]}]",
       {"f:1:53: clusters[0].nodes[0].gpu: a node has GPUs of one type",
        "f:1:72: clusters[0].nodes[1]: nodes called 'node' are there twice; give each group a "
        "name"}},
      {sim + "pools: [{name: p, cluster: z}, {name: p, cluster: s}]",
       {"f:2:28: pools[0].cluster: no cluster 'z'; did you mean 's'?",
        "f:2:39: pools[1].name: 'p' is there twice"}},
      {sim + "appwrappers: {cluster: z}",
       {"f:2:24: appwrappers.cluster: no cluster 'z'; did you mean 's'?"}},
      {sim + "appwrappers: {cluster: s}",
       {"f:2:24: appwrappers.cluster: AppWrappers are in clusters of type kubernetes"}},
      {sim + "pools: [{name: p, cluster: s}]\nfleet_pools: [{name: p, pools: [pp, p, p]}]",
       {"f:3:22: fleet_pools[0].name: 'p' is there twice",
        "f:3:33: fleet_pools[0].pools[0]: no pool 'pp'; did you mean 'p'?",
        "f:3:40: fleet_pools[0].pools[2]: 'p' is there twice"}},
      {"queues: [{name: a, queues: [{name: a}]}]",
       {"f:1:36: queues[0].queues[0].name: 'a' is there twice"}},
      {"queues: [{name: a, guaranteed: {gpu: 4}, maximum: {gpu: 2}, lend: {gpu: 5}}]",
       {"f:1:38: queues[0].guaranteed.gpu: 4 is above the maximum of 2",
        "f:1:73: queues[0].lend.gpu: 5 is above the guaranteed 4: it has no more to lend"}},
      {"queues: [{name: a, guaranteed: {cpu: 4}, queues: [{name: b, guaranteed: {cpu: 3}}, "
       "{name: c, guaranteed: {cpu: 2}}]}]",
       {"f:1:50: warning: queues[0].queues: guarantees 5 cpu in all, but 'a' has 4"}},
      {sim + "queues: [{name: a, guaranteed: {gpu: 4.5, gpu.T4: 3, gpu.H100: 1}}]",
       {"f:2:9: warning: queues: guarantees 1 gpu.H100 in all, but the clusters have 0",
        "f:2:9: warning: queues: guarantees 4500m gpu in all, but the clusters have 4"}},
      {"queues: [{name: a, guaranteed: {gpu: 4}, queues: [{name: b, guaranteed: {cpu: 3}}]}]",
       {"f:1:73: warning: queues[0].queues[0].guaranteed: names no gpu, so the 4 guaranteed to 'a' "
        "do not count for its jobs; say how much of it is theirs"}},
      {"queues: [{name: a, maximum: {gpu: 2}, queues: [{name: b, maximum: {gpu: 3}}]}]",
       {"f:1:73: warning: queues[0].queues[0].maximum.gpu: 3 is above the 2 of 'a'"}},
      {"limits: {inbox: 10, batch: 11}", {"f:1:28: limits.batch: is above inbox"}},
      {"store: {sqlite: a, postgres: b}",
       {"f:1:8: store: sqlite and postgres are both given; drop one of them",
        "f:1:30: store.postgres: not a connection URL; write postgresql://user@host/database"}},
      {"trees: [{name: t, queues: [{name: x, queues: [{name: y, guaranteed: {gpu: 1}}]}]}]",
       {"f:1:69: warning: trees[0].queues[0].queues[0].guaranteed: nobody is evicted to give it "
        "back: only guarantees of the main tree are taken back from others"}},
      {"trees: [{name: t, queues: [{name: x}]}]\ndefaults: {queue: x}",
       {"f:2:19: defaults.queue: 'x' is not in the main tree"}},
  });
}

TEST(Config, AllProblemsAreReportedNotOnlyTheFirst) {
  const Checked checked = check("queues:\n- {name: a, weight: x}\n- {weight: -1, nmae: b}\n");
  EXPECT_EQ(checked.problems.size(), 4U);
  std::string many = "queues:\n";
  for (int i = 0; i < 1000; ++i) many += "- {name: '', weight: x}\n";
  EXPECT_EQ(check(many).problems.size(), 101U);
}

TEST(Config, WhatIsShownReadsBackToTheSame) {
  const Checked demo = check(demo_yaml());
  ASSERT_TRUE(demo.problems.empty()) << to_text(demo.problems[0], "demo");
  for (const bool defaults : {false, true}) {
    const std::string shown = to_yaml(demo.config, defaults);
    const Checked again = check(shown);
    EXPECT_TRUE(again.problems.empty()) << shown;
    EXPECT_EQ(again.config, demo.config) << shown;
  }
  EXPECT_EQ(to_yaml(Config{}), "{}\n");
  EXPECT_NE(to_yaml(Config{}, true).find("reservation_depth: 16"), std::string::npos);
}

TEST(Config, PasswordsAreNotShown) {
  Config config;
  config.store.postgres = "postgresql://muster:hunter2@db/muster";
  EXPECT_EQ(without_secrets(config).store.postgres, "postgresql://muster:***@db/muster");
  config.store.postgres = "postgresql://muster@db:5432/muster";
  EXPECT_EQ(without_secrets(config).store.postgres, config.store.postgres);
}

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

TEST(Config, TheSchemaInTheDocumentsIsCurrent) {
  EXPECT_EQ(read_file("docs/config.schema.json"), config_schema())
      << "write it again: muster config schema > docs/config.schema.json";
}

TEST(Config, TheDemoFileIsTheDemo) { EXPECT_EQ(read_file("deploy/demo.yaml"), demo_yaml()); }

constexpr std::string_view small_kubeconfig =
    "{clusters: [{name: k, cluster: {server: 'https://h'}}], current-context: c, contexts: [{name: "
    "c, context: {cluster: k, user: u}}], users: [{name: u, user: {token: t0p-secret}}]}";

TEST(Config, AKubeconfigComesFromAFileTheTextOrASecret) {
  const auto first = [](std::string_view cluster) {
    const Checked checked = check(fmt::format(
        "clusters:\n- {{name: hub, type: kubernetes, kubeconfig: h}}\n- {{name: a, type: "
        "kubernetes{}}}\n",
        cluster));
    return checked.problems.empty()
               ? ""
               : checked.problems.front().path + ": " + checked.problems.front().message;
  };
  const std::string text = fmt::format(", kubeconfig_inline: \"{}\"", small_kubeconfig);
  EXPECT_EQ(first(", kubeconfig: f"), "");
  EXPECT_EQ(first(text), "");
  EXPECT_EQ(first(", kubeconfig_secret: {cluster: hub, namespace: n, name: s}"), "");
  EXPECT_EQ(first(", in_cluster: true"), "");
  EXPECT_NE(first(""), "");
  EXPECT_NE(first(", in_cluster: false"), "");
  EXPECT_NE(first(", in_cluster: true, kubeconfig: f"), "");
  EXPECT_NE(first(", in_cluster: true, context: c"), "");
  EXPECT_NE(first(", kubeconfig: f" + text), "");
  EXPECT_NE(first(", kubeconfig_inline: 'clusters: 3'"), "");
  EXPECT_NE(first(text + ", context: other"), "");
  EXPECT_NE(first(", kubeconfig_secret: {cluster: nobody, namespace: n, name: s}"), "");
  EXPECT_NE(first(", kubeconfig_secret: {cluster: a, namespace: n, name: s}"), "");
}

TEST(Config, TheTextOfAKubeconfigIsNeverShown) {
  const auto with = [](std::string_view more) {
    return check(fmt::format(
                     "clusters:\n- {{name: a, type: kubernetes, kubeconfig_inline: \"{}\"{}}}\n",
                     small_kubeconfig, more))
        .config;
  };
  const Config config = with("");
  ASSERT_TRUE(config.clusters.at(0).kubeconfig_inline);
  EXPECT_EQ(to_yaml(without_secrets(config)).find("t0p"), std::string::npos);
  EXPECT_NE(to_yaml(config).find("t0p"), std::string::npos) << "it is kept";
  Config other = config;
  other.clusters[0].kubeconfig_inline->replace(other.clusters[0].kubeconfig_inline->find("t0p"), 3,
                                               "n3w");
  const Diff changed = diff(config, other);
  ASSERT_EQ(changed.lines.size(), 1u);
  EXPECT_EQ(changed.lines[0], "cluster a: kubeconfig_inline changes");
  EXPECT_TRUE(changed.restart.empty()) << "credentials rotate while the server runs";
}

TEST(Config, ASourceOfClustersIsOfOneKind) {
  const auto is_fine = [](std::string_view source) {
    return check(fmt::format("clusters: [{{name: hub, type: kubernetes, kubeconfig: h}}]\n"
                             "cluster_sources: [{{{}}}]\n",
                             source))
        .ok();
  };
  EXPECT_TRUE(is_fine("directory: /etc/clusters, namespace: muster, image: i"));
  EXPECT_TRUE(is_fine("secrets: {cluster: hub, namespace: n}"));
  EXPECT_TRUE(is_fine("profiles: {cluster: hub, namespace: n, providers: f}"));
  EXPECT_TRUE(is_fine("directory: d, ready_within: 30m"));
  EXPECT_FALSE(is_fine("directory: d, ready_within: 0s"));
  EXPECT_FALSE(is_fine("namespace: n"));
  EXPECT_FALSE(is_fine("directory: d, secrets: {cluster: hub, namespace: n}"));
  EXPECT_FALSE(is_fine("secrets: {cluster: nobody, namespace: n}"));
}

}  // namespace
}  // namespace muster::config
