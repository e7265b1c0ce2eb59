#include "work/wrapped/wrapped_job.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "kube/json.h"
#include "kube/yaml.h"
#include "work/wrapped/node_health.h"

namespace muster::work {
namespace {

namespace json = boost::json;
using kube::find;
using kube::text_at;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

WrapOptions usual() {
  WrapOptions options;
  options.hub = "hub";
  options.queue = "default";
  options.priority = 50;
  return options;
}

Result<WrappedJob> wrap(std::string_view yaml, const WrapOptions& options = usual()) {
  const auto documents = kube::parse_yaml(yaml);
  if (!documents) return documents.error();
  const auto wrapper = read_app_wrapper(documents->at(0));
  if (!wrapper) return wrapper.error();
  return wrapped_job(*wrapper, options);
}

WrappedJob good(std::string_view yaml, const WrapOptions& options = usual()) {
  auto job = wrap(yaml, options);
  EXPECT_TRUE(job.ok()) << job.error().message;
  return job ? *job : WrappedJob();
}

/// Of MCAD, with these items and further fields of the spec.
std::string old_one(std::string_view items, std::string_view more = "") {
  return fmt::format(
      "{{apiVersion: workload.codeflare.dev/v1beta1, kind: AppWrapper, metadata: {{name: aw, "
      "namespace: team, uid: u}}, spec: {{resources: {{GenericItems: [{}]}}{}{}}}}}",
      items, more.empty() ? "" : ", ", more);
}
std::string new_one(std::string_view components, std::string_view metadata = "") {
  return fmt::format(
      "{{apiVersion: workload.codeflare.dev/v1beta2, kind: AppWrapper, metadata: {{name: aw, "
      "namespace: team, uid: u{}{}}}, spec: {{components: [{}]}}}}",
      metadata.empty() ? "" : ", ", metadata, components);
}

constexpr std::string_view pod_spec =
    "{containers: [{name: c, resources: {requests: {cpu: 1, memory: 1Gi}}}]}";

std::string job_item(std::string_view spec = "", std::string_view more = "") {
  return fmt::format(
      "{{generictemplate: {{apiVersion: batch/v1, kind: Job, metadata: {{name: j}}, spec: {{{}{}"
      "template: {{spec: {}}}}}}}{}{}}}",
      spec, spec.empty() ? "" : ", ", pod_spec, more.empty() ? "" : ", ", more);
}

/// An entry's object, wrapped or not.
json::value object_at(const WrappedJob& job, std::size_t index) {
  const json::value list = json::parse(job.command.objects);
  const json::value& entry = list.at(index);
  const json::value* wrapped = find(entry, {"template"});
  return wrapped != nullptr && find(entry, {"kind"}) == nullptr ? *wrapped : entry;
}

/// "name x count cpu memory gpu", a set each.
std::string sets_of(const WrappedJob& job) {
  std::string text;
  for (const model::PodSet& set : job.spec.gang.sets) {
    text += fmt::format("{}{}x{}{} {}m {}Mi {}", text.empty() ? "" : "; ", set.name, set.count,
                        set.min_count > 0 ? fmt::format("/{}", set.min_count) : "",
                        set.pod.requests.cpu.v, set.pod.requests.memory.v >> 20, set.pod.gpu.count);
  }
  return text;
}

TEST(WrappedJob, OfMcadIsAJobThatStandsForItsObject) {
  WrappedJob job = good(old_one(job_item("parallelism: 2"), "priority: 9"));
  EXPECT_EQ(job.spec.name, "aw");
  EXPECT_EQ(job.spec.id, "");
  EXPECT_EQ(job.spec.queue, "default");
  EXPECT_EQ(job.spec.priority, 9);
  EXPECT_FALSE(job.spec.held);
  EXPECT_EQ(job.spec.run_limit, Duration{0});
  EXPECT_EQ(sets_of(job), "mainx2 1000m 1024Mi 0");
  EXPECT_EQ(job.command.container.ns, "team");
  EXPECT_EQ(job.command.hub, (model::HubObject{"hub", "workload.codeflare.dev/v1beta1",
                                               "AppWrapper", "team", "aw", "u"}));
  EXPECT_TRUE(job.command.care.starts_when_made);
  EXPECT_TRUE(job.command.care.keep_ended);
  EXPECT_TRUE(job.command.care.waits_for_pods);
  EXPECT_EQ(job.command.care.ready_pods, 0);
  EXPECT_EQ(job.command.care.ready_within, Duration{0});
  EXPECT_TRUE(job.makes_pods);
  EXPECT_THAT(job.warnings, IsEmpty());
}

TEST(WrappedJob, LabelsOfTheAppWrapperSayQueueAndUser) {
  const WrappedJob job = good(
      "{apiVersion: workload.codeflare.dev/v1beta2, kind: AppWrapper, metadata: {name: aw, "
      "namespace: team, uid: u, labels: {muster.dev/queue: research, "
      "workload.codeflare.dev/user: ann}}, spec: {suspend: true, components: [{template: "
      "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c}]}}}]}}");
  EXPECT_EQ(job.spec.queue, "research");
  EXPECT_EQ(job.spec.user, "ann");
  EXPECT_EQ(job.command.user, "ann");
  EXPECT_EQ(job.spec.priority, 50);
  EXPECT_TRUE(job.spec.held);
  EXPECT_EQ(job.labels.at("muster.dev/queue"), "research");
}

TEST(WrappedJob, ObjectsOfMcadHaveItsLabelsNamespaceAndName) {
  const std::string name(70, 'n');
  const WrappedJob job = good(old_one(fmt::format(
      "{{generictemplate: {{apiVersion: apps/v1, kind: Deployment, metadata: {{name: {}, labels: "
      "{{app: web, tier: front}}}}, spec: {{template: {{metadata: {{labels: {{app: other, kept: "
      "yes-it-is}}}}, spec: {}}}}}}}}}, {}",
      name, pod_spec, job_item())));
  const json::value deployment = object_at(job, 0);
  EXPECT_EQ(kube::name_of(deployment), name.substr(0, 63));
  EXPECT_EQ(kube::namespace_of(deployment), "team");
  const json::value labels = json::parse(fmt::format(
      R"({{"app":"web","tier":"front","appwrapper.mcad.ibm.com":"aw","resourceName":"{}"}})",
      name.substr(0, 63)));
  EXPECT_EQ(deployment.at("metadata").at("labels"), labels);
  // The object's labels win over those of the template, as in MCAD.
  json::value merged = labels;
  merged.as_object()["kept"] = "yes-it-is";
  EXPECT_EQ(deployment.at("spec").at("template").at("metadata").at("labels"), merged);
  // Where the template has no labels only the marks come in.
  EXPECT_EQ(object_at(job, 1).at("spec").at("template").at("metadata").at("labels"),
            json::parse(R"({"appwrapper.mcad.ibm.com":"aw","resourceName":"j"})"));
}

TEST(WrappedJob, PodTemplatesOfOtherKindsAreLabelledToo) {
  const WrappedJob job = good(old_one(fmt::format(
      "{{generictemplate: {{apiVersion: ray.io/v1, kind: RayCluster, metadata: {{name: r, labels: "
      "{{app: ray}}}}, spec: {{headGroupSpec: {{template: {{spec: {0}}}}}, workerGroupSpecs: "
      "[{{groupName: g, replicas: 2, template: {{metadata: {{labels: {{own: yes-it-is}}}}, spec: "
      "{0}}}}}]}}}}}}",
      pod_spec)));
  const json::value ray = object_at(job, 0);
  EXPECT_EQ(ray.at("spec").at("headGroupSpec").at("template").at("metadata").at("labels"),
            json::parse(R"({"appwrapper.mcad.ibm.com":"aw","resourceName":"r"})"));
  EXPECT_EQ(
      ray.at("spec").at("workerGroupSpecs").at(0).at("template").at("metadata").at("labels"),
      json::parse(R"({"own":"yes-it-is","appwrapper.mcad.ibm.com":"aw","resourceName":"r"})"));
}

TEST(WrappedJob, CompletionIsLeftToTheConditionsThatAreNamed) {
  const WrappedJob job =
      good(old_one(job_item("", "completionstatus: 'Complete, Failed'") + ", " + job_item()));
  EXPECT_EQ(text_at(object_at(job, 0), {"metadata", "annotations", "muster.dev/complete-when"}),
            "Complete, Failed");
  EXPECT_EQ(find(object_at(job, 1), {"metadata", "annotations"}), nullptr);
}

TEST(WrappedJob, TheGangIsWhatTheObjectsMakeOrWhatTheItemSays) {
  const std::string ray = fmt::format(
      "generictemplate: {{apiVersion: ray.io/v1alpha1, kind: RayCluster, metadata: {{name: r}}, "
      "spec: {{headGroupSpec: {{template: {{spec: {0}}}}}, workerGroupSpecs: [{{groupName: g, "
      "replicas: 2, minReplicas: 1, maxReplicas: 4, template: {{spec: {0}}}}}]}}}}",
      pod_spec);
  const std::string scaling = fmt::format(
      "generictemplate: {{apiVersion: ray.io/v1, kind: RayCluster, metadata: {{name: r}}, "
      "spec: {{enableInTreeAutoscaling: true, headGroupSpec: {{template: {{spec: {0}}}}}, "
      "workerGroupSpecs: [{{groupName: g, replicas: 2, minReplicas: 1, maxReplicas: 4, template: "
      "{{spec: {0}}}}}]}}}}",
      pod_spec);
  const struct {
    std::string items;
    std::string sets;
  } cases[] = {
      {"{" + ray + "}", "headx1 1000m 1024Mi 0; gx2 1000m 1024Mi 0"},
      // With the autoscaler that KubeRay puts beside the head.
      {"{" + scaling + "}", "headx1 1500m 1536Mi 0; gx2/1 1000m 1024Mi 0"},
      // Given for each template: they count for it.
      {"{" + ray +
           ", custompodresources: [{replicas: 1, requests: {cpu: 2, memory: 2Gi}}, {replicas: 2, "
           "requests: {cpu: 3, memory: 0}, limits: {memory: 4Gi, nvidia.com/gpu: 1}}]}",
       "headx1 2000m 2048Mi 0; gx2 3000m 4096Mi 1"},
      // Given for the whole object: they count instead.
      {"{" + ray + ", custompodresources: [{replicas: 3, requests: {cpu: 2}}]}",
       "mainx3 2000m 0Mi 0"},
      // Of a kind that nobody knows.
      {"{generictemplate: {apiVersion: x.io/v1, kind: Spark, metadata: {name: s}}, "
       "custompodresources: [{replicas: 1, requests: {cpu: 1}}, {replicas: 4, requests: {cpu: "
       "2}}]}",
       "pods0x1 1000m 0Mi 0; pods1x4 2000m 0Mi 0"},
      {job_item() + ", {generictemplate: {apiVersion: v1, kind: Pod, metadata: {name: p}, spec: "
                    "{containers: [{name: c, resources: {limits: {nvidia.com/gpu: 2}}}]}}}",
       "jx1 1000m 1024Mi 0; px1 0m 0Mi 2"},
  };
  for (const auto& one : cases) EXPECT_EQ(sets_of(good(old_one(one.items))), one.sets) << one.items;
}

TEST(WrappedJob, WhatMakesNoPodsIsPlacedAsOneThatNeedsNothing) {
  for (const std::string_view item :
       {"{generictemplate: {apiVersion: v1, kind: ConfigMap, metadata: {name: c}}}",
        "{generictemplate: {apiVersion: apps/v1, kind: Deployment, metadata: {name: d}, spec: "
        "{replicas: 0, template: {spec: {containers: [{name: c}]}}}}}",
        "{generictemplate: {apiVersion: x.io/v1, kind: Any, metadata: {name: c}}, "
        "custompodresources: [{replicas: 0, requests: {cpu: 1}}]}"}) {
    const WrappedJob job = good(old_one(item));
    EXPECT_FALSE(job.makes_pods);
    EXPECT_EQ(sets_of(job), "mainx1 0m 0Mi 0") << item;
  }
}

TEST(WrappedJob, KindsThatAreNoGangAreCreatedAndNotCounted) {
  const WrappedJob job = good(
      old_one(job_item() +
              ", {generictemplate: {apiVersion: apps/v1, kind: DaemonSet, metadata: {name: d}, "
              "spec: {template: {spec: {containers: [{name: c}]}}}}}"));
  EXPECT_EQ(sets_of(job), "mainx1 1000m 1024Mi 0");
  EXPECT_EQ(kube::name_of(object_at(job, 1)), "d");
  EXPECT_THAT(job.warnings, ElementsAre(HasSubstr("GenericItems[1].generictemplate: DaemonSet")));
}

TEST(WrappedJob, PodsThatWouldRatherBeNearOthersAreToldThatThisIsNotWeighed) {
  const WrappedJob job = good(old_one(
      "{generictemplate: {apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: "
      "[{name: c}], affinity: {podAffinity: {preferredDuringSchedulingIgnoredDuringExecution: "
      "[{weight: 1, podAffinityTerm: {topologyKey: zone, labelSelector: {}}}]}}}}}"));
  EXPECT_THAT(job.warnings, ElementsAre(HasSubstr("Pod p, template: preferred podAffinity")));
}

TEST(WrappedJob, TotalsInTheProfileOfMcadAreThoseOfMcad) {
  const auto item = [](std::string_view spec, std::string_view more = "") {
    return fmt::format(
        "{{generictemplate: {{apiVersion: x/v1, kind: K, metadata: {{name: n}}, spec: {}}}{}{}}}",
        spec, more.empty() ? "" : ", ", more);
  };
  const struct {
    std::string items;
    Totals totals;
  } cases[] = {
      // Parallelism of Jobs does not count, nor do init containers.
      {job_item("parallelism: 5, completions: 7"), {1000, 1 << 30, 0}},
      {item("{initContainers: [{resources: {requests: {cpu: 9}}}], containers: [{resources: "
            "{requests: {cpu: 1}}}]}"),
       {1000, 0, 0}},
      {item("{replicas: 3, template: {spec: {containers: [{resources: {requests: {cpu: 500m, "
            "memory: 0}, limits: {memory: 1G, nvidia.com/gpu: 2}}}, {resources: {limits: {cpu: "
            "1}}}]}}}"),
       {4500, 3'000'000'000, 6}},
      // Templates elsewhere count nothing.
      {item("{headGroupSpec: {template: {spec: {containers: [{resources: {requests: {cpu: "
            "1}}}]}}}}"),
       {0, 0, 0}},
      {item("{replicas: 7, containers: [{resources: {requests: {cpu: 9}}}]}",
            "custompodresources: [{replicas: 2, requests: {cpu: 1, memory: 2G, nvidia.com/gpu: 1, "
            "amd.com/gpu: 8}}, {replicas: 1, requests: {cpu: 0}, limits: {cpu: 4}}]"),
       {6000, 4'000'000'000, 2}},
      {job_item() + ", " + job_item(), {2000, std::int64_t{2} << 30, 0}},
  };
  WrapOptions options = usual();
  options.is_mcad = true;
  for (const auto& one : cases) {
    const auto job = good(old_one(one.items), options);
    EXPECT_EQ(job.totals.milli_cpu, one.totals.milli_cpu) << one.items;
    EXPECT_EQ(job.totals.memory, one.totals.memory) << one.items;
    EXPECT_EQ(job.totals.gpu, one.totals.gpu) << one.items;
  }
  EXPECT_EQ(good(old_one(job_item("parallelism: 5"))).totals,
            (Totals{5000, std::int64_t{5} << 30, 0}));
}

TEST(WrappedJob, RequeuingIsCareOfItsObjects) {
  const auto care = [](std::string_view scheduling) {
    return good(old_one(job_item(), fmt::format("schedulingSpec: {}", scheduling))).command.care;
  };
  model::ObjectCare expected;
  expected.starts_when_made = true;
  expected.keep_ended = true;
  expected.waits_for_pods = true;
  EXPECT_EQ(care("{requeuing: {timeInSeconds: 60}}"), expected);
  expected.force_after = seconds(570);
  EXPECT_EQ(care("{requeuing: {forceDeletionTimeInSeconds: 570}}"), expected);
  expected.force_after.reset();
  expected.ready_pods = 2;
  expected.ready_within = seconds(300);
  expected.ready_growth = model::ReadyGrowth::Exponential;
  EXPECT_EQ(care("{minAvailable: 2}"), expected);
  expected.ready_within = seconds(30);
  expected.ready_within_next = seconds(60);
  EXPECT_EQ(care("{minAvailable: 2, requeuing: {timeInSeconds: 60, initialTimeInSeconds: 30}}"),
            expected);
  expected.ready_within_next = Duration{0};
  expected.ready_within_most = seconds(600);
  expected.ready_growth = model::ReadyGrowth::Linear;
  expected.requeues_most = 4;
  expected.requeue_pause = seconds(90);
  EXPECT_EQ(care("{minAvailable: 2, requeuing: {timeInSeconds: 60, initialTimeInSeconds: 30, "
                 "maxTimeInSeconds: 600, growthType: linear, maxNumRequeuings: 4, "
                 "pauseTimeInSeconds: 90}}"),
            expected);
}

TEST(WrappedJob, ADispatchLimitIsARunLimitUnlessItMayOverrun) {
  const auto limit = [](std::string_view duration) {
    return good(old_one(job_item(),
                        fmt::format("schedulingSpec: {{dispatchDuration: {}}}", duration)))
        .spec.run_limit;
  };
  EXPECT_EQ(limit("{limit: 100}"), seconds(100));
  EXPECT_EQ(limit("{limit: 100, overrun: true}"), Duration{0});
  EXPECT_EQ(limit("{expected: 100}"), Duration{0});
}

constexpr std::string_view component =
    "template: {apiVersion: batch/v1, kind: Job, metadata: {name: j}, spec: {parallelism: 3, "
    "template: {metadata: {labels: {a: b}}, spec: {nodeSelector: {disk: ssd}, containers: [{name: "
    "c}]}}}}";

TEST(WrappedJob, ComponentsHaveTheLabelOfTheirAppWrapperAndWhatPodSetInfosAdd) {
  const WrappedJob job = good(new_one(fmt::format(
      "{{{}, podSetInfos: [{{labels: {{l: m}}, annotations: {{n: o}}, nodeSelector: {{disk: ssd, "
      "zone: z}}, tolerations: [{{key: t, operator: Exists}}], schedulingGates: [{{name: g}}]}}]}}",
      component)));
  const json::value object = object_at(job, 0);
  EXPECT_EQ(text_at(object, {"metadata", "labels", "workload.codeflare.dev/appwrapper"}), "aw");
  EXPECT_EQ(kube::namespace_of(object), "team");
  const json::value& pod = object.at("spec").at("template");
  EXPECT_EQ(pod.at("metadata"),
            json::parse(R"({"labels":{"a":"b","l":"m","workload.codeflare.dev/appwrapper":"aw"},)"
                        R"("annotations":{"n":"o"}})"));
  EXPECT_EQ(pod.at("spec").at("nodeSelector"), json::parse(R"({"disk":"ssd","zone":"z"})"));
  EXPECT_EQ(pod.at("spec").at("tolerations"), json::parse(R"([{"key":"t","operator":"Exists"}])"));
  EXPECT_EQ(pod.at("spec").at("schedulingGates"), json::parse(R"([{"name":"g"}])"));
  ASSERT_EQ(job.spec.gang.sets.size(), 1U);
  EXPECT_EQ(job.spec.gang.sets[0].count, 3);
  EXPECT_EQ(job.spec.gang.sets[0].pod.node_selector.at("zone"), "z");
  EXPECT_EQ(job.spec.gang.sets[0].pod.tolerations.size(), 1U);
}

TEST(WrappedJob, PodSetInfosThatContradictTheTemplateAreAnError) {
  const auto job = wrap(
      new_one(fmt::format("{{{}, podSetInfos: [{{nodeSelector: {{disk: hdd}}}}]}}", component)));
  ASSERT_FALSE(job.ok());
  EXPECT_EQ(job.error().message,
            "spec.components[0].template: template.spec.template: podSetInfos want 'hdd' for "
            "nodeSelector 'disk', which it has already");
}

TEST(WrappedJob, PodSetsOfAComponentLeadToItsTemplates) {
  const std::string own =
      "template: {apiVersion: x.io/v1, kind: Own, metadata: {name: o}, spec: {parts: [{pod: {spec: "
      "{containers: [{name: c, resources: {requests: {cpu: 2}}}]}}}]}}";
  EXPECT_EQ(sets_of(good(new_one(fmt::format(
                "{{{}, podSets: [{{path: 'template.spec.parts[0].pod', replicas: 4}}]}}", own)))),
            "mainx4 2000m 0Mi 0");
  const auto wrong =
      wrap(new_one(fmt::format("{{{}, podSets: [{{path: template.spec.nowhere}}]}}", own)));
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().message,
            "spec.components[0].template (Own o): podSets[0].path: 'template.spec.nowhere' does "
            "not lead to a pod template with containers");
}

TEST(WrappedJob, GracePeriodsAreCareOfComponents) {
  const WrappedJob plain = good(new_one(fmt::format("{{{}}}", component)));
  EXPECT_EQ(plain.spec.gang.max_retries, 0) << "the cluster pauses before it tries again";
  EXPECT_TRUE(plain.command.care.requeues_failures);
  EXPECT_EQ(plain.command.care.requeues_most, 3);
  EXPECT_EQ(plain.command.care.keep_failed, Duration{0});
  EXPECT_EQ(plain.command.care.ready_within, minutes(5));
  EXPECT_EQ(plain.command.care.requeue_pause, seconds(90));
  EXPECT_EQ(plain.command.care.ready_pods, 0);
  EXPECT_TRUE(plain.command.care.keep_ended);
  EXPECT_FALSE(plain.command.care.waits_for_pods);
  const WrappedJob job =
      good(new_one(fmt::format("{{{}}}", component),
                   "annotations: {workload.codeflare.dev.appwrapper/warmupGracePeriodDuration: 7m, "
                   "workload.codeflare.dev.appwrapper/retryPausePeriodDuration: 1s, "
                   "workload.codeflare.dev.appwrapper/terminalExitCodes: '3,7', "
                   "workload.codeflare.dev.appwrapper/retryableExitCodes: '9', "
                   "workload.codeflare.dev.appwrapper/deletionOnFailureGracePeriodDuration: 5m, "
                   "workload.codeflare.dev.appwrapper/retryLimit: '0'}"));
  EXPECT_EQ(job.command.care.requeues_most, 0);
  EXPECT_THAT(job.command.care.terminal_exit_codes, ElementsAre(3, 7));
  EXPECT_THAT(job.command.care.retryable_exit_codes, ElementsAre(9));
  EXPECT_EQ(job.command.care.keep_failed, minutes(5));
  EXPECT_EQ(job.command.care.ready_within, minutes(7));
  EXPECT_EQ(job.command.care.requeue_pause, seconds(1));
}

TEST(WrappedJob, PinsAndSelectorsChooseClusters) {
  WrapOptions options = usual();
  options.clusters = {{"east", {{"gpu", "h100"}}}, {"west", {{"gpu", "a100"}}}, {"north", {}}};
  const auto clusters = [&](std::string_view scheduling) {
    return good(old_one(job_item(),
                        fmt::format("schedulingSpec: {{clusterScheduling: {}}}", scheduling)),
                options)
        .spec.gang.clusters;
  };
  EXPECT_THAT(clusters("{}"), IsEmpty());
  EXPECT_THAT(clusters("{clusters: [{name: west}, {name: north}]}"), ElementsAre("west", "north"));
  EXPECT_THAT(clusters("{clusterSelector: {matchLabels: {gpu: h100}}}"), ElementsAre("east"));
  EXPECT_THAT(clusters("{clusterSelector: {matchExpressions: [{key: gpu, operator: Exists}]}}"),
              ElementsAre("east", "west"));
  const auto none = wrap(old_one(job_item(),
                                 "schedulingSpec: {clusterScheduling: {clusterSelector: "
                                 "{matchLabels: {gpu: h200}}}}"),
                         options);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().fault, Fault::Unavailable);
}

TEST(WrappedJob, RunsOnlyInClustersThatMakeObjectsInItsNamespace) {
  WrapOptions options = usual();
  options.clusters = {{"hub", {}, true, {"*"}},
                      {"here", {{"gpu", "h100"}}, false, {"*"}},
                      {"near", {{"gpu", "h100"}}, true, {"other", "team"}},
                      {"far", {{"gpu", "h100"}}, true, {"other"}}};
  const auto of = [&](std::string_view scheduling) {
    return wrap(
        old_one(job_item(), fmt::format("schedulingSpec: {{clusterScheduling: {}}}", scheduling)),
        options);
  };
  const auto any = of("{}");
  ASSERT_TRUE(any.ok());
  EXPECT_THAT(any->unfit_clusters, ElementsAre("here", "far"));
  EXPECT_THAT(any->spec.gang.clusters, IsEmpty());
  EXPECT_THAT(of("{clusterSelector: {matchLabels: {gpu: h100}}}")->spec.gang.clusters,
              ElementsAre("near"));
  EXPECT_TRUE(of("{clusters: [{name: far}, {name: near}]}").ok());
  const auto none = of("{clusters: [{name: far}]}");
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().fault, Fault::Unavailable) << "its configuration may change";
  EXPECT_THAT(none.error().message, HasSubstr("far makes nothing in namespace team"));
}

TEST(WrappedJob, APriorityBeyondTheLimitBecomesTheLimitAndIsTold) {
  const WrappedJob job = good(old_one(job_item(), "priority: -2000000000"));
  EXPECT_EQ(job.spec.priority, model::priority_min);
  EXPECT_THAT(job.warnings, ElementsAre(HasSubstr("spec.priority: -2000000000 is beyond")));
}

TEST(WrappedJob, ErrorsOfObjectsNameTheItem) {
  const auto job = wrap(
      old_one(job_item() +
              ", {generictemplate: {apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {}}}"));
  ASSERT_FALSE(job.ok());
  EXPECT_EQ(job.error().message,
            "spec.resources.GenericItems[1].generictemplate (Pod p): it has no containers");
}

TEST(WrappedJob, ThePodThatSubmitsARayJobIsCountedAndLabelled) {
  const auto ray_job = [](const std::string& beside) {
    return old_one("{" + beside +
                   "generictemplate: {apiVersion: ray.io/v1, kind: RayJob, metadata: {name: r}, "
                   "spec: {rayClusterSpec: {headGroupSpec: {template: {spec: {containers: [{name: "
                   "head, image: 'ray:1'}]}}}}}}}");
  };
  const WrappedJob job = good(ray_job(""));
  ASSERT_EQ(job.spec.gang.sets.size(), 2U);
  EXPECT_EQ(job.spec.gang.sets[1].name, "submitter");
  EXPECT_EQ(job.spec.gang.sets[1].pod.requests.cpu.v, 500);
  const auto objects = boost::json::parse(job.command.objects);
  const boost::json::value& pod = objects.at(0).at("spec").at("submitterPodTemplate");
  EXPECT_TRUE(pod.at("metadata").at("labels").as_object().contains("appwrapper.mcad.ibm.com"));
  const WrappedJob given =
      good(ray_job("custompodresources: [{replicas: 1, requests: {cpu: 1}}], "));
  EXPECT_EQ(given.spec.gang.sets.size(), 1U) << "who says what pods there are knows better";
}

/// As the walkthrough of KubeRay has it, in short.
TEST(WrappedJob, TheRayClusterOfTheWalkthroughIsAGangOfTwo) {
  WrapOptions options = usual();
  options.is_mcad = true;
  const WrappedJob job = good(R"(
apiVersion: workload.codeflare.dev/v1beta1
kind: AppWrapper
metadata: {name: raycluster-complete, namespace: default, uid: u}
spec:
  resources:
    GenericItems:
    - replicas: 1
      custompodresources:
      - replicas: 1
        limits: {cpu: 1, memory: 2G, nvidia.com/gpu: 0}
        requests: {cpu: 1, memory: 2G, nvidia.com/gpu: 0}
      - replicas: 1
        limits: {cpu: 2, memory: 2G, nvidia.com/gpu: 0}
        requests: {cpu: 2, memory: 2G, nvidia.com/gpu: 0}
      generictemplate:
        apiVersion: ray.io/v1alpha1
        kind: RayCluster
        metadata: {name: raycluster-complete, labels: {controller-tools.k8s.io: "1.0"}}
        spec:
          rayVersion: '2.5.0'
          headGroupSpec:
            rayStartParams: {dashboard-host: '0.0.0.0'}
            template:
              metadata: {labels: {}}
              spec: {containers: [{name: ray-head, image: ray, resources: {limits: {cpu: 1}}}]}
          workerGroupSpecs:
          - groupName: small-group
            replicas: 1
            minReplicas: 1
            maxReplicas: 10
            rayStartParams: {}
            template:
              spec: {containers: [{name: ray-worker, image: ray, resources: {limits: {cpu: 2}}}]}
)",
                              options);
  EXPECT_EQ(sets_of(job), "headx1 1000m 1907Mi 0; small-groupx1 2000m 1907Mi 0");
  EXPECT_EQ(job.totals, (Totals{3000, 4'000'000'000, 0}));
}

TEST(WrappedJob, ThoseOfV1beta2AreLookedAfterAsTheirAnnotationsSay) {
  const model::ObjectCare plain = good(new_one(fmt::format("{{{}}}", component))).command.care;
  EXPECT_EQ(plain.pods_within, minutes(1));
  EXPECT_EQ(plain.failed_within, minutes(1));
  EXPECT_EQ(plain.force_after, minutes(10));
  EXPECT_TRUE(plain.missing_fails);
  EXPECT_TRUE(plain.ends_with_pods);
  EXPECT_THAT(plain.leaves, IsEmpty()) << "no health of nodes is heeded";
  const std::string prefix = "workload.codeflare.dev.appwrapper/";
  const model::ObjectCare care =
      good(new_one(fmt::format("{{{}}}", component),
                   fmt::format("annotations: {{{0}admissionGracePeriodDuration: 0s, "
                               "{0}failureGracePeriodDuration: 48h, "
                               "{0}forcefulDeletionGracePeriodDuration: -1s}}",
                               prefix)))
          .command.care;
  EXPECT_EQ(care.pods_within, seconds(1)) << "no time at all would never let it start";
  EXPECT_EQ(care.failed_within, hours(24)) << "the most there is";
  EXPECT_EQ(care.force_after, Duration{0});
}

TEST(WrappedJob, OnlyThoseOfV1beta2HeedTheHealthOfNodes) {
  WrapOptions options = usual();
  options.node_health = autopilot_health();
  const std::string gpu_pod =
      "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, resources: "
      "{limits: {nvidia.com/gpu: 1}}}]}}";
  const WrappedJob job = good(new_one(fmt::format("{{template: {}}}", gpu_pod)), options);
  EXPECT_THAT(job.command.care.leaves, ElementsAre(evicting_marks(autopilot_health())[0]));
  const model::PodShape& pod = job.spec.gang.sets.at(0).pod;
  ASSERT_EQ(pod.required_affinity.size(), 1U) << "the planner knows it too";
  EXPECT_EQ(pod.required_affinity[0].expressions,
            (std::vector<model::Requirement>{
                {"autopilot.ibm.com/gpuhealth", model::Operator::NotIn, {"TESTING", "EVICT"}}}));
  EXPECT_EQ(pod.preferred_affinity.size(), 1U);
  const WrappedJob old =
      good(old_one(fmt::format("{{replicas: 1, generictemplate: {}}}", gpu_pod)), options);
  EXPECT_THAT(old.command.care.leaves, IsEmpty());
  EXPECT_THAT(old.spec.gang.sets.at(0).pod.required_affinity, IsEmpty());
}

}  // namespace
}  // namespace muster::work
