#include "clusters/kubernetes/listed_objects.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <set>
#include <string>

#include "clusters/kubernetes/gang_state.h"
#include "clusters/kubernetes/names.h"
#include "kube/json.h"
#include "kube/yaml.h"

namespace muster::clusters {
namespace {

using kube::find;
using kube::text_at;
using ::testing::HasSubstr;
using json_value = boost::json::value;

model::Command command_of(std::string_view yaml) {
  const auto read = kube::parse_yaml(yaml);
  EXPECT_TRUE(read.ok()) << yaml;
  boost::json::array list;
  for (const auto& one : *read) list.push_back(one);
  model::Command command;
  command.name = "train";
  command.objects = boost::json::serialize(list);
  return command;
}

ObjectOptions in_team() {
  ObjectOptions options;
  options.pod.ns = "team";
  options.server = "s1";
  options.epoch = "7";
  return options;
}

ListedObjects made(std::string_view yaml, const std::vector<model::PodPlace>& pods,
                   const ObjectOptions& options = in_team()) {
  const ports::Action action{ports::Verb::Create, {"j7", 2}, "c", pods};
  auto listed = listed_objects(action, command_of(yaml), options);
  EXPECT_TRUE(listed.ok()) << listed.error().message;
  return listed ? *listed : ListedObjects{};
}

constexpr std::string_view job_and_config = R"(
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, uid: u, resourceVersion: '7'}
---
apiVersion: batch/v1
kind: Job
metadata: {name: train, labels: {mine: yes-it-is}}
spec:
  suspend: true
  template:
    metadata: {labels: {app: x}}
    spec:
      priorityClassName: high
      containers: [{name: a, env: [{name: MUSTER_JOB_ID, value: own}]}]
      affinity:
        nodeAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            nodeSelectorTerms:
            - matchExpressions: [{key: disk, operator: Exists}]
            - matchExpressions: [{key: fast, operator: Exists}]
)";

TEST(ListedObjects, KeepTheirNamesAndCarryMustersLabels) {
  const ListedObjects listed = made(job_and_config, {{0, "n1", "", 0, 0}});
  ASSERT_EQ(listed.objects.size(), 2U);
  EXPECT_EQ(kube::key_of(listed.objects[0]), "team/settings");
  EXPECT_EQ(find(listed.objects[0], {"metadata", "uid"}), nullptr);
  const auto& job = listed.objects[1];
  EXPECT_EQ(kube::key_of(job), "team/train");
  for (const auto& of : {job, *find(job, {"spec", "template"})}) {
    EXPECT_EQ(text_at(of, {"metadata", "labels", "muster.dev/job"}), "j7");
    EXPECT_EQ(text_at(of, {"metadata", "labels", "muster.dev/attempt"}), "2");
    EXPECT_EQ(text_at(of, {"metadata", "labels", "muster.dev/server"}), "s1");
    EXPECT_EQ(text_at(of, {"metadata", "annotations", "muster.dev/job-id"}), "j7");
    EXPECT_EQ(text_at(of, {"metadata", "annotations", "muster.dev/epoch"}), "7");
  }
  EXPECT_EQ(text_at(job, {"metadata", "labels", "mine"}), "yes-it-is");
  EXPECT_EQ(text_at(job, {"spec", "template", "metadata", "labels", "app"}), "x");
  EXPECT_FALSE(kube::flag_at(job, {"spec", "suspend"}, true)) << "Muster decides when it starts";
  EXPECT_EQ(listed.is_workload, (std::vector<bool>{false, true}));
}

TEST(ListedObjects, TheirPodsKeepToThePlannedNodesBesideWhatTheyAsk) {
  const ListedObjects listed = made(job_and_config, {{0, "n1", "", 0, 0}});
  const auto& spec = *find(listed.objects[1], {"spec", "template", "spec"});
  EXPECT_EQ(text_at(spec, {"priorityClassName"}), "muster");
  EXPECT_EQ(boost::json::serialize(*find(spec, {"affinity", "nodeAffinity",
                                                "requiredDuringSchedulingIgnoredDuringExecution"})),
            R"({"nodeSelectorTerms":[{"matchExpressions":[{"key":"disk","operator":"Exists"}],)"
            R"("matchFields":[{"key":"metadata.name","operator":"In","values":["n1"]}]},)"
            R"({"matchExpressions":[{"key":"fast","operator":"Exists"}],)"
            R"("matchFields":[{"key":"metadata.name","operator":"In","values":["n1"]}]}]})");
  const std::string env =
      boost::json::serialize(*find(kube::items_at(spec, {"containers"}).at(0), {"env"}));
  EXPECT_THAT(env, HasSubstr(R"({"name":"MUSTER_JOB_ID","value":"own"})"));
  EXPECT_THAT(env, HasSubstr(R"({"name":"MUSTER_ATTEMPT","value":"2"})"));
}

