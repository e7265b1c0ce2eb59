// Watches in protobuf on a real API server: what is read of an object is what its JSON says.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "kube/informer.h"
#include "kube/proto_objects.h"
#include "kube/testing/proto_part.h"
#include "kube/watch.h"
#include "tests/e2e/kube_cluster.h"

namespace muster::e2e {
namespace {

/// Of the object, whose form it may have been.
json::value part_of(const json::value& object, const kube::ProtoMessage& message) {
  return kube::proto_part(object, message, kube::EmptyMessages::Dropped);
}

class KubeProtobuf : public Cluster {
 protected:
  json::value create(const kube::Resource& resource, std::string_view text) const {
    auto made = client->send(kube::create_request(resource, ns, json::parse(text)));
    EXPECT_TRUE(made.ok()) << made.error().message;
    return made ? *made : json::value();
  }
  json::value get(const kube::Resource& resource, std::string_view name) const {
    auto found = client->send(kube::get_request(resource, ns, name));
    EXPECT_TRUE(found.ok()) << found.error().message;
    return found ? *found : json::value();
  }

  /// The watched object and its JSON, of the same version.
  void expect_same(const kube::Informer<json::value>& informer, const kube::Resource& resource,
                   const kube::ProtoMessage& message, const std::string& name) const {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (std::chrono::steady_clock::now() < end) {
      const json::value whole = get(resource, name);
      const auto seen = informer.store().get(ns + "/" + name);
      if (seen && kube::version_of(*seen) == kube::version_of(whole)) {
        EXPECT_EQ(kube::find(*seen, {"kind"}), nullptr) << "it came as JSON, which has a kind";
        EXPECT_EQ(part_of(*seen, message), part_of(whole, message));
        return;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    FAIL() << name << " was not seen as it is";
  }
};

TEST_F(KubeProtobuf, AWatchTellsOfPodsWhatTheirJsonSays) {
  const kube::Informer<json::value> informer(
      *client, {.resource = kube::resources::pods(), .ns = ns, .message = &kube::proto_pod},
      [](const json::value& object) { return kube::own_copy(object); });
  ASSERT_TRUE(informer.wait_for_sync(seconds(30)));
  create(kube::resources::pods(), R"({"apiVersion": "v1", "kind": "Pod",
    "metadata": {"name": "one", "labels": {"a": "b", "empty": ""}, "annotations": {"c": "d"},
      "finalizers": ["example.com/stays"]},
    "spec": {"restartPolicy": "Never", "schedulerName": "nobody",
      "initContainers": [{"name": "first", "image": "i"},
        {"name": "side", "image": "i", "restartPolicy": "Always"}],
      "containers": [{"name": "main", "image": "i", "env": [{"name": "X", "value": "1"}],
        "resources": {"limits": {"cpu": "1500m", "nvidia.com/gpu": "2"}}}]}})");
  expect_same(informer, kube::resources::pods(), kube::proto_pod, "one");
  const json::value status = json::parse(R"({"status": {"phase": "Failed", "reason": "Evicted",
    "message": "low on memory",
    "conditions": [{"type": "Ready", "status": "False", "reason": "R", "message": "m"}],
    "initContainerStatuses": [{"name": "first", "image": "i", "imageID": "", "ready": false,
      "restartCount": 0, "state": {"waiting": {"reason": "ErrImagePull", "message": "m"}}}],
    "containerStatuses": [{"name": "main", "image": "i", "imageID": "", "ready": false,
      "restartCount": 1, "lastState": {"terminated": {"exitCode": 1}},
      "state": {"terminated": {"exitCode": 137, "signal": 9, "reason": "OOMKilled"}}}]}})");
  const auto patched = client->send(kube::patch_request(kube::resources::pods(), ns, "one",
                                                        kube::Patch::Merge, status, {}, "status"));
  ASSERT_TRUE(patched.ok()) << patched.error().message;
  expect_same(informer, kube::resources::pods(), kube::proto_pod, "one");
  ASSERT_TRUE(client->send(kube::delete_request(kube::resources::pods(), ns, "one")).ok());
  expect_same(informer, kube::resources::pods(), kube::proto_pod, "one");
  EXPECT_NE(kube::find(*informer.store().get(ns + "/one"), {"metadata", "deletionTimestamp"}),
            nullptr);
  const json::value free = json::parse(R"({"metadata": {"finalizers": null}})");
  ASSERT_TRUE(
      client
          ->send(kube::patch_request(kube::resources::pods(), ns, "one", kube::Patch::Merge, free))
          .ok());
}

TEST_F(KubeProtobuf, AWatchTellsOfJobsWhatTheirJsonSays) {
  const kube::Informer<json::value> informer(
      *client, {.resource = kube::resources::jobs(), .ns = ns, .message = &kube::proto_job},
      [](const json::value& object) { return kube::own_copy(object); });
  ASSERT_TRUE(informer.wait_for_sync(seconds(30)));
  create(kube::resources::jobs(), R"({"apiVersion": "batch/v1", "kind": "Job",
    "metadata": {"name": "one", "labels": {"a": "b"}, "annotations": {"c": "d"}},
    "spec": {"completions": 3, "parallelism": 2, "activeDeadlineSeconds": 1, "template": {
      "spec": {"restartPolicy": "Never", "schedulerName": "nobody",
        "containers": [{"name": "main", "image": "i"}]}}}})");
  expect_same(informer, kube::resources::jobs(), kube::proto_job, "one");
  // It fails by its deadline, which a condition says.
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (kube::items_at(get(kube::resources::jobs(), "one"), {"status", "conditions"}).empty()) {
    ASSERT_LT(std::chrono::steady_clock::now(), end);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  expect_same(informer, kube::resources::jobs(), kube::proto_job, "one");
}

}  // namespace
}  // namespace muster::e2e
