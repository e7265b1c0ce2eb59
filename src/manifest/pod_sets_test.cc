#include "manifest/pod_sets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/array.hpp>

#include "kube/yaml.h"
#include "manifest/pod_shape.h"
#include "model/host_port.h"

namespace muster::manifest {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

boost::json::value list_of(std::string_view yaml) {
  const auto documents = kube::parse_yaml(yaml);
  EXPECT_TRUE(documents.ok()) << documents.error().message;
  boost::json::array list;
  for (const auto& one : *documents) list.push_back(one);
  return list;
}

constexpr std::string_view a_template = "{spec: {containers: [{name: a}]}}";

std::string replaced(std::string yaml) {
  for (std::size_t at = yaml.find("POD"); at != std::string::npos; at = yaml.find("POD"))
    yaml.replace(at, 3, a_template);
  return yaml;
}

/// "name x count at path", a template each.
std::string sets_of(const std::string& yaml) {
  const auto list = read_objects(list_of(replaced(yaml)));
  if (!list) return list.error().message;
  std::string text;
  for (const PodTemplate& one : list->templates)
    text +=
        fmt::format("{}{}x{} {}", text.empty() ? "" : "; ", one.set, one.count, to_text(one.path));
  return text;
}

TEST(PodSets, AreInferredForEveryKindThatMakesPods) {
  const struct {
    std::string yaml;
    std::string sets;
  } cases[] = {
      {"{apiVersion: v1, kind: Pod, metadata: {name: n}, spec: {containers: [{name: a}]}}",
       "mainx1 template"},
      {"{apiVersion: batch/v1, kind: Job, metadata: {name: n}, spec: {template: POD}}",
       "mainx1 template.spec.template"},
      {"{apiVersion: batch/v1, kind: Job, metadata: {name: n}, spec: {parallelism: 4, completions:"
       " 3, template: POD}}",
       "mainx3 template.spec.template"},
      {"{apiVersion: batch/v1, kind: Job, metadata: {name: n}, spec: {parallelism: 2, completions:"
       " 9, template: POD}}",
       "mainx2 template.spec.template"},
      {"{apiVersion: apps/v1, kind: Deployment, metadata: {name: n}, spec: {replicas: 3, template:"
       " POD}}",
       "mainx3 template.spec.template"},
      {"{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: n}, spec: {template: POD}}",
       "mainx1 template.spec.template"},
      {"{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, metadata: {name: n}, spec: "
       "{replicatedJobs: [{name: driver, template: {spec: {template: POD}}}, {name: workers, "
       "replicas: 2, template: {spec: {parallelism: 4, completions: 4, template: POD}}}]}}",
       "driverx1 template.spec.replicatedJobs[0].template.spec.template; "
       "workersx8 template.spec.replicatedJobs[1].template.spec.template"},
      {"{apiVersion: ray.io/v1, kind: RayCluster, metadata: {name: n}, spec: {headGroupSpec: "
       "{template: POD}, workerGroupSpecs: [{groupName: small, replicas: 2, numOfHosts: 2, "
       "template: POD}, {groupName: none, replicas: 0, template: POD}, {groupName: elastic, "
       "minReplicas: 1, maxReplicas: 9, template: POD}]}}",
       "headx1 template.spec.headGroupSpec.template; "
       "smallx4 template.spec.workerGroupSpecs[0].template; "
       "elasticx1 template.spec.workerGroupSpecs[2].template"},
      {"{apiVersion: ray.io/v1, kind: RayJob, metadata: {name: n}, spec: {submitterPodTemplate: "
       "POD, rayClusterSpec: {headGroupSpec: {template: POD}}}}",
       "headx1 template.spec.rayClusterSpec.headGroupSpec.template; "
       "submitterx1 template.spec.submitterPodTemplate"},
      {"{apiVersion: kubeflow.org/v1, kind: PyTorchJob, metadata: {name: n}, spec: "
       "{pytorchReplicaSpecs: {Worker: {replicas: 3, template: POD}, Master: {template: POD}}}}",
       "masterx1 template.spec.pytorchReplicaSpecs.Master.template; "
       "workerx3 template.spec.pytorchReplicaSpecs.Worker.template"},
      {"{apiVersion: kubeflow.org/v1, kind: TFJob, metadata: {name: n}, spec: {tfReplicaSpecs: "
       "{Worker: {replicas: 2, template: POD}, PS: {template: POD}, Chief: {template: POD}}}}",
       "chiefx1 template.spec.tfReplicaSpecs.Chief.template; "
       "psx1 template.spec.tfReplicaSpecs.PS.template; "
       "workerx2 template.spec.tfReplicaSpecs.Worker.template"},
      {"{apiVersion: kubeflow.org/v1, kind: MPIJob, metadata: {name: n}, spec: {mpiReplicaSpecs: "
       "{Launcher: {template: POD}, Worker: {replicas: 2, template: POD}}}}",
       "launcherx1 template.spec.mpiReplicaSpecs.Launcher.template; "
       "workerx2 template.spec.mpiReplicaSpecs.Worker.template"},
      {"{apiVersion: kubeflow.org/v1, kind: XGBoostJob, metadata: {name: n}, spec: "
       "{xgbReplicaSpecs: {Master: {template: POD}}}}",
       "mainx1 template.spec.xgbReplicaSpecs.Master.template"},
      {"{apiVersion: kubeflow.org/v1, kind: PaddleJob, metadata: {name: n}, spec: "
       "{paddleReplicaSpecs: {Worker: {replicas: 2, template: POD}}}}",
       "mainx2 template.spec.paddleReplicaSpecs.Worker.template"},
      {"{apiVersion: kubeflow.org/v1, kind: JAXJob, metadata: {name: n}, spec: "
       "{jaxReplicaSpecs: {Worker: {replicas: 2, template: POD}}}}",
       "mainx2 template.spec.jaxReplicaSpecs.Worker.template"},
      {"{apiVersion: leaderworkerset.x-k8s.io/v1, kind: LeaderWorkerSet, metadata: {name: n}, spec:"
       " {replicas: 2, leaderWorkerTemplate: {size: 4, leaderTemplate: POD, workerTemplate: "
       "POD}}}",
       "leaderx2 template.spec.leaderWorkerTemplate.leaderTemplate; "
       "workersx6 template.spec.leaderWorkerTemplate.workerTemplate"},
      {"{apiVersion: leaderworkerset.x-k8s.io/v1, kind: LeaderWorkerSet, metadata: {name: n}, spec:"
       " {replicas: 2, leaderWorkerTemplate: {size: 4, workerTemplate: POD}}}",
       "mainx8 template.spec.leaderWorkerTemplate.workerTemplate"},
      {"{template: {apiVersion: e/v1, kind: Own, metadata: {name: n}, spec: {sets: [{t: POD}]}}, "
       "podSets: [{path: 'template.spec.sets[0].t', replicas: 5}]}",
       "mainx5 template.spec.sets[0].t"},
  };
  for (const auto& c : cases) EXPECT_EQ(sets_of(c.yaml), c.sets) << c.yaml;
}

TEST(PodSets, OfSeveralObjectsAreNamedAfterThem) {
  EXPECT_EQ(sets_of("{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}\n---\n"
                    "{apiVersion: batch/v1, kind: Job, metadata: {name: a}, spec: {template: POD}}"
                    "\n---\n{apiVersion: v1, kind: List, items: [{apiVersion: batch/v1, kind: Job,"
                    " metadata: {name: a}, spec: {template: POD}}, {apiVersion: batch/v1, kind:"
                    " Job, metadata: {generateName: b-}, spec: {template: POD}}]}"),
            "ax1 template.spec.template; a-2x1 template.spec.template; "
            "mainx1 template.spec.template");
}

TEST(PodSets, ObjectsAreFoundWhereTheyStandInTheOrderInWhichTheyAreRead) {
  boost::json::value list = list_of(replaced(
      "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n---\n"
      "{template: {apiVersion: e/v1, kind: Own, metadata: {name: b}, spec: {t: POD}}, "
      "podSets: [{path: template.spec.t}]}\n---\n"
      "{podResources: [{replicas: 1, requests: {cpu: 1}}]}\n---\n"
      "{apiVersion: v1, kind: List, items: [{apiVersion: batch/v1, kind: Job, metadata: {name: c},"
      " spec: {template: POD}}, {apiVersion: v1, kind: Secret, metadata: {name: d}}]}"));
  const auto read = read_objects(list);
  ASSERT_TRUE(read.ok()) << read.error().message;
  const auto found = objects_in(list);
  ASSERT_EQ(found.size(), read->objects.size());
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_EQ(*found[i], read->objects[i]);
}

TEST(PodSets, WhatIsWrongIsSaidWithItsPlace) {
  const struct {
    std::string yaml;
    std::string words;
  } cases[] = {
      {"{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}", "no pods come of them"},
      {"{kind: Pod}", "objects[0]: 'apiVersion' is missing"},
      {"{apiVersion: v1, kind: Pod}", "objects[0].metadata: needs a name"},
      {"{apiVersion: v1, kind: Pod, metadata: {name: p}}", "(Pod p): it has no containers"},
      {"{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: d}, spec: {template: POD}}",
       "DaemonSet cannot be a job: it has a pod on every node"},
      {"{apiVersion: batch/v1, kind: CronJob, metadata: {name: d}}", "CronJob cannot be a job"},
      {"{template: {apiVersion: e/v1, kind: Own, metadata: {name: n}}, podSets: [{path: spec.x}]}",
       "podSets[0].path: 'spec.x' is not a path"},
      {"{template: {apiVersion: e/v1, kind: Own, metadata: {name: n}}, podSets: [{path: "
       "'template.spec[0].x'}]}",
       "does not lead to a pod template"},
      {"[1]", "objects[0]: not a map"},
  };
  for (const auto& c : cases) EXPECT_THAT(sets_of(c.yaml), HasSubstr(c.words)) << c.yaml;
}

/// "name x count/least cpu gpu", a set each, and how many templates are covered.
std::string gang_of(const std::string& yaml) {
  const auto list = read_objects(list_of(replaced(yaml)));
  if (!list) return list.error().message;
  const auto sets = pod_sets_of(*list, {});
  if (!sets) return sets.error().message;
  std::string text;
  for (const model::PodSet& set : *sets) {
    text += fmt::format("{}x{}/{} {}m {}; ", set.name, set.count, set.least(),
                        set.pod.requests.cpu.v, set.pod.gpu.count);
  }
  return text + fmt::format("{} covered", list->covered.size());
}

TEST(PodSets, AreWhatAWrappedObjectSaysItsPodsNeed) {
  const std::string job =
      "template: {apiVersion: batch/v1, kind: Job, metadata: {name: n}, spec: {parallelism: 2, "
      "template: POD}}";
  const struct {
    std::string yaml;
    std::string gang;
  } cases[] = {
      {"{" + job + "}", "mainx2/2 0m 0; 0 covered"},
      {"{" + job + ", podResources: [{replicas: 2, requests: {cpu: 1}}]}",
       "mainx2/2 1000m 0; 0 covered"},
      // Other pods than its template makes: they count instead.
      {"{" + job + ", podResources: [{replicas: 3, requests: {cpu: 1}}]}",
       "mainx3/3 1000m 0; 1 covered"},
      {"{" + job +
           ", podResources: [{replicas: 1, requests: {cpu: 1}}, {replicas: 1, requests: {cpu: 0}, "
           "limits: {cpu: 2, nvidia.com/gpu: 1}}]}",
       "pods0x1/1 1000m 0; pods1x1/1 2000m 1; 1 covered"},
      {"{" + job + "}\n---\n{podResources: [{replicas: 1, requests: {cpu: 4}}]}",
       "nx2/2 0m 0; mainx1/1 4000m 0; 0 covered"},
      // Kinds that are no gang may be part of one, if none of their pods count.
      {"{" + job +
           "}\n---\n{template: {apiVersion: apps/v1, kind: DaemonSet, metadata: {name: d}, spec: "
           "{template: POD}}, podResources: []}",
       "mainx2/2 0m 0; 0 covered"},
      {"{" + job + ", podResources: [{replicas: 1, requests: {cpu: x}}]}",
       "objects[0].podResources[0].requests.cpu: not a quantity: 'x'; write for example 500m, 1.5 "
       "or "
       "2"},
      {"{podResources: [{replicas: 1}]}", "objects: none; give at least one"},
      {"{podResources: []}", "objects[0].podResources: no pods; give at least one"},
  };
  for (const auto& one : cases) EXPECT_EQ(gang_of(one.yaml), one.gang) << one.yaml;
}

TEST(PodSets, WithoutTemplateStandWhereAllTemplatesOfTheirObjectMay) {
  const auto list = read_objects(list_of(R"(
template:
  apiVersion: ray.io/v1
  kind: RayCluster
  metadata: {name: r}
  spec:
    headGroupSpec:
      template:
        metadata: {labels: {app: ray, part: head}}
        spec:
          nodeSelector: {zone: a}
          tolerations: [{key: gpu, operator: Exists}, {key: head, operator: Exists}]
          containers: [{name: c}]
    workerGroupSpecs:
    - groupName: w
      replicas: 2
      template:
        metadata: {labels: {app: ray}}
        spec:
          nodeSelector: {zone: a}
          tolerations: [{key: gpu, operator: Exists}]
          containers: [{name: c, ports: [{hostPort: 80}]}]
podResources: [{replicas: 3, requests: {cpu: 2}}]
)"));
  ASSERT_TRUE(list.ok()) << list.error().message;
  const auto sets = pod_sets_of(*list, {});
  ASSERT_TRUE(sets.ok()) << sets.error().message;
  ASSERT_EQ(sets->size(), 1U);
  const model::PodShape& pod = sets->front().pod;
  EXPECT_EQ(pod.node_selector, (model::Labels{{"zone", "a"}}));
  EXPECT_EQ(pod.labels, (model::Labels{{"app", "ray"}}));
  ASSERT_EQ(pod.tolerations.size(), 1U);
  EXPECT_EQ(pod.tolerations[0].key, "gpu");
  EXPECT_TRUE(pod.host_ports.empty());
}

TEST(PodSets, OfARayClusterThatScalesItselfMayStartWithTheLeast) {
  const auto ray = [](const std::string& bounds) {
    return "{apiVersion: ray.io/v1, kind: RayCluster, metadata: {name: r}, spec: "
           "{enableInTreeAutoscaling: true, headGroupSpec: {template: POD}, workerGroupSpecs: "
           "[{groupName: g, " +
           bounds + ", template: POD}]}}";
  };
  EXPECT_EQ(gang_of(ray("replicas: 4, minReplicas: 2, maxReplicas: 9")),
            "headx1/1 500m 0; gx4/2 0m 0; 0 covered");
  EXPECT_EQ(gang_of(ray("replicas: 4, minReplicas: 2, numOfHosts: 3")),
            "headx1/1 500m 0; gx12/6 0m 0; 0 covered");
  EXPECT_EQ(gang_of(ray("replicas: 4, minReplicas: 0")), "headx1/1 500m 0; gx4/1 0m 0; 0 covered");
  EXPECT_EQ(gang_of(ray("minReplicas: 2")), "headx1/1 500m 0; gx2/2 0m 0; 0 covered");
  EXPECT_EQ(gang_of(ray("minReplicas: 0, maxReplicas: 3")), "mainx1/1 500m 0; 0 covered");
}

TEST(PodSets, OfAJobSetComeLaterIfTheyDependOnOthersThatHaveToBeComplete) {
  const auto job = [](const std::string& name, const std::string& needs) {
    return "{name: " + name + ", template: {spec: {template: POD}}, dependsOn: [" + needs + "]}, ";
  };
  const auto list = read_objects(
      list_of(replaced("{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, metadata: {name: "
                       "n}, spec: {replicatedJobs: [" +
                       job("load", "") + job("serve", "{name: load, status: Ready}") +
                       job("train", "{name: load, status: Complete}") +
                       job("watch", "{name: train, status: Ready}") + "]}}")));
  ASSERT_TRUE(list.ok()) << list.error().message;
  std::string later;
  for (const PodTemplate& one : list->templates) later += one.comes_later ? one.set + " " : "";
  EXPECT_EQ(later, "train watch ");
}

TEST(PodSets, OfARayClusterKeepBetweenTheBoundsAsKubeRayDoes) {
  const auto ray = [](const std::string& bounds) {
    return gang_of(
        "{apiVersion: ray.io/v1, kind: RayCluster, metadata: {name: r}, spec: {headGroupSpec: "
        "{template: POD}, workerGroupSpecs: [{groupName: g, " +
        bounds + ", template: POD}]}}");
  };
  EXPECT_EQ(ray("replicas: 1, minReplicas: 3, maxReplicas: 9"), ray("replicas: 3"));
  EXPECT_EQ(ray("replicas: 0, minReplicas: 2"), ray("replicas: 2"));
  EXPECT_EQ(ray("replicas: 7, minReplicas: 1, maxReplicas: 4"), ray("replicas: 4"));
  EXPECT_EQ(ray("replicas: 2, minReplicas: 5, maxReplicas: 3"), ray("replicas: 3"));
}

TEST(PodSets, TheHeadOfARayClusterThatScalesItselfHasItsAutoscalerBesideIt) {
  const auto head = [](const std::string& version, const std::string& more) {
    const auto list = read_objects(list_of(
        "{apiVersion: ray.io/" + version + ", kind: RayCluster, metadata: {name: r}, spec: {" +
        more +
        "headGroupSpec: {template: {spec: {initContainers: [{name: i, resources: {requests: "
        "{cpu: 1200m}}}], containers: [{name: ray, resources: {requests: {cpu: 1, memory: "
        "1Gi}}}]}}}}}"));
    if (!list) return list.error().message;
    const auto sets = pod_sets_of(*list, {});
    if (!sets) return sets.error().message;
    const model::Resources& requests = sets->front().pod.requests;
    return fmt::format("{}m {}Mi", requests.cpu.v, requests.memory.v >> 20);
  };
  const std::string scales = "enableInTreeAutoscaling: true, ";
  for (const char* version : {"v1", "v1alpha1"}) {
    EXPECT_EQ(head(version, ""), "1200m 1024Mi") << "nothing is added to one that does not";
    EXPECT_EQ(head(version, scales), "1500m 1536Mi") << "KubeRay's own amounts";
    EXPECT_EQ(head(version, scales + "autoscalerOptions: {idleTimeoutSeconds: 5}, "),
              "1500m 1536Mi");
    EXPECT_EQ(head(version, scales + "autoscalerOptions: {resources: {requests: {cpu: 1, memory: "
                                     "2Gi}, limits: {cpu: 2}}}, "),
              "2000m 3072Mi");
    EXPECT_EQ(head(version, scales + "autoscalerOptions: {resources: {limits: {cpu: 250m}}}, "),
              "1250m 1024Mi")
        << "what is given replaces all of it; limits are requests where these are missing";
    EXPECT_EQ(head(version, scales + "autoscalerOptions: {resources: {}}, "), "1200m 1024Mi");
  }
}

TEST(PodSets, TheAutoscalerIsThereAlsoOfARayJobAndWherePathsAreGiven) {
  const std::string spec =
      "{enableInTreeAutoscaling: true, headGroupSpec: {template: POD}, workerGroupSpecs: "
      "[{groupName: g, replicas: 1, minReplicas: 1, template: POD}]}";
  EXPECT_EQ(gang_of("{apiVersion: ray.io/v1, kind: RayJob, metadata: {name: r}, spec: "
                    "{rayClusterSpec: " +
                    spec + "}}"),
            "headx1/1 500m 0; gx1/1 0m 0; 0 covered");
  const std::string wrapped =
      "template: {apiVersion: ray.io/v1, kind: RayCluster, metadata: {name: r}, spec: " + spec +
      "}";
  EXPECT_EQ(gang_of("{" + wrapped +
                    ", podSets: [{path: template.spec.headGroupSpec.template}, {path: "
                    "'template.spec.workerGroupSpecs[0].template', replicas: 2}]}"),
            "set0x1/1 500m 0; set1x2/2 0m 0; 0 covered");
  EXPECT_EQ(gang_of("{" + wrapped +
                    ", podResources: [{replicas: 1, requests: {cpu: 2}}, {replicas: 1, requests: "
                    "{cpu: 1}}]}"),
            "headx1/1 2000m 0; gx1/1 1000m 0; 0 covered")
      << "who says what pods need has counted it";
}

TEST(PodSets, RuntimeClassesAreFoundInTheTemplatesOfEveryKind) {
  const std::string pod = "{spec: {runtimeClassName: kata, containers: [{name: a}]}}";
  const auto classes = [&](std::string yaml) {
    for (std::size_t at = yaml.find("POD"); at != std::string::npos; at = yaml.find("POD"))
      yaml.replace(at, 3, pod);
    const auto list = read_objects(list_of(yaml));
    EXPECT_TRUE(list.ok()) << yaml << list.error().message;
    return runtimes_of(*list);
  };
  for (const char* yaml : {
           "{apiVersion: v1, kind: Pod, metadata: {name: n},"
           " spec: {runtimeClassName: kata, containers: [{name: a}]}}",
           "{apiVersion: batch/v1, kind: Job, metadata: {name: n}, spec: {template: POD}}",
           "{apiVersion: apps/v1, kind: Deployment, metadata: {name: n}, spec: {template: POD}}",
           "{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: n}, spec: {template: POD}}",
           "{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, metadata: {name: n},"
           " spec: {replicatedJobs: [{name: w, replicas: 2, template: {spec: {template: POD}}}]}}",
           "{apiVersion: ray.io/v1, kind: RayCluster, metadata: {name: n},"
           " spec: {headGroupSpec: {template: POD}}}",
           "{apiVersion: ray.io/v1, kind: RayJob, metadata: {name: n},"
           " spec: {rayClusterSpec: {headGroupSpec: {template: POD}}}}",
           "{apiVersion: kubeflow.org/v1, kind: PyTorchJob, metadata: {name: n},"
           " spec: {pytorchReplicaSpecs: {Worker: {replicas: 2, template: POD}}}}",
           "{apiVersion: leaderworkerset.x-k8s.io/v1, kind: LeaderWorkerSet, metadata: {name: n},"
           " spec: {leaderWorkerTemplate: {size: 2, workerTemplate: POD}}}",
           "{template: {apiVersion: example.com/v1, kind: Widget, metadata: {name: n},"
           " spec: {t: POD}}, podSets: [{path: template.spec.t, replicas: 3}]}",
       })
    EXPECT_THAT(classes(yaml), ElementsAre(PodRuntime{"kata", false})) << yaml;
  EXPECT_THAT(classes("{apiVersion: batch/v1, kind: Job, metadata: {name: n}, spec: {template:"
                      " {spec: {runtimeClassName: kata, overhead: {cpu: 1},"
                      " containers: [{name: a}]}}}}"),
              ElementsAre(PodRuntime{"kata", true}))
      << "what the template says is counted already";
  EXPECT_THAT(
      classes("{template: {apiVersion: batch/v1, kind: Job, metadata: {name: n},"
              " spec: {template: POD}}, podResources: [{replicas: 1, requests: {cpu: 1}}]}"),
      ElementsAre(PodRuntime{"kata", true}))
      << "who says what pods need has counted it";
}

TEST(PodSets, PathsReadBackAndWrongOnesAreRefused) {
  for (const char* text : {"template", "template.spec", "template.a[0][12].b", "template.a.b[3]"}) {
    const auto path = parse_path(text);
    ASSERT_TRUE(path.ok()) << text;
    EXPECT_EQ(to_text(*path), text);
  }
  for (const char* text : {"", "spec", "template..a", "template.a[", "template.a[x]", "template.a]",
                           "template.a[0]b", "template.[0]", "template.a[-1]"})
    EXPECT_FALSE(parse_path(text).ok()) << text;
}

TEST(PodShape, HasWhatTheSchedulerCountsAndLooksAt) {
  const auto list = read_objects(list_of(R"(
apiVersion: batch/v1
kind: Job
metadata: {name: n}
spec:
  template:
    metadata: {labels: {app: x}}
    spec:
      nodeSelector: {zone: a}
      overhead: {cpu: 100m}
      initContainers:
      - {name: i, resources: {requests: {cpu: 3, memory: 1Gi}}}
      - {name: side, restartPolicy: Always, resources: {requests: {cpu: 500m}}}
      containers:
      - name: a
        resources: {requests: {cpu: 1, memory: 2Gi}, limits: {nvidia.com/gpu: 2, rdma/hca: 1}}
        ports: [{containerPort: 1, hostPort: 8080}, {containerPort: 2}]
      tolerations: [{key: k, operator: Exists, effect: NoSchedule}]
      affinity:
        nodeAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            nodeSelectorTerms: [{matchExpressions: [{key: disk, operator: In, values: [ssd]}]}]
          preferredDuringSchedulingIgnoredDuringExecution:
          - {weight: 7, preference: {matchExpressions: [{key: fast, operator: Exists}]}}
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
          - {topologyKey: host, labelSelector: {matchLabels: {app: x}}}
      topologySpreadConstraints:
      - {maxSkew: 2, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway,
         labelSelector: {matchLabels: {app: x}}}
)"));
  ASSERT_TRUE(list.ok()) << list.error().message;
  const auto sets = pod_sets_of(*list, {});
  ASSERT_TRUE(sets.ok()) << sets.error().message;
  model::PodShape pod;
  pod.requests = {{3100}, {std::int64_t{2} << 30}, {{"rdma/hca", 1}}};
  pod.gpu.count = 2;
  pod.node_selector = {{"zone", "a"}};
  pod.labels = {{"app", "x"}};
  pod.host_ports = {8080};
  pod.tolerations = {{"k", true, "", "NoSchedule"}};
  pod.required_affinity = {{{{"disk", model::Operator::In, {"ssd"}}}, {}}};
  pod.preferred_affinity = {{7, {{{"fast", model::Operator::Exists, {}}}, {}}}};
  pod.pod_anti_affinity = {{{{{"app", "x"}}, {}}, "host"}};
  pod.spread = {{2, "zone", {{{"app", "x"}}, {}}, false}};
  EXPECT_EQ(sets->at(0).pod, pod);
  EXPECT_EQ(sets->at(0).count, 1);
}

TEST(PodShape, ToRatherStandAwayIsASoftSpreadAndToRatherStandNearIsSaid) {
  const auto list = read_objects(list_of(R"(
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  containers: [{name: a}]
  affinity:
    podAffinity:
      preferredDuringSchedulingIgnoredDuringExecution:
      - {weight: 5, podAffinityTerm: {topologyKey: zone, labelSelector: {matchLabels: {app: y}}}}
    podAntiAffinity:
      preferredDuringSchedulingIgnoredDuringExecution:
      - {weight: 5, podAffinityTerm: {topologyKey: host, labelSelector: {matchLabels: {app: x}}}}
      - {weight: 5, podAffinityTerm: {topologyKey: zone}}
)"));
  ASSERT_TRUE(list.ok()) << list.error().message;
  const auto sets = pod_sets_of(*list, {});
  ASSERT_TRUE(sets.ok()) << sets.error().message;
  const std::vector<model::Spread> soft = {{1, "host", {{{"app", "x"}}, {}}, false}};
  EXPECT_EQ(sets->at(0).pod.spread, soft) << "a term without selector selects no pod";
  EXPECT_THAT(sets->at(0).pod.pod_affinity, IsEmpty());
  EXPECT_THAT(unweighed_wishes(*list),
              ElementsAre("Pod p, template: preferred podAffinity is left to the scheduler of the "
                          "cluster; Muster does not weigh it when it chooses nodes"));
}

TEST(PodShape, TheSamePortOfTwoProtocolsIsTwoPorts) {
  const auto list = read_objects(list_of(
      "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: a, ports: "
      "[{hostPort: 53}, {hostPort: 53, protocol: UDP}, {hostPort: 53, protocol: TCP}]}]}}"));
  ASSERT_TRUE(list.ok()) << list.error().message;
  const auto sets = pod_sets_of(*list, {});
  ASSERT_TRUE(sets.ok()) << sets.error().message;
  EXPECT_THAT(sets->at(0).pod.host_ports,
              ElementsAre(53, model::host_port(53, model::Protocol::Udp)));
}

TEST(PodShape, AnUnknownOperatorIsRefusedWithItsField) {
  const auto list = read_objects(list_of(
      "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: a}], affinity: "
      "{nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: "
      "[{matchExpressions: [{key: a, operator: Like}]}]}}}}}"));
  ASSERT_TRUE(list.ok());
  const auto sets = pod_sets_of(*list, {});
  ASSERT_FALSE(sets.ok());
  EXPECT_THAT(sets.error().message, HasSubstr("Pod p, template: spec.affinity.nodeAffinity"));
}

}  // namespace
}  // namespace muster::manifest
