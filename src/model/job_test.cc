#include "model/job.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "model/host_port.h"

namespace muster::model {
namespace {

/// A gang of 2 x 8 GPUs that uses every field.
JobSpec rich() {
  JobSpec spec;
  spec.id = "vision-1";
  spec.queue = "vision";
  spec.extra_queues = {"power"};
  spec.depends_on = {"vision-0"};
  spec.run_limit = hours(2);
  spec.start_after = Time{1000};
  spec.deadline = Time{2000};
  spec.gang.clusters = {"east"};
  spec.gang.excluded_clusters = {"west"};
  spec.gang.topology = TopologyDomain{.key = "rack", .required = true};
  PodSet workers;
  workers.name = "workers";
  workers.count = 2;
  workers.min_count = 1;
  PodShape& pod = workers.pod;
  pod.requests = {.cpu = {4000}, .memory = {1 << 30}, .extended = {{"rdma/hca", 1}}};
  pod.gpu.count = 8;
  pod.gpu_types = {"H100", "A100"};
  pod.node_selector = {{"disk", "ssd"}};
  pod.required_affinity = {{{{"gen", Operator::Gt, {"7"}}, {"zone", Operator::In, {"a"}}},
                            {{"metadata.name", Operator::NotIn, {"n1"}}}}};
  pod.preferred_affinity = {{100, {{{"spot", Operator::DoesNotExist, {}}}, {}}}};
  pod.tolerations = {{.key = "gpu", .exists = true, .value = "", .effect = "NoSchedule"}};
  pod.pod_affinity = {{{{{"app", "web"}}, {}}, "zone"}};
  pod.pod_anti_affinity = {{{{}, {{"app", Operator::Exists, {}}}}, "host"}};
  pod.spread = {{.max_skew = 1, .topology_key = "zone", .selector = {}, .required = true}};
  pod.host_ports = {1, 65535, host_port(1, Protocol::Udp), host_port(65535, Protocol::Sctp)};
  pod.volume_zones = {"a"};
  spec.gang.sets = {workers};
  return spec;
}

TEST(Job, WithEveryFieldInOrderIsValid) {
  const Status status = validate(rich());
  EXPECT_TRUE(status.ok()) << status.error().message;
}

TEST(Job, OfOnePodWithoutAnyDemandIsValid) {
  JobSpec spec;
  spec.id = "a";
  spec.queue = "q";
  spec.gang.sets.resize(1);
  EXPECT_TRUE(validate(spec).ok());
}

struct Broken {
  std::string message;
  std::function<void(JobSpec&)> damage;
};

void expect_messages(const std::vector<Broken>& cases) {
  for (const Broken& c : cases) {
    JobSpec spec = rich();
    c.damage(spec);
    const Status status = validate(spec);
    ASSERT_FALSE(status.ok()) << "not noticed: " << c.message;
    EXPECT_EQ(status.error().fault, Fault::Invalid);
    EXPECT_EQ(status.error().message, c.message);
  }
}

PodSet& set(JobSpec& spec) { return spec.gang.sets[0]; }
PodShape& pod(JobSpec& spec) { return spec.gang.sets[0].pod; }

TEST(Job, IsRefusedForTheFieldThatIsWrong) {
  expect_messages({
      {"id: must not be empty", [](JobSpec& s) { s.id = ""; }},
      {"queue: must not be empty", [](JobSpec& s) { s.queue = ""; }},
      {"extra_queues[0]: 'vision' is the job's queue",
       [](JobSpec& s) { s.extra_queues = {"vision"}; }},
      {"extra_queues[1]: 'a' is there twice", [](JobSpec& s) { s.extra_queues = {"a", "a"}; }},
      {"priority: -1000001 is outside -1000000 to 1000000000",
       [](JobSpec& s) { s.priority = priority_min - 1; }},
      {"priority: 1000000001 is outside -1000000 to 1000000000",
       [](JobSpec& s) { s.priority = priority_max + 1; }},
      {"run_limit: -1 is outside 0 to 1152921504606846975",
       [](JobSpec& s) { s.run_limit = Duration{-1}; }},
      {"min_runtime: -1 is outside 0 to 1152921504606846975",
       [](JobSpec& s) { s.gang.min_runtime = Duration{-1}; }},
      {"deadline: is before start_after", [](JobSpec& s) { s.deadline = Time{999}; }},
      {"depends_on[0]: a job cannot wait for itself",
       [](JobSpec& s) { s.depends_on = {"vision-1"}; }},
      {"depends_on[0]: must not be empty", [](JobSpec& s) { s.depends_on = {""}; }},
      {"clusters[0]: must not be empty", [](JobSpec& s) { s.gang.clusters = {""}; }},
      {"excluded_clusters[1]: 'east' is in clusters too",
       [](JobSpec& s) { s.gang.excluded_clusters = {"west", "east"}; }},
      {"max_retries: -1 is below 0", [](JobSpec& s) { s.gang.max_retries = -1; }},
      {"topology.key: must not be empty", [](JobSpec& s) { s.gang.topology->key = ""; }},
  });
}

TEST(PodSet, IsRefusedForTheFieldThatIsWrong) {
  expect_messages({
      {"sets: a job needs at least one", [](JobSpec& s) { s.gang.sets.clear(); }},
      {"sets[0].count: 0 is outside 1 to 100000", [](JobSpec& s) { set(s).count = 0; }},
      {"sets[0].count: 100001 is outside 1 to 100000", [](JobSpec& s) { set(s).count = 100'001; }},
      {"sets[0].min_count: 3 is outside 0 to 2", [](JobSpec& s) { set(s).min_count = 3; }},
      {"sets[0].min_count: -1 is outside 0 to 2", [](JobSpec& s) { set(s).min_count = -1; }},
      {"sets[0].pods_per_node: -1 is below 0", [](JobSpec& s) { set(s).pods_per_node = -1; }},
      {"sets[1].name: 'workers' is there twice",
       [](JobSpec& s) { s.gang.sets.push_back(s.gang.sets[0]); }},
      {"sets: more than 100000 pods in all",
       [](JobSpec& s) {
         set(s).count = 60'000;
         s.gang.sets.push_back(s.gang.sets[0]);
         s.gang.sets[1].name = "more";
       }},
  });
}

TEST(PodSet, IsRefusedForAmountsThatCannotBeAddedUp) {
  expect_messages({
      {"sets[0].pod.requests.cpu: -1 is outside 0 to 36028797018963967",
       [](JobSpec& s) { pod(s).requests.cpu.v = -1; }},
      {"sets[0].pod.requests.memory: 36028797018963968 is outside 0 to 36028797018963967",
       [](JobSpec& s) { pod(s).requests.memory.v = amount_max + 1; }},
      {"sets[0].pod.requests.rdma/hca: 0 is outside 1 to 36028797018963967",
       [](JobSpec& s) { pod(s).requests.extended["rdma/hca"] = 0; }},
      {"sets[0].pod.requests: a resource needs a name",
       [](JobSpec& s) { pod(s).requests.extended[""] = 1; }},
      {"sets: cpu of all pods together is above 36028797018963967m",
       [](JobSpec& s) { pod(s).requests.cpu.v = amount_max; }},
      {"sets: memory of all pods together is above 36028797018963967",
       [](JobSpec& s) { pod(s).requests.memory.v = amount_max / 2 + 1; }},
      {"sets: rdma/hca of all pods together is above 36028797018963967",
       [](JobSpec& s) {
         s.gang.sets.push_back(s.gang.sets[0]);
         s.gang.sets[1].name = "more";
         s.gang.sets[1].pod.requests.extended["rdma/hca"] = amount_max / 2;
       }},
  });
}

TEST(Gpu, IsRefusedWhenTheShareMakesNoSense) {
  expect_messages({
      {"sets[0].pod.gpu.count: 17 is outside 0 to 16", [](JobSpec& s) { pod(s).gpu.count = 17; }},
      {"sets[0].pod.gpu.count: -1 is outside 0 to 16", [](JobSpec& s) { pod(s).gpu.count = -1; }},
      {"sets[0].pod.gpu.each: 0 is outside 1 to 1000",
       [](JobSpec& s) { pod(s).gpu = {.count = 1, .each = {0}, .memory_each = {0}}; }},
      {"sets[0].pod.gpu.each: 1001 is outside 1 to 1000",
       [](JobSpec& s) { pod(s).gpu = {.count = 1, .each = {1001}, .memory_each = {0}}; }},
      {"sets[0].pod.gpu.each: a share of a GPU needs count 1, not 2",
       [](JobSpec& s) { pod(s).gpu = {.count = 2, .each = {500}, .memory_each = {0}}; }},
      {"sets[0].pod.gpu.memory_each: a share of a GPU needs count 1, not 0",
       [](JobSpec& s) { pod(s).gpu = {.count = 0, .each = {1000}, .memory_each = {1}}; }},
      {"sets[0].pod.gpu.memory_each: -1 is outside 0 to 36028797018963967",
       [](JobSpec& s) { pod(s).gpu = {.count = 1, .each = {1000}, .memory_each = {-1}}; }},
      {"sets[0].pod.gpu: a share is given by each or by memory_each, not by both",
       [](JobSpec& s) { pod(s).gpu = {.count = 1, .each = {500}, .memory_each = {1}}; }},
      {"sets[0].pod.gpu_types[1]: 'A100' is there twice",
       [](JobSpec& s) { pod(s).gpu_types = {"A100", "A100"}; }},
  });
  JobSpec spec = rich();
  pod(spec).gpu = {.count = 1, .each = {500}, .memory_each = {0}};
  EXPECT_TRUE(validate(spec).ok());
  pod(spec).gpu = {.count = 1, .each = {1000}, .memory_each = {8LL << 30}};
  EXPECT_TRUE(validate(spec).ok());
}

TEST(PlacementRules, AreRefusedWhereKubernetesRefusesThem) {
  const std::string affinity = "sets[0].pod.required_affinity[0]";
  const auto require = [](const Requirement& requirement) {
    return [requirement](JobSpec& s) {
      pod(s).required_affinity[0].expressions = {{"ok", Operator::Exists, {}}, requirement};
    };
  };
  const auto field = [](const Requirement& requirement) {
    return [requirement](JobSpec& s) { pod(s).required_affinity[0].fields = {requirement}; };
  };
  expect_messages({
      {affinity + ".expressions[1].key: must not be empty", require({"", Operator::In, {"a"}})},
      {affinity + ".expressions[1].values: In needs at least one",
       require({"k", Operator::In, {}})},
      {affinity + ".expressions[1].values: NotIn needs at least one",
       require({"k", Operator::NotIn, {}})},
      {affinity + ".expressions[1].values: Exists takes none",
       require({"k", Operator::Exists, {"a"}})},
      {affinity + ".expressions[1].values: DoesNotExist takes none",
       require({"k", Operator::DoesNotExist, {"a"}})},
      {affinity + ".expressions[1].values: Gt needs exactly one whole number",
       require({"k", Operator::Gt, {"1.5"}})},
      {affinity + ".expressions[1].values: Lt needs exactly one whole number",
       require({"k", Operator::Lt, {"1", "2"}})},
      {affinity + ".fields[0].key: 'metadata.uid' is not metadata.name, "
                  "the only field of a node to match",
       field({"metadata.uid", Operator::In, {"a"}})},
      {affinity + ".fields[0].operator: Exists is not In or NotIn",
       field({"metadata.name", Operator::Exists, {}})},
      {affinity + ".fields[0].values: a node's name is matched with exactly one value, here are 2",
       field({"metadata.name", Operator::In, {"a", "b"}})},
      {"sets[0].pod.preferred_affinity[0].weight: 0 is outside 1 to 100",
       [](JobSpec& s) { pod(s).preferred_affinity[0].weight = 0; }},
      {"sets[0].pod.preferred_affinity[0].weight: 101 is outside 1 to 100",
       [](JobSpec& s) { pod(s).preferred_affinity[0].weight = 101; }},
      {"sets[0].pod.preferred_affinity[0].term.expressions[0].values: DoesNotExist takes none",
       [](JobSpec& s) { pod(s).preferred_affinity[0].term.expressions[0].values = {"x"}; }},
      {"sets[0].pod.node_selector: a label needs a name",
       [](JobSpec& s) { pod(s).node_selector[""] = "x"; }},
  });
}

TEST(PodRules, AreRefusedWhereKubernetesRefusesThem) {
  expect_messages({
      {"sets[0].pod.pod_affinity[0].topology_key: must not be empty",
       [](JobSpec& s) { pod(s).pod_affinity[0].topology_key = ""; }},
      {"sets[0].pod.pod_anti_affinity[0].topology_key: must not be empty",
       [](JobSpec& s) { pod(s).pod_anti_affinity[0].topology_key = ""; }},
      {"sets[0].pod.pod_anti_affinity[0].selector.expressions[0].operator: "
       "Gt selects nodes, not pods",
       [](JobSpec& s) {
         pod(s).pod_anti_affinity[0].selector.expressions = {{"k", Operator::Gt, {"1"}}};
       }},
      {"sets[0].pod.spread[0].max_skew: 0 is below 1",
       [](JobSpec& s) { pod(s).spread[0].max_skew = 0; }},
      {"sets[0].pod.spread[0].topology_key: must not be empty",
       [](JobSpec& s) { pod(s).spread[0].topology_key = ""; }},
      {"sets[0].pod.tolerations[0].key: may be empty only with exists, to tolerate everything",
       [](JobSpec& s) {
         pod(s).tolerations[0] = {.key = "", .exists = false, .value = "x", .effect = ""};
       }},
      {"sets[0].pod.tolerations[0].value: must be empty with exists",
       [](JobSpec& s) { pod(s).tolerations[0].value = "x"; }},
      {"sets[0].pod.tolerations[0].effect: 'Never' is not NoSchedule, PreferNoSchedule or "
       "NoExecute",
       [](JobSpec& s) { pod(s).tolerations[0].effect = "Never"; }},
      {"sets[0].pod.host_ports[1]: 0 is outside 1 to 65535",
       [](JobSpec& s) { pod(s).host_ports = {80, 0}; }},
      {"sets[0].pod.host_ports[0]: 65536 is outside 1 to 65535",
       [](JobSpec& s) { pod(s).host_ports = {65536}; }},
      {"sets[0].pod.host_ports[2]: 80 is there twice",
       [](JobSpec& s) { pod(s).host_ports = {80, 443, 80}; }},
      {"sets[0].pod.volume_zones[0]: must not be empty",
       [](JobSpec& s) { pod(s).volume_zones = {""}; }},
  });
}

TEST(Job, TellsTheFirstOfManyErrors) {
  JobSpec spec = rich();
  spec.id = "";
  set(spec).count = 0;
  EXPECT_EQ(validate(spec).error().message, "id: must not be empty");
}

}  // namespace
}  // namespace muster::model
