#include "work/labelled/labelled_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "kube/json.h"
#include "kube/yaml.h"

namespace muster::work {
namespace {

namespace json = boost::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* spec = R"(headGroupSpec: {template: {spec: {containers: [
    {name: head, resources: {requests: {cpu: '1'}}}]}}},
  workerGroupSpecs: [{groupName: small, replicas: 2, minReplicas: 2, maxReplicas: 2, template:
    {spec: {containers: [{name: worker, resources: {requests: {cpu: '2'}}}]}}}])";

json::value object(const std::string& kind, const std::string& metadata = "",
                   const std::string& more = "") {
  const std::string inner =
      kind == "RayJob" ? std::string("rayClusterSpec: {") + spec + "}" : std::string(spec);
  const auto read =
      kube::parse_yaml("{apiVersion: ray.io/v1, kind: " + kind +
                       ", metadata: {name: n, namespace: team, uid: u-1, resourceVersion: '7', "
                       "managedFields: [{}], " +
                       "labels: {muster.dev/queue: research}" + metadata + "}, spec: {" + more +
                       inner + "}, status: {state: suspended}}");
  EXPECT_TRUE(read.ok()) << read.error().message;
  return read->at(0);
}

LabelledOptions options() {
  LabelledOptions made;
  made.hub = "hub";
  made.priority = 50;
  return made;
}

TEST(LabelledJob, ARayClusterIsAGangThatIsStartedWhereItIs) {
  const auto job = labelled_job(object("RayCluster", "", "suspend: true, "), options());
  ASSERT_TRUE(job.ok()) << job.error().message;
  EXPECT_EQ(job->spec.name, "n");
  EXPECT_EQ(job->spec.queue, "research");
  EXPECT_EQ(job->spec.priority, 50);
  EXPECT_THAT(job->spec.gang.clusters, ElementsAre("hub"));
  ASSERT_EQ(job->spec.gang.sets.size(), 2U);
  EXPECT_EQ(job->spec.gang.sets[1].count, 2);
  EXPECT_EQ(job->command.hub,
            (model::HubObject{"hub", "ray.io/v1", "RayCluster", "team", "n", "u-1", true}));
  EXPECT_TRUE(job->command.care.keep_ended);
  const json::value queued = queued_object(job->command);
  const auto priority = asked_priority(queued, options());
  ASSERT_TRUE(priority.ok()) << priority.error().message;
  EXPECT_EQ(*priority, job->spec.priority);
  EXPECT_EQ(kube::find(queued, {"status"}), nullptr);
  EXPECT_EQ(kube::find(queued, {"metadata", "managedFields"}), nullptr);
  EXPECT_EQ(*kube::find(queued, {"spec"}),
            *kube::find(object("RayCluster", "", "suspend: true, "), {"spec"}));
}

TEST(LabelledJob, ThePriorityThatWasFollowedIsOfOneJob) {
  json::value followed = object("RayCluster");
  EXPECT_FALSE(followed_priority(followed, "ray-1-u-1"));
  const auto write = [&](std::string_view text) {
    kube::set_at(followed, {"metadata", "annotations", followed_annotation}, json::string(text));
  };
  write(followed_text(7, "ray-1-u-1"));
  EXPECT_EQ(followed_priority(followed, "ray-1-u-1"), 7);
  EXPECT_FALSE(followed_priority(followed, "ray-1-u-1-1")) << "a later edition begins anew";
  EXPECT_EQ(content_of(followed), content_of(object("RayCluster"))) << "it makes no other job";
  for (const std::string_view odd : {"", "7", "high ray-1-u-1", " ray-1-u-1"}) {
    write(odd);
    EXPECT_FALSE(followed_priority(followed, "ray-1-u-1")) << odd;
  }
}

TEST(LabelledJob, ThePodThatSubmitsARayJobIsOfItsGang) {
  const json::value given = object("RayJob", "", "entrypoint: run, ");
  const auto job = labelled_job(given, options());
  ASSERT_TRUE(job.ok()) << job.error().message;
  EXPECT_EQ(job->spec.gang.sets.size(), 3U);
  EXPECT_EQ(*kube::find(queued_object(job->command), {"spec"}), *kube::find(given, {"spec"}))
      << "its author did not write it";
}

