#include "work/wrapped/app_wrapper.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/json.h"
#include "kube/yaml.h"

namespace muster::work {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Result<AppWrapper> read(std::string_view yaml) {
  const auto documents = kube::parse_yaml(yaml);
  if (!documents) return documents.error();
  return read_app_wrapper(documents->at(0));
}

AppWrapper good(std::string_view yaml) {
  auto wrapper = read(yaml);
  EXPECT_TRUE(wrapper.ok()) << wrapper.error().message;
  return wrapper ? *wrapper : AppWrapper();
}

std::string old_one(std::string_view spec) {
  return fmt::format(
      "{{apiVersion: workload.codeflare.dev/v1beta1, kind: AppWrapper, "
      "metadata: {{name: a, namespace: team}}, spec: {}}}",
      spec);
}
std::string new_one(std::string_view spec) {
  return fmt::format(
      "{{apiVersion: workload.codeflare.dev/v1beta2, kind: AppWrapper, "
      "metadata: {{name: a, namespace: team}}, spec: {}}}",
      spec);
}
/// With one Job.
std::string scheduled(std::string_view scheduling) {
  return old_one(fmt::format(
      "{{resources: {{GenericItems: [{{generictemplate: {{apiVersion: batch/v1, kind: Job, "
      "metadata: {{name: j}}}}}}]}}, schedulingSpec: {}}}",
      scheduling));
}

TEST(AppWrapper, OfMcadIsRead) {
  const AppWrapper wrapper = good(R"(
apiVersion: workload.codeflare.dev/v1beta1
kind: AppWrapper
metadata:
  name: ray
  namespace: team
  uid: u-1
  generation: 4
  labels: {quota_context: gold}
  annotations: {note: hello}
spec:
  priority: 9
  priorityslope: 0.5
  schedulingSpec:
    minAvailable: 2
    requeuing: {timeInSeconds: 60, initialTimeInSeconds: 30, maxTimeInSeconds: 600,
                growthType: linear, maxNumRequeuings: 5, pauseTimeInSeconds: 90,
                forceDeletionTimeInSeconds: 570}
    dispatchDuration: {expected: 10, limit: 100, overrun: true}
  resources:
    GenericItems:
    - replicas: 1
      completionstatus: Complete
      custompodresources:
      - {replicas: 1, requests: {cpu: 500m, memory: 2G, nvidia.com/gpu: 0}, limits: {cpu: 1}}
      - {replicas: 2, requests: {}, limits: {cpu: 2, nvidia.com/gpu: 1}}
      generictemplate: {apiVersion: ray.io/v1, kind: RayCluster, metadata: {name: r}}
    - generictemplate: {apiVersion: v1, kind: Service, metadata: {name: s, namespace: team}}
)");
  EXPECT_EQ(wrapper.dialect, Dialect::V1beta1);
  EXPECT_EQ(wrapper.group, "workload.codeflare.dev");
  EXPECT_EQ(wrapper.name, "ray");
  EXPECT_EQ(wrapper.ns, "team");
  EXPECT_EQ(wrapper.uid, "u-1");
  EXPECT_EQ(wrapper.generation, 4);
  EXPECT_FALSE(wrapper.is_deleting);
  EXPECT_EQ(wrapper.labels.at("quota_context"), "gold");
  EXPECT_EQ(wrapper.annotations.at("note"), "hello");
  EXPECT_EQ(wrapper.priority, 9);
  EXPECT_EQ(wrapper.priority_slope, 0.5);
  EXPECT_EQ(wrapper.min_available, 2);
  EXPECT_EQ(wrapper.requeuing.time, seconds(60));
  EXPECT_EQ(wrapper.requeuing.first_wait(), seconds(30));
  EXPECT_EQ(wrapper.requeuing.time_most, seconds(600));
  EXPECT_EQ(wrapper.requeuing.growth, GrowthType::Linear);
  EXPECT_EQ(wrapper.requeuing.requeuings_most, 5);
  EXPECT_EQ(wrapper.requeuing.pause, seconds(90));
  EXPECT_EQ(wrapper.requeuing.force_deletion, seconds(570));
  EXPECT_EQ(wrapper.dispatch_duration.limit, seconds(100));
  EXPECT_TRUE(wrapper.dispatch_duration.may_overrun);
  ASSERT_EQ(wrapper.items.size(), 2U);
  EXPECT_TRUE(wrapper.has_completion_rule());
  const WrappedItem& ray = wrapper.items[0];
  EXPECT_EQ(ray.field, "spec.resources.GenericItems[0].generictemplate");
  EXPECT_EQ(kube::name_of(ray.object), "r");
  EXPECT_EQ(ray.completion_status, "Complete");
  ASSERT_EQ(ray.pod_resources.size(), 2U);
  EXPECT_EQ(ray.pod_resources[0].counted(),
            (manifest::Amounts{{"cpu", 500}, {"memory", 2'000'000'000}}));
  EXPECT_EQ(ray.pod_resources[1].replicas, 2);
  EXPECT_EQ(ray.pod_resources[1].counted(),
            (manifest::Amounts{{"cpu", 2000}, {"nvidia.com/gpu", 1}}));
  EXPECT_THAT(wrapper.warnings, ElementsAre(HasSubstr("dispatchDuration.expected: nothing reads"),
                                            HasSubstr("priorityslope: priorities do not grow")));
}

TEST(AppWrapper, OfItsSuccessorIsRead) {
  const AppWrapper wrapper = good(R"(
apiVersion: workload.codeflare.dev/v1beta2
kind: AppWrapper
metadata:
  name: two
  namespace: team
  deletionTimestamp: "2026-01-02T03:04:05Z"
  annotations: {workload.codeflare.dev.appwrapper/retryLimit: "5"}
spec:
  suspend: true
  managedBy: kueue.x-k8s.io/multikueue
  components:
  - podSets: [{path: template.spec.template, replicas: 2}, {path: template.spec.other}]
    podSetInfos:
    - {labels: {a: b}, annotations: {c: d}, nodeSelector: {e: f}, tolerations: [{key: k}],
       schedulingGates: [{name: g}]}
    template: {apiVersion: batch/v1, kind: Job, metadata: {generateName: j-}}
)");
  EXPECT_EQ(wrapper.dialect, Dialect::V1beta2);
  EXPECT_TRUE(wrapper.is_deleting);
  EXPECT_TRUE(wrapper.is_suspended);
  EXPECT_EQ(wrapper.managed_by, "kueue.x-k8s.io/multikueue");
  EXPECT_EQ(wrapper.grace.retry_limit, 5);
  EXPECT_FALSE(wrapper.priority.has_value());
  ASSERT_EQ(wrapper.items.size(), 1U);
  const WrappedItem& item = wrapper.items[0];
  EXPECT_EQ(item.field, "spec.components[0].template");
  ASSERT_EQ(item.pod_sets.size(), 2U);
  EXPECT_EQ(item.pod_sets[0].path, "template.spec.template");
  EXPECT_EQ(item.pod_sets[0].replicas, 2);
  EXPECT_EQ(item.pod_sets[1].replicas, 1);
  ASSERT_EQ(item.pod_set_infos.size(), 1U);
  EXPECT_EQ(item.pod_set_infos[0].labels.at("a"), "b");
  EXPECT_EQ(item.pod_set_infos[0].annotations.at("c"), "d");
  EXPECT_EQ(item.pod_set_infos[0].node_selector.at("e"), "f");
  EXPECT_EQ(item.pod_set_infos[0].tolerations.size(), 1U);
  EXPECT_EQ(item.pod_set_infos[0].scheduling_gates.size(), 1U);
}

TEST(AppWrapper, TheFieldsSayWhichDialectItIsNotTheVersion) {
  const auto dialect = [](const std::string& yaml) {
    return dialect_of(kube::parse_yaml(yaml)->at(0));
  };
  EXPECT_EQ(dialect(new_one("{resources: {}}")), Dialect::V1beta1);
  EXPECT_EQ(dialect(old_one("{components: []}")), Dialect::V1beta2);
  EXPECT_EQ(dialect(new_one("{}")), Dialect::V1beta2);
  EXPECT_EQ(dialect(old_one("{}")), Dialect::V1beta1);
  EXPECT_EQ(good("{apiVersion: mcad.ibm.com/v1beta1, kind: AppWrapper, metadata: {name: a}, spec: "
                 "{resources: {GenericItems: [{generictemplate: {apiVersion: v1, kind: Pod, "
                 "metadata: {name: p}}}]}}}")
                .group,
            "mcad.ibm.com");
}

TEST(AppWrapper, ErrorsNameTheField) {
  const std::string item = "spec.resources.GenericItems[0]";
  const struct {
    std::string yaml;
    std::string error;
  } cases[] = {
      {"[]", "not a map"},
      {"{apiVersion: v1, kind: AppWrapper}", "kind: not an AppWrapper"},
      {old_one("[]"), "spec: missing"},
      {old_one("{resources: []}"), "spec.resources: missing"},
      {old_one("{resources: {GenericItems: {}}}"), "spec.resources.GenericItems: not a list"},
      {old_one("{resources: {GenericItems: []}}"),
       "spec.resources.GenericItems: empty; there is nothing to create"},
      {old_one("{resources: {GenericItems: [7]}}"), item + ": not a map"},
      {old_one("{resources: {GenericItems: [{}]}}"),
       item + ".generictemplate: missing; there is nothing to create"},
      {old_one("{resources: {GenericItems: [{generictemplate: null}]}}"),
       item + ".generictemplate: missing; there is nothing to create"},
      {old_one("{resources: {GenericItems: [{generictemplate: {kind: Job}}]}}"),
       item + ".generictemplate: needs apiVersion and kind"},
      {old_one("{resources: {GenericItems: [{generictemplate: {apiVersion: v1, kind: Pod}}]}}"),
       item + ".generictemplate.metadata: needs a name or a generateName"},
      {old_one(
           "{resources: {GenericItems: [{generictemplate: {apiVersion: v1, kind: Pod, "
           "metadata: {name: p}}, custompodresources: [{replicas: 1, requests: {cpu: 1x}}]}]}}"),
       item + ".custompodresources[0].requests.cpu: "},
      {old_one("{resources: {GenericItems: [{generictemplate: {apiVersion: v1, kind: Pod, "
               "metadata: {name: p}}, custompodresources: [{replicas: -1, requests: {}}]}]}}"),
       item + ".custompodresources[0].replicas: -1 is not from 0 to"},
      {scheduled("{minAvailable: two}"), "spec.schedulingSpec.minAvailable: not a whole number"},
      {scheduled("{requeuing: {timeInSeconds: x}}"),
       "spec.schedulingSpec.requeuing.timeInSeconds: not a whole number"},
      {old_one("{priority: 99999999999, resources: {GenericItems: [{generictemplate: {apiVersion: "
               "v1, kind: Pod, metadata: {name: p}}}]}}"),
       "spec.priority: not a whole number of 32 bits"},
      {new_one("{components: [{}]}"), "spec.components[0].template: missing"},
      {new_one("{components: [{template: {apiVersion: v1, kind: Pod, metadata: {name: p, "
               "namespace: other}}}]}"),
       "spec.components[0].template.metadata.namespace: 'other' is not that of the AppWrapper, "
       "'team'"},
      {new_one("{components: [{podSets: [1, 2, 3, 4, 5, 6, 7, 8, 9], template: {apiVersion: v1, "
               "kind: Pod, metadata: {name: p}}}]}"),
       "spec.components[0].podSets: more than 8"},
  };
  for (const auto& one : cases) {
    const auto wrapper = read(one.yaml);
    ASSERT_FALSE(wrapper.ok()) << one.yaml;
    EXPECT_THAT(wrapper.error().message, HasSubstr(one.error)) << one.yaml;
    EXPECT_EQ(wrapper.error().fault, Fault::Invalid);
  }
}

TEST(AppWrapper, AnItemInAnotherNamespaceIsRefusedInTheWordsOfMcad) {
  const auto wrapper =
      read(old_one("{resources: {GenericItems: [{generictemplate: {apiVersion: v1, kind: Pod, "
                   "metadata: {name: p, namespace: other}}}]}}"));
  ASSERT_FALSE(wrapper.ok());
  EXPECT_EQ(wrapper.error().message,
            "[SyncQueueJob] resource namespace \"other\" is different from AppWrapper namespace "
            "\"team\"");
}

TEST(AppWrapper, AppWrappersInItAreRefusedAlsoInLists) {
  for (const std::string_view version :
       {"workload.codeflare.dev/v1beta1", "workload.codeflare.dev/v1beta2",
        "mcad.ibm.com/v1beta1"}) {
    const std::string inner =
        fmt::format("{{apiVersion: {}, kind: AppWrapper, metadata: {{name: b}}}}", version);
    for (const std::string& object :
         {inner, fmt::format("{{apiVersion: v1, kind: List, items: [{{apiVersion: v1, kind: Pod, "
                             "metadata: {{name: p}}}}, {{apiVersion: v1, kind: List, items: "
                             "[{}]}}]}}",
                             inner)}) {
      const auto wrapper = read(old_one(
          fmt::format("{{resources: {{GenericItems: [{{generictemplate: {}}}]}}}}", object)));
      ASSERT_FALSE(wrapper.ok());
      EXPECT_THAT(wrapper.error().message, HasSubstr("an AppWrapper in an AppWrapper"));
    }
  }
}

TEST(AppWrapper, AListIsAnItemForEachOfItsObjects) {
  const AppWrapper wrapper =
      good(old_one("{resources: {GenericItems: [{generictemplate: {apiVersion: v1, kind: List, "
                   "items: [{apiVersion: v1, kind: Pod, metadata: {name: p}}, {apiVersion: v1, "
                   "kind: Service, metadata: {name: s}}]}}]}}"));
  ASSERT_EQ(wrapper.items.size(), 2U);
  EXPECT_EQ(wrapper.items[1].field, "spec.resources.GenericItems[0].generictemplate.items[1]");
}

TEST(AppWrapper, OldItemsAreToleratedAndToldIfThereAreAny) {
  const std::string items =
      "GenericItems: [{generictemplate: {apiVersion: v1, kind: Pod, metadata: {name: p}}}]";
  EXPECT_THAT(good(old_one(fmt::format("{{resources: {{Items: [], {}}}}}", items))).warnings,
              IsEmpty());
  EXPECT_THAT(good(old_one(fmt::format("{{resources: {{Items: [{{}}], {}}}}}", items))).warnings,
              ElementsAre(HasSubstr("spec.resources.Items: nothing is created of it")));
}

TEST(AppWrapper, WhatNothingReadsIsTold) {
  const std::string items =
      "resources: {GenericItems: [{generictemplate: {apiVersion: v1, kind: Pod, metadata: {name: "
      "p}}}]}";
  EXPECT_THAT(good(old_one(fmt::format("{{{}, service: {{spec: {{}}}}, priorityslope: 0.5, "
                                       "schedulingSpec: {{nodeSelector: {{a: b}}, "
                                       "dispatchingWindow: {{start: {{}}}}, "
                                       "dispatchDuration: {{expected: 60}}}}}}",
                                       items)))
                  .warnings,
              ElementsAre(HasSubstr("spec.service: "), HasSubstr("schedulingSpec.nodeSelector: "),
                          HasSubstr("schedulingSpec.dispatchingWindow: "),
                          HasSubstr("dispatchDuration.expected: "), HasSubstr("priorityslope: ")));
  EXPECT_THAT(good(old_one(fmt::format("{{{}, service: {{}}, schedulingSpec: {{nodeSelector: "
                                       "{{}}, dispatchDuration: {{limit: 60}}}}}}",
                                       items)))
                  .warnings,
              IsEmpty());
}

TEST(AppWrapper, RequeuingHasTheDefaultsOfMcad) {
  for (const std::string_view scheduling : {"{}", "{requeuing: {}}"}) {
    const Requeuing requeuing = good(scheduled(scheduling)).requeuing;
    EXPECT_EQ(requeuing.time, seconds(300));
    EXPECT_EQ(requeuing.first_wait(), seconds(300));
    EXPECT_EQ(requeuing.growth, GrowthType::Exponential);
    EXPECT_EQ(requeuing.time_most, Duration{0});
    EXPECT_EQ(requeuing.requeuings_most, 0);
    EXPECT_FALSE(requeuing.pause.has_value());
  }
  const AppWrapper odd = good(scheduled("{requeuing: {growthType: fast}}"));
  EXPECT_EQ(odd.requeuing.growth, GrowthType::None);
  EXPECT_THAT(odd.warnings, ElementsAre(HasSubstr("'fast' is not exponential")));
}

TEST(AppWrapper, ClustersArePinnedByFieldSelectorOrAnnotation) {
  AppWrapper wrapper = good(scheduled(
      "{clusterScheduling: {clusters: [{name: east}], clusterSelector: {matchLabels: {a: b}, "
      "matchExpressions: [{key: gpu, operator: In, values: [h100]}]}}}"));
  EXPECT_THAT(wrapper.pins.names, ElementsAre("east"));
  EXPECT_TRUE(wrapper.pins.has_selector());
  EXPECT_EQ(wrapper.pins.selector.match_labels.at("a"), "b");
  ASSERT_EQ(wrapper.pins.selector.expressions.size(), 1U);
  EXPECT_THAT(wrapper.pins.selector.expressions[0].values, ElementsAre("h100"));
  wrapper = good(
      "{apiVersion: workload.codeflare.dev/v1beta2, kind: AppWrapper, metadata: {name: a, "
      "annotations: {muster.dev/clusters: 'east, west', clusterName: west}}, spec: {components: "
      "[{template: {apiVersion: v1, kind: Pod, metadata: {name: p}}}]}}");
  EXPECT_THAT(wrapper.pins.names, ElementsAre("east", "west"));
  EXPECT_FALSE(wrapper.pins.has_selector());
}

TEST(AppWrapper, AThousandItemsAndTwoMegabytesAreReadAndMoreAreRefused) {
  const auto with = [](std::size_t items, std::size_t bytes) {
    std::string list;
    for (std::size_t i = 0; i < items; ++i) {
      list += fmt::format(
          "{}{{generictemplate: {{apiVersion: v1, kind: ConfigMap, metadata: {{name: c{}}}, data: "
          "{{d: \"{}\"}}}}}}",
          i == 0 ? "" : ", ", i, std::string(bytes / items, 'x'));
    }
    return read(old_one(fmt::format("{{resources: {{GenericItems: [{}]}}}}", list)));
  };
  const auto thousand = with(1000, 2 << 20);
  ASSERT_TRUE(thousand.ok()) << thousand.error().message;
  EXPECT_EQ(thousand->items.size(), 1000U);
  EXPECT_THAT(with(1001, 1001).error().message,
              HasSubstr("GenericItems[1000].generictemplate: more than 1000 objects"));
  EXPECT_THAT(with(10, 4 << 20).error().message, HasSubstr("bytes; the most are 3145728"));
}

}  // namespace
}  // namespace muster::work