TEST(ListedObjects, EveryTemplateGetsTheNodesOfItsSet) {
  const ListedObjects listed =
      made(R"(
apiVersion: ray.io/v1
kind: RayCluster
metadata: {name: ray}
spec:
  headGroupSpec: {template: {spec: {containers: [{name: a}]}}}
  workerGroupSpecs:
  - {groupName: w, replicas: 2, template: {spec: {containers: [{name: a}]}}}
)",
           {{0, "n1", "", 0, 0}, {1, "n2", "", 0, 0}, {1, "n3", "", 0, 0}});
  const auto head = boost::json::serialize(
      *find(listed.objects[0], {"spec", "headGroupSpec", "template", "spec", "affinity"}));
  EXPECT_THAT(head, HasSubstr(R"("values":["n1"])"));
  const auto& worker = kube::items_at(listed.objects[0], {"spec", "workerGroupSpecs"}).at(0);
  EXPECT_THAT(boost::json::serialize(*find(worker, {"template", "spec", "affinity"})),
              AllOf(HasSubstr(R"("metadata.name","operator":"In","values":["n2"])"),
                    HasSubstr(R"("metadata.name","operator":"In","values":["n3"])")));
  EXPECT_EQ(text_at(worker, {"template", "metadata", "labels", "muster.dev/set"}), "w");
}

TEST(ListedObjects, TemplatesWithoutASetOfTheirOwnGetTheNodesOfTheirObject) {
  const ListedObjects listed =
      made(R"(
template:
  apiVersion: ray.io/v1
  kind: RayCluster
  metadata: {name: ray}
  spec:
    headGroupSpec: {template: {spec: {containers: [{name: a}]}}}
    workerGroupSpecs:
    - {groupName: w, replicas: 2, template: {spec: {containers: [{name: a}]}}}
podResources: [{replicas: 1, requests: {cpu: 1}}, {replicas: 1, requests: {cpu: 2}}]
---
podResources: [{replicas: 1, requests: {cpu: 1}}]
)",
           {{0, "n1", "", 0, 0}, {1, "n2", "", 0, 0}, {2, "n3", "", 0, 0}});
  ASSERT_EQ(listed.templates.size(), 2U);
  for (const manifest::PodTemplate& one : listed.templates) {
    const auto& pod = *manifest::at(listed.objects[one.object], one.path);
    EXPECT_THAT(boost::json::serialize(*find(pod, {"spec", "affinity"})),
                AllOf(HasSubstr(R"("values":["n1"])"), HasSubstr(R"("values":["n2"])")));
    EXPECT_EQ(text_at(pod, {"metadata", "labels", "muster.dev/set"}), "ray-pods0");
  }
  EXPECT_EQ(root_sight_of(listed.root).pods, 3);  // what the templates make
  EXPECT_EQ(root_sight_of(listed.root).workloads, 1U);
}

TEST(ListedObjects, ARayClusterThatScalesItselfBeginsWithTheWorkersThatWerePlaced) {
  const ListedObjects listed =
      made(R"(
apiVersion: ray.io/v1
kind: RayCluster
metadata: {name: ray}
spec:
  enableInTreeAutoscaling: true
  headGroupSpec: {template: {spec: {containers: [{name: a}]}}}
  workerGroupSpecs:
  - {groupName: w, replicas: 4, minReplicas: 1, template: {spec: {containers: [{name: a}]}}}
)",
           {{0, "n1", "", 0, 0}, {1, "n2", "", 0, 0}, {1, "n3", "", 0, 0}});
  const auto& worker = kube::items_at(listed.objects[0], {"spec", "workerGroupSpecs"}).at(0);
  EXPECT_EQ(kube::integer_at(worker, {"replicas"}), 2);
  EXPECT_EQ(root_sight_of(listed.root).pods, 3);
  EXPECT_EQ(root_sight_of(listed.root).least_pods, 2) << "to which Ray may scale it down later";
}