TEST(LabelledJob, SaysWhatItCannotBe) {
  const auto wrong = [](const json::value& given) {
    const auto job = labelled_job(given, options());
    return job ? std::string() : job.error().message;
  };
  EXPECT_THAT(wrong(object("RayJob", "", "clusterSelector: {ray.io/cluster: c}, ")),
              HasSubstr("spec.clusterSelector"));
  json::value odd = object("RayCluster");
  kube::set_at(odd, {"metadata", "labels", "muster.dev/priority"}, "high");
  EXPECT_THAT(wrong(odd), HasSubstr("muster.dev/priority"));
  kube::set_at(odd, {"metadata", "labels", "muster.dev/priority"}, "70");
  EXPECT_EQ(labelled_job(odd, options())->spec.priority, 70);
}

TEST(LabelledObject, IsLeftToWhoeverElseLooksAfterIt) {
  EXPECT_FALSE(is_of_others(object("RayCluster"), true));
  EXPECT_TRUE(is_of_others(
      object("RayCluster", ", ownerReferences: [{kind: RayJob, name: j, controller: true}]"),
      false))
      << "KubeRay made it for a RayJob, with its labels";
  EXPECT_TRUE(
      is_of_others(object("RayCluster", ", ownerReferences: [{kind: ConfigMap, name: m}]"), false))
      << "Muster made it, of a list";
  EXPECT_FALSE(
      is_of_others(object("RayCluster", ", ownerReferences: [{kind: Project, name: p}]"), false));
  EXPECT_TRUE(is_of_others(object("RayJob", "", "managedBy: kueue.x-k8s.io/multikueue, "), false));
  json::value of_kueue = object("RayJob");
  kube::set_at(of_kueue, {"metadata", "labels", "kueue.x-k8s.io/queue-name"}, "q");
  EXPECT_TRUE(is_of_others(of_kueue, true));
  EXPECT_FALSE(is_of_others(of_kueue, false)) << "where there is no Kueue";
}

TEST(LabelledObject, ItsContentIsWhatItAsksForAndItsQueue) {
  const json::value one = object("RayCluster");
  EXPECT_EQ(content_of(one), content_of(object("RayCluster", "", "suspend: true, ")));
  EXPECT_EQ(content_of(one), content_of(object("RayCluster", ", annotations: {a: b}")));
  EXPECT_NE(content_of(one), content_of(object("RayCluster", "", "rayVersion: '2', ")));
  json::value moved = one;
  kube::set_at(moved, {"metadata", "labels", "muster.dev/queue"}, "other");
  EXPECT_NE(content_of(one), content_of(moved));
  EXPECT_EQ(content_of(one), content_of(queued_object(labelled_job(one, options())->command)));
}

TEST(LabelledObject, SaysWhichJobHasItAndWhetherItIsOver) {
  json::value there = object("RayCluster");
  EXPECT_FALSE(is_started_for(there, "ray-1"));
  kube::set_at(there, {"metadata", "labels", "muster.dev/job"}, "ray-1");
  kube::set_at(there, {"metadata", "annotations", "muster.dev/job-id"}, "ray-1");
  EXPECT_TRUE(is_started_for(there, "ray-1"));
  EXPECT_FALSE(is_started_for(there, "ray-2"));
  EXPECT_FALSE(is_noted_as_ended(there));
  kube::set_at(there, {"metadata", "annotations", ended_annotation}, "cancelled");
  EXPECT_TRUE(is_noted_as_ended(there));
}

TEST(LabelledObject, IsToldToRestOnlyAsItWasSeen) {
  EXPECT_EQ(json::serialize(rest_patch(object("RayCluster"))),
            R"({"spec":{"suspend":true},"metadata":{"uid":"u-1","resourceVersion":"7"}})");
  json::value marked = object("RayJob");
  kube::set_at(marked, {"metadata", "labels", "muster.dev/job"}, "ray-1");
  const json::value patch = rest_patch(marked);
  EXPECT_TRUE(kube::flag_at(patch, {"spec", "shutdownAfterJobFinishes"}));
  EXPECT_TRUE(patch.at("metadata").at("labels").at("muster.dev/job").is_null());
}

}  // namespace
}  // namespace muster::work
