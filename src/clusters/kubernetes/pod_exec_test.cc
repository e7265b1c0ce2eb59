#include "clusters/kubernetes/pod_exec.h"

#include <gtest/gtest.h>

#include "kube/yaml.h"

namespace muster::clusters {
namespace {

PodSight pod(const std::string& name, std::uint32_t rank, bool is_listed, bool leads = false) {
  PodSight made;
  made.name = name;
  made.phase = "Running";
  made.is_listed = is_listed;
  made.leads = leads;
  made.output.rank = rank;
  return made;
}

std::string found(const std::vector<PodSight>& pods, std::uint32_t number) {
  const auto pod = numbered_pod(pods, number);
  return pod ? pod->name : pod.error().message;
}

TEST(NumberedPod, OfAJobItIsTheRankInTheGang) {
  const std::vector<PodSight> pods = {pod("job-1", 1, false), pod("job-0", 0, false)};
  EXPECT_EQ(found(pods, 1), "job-1");
  EXPECT_EQ(found(pods, 2), "it has no pod 2; there are 0 (job-0), 1 (job-1)");
  EXPECT_EQ(found({}, 0), "it has no pod in the cluster yet");
}

TEST(NumberedPod, OfAListItIsAlsoThePlaceOfThoseThatLive) {
  std::vector<PodSight> pods = {pod("ray-worker-b", 9'000'002, true), pod("ray-gone", 5, true),
                                pod("ray-worker-a", 9'000'001, true),
                                pod("ray-xhead", 9'000'003, true, true)};
  pods[1].phase = "Failed";
  EXPECT_EQ(found(pods, 0), "ray-xhead");
  EXPECT_EQ(found(pods, 1), "ray-worker-a");
  EXPECT_EQ(found(pods, 2), "ray-worker-b");
  EXPECT_EQ(found(pods, 9'000'002), "ray-worker-b") << "as its log is numbered";
  EXPECT_EQ(found(pods, 3),
            "it has no pod 3; there are 0 (ray-xhead), 1 (ray-worker-a), 2 (ray-worker-b)");
}

TEST(NumberedPod, WhoLeadsIsWhatItsKindSays) {
  const auto leads = [](const std::string& labels) {
    const auto read = kube::parse_yaml("{metadata: {name: p, labels: {" + labels + "}}}");
    return pod_sight_of(read->at(0)).leads;
  };
  EXPECT_TRUE(leads("ray.io/node-type: head"));
  EXPECT_TRUE(leads("training.kubeflow.org/job-role: master"));
  EXPECT_TRUE(leads("leaderworkerset.sigs.k8s.io/worker-index: '0'"));
  EXPECT_FALSE(leads("ray.io/node-type: worker"));
  EXPECT_FALSE(leads(""));
}

}  // namespace
}  // namespace muster::clusters
