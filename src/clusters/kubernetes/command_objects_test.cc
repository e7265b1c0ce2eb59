#include "clusters/kubernetes/command_objects.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>
#include <set>

#include "clusters/kubernetes/names.h"
#include "kube/json.h"

namespace muster::clusters {
namespace {

using kube::find;
using kube::integer_at;
using kube::items_at;
using kube::text_at;
using ::testing::HasSubstr;

const ports::Attempt attempt{"j7", 2};

ports::Action place(const std::vector<model::PodPlace>& pods) {
  return {ports::Verb::Create, attempt, "c", pods};
}

model::Command command_of(int sets) {
  model::Command command;
  command.name = "train";
  command.user = "jane";
  command.argv = {"python", "train.py"};
  command.stop_grace = seconds(20);
  for (int i = 0; i < sets; ++i) {
    model::CommandSet& set = command.sets.emplace_back();
    set.name = "s" + std::to_string(i);
    set.cpu.v = 1500;
    set.memory.v = 1 << 30;
  }
  return command;
}

ObjectOptions with_image() {
  ObjectOptions options;
  options.pod.ns = "team";
  options.pod.image = "repo/img:1";
  return options;
}

std::vector<boost::json::value> made(const ports::Action& action, const model::Command& command,
                                     const ObjectOptions& options) {
  const auto objects = command_objects(action, command, options);
  EXPECT_TRUE(objects.ok()) << objects.error().message;
  return objects ? *objects : std::vector<boost::json::value>{};
}

const boost::json::value& pod_of(const boost::json::value& job) {
  return *find(job, {"spec", "template", "spec"});
}
const boost::json::value& container_of(const boost::json::value& job) {
  return items_at(pod_of(job), {"containers"}).at(0);
}
/// The value of a variable, or the path it comes from.
std::string variable_of(const boost::json::value& job, std::string_view name) {
  for (const auto& one : items_at(container_of(job), {"env"})) {
    if (text_at(one, {"name"}) != name) continue;
    const auto path = text_at(one, {"valueFrom", "fieldRef", "fieldPath"});
    return std::string(path.empty() ? text_at(one, {"value"}) : path);
  }
  return "(none)";
}

TEST(CommandObjects, ASinglePodIsOneJobOnItsNode) {
  const auto objects = made(place({{0, "n1", "A100", 0b11, 1000}}), command_of(1), with_image());
  ASSERT_EQ(objects.size(), 1U);
  const auto& job = objects[0];
  EXPECT_EQ(text_at(job, {"kind"}), "Job");
  EXPECT_EQ(kube::key_of(job), "team/m-j7-2-0");
  EXPECT_EQ(text_at(job, {"metadata", "labels", "muster.dev/job"}), "j7");
  EXPECT_EQ(text_at(job, {"spec", "template", "metadata", "labels", "muster.dev/attempt"}), "2");
  EXPECT_EQ(integer_at(job, {"spec", "backoffLimit"}, -1), 0);
  EXPECT_EQ(text_at(pod_of(job), {"restartPolicy"}), "Never");
  EXPECT_EQ(integer_at(pod_of(job), {"terminationGracePeriodSeconds"}), 20);
  EXPECT_EQ(text_at(pod_of(job), {"priorityClassName"}), "muster");
  EXPECT_EQ(boost::json::serialize(*find(pod_of(job), {"affinity"})),
            R"({"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":)"
            R"({"nodeSelectorTerms":[{"matchFields":[{"key":"metadata.name","operator":"In",)"
            R"("values":["n1"]}]}]}}})");
  EXPECT_EQ(boost::json::serialize(*find(container_of(job), {"resources", "limits"})),
            R"({"cpu":"1500m","memory":"1Gi","nvidia.com/gpu":"2"})");
  EXPECT_EQ(boost::json::serialize(*find(container_of(job), {"command"})),
            R"(["python","train.py"])");
  EXPECT_EQ(variable_of(job, "MASTER_ADDR"), "127.0.0.1");
}

TEST(CommandObjects, AGangHasAJobPerSetAndNamesByWhichItsPodsFindEachOther) {
  const auto action = place({{0, "n1", "", 0, 0}, {1, "n2", "", 0, 0}, {1, "n3", "", 0, 0}});
  const auto objects = made(action, command_of(2), with_image());
  ASSERT_EQ(objects.size(), 2U);
  const std::string peers = peers_name(action.attempt, "");
  const auto& workers = objects[1];
  EXPECT_EQ(integer_at(workers, {"spec", "completions"}), 2);
  EXPECT_EQ(integer_at(workers, {"spec", "parallelism"}), 2);
  EXPECT_EQ(text_at(pod_of(workers), {"subdomain"}), peers);
  EXPECT_EQ(text_at(workers, {"spec", "template", "metadata", "labels", "muster.dev/peers"}),
            peers);
  EXPECT_THAT(boost::json::serialize(*find(pod_of(workers), {"affinity"})),
              HasSubstr(R"("nodeSelectorTerms":[{"matchFields":[{"key":"metadata.name",)"
                        R"("operator":"In","values":["n2"]}]},{"matchFields":)"
                        R"([{"key":"metadata.name","operator":"In","values":["n3"]}]}])"));
  EXPECT_EQ(variable_of(workers, "MASTER_ADDR"), "m-j7-2-0-0." + peers + ".team.svc");
  EXPECT_EQ(variable_of(workers, "WORLD_SIZE"), "3");
  EXPECT_EQ(variable_of(workers, "MUSTER_RANK_OFFSET"), "1");
  EXPECT_EQ(variable_of(workers, "RANK"), "(none)");
  EXPECT_EQ(variable_of(objects[0], "RANK"),
            "metadata.annotations['batch.kubernetes.io/job-completion-index']");
}

TEST(CommandObjects, ThePodsOfAGangShareAServiceWithOtherGangsOfTheServer) {
  const auto gang = place({{0, "n1", "", 0, 0}, {0, "n2", "", 0, 0}});
  const auto service = peers_service(gang, "team", "");
  ASSERT_TRUE(service);
  EXPECT_EQ(kube::name_of(*service), peers_name(gang.attempt, ""));
  EXPECT_EQ(text_at(*service, {"spec", "clusterIP"}), "None");
  EXPECT_EQ(text_at(*service, {"spec", "selector", "muster.dev/peers"}), kube::name_of(*service));
  EXPECT_EQ(find(*service, {"metadata", "labels", "muster.dev/job"}), nullptr)
      << "it stays when a job goes";
  EXPECT_EQ(text_at(*service, {"metadata", "labels", "muster.dev/peers"}), kube::name_of(*service))
      << "by which it is found when the cluster leaves";
  EXPECT_FALSE(peers_service(place({{0, "n1", "", 0, 0}}), "team", "")) << "it has no peers";
  std::set<std::string> names;
  for (int i = 0; i < 1000; ++i) names.insert(peers_name({fmt::format("job-{}", i), 1}, "server"));
  EXPECT_EQ(names.size(), 16U);
  EXPECT_FALSE(names.contains(peers_name({"job-0", 1}, "another"))) << "of its own server only";
}

TEST(Names, OneSelectorFindsWhatManyAttemptsMade) {
  const std::vector<ports::Attempt> attempts = {{"a", 2}, {"not a label!", 2}};
  EXPECT_EQ(attempts_selector(attempts, "s1"), "muster.dev/job in (a," +
                                                   label_value("not a label!") +
                                                   "),muster.dev/attempt=2,muster.dev/server=s1");
  EXPECT_EQ(attempt_selector({"a", 1}, ""), "muster.dev/job in (a),muster.dev/attempt=1");
}

TEST(CommandObjects, NodesArePreferredOrLeftToOthersWhenThePoolSaysSo) {
  ObjectOptions options = with_image();
  options.binding = NodeBinding::Prefer;
  const auto prefer = made(place({{0, "n1", "", 0, 0}}), command_of(1), options);
  EXPECT_THAT(boost::json::serialize(*find(pod_of(prefer[0]), {"affinity"})),
              HasSubstr(R"("preferredDuringSchedulingIgnoredDuringExecution":[{"weight":100)"));
  options.binding = NodeBinding::None;
  const auto none = made(place({{0, "n1", "", 0, 0}}), command_of(1), options);
  EXPECT_EQ(find(pod_of(none[0]), {"affinity"}), nullptr);
}

TEST(CommandObjects, FilesComeInASecretAndAppearInTheFolder) {
  model::Command command = command_of(1);
  command.files = {{"a/run.sh", "echo", true}};
  const auto objects = made(place({{0, "n1", "", 0, 0}}), command, with_image());
  ASSERT_EQ(objects.size(), 2U);
  EXPECT_EQ(text_at(objects[0], {"kind"}), "Secret");
  EXPECT_EQ(text_at(objects[0], {"stringData", "f0"}), "echo");
  EXPECT_EQ(text_at(container_of(objects[1]), {"workingDir"}), "/muster");
  EXPECT_THAT(boost::json::serialize(*find(container_of(objects[1]), {"volumeMounts"})),
              HasSubstr(R"("mountPath":"/muster/a/run.sh","subPath":"f0")"));
  EXPECT_THAT(boost::json::serialize(*find(pod_of(objects[1]), {"volumes"})),
              HasSubstr(R"("mode":493)"));
}

TEST(CommandObjects, DefaultsOfThePoolAreUnderWhatTheJobSays) {
  ObjectOptions options = with_image();
  options.pod.environment = {{"A", "pool"}, {"B", "pool"}};
  options.pod.service_account = "runner";
  options.pod.pull_secrets = {"registry"};
  options.pod.tolerations = {{"gpu", true, "", "NoSchedule"}};
  model::Command command = command_of(1);
  command.environment = {{"A", "job"}};
  const auto objects = made(place({{0, "n1", "", 0, 0}}), command, options);
  EXPECT_EQ(variable_of(objects[0], "A"), "job");
  EXPECT_EQ(variable_of(objects[0], "B"), "pool");
  EXPECT_EQ(text_at(pod_of(objects[0]), {"serviceAccountName"}), "runner");
  EXPECT_EQ(boost::json::serialize(*find(pod_of(objects[0]), {"tolerations"})),
            R"([{"key":"gpu","operator":"Exists","effect":"NoSchedule"}])");
}

TEST(CommandObjects, AnImageOfTheJobOrOfASetGoesBeforeTheDefault) {
  model::Command command = command_of(2);
  command.container.image = "job:1";
  command.container.pull_policy = "Never";
  command.container.service_account = "robot";
  command.container.pull_secrets = {"mine"};
  command.sets[1].image = "set:1";
  ObjectOptions options = with_image();
  options.pod.pull_secrets = {"pool"};
  const auto objects = made(place({{0, "n1", "", 0, 0}, {1, "n2", "", 0, 0}}), command, options);
  EXPECT_EQ(text_at(container_of(objects[0]), {"image"}), "job:1");
  EXPECT_EQ(text_at(container_of(objects[1]), {"image"}), "set:1");
  EXPECT_EQ(text_at(container_of(objects[1]), {"imagePullPolicy"}), "Never");
  EXPECT_EQ(text_at(pod_of(objects[0]), {"serviceAccountName"}), "robot");
  EXPECT_EQ(boost::json::serialize(*find(pod_of(objects[0]), {"imagePullSecrets"})),
            R"([{"name":"pool"},{"name":"mine"}])");
}

TEST(CommandObjects, VolumesOfTheJobAreThereAndMounted) {
  model::Command command = command_of(1);
  command.container.volumes = {R"({"name":"data","hostPath":{"path":"/data"}})"};
  command.container.mounts = {{"data", "/mnt", "sub", true}};
  const auto objects = made(place({{0, "n1", "", 0, 0}}), command, with_image());
  EXPECT_EQ(boost::json::serialize(*find(pod_of(objects[0]), {"volumes"})),
            R"([{"name":"data","hostPath":{"path":"/data"}}])");
  EXPECT_EQ(boost::json::serialize(*find(container_of(objects[0]), {"volumeMounts"})),
            R"([{"name":"data","mountPath":"/mnt","subPath":"sub","readOnly":true}])");
  command.container.mounts[0].volume = "other";
  EXPECT_THAT(command_objects(place({{0, "n1", "", 0, 0}}), command, with_image()).error().message,
              HasSubstr("there is no volume 'other'"));
}

TEST(CommandObjects, WhatTheJobAsksOfItsNodesReachesTheClustersScheduler) {
  model::Command command = command_of(1);
  model::PodShape& pod = command.sets[0].pod;
  pod.tolerations = {{"team", false, "red", ""}};
  pod.labels = {{"app", "x"}};
  pod.requests.extended = {{"rdma/hca", 2}};
  pod.host_ports = {8080};
  pod.node_selector = {{"zone", "a"}};
  pod.required_affinity = {{{{"disk", model::Operator::In, {"ssd"}}}, {}}};
  pod.spread = {{2, "zone", {{{"app", "x"}}, {}}, false}};
  const auto bound = made(place({{0, "n1", "", 0, 0}}), command, with_image());
  EXPECT_EQ(boost::json::serialize(*find(pod_of(bound[0]), {"tolerations"})),
            R"([{"key":"team","operator":"Equal","value":"red"}])");
  EXPECT_EQ(text_at(bound[0], {"spec", "template", "metadata", "labels", "app"}), "x");
  EXPECT_EQ(text_at(container_of(bound[0]), {"resources", "limits", "rdma/hca"}), "2");
  EXPECT_EQ(boost::json::serialize(*find(container_of(bound[0]), {"ports"})),
            R"([{"containerPort":8080,"hostPort":8080}])");
  EXPECT_EQ(find(pod_of(bound[0]), {"nodeSelector"}), nullptr) << "the planned node has it";
  ObjectOptions options = with_image();
  options.binding = NodeBinding::Prefer;
  const auto free = made(place({{0, "n1", "", 0, 0}}), command, options);
  EXPECT_EQ(text_at(pod_of(free[0]), {"nodeSelector", "zone"}), "a");
  const std::string affinity = boost::json::serialize(*find(pod_of(free[0]), {"affinity"}));
  EXPECT_THAT(affinity, HasSubstr(R"("matchExpressions":[{"key":"disk")"));
  EXPECT_THAT(affinity, HasSubstr(R"("preference":{"matchFields":[{"key":"metadata.name")"));
  EXPECT_EQ(boost::json::serialize(*find(pod_of(free[0]), {"topologySpreadConstraints"})),
            R"([{"maxSkew":2,"topologyKey":"zone","whenUnsatisfiable":"ScheduleAnyway",)"
            R"("labelSelector":{"matchLabels":{"app":"x"}}}])");
}

TEST(CommandObjects, WhatCannotBeMadeIsRefusedWithTheField) {
  const auto refusal = [](const ports::Action& action, const ObjectOptions& options) {
    const auto objects = command_objects(action, command_of(1), options);
    return objects ? "fine" : objects.error().message;
  };
  EXPECT_THAT(refusal(place({{0, "n", "", 0, 0}}), ObjectOptions()), HasSubstr("image: none"));
  EXPECT_THAT(refusal(place({{4, "n", "", 0, 0}}), with_image()), HasSubstr("set 4"));
  EXPECT_THAT(refusal(place({}), with_image()), HasSubstr("pods: the placement has none"));
  EXPECT_THAT(refusal(place({{0, "n", "A", 1, 500}}), with_image()), HasSubstr("a share of a GPU"));
}

TEST(KubernetesNames, AreAllowedAndDifferForDifferentAttempts) {
  std::set<std::string> names;
  for (const char* job : {"j7", "J7", "j.7", "j-7", "ünal", "", "a-1", "a"}) {
    for (const std::uint32_t number : {1U, 2U, 11U}) {
      for (const char* part : {"", "0", "1-0", "files"}) {
        const std::string name = object_name({job, number}, part);
        EXPECT_LE(name.size(), 52U);
        EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-"),
                  std::string::npos)
            << name;
        EXPECT_NE(name.back(), '-');
        EXPECT_TRUE(names.insert(name).second) << name;
      }
    }
  }
  EXPECT_LE(object_name({std::string(300, 'a'), 1}, "0").size(), 52U);
  EXPECT_EQ(label_value("job_7.a"), "job_7.a");
  EXPECT_NE(label_value("a b"), label_value("a_b"));
  EXPECT_LE(label_value(std::string(100, 'z')).size(), 63U);
}

TEST(OptionsFor, AJobMayNameAnotherNamespaceThatIsAllowed) {
  ObjectOptions options;
  options.pod.ns = "team";
  options.namespaces = {"team", "other"};
  model::Container container;
  EXPECT_EQ(options_for(container, options)->pod.ns, "team");
  container.ns = "other";
  EXPECT_EQ(options_for(container, options)->pod.ns, "other");
  container.ns = "third";
  const auto refused = options_for(container, options);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message,
            "namespace: jobs of this cluster are made in 'team', 'other', not in 'third'");
  options.namespaces = {"*"};
  EXPECT_EQ(options_for(container, options)->pod.ns, "third");
  EXPECT_EQ(options_for({}, options)->pod.ns, "team");
}

}  // namespace
}  // namespace muster::clusters