TEST(ListedObjects, PodsWithClaimsAreFreeToGoWhereTheirDevicesAre) {
  const auto affinity = [](const std::string& claims) {
    const ListedObjects listed = made(
        "{apiVersion: batch/v1, kind: Job, metadata: {name: j}, spec: "
        "{template: {spec: {" +
            claims + "containers: [{name: a}]}}}}",
        {{0, "n1", "", 0, 0}});
    const auto* found = find(listed.objects[0], {"spec", "template", "spec", "affinity"});
    return boost::json::serialize(*found);
  };
  EXPECT_THAT(affinity(""), HasSubstr("requiredDuring"));
  EXPECT_THAT(affinity("resourceClaims: [{name: gpu, resourceClaimTemplateName: t}], "),
              HasSubstr("preferredDuring"));
}

TEST(ListedObjects, PodsThatComeWhenOthersHaveSucceededAreNotAwaitedAtTheStart) {
  const ListedObjects listed =
      made(R"(
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: set}
spec:
  replicatedJobs:
  - {name: load, template: {spec: {template: {spec: {containers: [{name: a}]}}}}}
  - name: train
    dependsOn: [{name: load, status: Complete}]
    template: {spec: {parallelism: 2, template: {spec: {containers: [{name: a}]}}}}
)",
           {{0, "n1", "", 0, 0}, {1, "n2", "", 0, 0}, {1, "n3", "", 0, 0}});
  EXPECT_EQ(root_sight_of(listed.root).pods, 1);
  EXPECT_EQ(root_sight_of(listed.root).least_pods, 1);
}

TEST(ListedObjects, ANameThatTheServerWouldMakeUpIsTheSameEachTime) {
  constexpr std::string_view pod =
      "{apiVersion: v1, kind: Pod, metadata: {generateName: p-}, spec: {containers: [{name: a}]}}";
  const std::string name(kube::name_of(made(pod, {{0, "n1", "", 0, 0}}).objects[0]));
  EXPECT_TRUE(name.starts_with("p-") && name.size() > 6) << name;
  EXPECT_EQ(kube::name_of(made(pod, {{0, "n1", "", 0, 0}}).objects[0]), name);
  const ports::Action next{ports::Verb::Create, {"j7", 3}, "c", {{0, "n1", "", 0, 0}}};
  EXPECT_NE(kube::name_of(listed_objects(next, command_of(pod), in_team())->objects[0]), name);
}

TEST(ListedObjects, ANameThatIsMadeUpForAHubObjectIsTheSameInEachAttempt) {
  model::Command command = command_of(
      "{apiVersion: v1, kind: Pod, metadata: {generateName: p-}, spec: {containers: [{name: a}]}}");
  command.hub = model::HubObject{"hub", "g/v1", "AppWrapper", "team", "w", "u-1"};
  std::set<std::string> names;
  for (const std::uint32_t attempt : {1U, 2U}) {
    const ports::Action action{ports::Verb::Create, {"j7", attempt}, "c", {{0, "n1", "", 0, 0}}};
    names.emplace(kube::name_of(listed_objects(action, command, in_team())->objects[0]));
  }
  EXPECT_EQ(names.size(), 1U) << "a server that lost its books begins with 1 again";
}

TEST(ListedObjects, TheRootSaysWhatBelongsToIt) {
  ListedObjects listed = made(job_and_config, {{0, "n1", "", 0, 0}});
  put_kinds(listed.root, {kube::resources::jobs(), kube::resources::jobs()});
  const RootSight root = root_sight_of(listed.root);
  EXPECT_EQ(root.job, "j7");
  EXPECT_EQ(root.attempt, 2U);
  EXPECT_EQ(root.workloads, 1U);
  EXPECT_EQ(root.pods, 1);
  ASSERT_EQ(root.kinds.size(), 1U);
  EXPECT_EQ(kube::path_of(root.kinds[0], "ns"), "/apis/batch/v1/namespaces/ns/jobs");
  kube::set_at(listed.root, {"metadata", "uid"}, "u-1");
  put_owner(listed.objects[1], listed.root);
  EXPECT_EQ(boost::json::serialize(*find(listed.objects[1], {"metadata", "ownerReferences"})),
            R"([{"apiVersion":"v1","kind":"ConfigMap","name":"m-j7-2","uid":"u-1",)"
            R"("blockOwnerDeletion":true}])");
  EXPECT_TRUE(is_same_attempt(listed.objects[0], listed.objects[1]));
  kube::set_at(listed.objects[0], {"metadata", "labels", "muster.dev/attempt"}, "3");
  EXPECT_FALSE(is_same_attempt(listed.objects[0], listed.objects[1]));
}

