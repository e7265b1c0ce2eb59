#include "manifest/ray_submitter.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "kube/json.h"
#include "kube/yaml.h"
#include "manifest/pod_sets.h"

namespace muster::manifest {
namespace {

namespace json = boost::json;

json::value ray_job(const std::string& more, const std::string& kind = "RayJob") {
  const auto read = kube::parse_yaml(
      "{apiVersion: ray.io/v1, kind: " + kind + ", metadata: {name: n}, spec: {" + more +
      "rayClusterSpec: {headGroupSpec: {template: {spec: {containers: [{name: head, image: "
      "'ray:1'}]}}}}}}");
  EXPECT_TRUE(read.ok());
  return read->at(0);
}

TEST(RaySubmitter, IsWrittenAsKuberayWouldMakeIt) {
  json::value job = ray_job("");
  EXPECT_TRUE(write_submitter(job));
  const json::value& pod = *kube::find(job, {"spec", "submitterPodTemplate"});
  EXPECT_EQ(json::serialize(pod),
            R"({"spec":{"containers":[{"name":"ray-job-submitter","image":"ray:1","resources":)"
            R"({"limits":{"cpu":"1","memory":"1Gi"},"requests":{"cpu":"500m","memory":"200Mi"}}}],)"
            R"("restartPolicy":"Never"}})");
  const auto templates = infer_templates(job);
  ASSERT_TRUE(templates.ok());
  EXPECT_EQ(templates->size(), 2U);
  EXPECT_FALSE(write_submitter(job)) << "once";
}

TEST(RaySubmitter, WhatWasWrittenCanBeTakenOutAgainAndNothingElse) {
  const json::value plain = ray_job("");
  json::value job = plain;
  ASSERT_TRUE(write_submitter(job));
  drop_written_submitter(job);
  EXPECT_EQ(job, plain);
  drop_written_submitter(job);
  EXPECT_EQ(job, plain);
  json::value own = ray_job("submitterPodTemplate: {spec: {containers: [{name: mine}]}}, ");
  const json::value before = own;
  drop_written_submitter(own);
  EXPECT_EQ(own, before);
  ASSERT_TRUE(write_submitter(job));
  EXPECT_EQ(only_object(json::serialize(json::array{job})), plain);
  for (const char* odd : {"", "{}", "[]", "[{},{}]"})
    EXPECT_TRUE(only_object(odd).is_null()) << odd;
}

TEST(RaySubmitter, IsNotWrittenWhereNoneComesOrThereIsOne) {
  for (const char* more : {"submissionMode: HTTPMode, ", "submissionMode: InteractiveMode, ",
                           "clusterSelector: {ray.io/cluster: other}, ",
                           "submitterPodTemplate: {spec: {containers: [{name: mine}]}}, "}) {
    json::value job = ray_job(more);
    EXPECT_FALSE(write_submitter(job)) << more;
  }
  json::value cluster = ray_job("", "RayService");
  EXPECT_FALSE(write_submitter(cluster));
  json::value job = ray_job("submissionMode: K8sJobMode, ");
  EXPECT_TRUE(write_submitter(job));
}

}  // namespace
}  // namespace muster::manifest
