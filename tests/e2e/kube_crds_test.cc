// The definitions of AppWrappers in a real API server: what it takes, refuses, fills in and keeps.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <boost/json/serialize.hpp>
#include <chrono>
#include <thread>

#include "kube/yaml.h"
#include "tests/e2e/kube_cluster.h"
#include "work/wrapped/crds.h"

namespace muster::e2e {
namespace {

using ::testing::HasSubstr;

json::value yaml(std::string_view text) {
  const auto read = kube::parse_yaml(text);
  MUSTER_CHECK(read.ok(), "{}", read.error().message);
  return read->at(0);
}

kube::Resource app_wrappers(std::string_view version,
                            std::string_view group = "workload.codeflare.dev") {
  kube::Resource resource;
  resource.group = group;
  resource.version = version;
  resource.plural = "appwrappers";
  resource.kind = "AppWrapper";
  return resource;
}

constexpr std::string_view of_mcad = R"(
apiVersion: workload.codeflare.dev/v1beta1
kind: AppWrapper
metadata: {name: one}
spec:
  priority: 9
  priorityslope: 0.5
  selector: {matchLabels: {a: b}, matchExpressions: [{key: k, operator: In, values: [v]}]}
  service: {spec: {clusterIP: None, ports: [{port: 80, targetPort: web}]}}
  resources:
    metadata: {name: old}
    Items: [{replicas: 1, type: Pod, template: {any: thing}}]
    GenericItems:
    - replicas: 1
      minavailable: 1
      allocated: 0
      priority: 3
      priorityslope: 0.25
      metadata: {labels: {of: older}}
      completionstatus: Complete,Failed
      custompodresources:
      - {replicas: 2, requests: {cpu: 500m, memory: 2G, nvidia.com/gpu: 1}, limits: {cpu: 1}}
      generictemplate:
        apiVersion: batch/v1
        kind: Job
        metadata: {name: train, labels: {app: train}}
        spec: {parallelism: 2, template: {spec: {containers: [{name: c, image: i}]}}}
  schedulingSpec:
    minAvailable: 2
    nodeSelector: {disk: fast}
    requeuing:
      timeInSeconds: 60
      initialTimeInSeconds: 30
      maxTimeInSeconds: 600
      growthType: linear
      numRequeuings: 1
      maxNumRequeuings: 5
      forceDeletionTimeInSeconds: 570
      pauseTimeInSeconds: 90
    dispatchDuration: {expected: 10, limit: 100, overrun: true}
    clusterScheduling:
      clusters: [{name: east}]
      clusterSelector: {matchLabels: {gpu: h100}}
    dispatchingWindow:
      start: {minTimestamp: "2026-01-02T03:04:05Z"}
      end: {maxTimestamp: "2027-01-02T03:04:05Z", desiredTimestamp: "2026-05-02T03:04:05Z"}
)";

constexpr std::string_view of_mcad_status = R"(
status:
  state: Running
  queuejobstate: Dispatched
  canrun: true
  isdispatched: true
  filterignore: true
  local: true
  message: m
  sender: before manageQueueJob - afterEtcdDispatching
  systempriority: 9
  controllerfirsttimestamp: "2026-01-02T03:04:05.123456Z"
  controllerfirstdispatchtimestamp: "2026-01-02T03:04:05.123456Z"
  pending: 1
  running: 2
  failed: 3
  Succeeded: 4
  template: 2
  totalcpu: 1000
  totalmemory: 2147483647
  totalgpu: 2
  requeueingTimeInSeconds: 60
  numberOfRequeueings: 1
  pendingpodconditions:
  - {podname: p, conditions: [{type: PodScheduled, status: "False", reason: Unschedulable}]}
  conditions:
  - type: Backoff
    status: "True"
    reason: AppWrapperNotRunnable.
    message: Insufficient resources to dispatch AppWrapper.
    lastUpdateMicroTime: "2026-01-02T03:04:05.123456Z"
    lastTransitionMicroTime: "2026-01-02T03:04:05.123456Z"
  - {type: Backoff, status: "True", reason: PreemptionTriggered}
  step: idle
  restarts: 2
  transitionCount: 1
  transitions: [{state: Pending, time: "2026-01-02T03:04:05Z"}]
  dispatchTimestamp: "2026-01-02T03:04:05Z"
  requeueTimestamp: "2026-01-02T03:04:05Z"
  muster: {queue: team, reason: waits for 2 GPUs, cluster: east, position: 3}
)";

constexpr std::string_view of_its_successor = R"(
apiVersion: workload.codeflare.dev/v1beta2
kind: AppWrapper
metadata: {name: two}
spec:
  suspend: true
  managedBy: workload.codeflare.dev/appwrapper
  components:
  - annotations: {a: b}
    podSets: [{path: template.spec.template, replicas: 2, annotations: {c: d}}]
    podSetInfos:
    - annotations: {e: f}
      labels: {g: h}
      nodeSelector: {i: j}
      schedulingGates: [{name: gate}]
      tolerations: [{key: k, operator: Exists, effect: NoExecute, tolerationSeconds: 5}]
    template:
      apiVersion: batch/v1
      kind: Job
      metadata: {name: train}
      spec: {parallelism: 2, template: {spec: {containers: [{name: c, image: i}]}}}
)";