TEST(ListedObjects, AConfigMapOfTheListIsNotItsRoot) {
  const ListedObjects listed = made(job_and_config, {{0, "n1", "", 0, 0}});
  EXPECT_TRUE(root_sight_of(listed.root).is_root);
  const auto config = std::find_if(
      listed.objects.begin(), listed.objects.end(),
      [](const auto& object) { return kube::text_at(object, {"kind"}) == "ConfigMap"; });
  ASSERT_NE(config, listed.objects.end());
  const RootSight sight = root_sight_of(*config);
  EXPECT_EQ(sight.job, "j7") << "it has the labels of all objects of the attempt";
  EXPECT_FALSE(sight.is_root);
}

TEST(ListedObjects, TheRootSaysHowItIsLookedAfter) {
  const ports::Action action{ports::Verb::Create, {"j7", 2}, "c", {{0, "n1", "", 0, 0}}};
  model::Command command = command_of(job_and_config);
  EXPECT_EQ(root_sight_of(listed_objects(action, command, in_team())->root).care, AttemptCare{});
  command.care = {.starts_when_made = true, .ready_pods = 2, .keep_ended = true};
  ListedObjects listed = *listed_objects(action, command, in_team());
  put_requeues(listed.root, 3);
  const AttemptCare care = root_sight_of(listed.root).care;
  EXPECT_EQ(care.care, command.care);
  EXPECT_EQ(care.requeues, 3);
  EXPECT_FALSE(care.has_hub || care.has_owner);
}

TEST(ListedObjects, AListOfOneJobIsItsOwnRoot) {
  const ports::Action action{ports::Verb::Create, {"j7", 2}, "c", {{0, "n1", "", 0, 0}}};
  model::Command command = command_of(
      "{apiVersion: batch/v1, kind: Job, metadata: {name: train, annotations: {mine: kept}}, "
      "spec: {template: {spec: {containers: [{name: a}]}}}}");
  command.care = {.starts_when_made = true, .keep_ended = true};
  command.hub =
      model::HubObject{"east", "workload.codeflare.dev/v1beta1", "AppWrapper", "team", "aw", "u-9"};
  ObjectOptions options = in_team();
  options.cluster = "east";
  ListedObjects listed = *listed_objects(action, command, options);
  ASSERT_TRUE(listed.is_own_root);
  put_requeues(listed.root, 3);
  put_own_root(listed);
  const json_value& job = listed.objects[0];
  const auto root = own_root_of(job);
  ASSERT_TRUE(root);
  EXPECT_EQ(root->care, root_sight_of(listed.root).care);
  EXPECT_TRUE(root->care.has_hub && root->care.has_owner && root->care.care.keep_ended);
  EXPECT_EQ(root->care.requeues, 3);
  EXPECT_EQ(root->job, "j7");
  EXPECT_EQ(root->attempt, 2U);
  EXPECT_EQ(root->pods, 1);
  EXPECT_EQ(root->workloads, 1U);
  EXPECT_EQ(text_at(job, {"metadata", "annotations", "mine"}), "kept");
  EXPECT_TRUE(job_sight_of(job).own_root);
  json_value pod = *find(job, {"spec", "template"});
  EXPECT_TRUE(pod_sight_of(pod).is_own_rooted);
  EXPECT_FALSE(own_root_of(pod)) << "a pod is nobody's root";

  options.cluster = "west";
  EXPECT_FALSE(listed_objects(action, command, options)->is_own_root)
      << "its copies are found by their roots";
  EXPECT_FALSE(made(job_and_config, {{0, "n1", "", 0, 0}}).is_own_root);
}

