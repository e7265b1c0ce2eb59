#include "work/wrapped/convert.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/json.h"
#include "kube/yaml.h"
#include "manifest/pod_sets.h"
#include "work/wrapped/wrapped_job.h"

namespace muster::work {
namespace {

namespace json = boost::json;
using kube::text_at;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

json::value yaml(std::string_view text) {
  const auto read = kube::parse_yaml(text);
  EXPECT_TRUE(read.ok()) << read.error().message;
  return read->at(0);
}

Converted good(const json::value& object, Dialect to) {
  auto converted = convert_app_wrapper(object, to);
  EXPECT_TRUE(converted.ok()) << converted.error().message;
  return converted ? *converted : Converted();
}

constexpr std::string_view of_mcad = R"(
apiVersion: mcad.ibm.com/v1beta1
kind: AppWrapper
metadata: {name: a, namespace: team, labels: {mine: here}, uid: u}
spec:
  priority: 9
  resources:
    Items: []
    GenericItems:
    - replicas: 1
      completionstatus: Complete,Failed
      custompodresources: [{replicas: 2, requests: {cpu: 1}}]
      generictemplate:
        apiVersion: batch/v1
        kind: Job
        metadata: {name: j, labels: {app: train}}
        spec:
          parallelism: 2
          template:
            metadata: {labels: {app: other}}
            spec: {containers: [{name: c, resources: {requests: {cpu: 1}}}]}
)";

TEST(Convert, AnAppWrapperOfMcadBecomesComponents) {
  const Converted converted = good(yaml(of_mcad), Dialect::V1beta2);
  EXPECT_EQ(converted.object, yaml(R"(
apiVersion: workload.codeflare.dev/v1beta2
kind: AppWrapper
metadata: {name: a, namespace: team, labels: {mine: here, muster.dev/priority: "9"}}
spec:
  components:
  - template:
      apiVersion: batch/v1
      kind: Job
      metadata: {name: j, labels: {app: train}}
      spec:
        parallelism: 2
        template:
          metadata: {labels: {app: train}}
          spec: {containers: [{name: c, resources: {requests: {cpu: 1}}}]}
)"));
  EXPECT_THAT(converted.told,
              ElementsAre("metadata: left out, as it belongs to the object in its cluster: uid",
                          "spec.priority: is the label muster.dev/priority now"));
}

TEST(Convert, ComponentsBecomeItemsOfMcadWithWhatItHasToBeTold) {
  const Converted converted = good(yaml(R"(
apiVersion: workload.codeflare.dev/v1beta2
kind: AppWrapper
metadata: {name: a, labels: {muster.dev/priority: "9"}}
spec:
  suspend: true
  components:
  - podSetInfos: [{nodeSelector: {zone: z}}]
    template:
      apiVersion: batch/v1
      kind: Job
      metadata: {name: j}
      spec:
        parallelism: 2
        template: {spec: {containers: [{name: c, resources: {limits: {nvidia.com/gpu: 1}}}]}}
  - template: {apiVersion: v1, kind: Service, metadata: {name: s}}
)"),
                                   Dialect::V1beta1);
  EXPECT_EQ(converted.object, yaml(R"(
apiVersion: workload.codeflare.dev/v1beta1
kind: AppWrapper
metadata: {name: a}
spec:
  priority: 9
  suspend: true
  resources:
    GenericItems:
    - replicas: 1
      completionstatus: Complete,Failed
      custompodresources: [{replicas: 2, requests: {nvidia.com/gpu: "1"}}]
      generictemplate:
        apiVersion: batch/v1
        kind: Job
        metadata: {name: j}
        spec:
          parallelism: 2
          template:
            metadata: {labels: {workload.codeflare.dev/appwrapper: a}}
            spec:
              nodeSelector: {zone: z}
              containers: [{name: c, resources: {limits: {nvidia.com/gpu: 1}}}]
    - replicas: 1
      generictemplate: {apiVersion: v1, kind: Service, metadata: {name: s}}
)"));
  EXPECT_THAT(converted.told,
              ElementsAre(HasSubstr("podSetInfos are written into its pod templates"),
                          HasSubstr("spec.suspend: holds it in Muster")));
}

TEST(Convert, WhatHasNoCounterpartIsTold) {
  const struct {
    std::string_view rest;
    std::string_view told;
  } cases[] = {
      {", minavailable: 1}]}}}", "spec.resources.GenericItems[0].minavailable: is read by nothing"},
      {", completionstatus: Ready}]}}}", "completionstatus is its annotation"},
      {", custompodresources: [{replicas: 3, requests: {cpu: 7}}]}]}}}",
       "custompodresources are left out"},
      {"}], metadata: {a: b}}}}", "spec.resources.metadata: is read by nothing"},
      {"}], Items: [{}]}}}", "spec.resources.Items: nothing is created of it"},
      {"}]}, priorityslope: 0.5}}", "spec.priorityslope: has no counterpart"},
      {"}]}, service: {spec: {}}}}", "spec.service: is read by nothing"},
      {"}]}, schedulingSpec: {nodeSelector: {a: b}}}}",
       "spec.schedulingSpec.nodeSelector: is read by nothing"},
      {"}]}, schedulingSpec: {minAvailable: 1}}}", "v1beta2 waits for all pods"},
      {"}]}, schedulingSpec: {dispatchDuration: {limit: 5}}}}",
       "spec.schedulingSpec.dispatchDuration: has no counterpart"},
      {"}]}, schedulingSpec: {clusterScheduling: {clusters: [{name: east}]}}}}",
       "is the annotation muster.dev/clusters now"},
      {"}]}, schedulingSpec: {clusterScheduling: {clusterSelector: {matchLabels: {a: b}}}}}}",
       "clusterSelector: has no counterpart"},
      {"}]}}, status: {state: Running}}", "status: is its controller's"},
  };
  for (const auto& one : cases) {
    // The item is closed by the case.
    const std::string open =
        "{apiVersion: workload.codeflare.dev/v1beta1, kind: AppWrapper, metadata: {name: a}, spec: "
        "{resources: {GenericItems: [{generictemplate: {apiVersion: v1, kind: Pod, metadata: "
        "{name: p}}";
    const Converted converted = good(yaml(open + std::string(one.rest)), Dialect::V1beta2);
    EXPECT_THAT(converted.told, Contains(HasSubstr(one.told))) << one.rest;
  }
}

TEST(Convert, OneThatIsInTheDialectAlreadyStaysAsItIs) {
  const json::value old = yaml(of_mcad);
  EXPECT_EQ(good(old, Dialect::V1beta1).object, old);
}

TEST(Convert, ThereAndBackIsTheSameJob) {
  const json::value there = good(yaml(of_mcad), Dialect::V1beta2).object;
  const json::value back = good(there, Dialect::V1beta1).object;
  EXPECT_EQ(good(back, Dialect::V1beta2).object, there);
  const auto first = read_app_wrapper(yaml(of_mcad));
  const auto second = read_app_wrapper(back);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(second->priority, first->priority);
  EXPECT_EQ(second->items[0].completion_status, first->items[0].completion_status);
  EXPECT_EQ(second->items[0].pod_resources, first->items[0].pod_resources);
}

TEST(Convert, RequeuingBecomesGrace) {
  const Converted converted = good(
      yaml("{apiVersion: workload.codeflare.dev/v1beta1, kind: AppWrapper, metadata: {name: a}, "
           "spec: {schedulingSpec: {minAvailable: 2, requeuing: {timeInSeconds: 60, growthType: "
           "none, maxNumRequeuings: 5}}, resources: {GenericItems: [{generictemplate: {apiVersion: "
           "v1, kind: Pod, metadata: {name: p}}}]}}}"),
      Dialect::V1beta2);
  const auto read = read_app_wrapper(converted.object);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->grace.warmup, seconds(60));
  EXPECT_EQ(read->grace.retry_limit, 5);
}

TEST(Convert, PlainObjectsBecomeOneAppWrapperCalledAsTheOneWithPods) {
  const auto documents = kube::parse_yaml(
      "{apiVersion: v1, kind: Service, metadata: {name: s}}\n---\n"
      "{apiVersion: batch/v1, kind: Job, metadata: {name: j, namespace: team}, spec: {template: "
      "{spec: {containers: [{name: c}]}}}}");
  const auto converted = convert_documents(*documents, std::nullopt);
  ASSERT_TRUE(converted.ok()) << converted.error().message;
  ASSERT_EQ(converted->size(), 1U);
  const json::value& object = converted->front().object;
  EXPECT_EQ(text_at(object, {"apiVersion"}), "workload.codeflare.dev/v1beta2");
  EXPECT_EQ(kube::name_of(object), "j");
  EXPECT_EQ(kube::namespace_of(object), "team");
  EXPECT_EQ(kube::items_at(object, {"spec", "components"}).size(), 2U);
  EXPECT_THAT(converted->front().told, IsEmpty());
  const auto old = convert_documents(*documents, Dialect::V1beta1);
  ASSERT_TRUE(old.ok());
  EXPECT_EQ(kube::items_at(old->front().object, {"spec", "resources", "GenericItems"}).size(), 2U);
}

TEST(Convert, WhatWaitsForKueueWaitsForMusterThen) {
  const auto converted = wrap_objects(
      {yaml(
          "{apiVersion: batch/v1, kind: Job, metadata: {name: j, labels: "
          "{kueue.x-k8s.io/queue-name: team-queue, kueue.x-k8s.io/priority-class: high, app: x}}, "
          "spec: {suspend: true, parallelism: 2, template: {spec: {containers: [{name: c}]}}}}")},
      Dialect::V1beta2);
  ASSERT_TRUE(converted.ok()) << converted.error().message;
  EXPECT_EQ(text_at(converted->object, {"metadata", "labels", "muster.dev/queue"}), "team-queue");
  const json::value& job =
      kube::items_at(converted->object, {"spec", "components"}).at(0).at("template");
  EXPECT_EQ(job.at("metadata").at("labels"), yaml("{app: x}"));
  EXPECT_EQ(kube::find(job, {"spec", "suspend"}), nullptr);
  EXPECT_THAT(converted->told,
              ElementsAre(HasSubstr("kueue.x-k8s.io/priority-class has no counterpart"),
                          HasSubstr("spec.suspend is left out"),
                          HasSubstr("is the label muster.dev/queue of the AppWrapper now")));
}

TEST(Convert, AnAppWrapperThatWaitsForKueueWaitsForMusterThen) {
  const std::string kueued =
      "{apiVersion: workload.codeflare.dev/v1beta2, kind: AppWrapper, metadata: {name: a, "
      "namespace: team, labels: {kueue.x-k8s.io/queue-name: team-queue, app: x}}, spec: {suspend: "
      "true, components: [{template: {apiVersion: v1, kind: Pod, metadata: {name: p}, spec: "
      "{containers: [{name: c}]}}}]}}";
  for (const Dialect to : {Dialect::V1beta1, Dialect::V1beta2}) {
    const auto converted = convert_app_wrapper(yaml(kueued), to);
    ASSERT_TRUE(converted.ok()) << converted.error().message;
    EXPECT_EQ(converted->object.at("metadata").at("labels"),
              yaml("{app: x, muster.dev/queue: team-queue}"));
    EXPECT_EQ(kube::find(converted->object, {"spec", "suspend"}), nullptr)
        << "nobody would start it";
    EXPECT_THAT(converted->told, ElementsAre(HasSubstr("spec.suspend is left out"),
                                             HasSubstr("is the label muster.dev/queue now")));
  }
}

TEST(Convert, DocumentsOfAFileAreConvertedEachAndWrongOnesAreNamed) {
  const auto documents = kube::parse_yaml(std::string(of_mcad) +
                                          "---\n{apiVersion: v1, kind: List, items: [{apiVersion: "
                                          "v1, kind: Pod, metadata: {name: p}}]}");
  const auto converted = convert_documents(*documents, std::nullopt);
  ASSERT_TRUE(converted.ok()) << converted.error().message;
  EXPECT_EQ(converted->size(), 2U);
  const auto wrong = convert_documents(
      {yaml("{apiVersion: workload.codeflare.dev/v1beta2, kind: AppWrapper, metadata: {name: a}, "
            "spec: {components: []}}")},
      std::nullopt);
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().message,
            "AppWrapper a: spec.components: empty; there is nothing to create");
  EXPECT_FALSE(convert_documents({}, std::nullopt).ok());
  EXPECT_THAT(wrap_objects({yaml("{kind: Pod, metadata: {name: p, namespace: a}}"),
                            yaml("{kind: Pod, metadata: {name: q, namespace: b}}")},
                           Dialect::V1beta2)
                  .error()
                  .message,
              HasSubstr("in another namespace than the others"));
}

}  // namespace
}  // namespace muster::work