constexpr std::string_view of_its_successor_status = R"(
status:
  phase: Running
  resettingCount: 1
  conditions:
  - type: QuotaReserved
    status: "True"
    reason: Resuming
    message: Suspend is false
    lastTransitionTime: "2026-01-02T03:04:05Z"
    observedGeneration: 2
  componentStatus:
  - apiVersion: batch/v1
    kind: Job
    name: train
    podSets: [{path: template.spec.template, replicas: 2}]
    conditions:
    - {type: Deployed, status: "True", reason: R, lastTransitionTime: "2026-01-02T03:04:05Z"}
  muster: {queue: team, reason: runs, cluster: west}
)";

class Crds : public Cluster {
 protected:
  /// The definitions, established: their objects can be made and listed in every version.
  Crds() {
    const auto documents = kube::parse_yaml(work::appwrapper_crds());
    MUSTER_CHECK(documents.ok(), "{}", documents.error().message);
    const kube::Resource kind = kube::resources::custom_resource_definitions();
    for (const json::value& crd : *documents) {
      const auto made = client->send(kube::apply_request(kind, crd, "muster", true));
      EXPECT_TRUE(made.ok()) << kube::name_of(crd) << ": " << made.error().message;
    }
    for (const json::value& crd : *documents) {
      for (const json::value& version : kube::items_at(crd, {"spec", "versions"})) {
        kube::Resource resource;
        resource.group = kube::text_at(crd, {"spec", "group"});
        resource.version = kube::text_at(version, {"name"});
        resource.plural = kube::text_at(crd, {"spec", "names", "plural"});
        EXPECT_TRUE(is_served(resource)) << kube::path_of(resource, ns);
      }
    }
  }