TEST(ListedObjects, AHubObjectOwnsTheRootInItsOwnClusterAndNamespace) {
  const ports::Action action{ports::Verb::Create, {"j7", 2}, "c", {{0, "n1", "", 0, 0}}};
  model::Command command = command_of(job_and_config);
  command.hub =
      model::HubObject{"east", "workload.codeflare.dev/v1beta1", "AppWrapper", "team", "aw", "u-9"};
  ObjectOptions options = in_team();
  options.cluster = "east";
  const json_value here = listed_objects(action, command, options)->root;
  EXPECT_EQ(boost::json::serialize(*find(here, {"metadata", "ownerReferences"})),
            R"([{"apiVersion":"workload.codeflare.dev/v1beta1","kind":"AppWrapper","name":"aw",)"
            R"("uid":"u-9","controller":true,"blockOwnerDeletion":true}])");
  EXPECT_EQ(text_at(here, {"metadata", "annotations", "muster.dev/hub"}),
            "east/AppWrapper/team/aw");
  EXPECT_TRUE(root_sight_of(here).care.has_owner);
  EXPECT_TRUE(root_sight_of(here).care.has_hub);
  options.cluster = "west";
  const json_value there = listed_objects(action, command, options)->root;
  EXPECT_EQ(find(there, {"metadata", "ownerReferences"}), nullptr);
  EXPECT_TRUE(root_sight_of(there).care.has_hub);
  options.cluster = "east";
  options.pod.ns = "other";
  EXPECT_FALSE(root_sight_of(listed_objects(action, command, options)->root).care.has_owner)
      << "an owner in another namespace is one that is not there";
}

TEST(ListedObjects, OnlyAListFromAnotherClusterSaysWhatItsPodsName) {
  const ports::Action action{ports::Verb::Create, {"j7", 2}, "c", {{0, "n1", "", 0, 0}}};
  model::Command command = command_of(
      "{apiVersion: batch/v1, kind: Job, metadata: {name: train}, spec: {template: {spec: "
      "{containers: [{name: a, envFrom: [{secretRef: {name: s}}]}]}}}}");
  command.hub = model::HubObject{"east", "v1", "AppWrapper", "team", "aw", "u-9"};
  ObjectOptions options = in_team();
  options.pod.pull_secrets = {"of-this-cluster"};
  options.cluster = "west";
  const auto away = listed_objects(action, command, options);
  ASSERT_EQ(away->named.size(), 1U) << "what this cluster adds is here";
  EXPECT_EQ(to_text(away->named[0]), "Secret s");
  options.cluster = "east";
  EXPECT_TRUE(listed_objects(action, command, options)->named.empty());
}

TEST(ListedObjects, ObjectsThatSayWhenTheyAreDoneAreWorkloadsToo) {
  const ListedObjects listed = made(R"(
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, annotations: {muster.dev/complete-when: Ready}}
---
apiVersion: v1
kind: Pod
metadata: {name: p}
spec: {containers: [{name: a}]}
)",
                                    {{0, "n1", "", 0, 0}});
  EXPECT_EQ(listed.is_workload, (std::vector<bool>{true, true}));
  EXPECT_EQ(root_sight_of(listed.root).workloads, 2U);
  EXPECT_EQ(text_at(listed.objects[0], {"metadata", "annotations", "muster.dev/makes-pods"}), "");
  EXPECT_EQ(text_at(listed.objects[1], {"metadata", "annotations", "muster.dev/makes-pods"}),
            "true");
}

TEST(ListedObjects, AListMaySayWhichOfTheAllowedNamespacesItBelongsTo) {
  ObjectOptions options = in_team();
  options.namespaces = {"other", "third"};
  const ListedObjects listed = made(
      "{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: third}, spec: "
      "{containers: [{name: a}]}}",
      {{0, "n1", "", 0, 0}}, options);
  ASSERT_EQ(listed.objects.size(), 1U);
  EXPECT_EQ(kube::key_of(listed.objects[0]), "third/p");
  EXPECT_EQ(kube::namespace_of(listed.root), "third");
}

TEST(ListedObjects, AnotherNamespaceIsRefused) {
  const ports::Action action{ports::Verb::Create, {"j7", 2}, "c", {{0, "n1", "", 0, 0}}};
  const auto listed = listed_objects(
      action,
      command_of("{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: other}, spec: "
                 "{containers: [{name: a}]}}"),
      in_team());
  ASSERT_FALSE(listed.ok());
  EXPECT_THAT(listed.error().message, HasSubstr("Pod p: its namespace is 'other'"));
}

}  // namespace
}  // namespace muster::clusters
