#include "clusters/kubernetes/in_place.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "kube/json.h"
#include "kube/yaml.h"

namespace muster::clusters {
namespace {

namespace json = boost::json;
using kube::find;
using kube::text_at;

json::value yaml(const std::string& text) {
  const auto read = kube::parse_yaml(text);
  EXPECT_TRUE(read.ok());
  return read->at(0);
}

json::value queued() {
  return yaml(R"({apiVersion: ray.io/v1, kind: RayCluster,
    metadata: {name: c, namespace: team, uid: u-1, resourceVersion: '7',
               labels: {muster.dev/queue: q, mine: yes-please}, annotations: {note: mine}},
    spec: {suspend: true, headGroupSpec: {template: {spec: {containers: [{name: head}]}}}},
    status: {state: suspended}})");
}
/// As a list would make it.
json::value dressed() {
  return yaml(R"({apiVersion: ray.io/v1, kind: RayCluster,
    metadata: {name: c, namespace: team,
               labels: {muster.dev/queue: q, mine: yes-please, muster.dev/job: ray-1,
                        muster.dev/attempt: '2', muster.dev/server: s, of-a-pool: x},
               annotations: {note: mine, muster.dev/job-id: ray-1, muster.dev/workloads: '1',
                             muster.dev/makes-pods: 'true', muster.dev/epoch: '5'}},
    spec: {suspend: false, headGroupSpec: {template: {metadata: {labels: {muster.dev/job: ray-1}},
           spec: {containers: [{name: head}], affinity: {nodeAffinity: {}}}}}}})");
}

TEST(InPlace, AnObjectThatIsStartedHasTheMarksAndTheSpecOfItsAttempt) {
  const json::value made = started(queued(), dressed());
  EXPECT_TRUE(is_marked(made, {"ray-1", 2}));
  EXPECT_FALSE(is_marked(made, {"ray-1", 1}));
  EXPECT_FALSE(is_marked(made, {"ray-2", 2}));
  EXPECT_EQ(*find(made, {"spec"}), *find(dressed(), {"spec"}));
  EXPECT_EQ(text_at(made, {"metadata", "labels", "mine"}), "yes-please");
  EXPECT_EQ(find(made, {"metadata", "labels", "of-a-pool"}), nullptr) << "that is for its pods";
  EXPECT_EQ(text_at(made, {"metadata", "annotations", "muster.dev/job-id"}), "ray-1");
  EXPECT_EQ(kube::uid_of(made), "u-1") << "it is that very object,";
  EXPECT_EQ(kube::version_of(made), "7") << "and nobody changed it since";
}

TEST(InPlace, AnObjectThatIsStoppedIsAsItWasQueued) {
  const json::value made = stopped(started(queued(), dressed()), queued());
  EXPECT_EQ(made, queued());
  EXPECT_FALSE(is_marked(made));
  json::value running = started(queued(), dressed());
  EXPECT_TRUE(kube::flag_at(stopped(running, nullptr), {"spec", "suspend"}))
      << "also where nobody knows how it was queued";
}

TEST(InPlace, WhetherItRestsIsNoChangeOfWhatWasQueued) {
  json::value there = queued();
  EXPECT_TRUE(is_as_queued(there, queued()));
  kube::set_at(there, {"spec", "suspend"}, false);
  EXPECT_TRUE(is_as_queued(there, queued()));
  kube::set_at(there, {"spec", "rayVersion"}, "2");
  EXPECT_FALSE(is_as_queued(there, queued()));
  EXPECT_TRUE(is_as_queued(there, nullptr)) << "nobody knows";
}

}  // namespace
}  // namespace muster::clusters