  bool is_served(const kube::Resource& resource) const {
    for (int i = 0; i < 300; ++i) {
      if (client->send(kube::list_request(resource, ns)).ok()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    return false;
  }

  json::value create(std::string_view version, const json::value& object) const {
    const auto made = client->send(
        kube::create_request(app_wrappers(version), ns, object, {.field_validation = "Strict"}));
    EXPECT_TRUE(made.ok()) << made.error().message;
    return made ? *made : json::value();
  }
  json::value get(std::string_view version, std::string_view name) const {
    const auto found = client->send(kube::get_request(app_wrappers(version), ns, name));
    EXPECT_TRUE(found.ok()) << found.error().message;
    return found ? *found : json::value();
  }
  json::value replace(std::string_view version, const json::value& object,
                      std::string_view subresource = "") const {
    const auto done =
        client->send(kube::replace_request(app_wrappers(version), ns, kube::name_of(object), object,
                                           {.field_validation = "Strict"}, subresource));
    EXPECT_TRUE(done.ok()) << done.error().message;
    return done ? *done : json::value();
  }
  std::string refusal(std::string_view version, std::string_view object) const {
    const auto made = client->send(kube::create_request(app_wrappers(version), ns, yaml(object)));
    return made.ok() ? "it was taken" : made.error().message;
  }

  /// What was written is there whichever version asks, also after an update through the other one.
  void expect_nothing_lost(std::string_view object, std::string_view status_of) {
    const json::value written = yaml(object);
    const json::value status = yaml(status_of);
    const std::string own(kube::text_at(written, {"apiVersion"}).substr(23));
    const std::string other = own == "v1beta1" ? "v1beta2" : "v1beta1";
    json::value here = create(own, written);
    EXPECT_EQ(here.at("spec"), written.at("spec"));
    for (const std::string& version : {own, other, own}) {
      here = get(version, kube::name_of(written));
      here.as_object()["status"] = status.at("status");
      replace(version, here, "status");
      here = get(version, kube::name_of(written));
      kube::set_at(here, {"metadata", "labels", "seen"}, json::string(version));
      replace(version, here);
      for (const std::string& reader : {own, other}) {
        const json::value read = get(reader, kube::name_of(written));
        EXPECT_EQ(read.at("spec"), written.at("spec")) << version << " as " << reader;
        EXPECT_EQ(read.at("status"), status.at("status")) << version << " as " << reader;
      }
    }
  }

  std::string row(std::string_view version, std::string_view name) const {
    kube::ApiRequest request = kube::get_request(app_wrappers(version), ns, name);
    request.accept = "application/json;as=Table;v=v1;g=meta.k8s.io";
    const auto table = client->send(request);
    EXPECT_TRUE(table.ok()) << table.error().message;
    if (!table) return "";
    std::string text;
    const json::array& columns = kube::items_at(*table, {"columnDefinitions"});
    const json::value& first = kube::items_at(*table, {"rows"}).at(0);
    for (std::size_t i = 0; i + 1 < columns.size(); ++i) {
      text += fmt::format("{}={} ", kube::text_at(columns[i], {"name"}),
                          json::serialize(kube::items_at(first, {"cells"}).at(i)));
    }
    return text;
  }
};

TEST_F(Crds, NothingOfAnAppWrapperIsLostBetweenTheTwoVersions) {
  expect_nothing_lost(of_mcad, of_mcad_status);
  expect_nothing_lost(of_its_successor, of_its_successor_status);
}

TEST_F(Crds, TheColumnsShowTheStateOfBothDialectsInBothVersions) {
  expect_nothing_lost(of_mcad, of_mcad_status);
  expect_nothing_lost(of_its_successor, of_its_successor_status);
  for (const std::string_view version : {"v1beta1", "v1beta2"}) {
    EXPECT_EQ(
        row(version, "one"),
        R"(Name="one" State="Running" Queue="team" Reason="waits for 2 GPUs" Cluster="east" )");
    EXPECT_EQ(row(version, "two"),
              R"(Name="two" State="Running" Queue="team" Reason="runs" Cluster="west" )");
  }
}

TEST_F(Crds, RequeuingHasTheDefaultsOfMcadOnceItIsThere) {
  create("v1beta1", yaml("{apiVersion: workload.codeflare.dev/v1beta1, kind: AppWrapper, "
                         "metadata: {name: a}, spec: {resources: {Items: []}, "
                         "schedulingSpec: {minAvailable: 1, requeuing: {}}}}"));
  EXPECT_EQ(get("v1beta1", "a").at("spec").at("schedulingSpec").at("requeuing"),
            yaml("{timeInSeconds: 300, maxTimeInSeconds: 0, growthType: exponential, "
                 "numRequeuings: 0, maxNumRequeuings: 0}"));
  create("v1beta1", yaml("{apiVersion: workload.codeflare.dev/v1beta1, kind: AppWrapper, "
                         "metadata: {name: b}, spec: {resources: {}, "
                         "schedulingSpec: {minAvailable: 1}}}"));
  EXPECT_EQ(kube::find(get("v1beta1", "b"), {"spec", "schedulingSpec", "requeuing"}), nullptr);
}

TEST_F(Crds, ItemsWithoutAKindAreRefusedAndTemplatesThatAreNullArePruned) {
  constexpr std::string_view nameless =
      "{apiVersion: workload.codeflare.dev/v1beta1, kind: AppWrapper, metadata: {name: n}, "
      "spec: {resources: {GenericItems: [{generictemplate: {metadata: {name: x}}}]}}}";
  EXPECT_THAT(refusal("v1beta1", nameless), HasSubstr("generictemplate.kind: Required value"));
  EXPECT_THAT(refusal("v1beta2",
                      "{apiVersion: workload.codeflare.dev/v1beta2, kind: AppWrapper, "
                      "metadata: {name: n}, spec: {components: [{}]}}"),
              HasSubstr("spec.components[0].template: Required value"));
  EXPECT_THAT(refusal("v1beta1",
                      "{apiVersion: workload.codeflare.dev/v1beta1, kind: AppWrapper, "
                      "metadata: {name: n}, spec: {priority: 1}}"),
              HasSubstr("give resources (v1beta1) or components (v1beta2)"));
  EXPECT_EQ(refusal("v1beta1",
                    "{apiVersion: workload.codeflare.dev/v1beta1, kind: AppWrapper, "
                    "metadata: {name: n}, "
                    "spec: {resources: {GenericItems: [{generictemplate: null}]}}}"),
            "it was taken");
  EXPECT_EQ(get("v1beta1", "n").at("spec"), yaml("{resources: {GenericItems: [{}]}}"));
}

TEST_F(Crds, TheOldGroupAndItsQuotaAreServed) {
  const json::value old = yaml(
      "{apiVersion: mcad.ibm.com/v1beta1, kind: AppWrapper, metadata: {name: a}, "
      "spec: {priority: 1, resources: {Items: [], GenericItems: [{replicas: 1, "
      "generictemplate: {apiVersion: v1, kind: Pod, metadata: {name: p}}}]}}}");
  const auto made =
      client->send(kube::create_request(app_wrappers("v1beta1", "mcad.ibm.com"), ns, old));
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_EQ(made->at("spec"), old.at("spec"));
  for (const std::string_view version : {"quota.codeflare.dev/v1alpha1", "ibm.com/v1"}) {
    json::value tree = yaml(
        "{kind: QuotaSubtree, metadata: {name: t, labels: {tree: quota_context}}, spec: "
        "{parent: root, parentNamespace: n, children: [{name: a, namespace: n, path: p, "
        "quotas: {disabled: false, hardLimit: true, requests: {cpu: 2, memory: 4Gi}}}]}}");
    kube::set_at(tree, {"apiVersion"}, json::string(version));
    const kube::GroupVersion parsed = kube::parse_group_version(version);
    const kube::Resource trees{
        .group = parsed.group, .version = parsed.version, .plural = "quotasubtrees"};
    const auto kept =
        client->send(kube::create_request(trees, ns, tree, {.field_validation = "Strict"}));
    ASSERT_TRUE(kept.ok()) << kept.error().message;
    EXPECT_EQ(kept->at("spec"), tree.at("spec"));
  }
}

}  // namespace
}  // namespace muster::e2e
