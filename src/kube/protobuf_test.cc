#include "kube/protobuf.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <string>
#include <vector>

#include "kube/json.h"
#include "kube/proto_objects.h"
#include "kube/watch.h"
#include "net/base64.h"

namespace muster::kube {
namespace {

namespace json = boost::json;

// Frames of watches, written by Kubernetes' own libraries (k8s.io/api v0.27.8).

/// Of a pod that was evicted, MODIFIED.
constexpr std::string_view pod_frame =
    "AAACngoITU9ESUZJRUQSkQUKjgVrOHMACgkKAnYxEgNQb2QS+AQKpAEKB3RyYWluLTASABoEdGVhbSIAKgN1LTEyAjQyOA"
    "BCCAiA8tbKBhAASggI3t33ywYQAFAeWgwKA2FwcBIFdHJhaW5aCQoFZW1wdHkSAGIJCgRub3RlEgF4ah0KA0pvYhoFdHJh"
    "aW4iA3UtMCoIYmF0Y2gvdjEwAYoBKgoBbRIGVXBkYXRlGgAyCEZpZWxkc1YxOg8KDXsiZjpzcGVjIjp7fX1CABLWARJzCg"
    "RtYWluEgFpKgA6FwoSTVVTVEVSX1JBTktfT0ZGU0VUEgE0Qj0KFQoObnZpZGlhLmNvbS9ncHUSAwoBMhINCgNjcHUSBgoE"
    "MTAwbRIVCg5udmlkaWEuY29tL2dwdRIDCgEyagByAIABAIgBAJABAKIBABIcCgRzaWRlEgAqAEIAagByAIABAIgBAJABAK"
    "IBABoFTmV2ZXIyAEIASgBSAm4xWABgAGgAggEAigEAmgEAogEdCgVmaXJzdBIAKgBCAGoAcgCAAQCIAQCQAQCiAQDCAQAa"
    "9QEKBkZhaWxlZBIfCgVSZWFkeRIFRmFsc2UaACIAKglQb2RGYWlsZWQyABIgChBEaXNydXB0aW9uVGFyZ2V0EgRUcnVlGg"
    "AiACoAMgAaDWxvdyBvbiBtZW1vcnkiB0V2aWN0ZWQqADIAQi4KBG1haW4SGhoYCIkBEAkaCU9PTUtpbGxlZCIAKgAyADoA"
    "GgAgACgAMgA6AEIAQiAKBHNpZGUSDBIKCggIgPLWygYQABoAIAAoADIAOgBCAEoAUjQKBWZpcnN0Eh8KHQoMRXJySW1hZ2"
    "VQdWxsEg1ubyBzdWNoIGltYWdlGgAgACgAMgA6AEIAWgByABoAIgA=";
constexpr std::string_view pod_json = R"({
  "metadata": {"name": "train-0", "namespace": "team", "uid": "u-1", "resourceVersion": "42",
    "deletionTimestamp": "2026-01-31T12:00:30Z", "deletionGracePeriodSeconds": 30,
    "labels": {"app": "train", "empty": ""}, "annotations": {"note": "x"},
    "ownerReferences": [{"kind": "Job", "name": "train", "uid": "u-0", "apiVersion": "batch/v1",
      "controller": true}]},
  "spec": {"nodeName": "n1", "restartPolicy": "Never",
    "containers": [
      {"name": "main", "env": [{"name": "MUSTER_RANK_OFFSET", "value": "4"}],
       "resources": {"limits": {"nvidia.com/gpu": "2"},
                     "requests": {"cpu": "100m", "nvidia.com/gpu": "2"}}},
      {"name": "side", "resources": {}}],
    "initContainers": [{"name": "first", "resources": {}}]},
  "status": {"phase": "Failed", "reason": "Evicted", "message": "low on memory",
    "conditions": [{"type": "Ready", "status": "False", "reason": "PodFailed"},
                   {"type": "DisruptionTarget", "status": "True"}],
    "containerStatuses": [
      {"name": "main", "lastState": {},
       "state": {"terminated": {"exitCode": 137, "signal": 9, "reason": "OOMKilled"}}},
      {"name": "side", "state": {"running": {}}, "lastState": {}}],
    "initContainerStatuses": [
      {"name": "first", "lastState": {},
       "state": {"waiting": {"reason": "ErrImagePull", "message": "no such image"}}}]}})";

/// Of a Job that failed, ADDED.
constexpr std::string_view job_frame =
    "AAAA6QoFQURERUQS3wEK3AFrOHMACg8KCGJhdGNoL3YxEgNKb2ISwAEKKQoFdHJhaW4SABoEdGVhbSIAKgN1LTAyAjQzOA"
    "BCAGIJCgRub3RlEgF5ElQIAhAAMk4KEAoAEgAaACIAKgAyADgAQgASOhIcCgRtYWluEgAqAEIAagByAIABAIgBAJABAKIB"
    "ABoAMgBCAEoAUgBYAGAAaACCAQCKAQCaAQDCAQAaPQozCgZGYWlsZWQSBFRydWUaACIAKhRCYWNrb2ZmTGltaXRFeGNlZW"
    "RlZDIJdG9vIG9mdGVuIAAoADAAOgAaACIA";
constexpr std::string_view job_json = R"({
  "metadata": {"name": "train", "namespace": "team", "uid": "u-0", "resourceVersion": "43",
    "annotations": {"note": "y"}},
  "spec": {"completions": 0, "parallelism": 2},
  "status": {"conditions": [{"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded",
    "message": "too often"}], "succeeded": 0}})";

/// That the place of the watch is forgotten; and the same as the body of an answer.
constexpr std::string_view error_frame =
    "AAAAlQoFRVJST1ISiwEKiAFrOHMACgwKAnYxEgZTdGF0dXMScAoGCgASABoAEgdGYWlsdXJlGh90b28gb2xkIHJlc291cm"
    "NlIHZlcnNpb246IDEgKDIpIgdFeHBpcmVkKjAKAXgSABoEcG9kcyIfChdSZXNvdXJjZVZlcnNpb25Ub29MYXJnZRIBbRoB"
    "ZigDMgAwmgMaACIA";
constexpr std::string_view error_body =
    "azhzAAoMCgJ2MRIGU3RhdHVzEnAKBgoAEgAaABIHRmFpbHVyZRofdG9vIG9sZCByZXNvdXJjZSB2ZXJzaW9uOiAxICgyKS"
    "IHRXhwaXJlZCowCgF4EgAaBHBvZHMiHwoXUmVzb3VyY2VWZXJzaW9uVG9vTGFyZ2USAW0aAWYoAzIAMJoDGgAiAA==";

std::string bytes_of(std::string_view base64) { return net::base64_decode(base64).value(); }

struct Seen {
  WatchEvent::Kind kind = WatchEvent::Kind::Bookmark;
  json::value object;
};

class ProtobufWatch : public testing::Test {
 protected:
  WatchDecoder decoder_for(const ProtoMessage& message) {
    return WatchDecoder(
        [this](const WatchEvent& event) {
          seen_.push_back({event.kind, own_copy(*event.object)});
          return true;
        },
        &message);
  }
  std::vector<Seen> seen_;
};

TEST_F(ProtobufWatch, APodIsReadAsTheJsonItStandsFor) {
  WatchDecoder decoder = decoder_for(proto_pod);
  EXPECT_TRUE(decoder.feed(bytes_of(pod_frame)));
  ASSERT_EQ(seen_.size(), 1U);
  EXPECT_EQ(seen_[0].kind, WatchEvent::Kind::Modified);
  EXPECT_EQ(seen_[0].object, json::parse(pod_json));
}

TEST_F(ProtobufWatch, AJobIsReadAsTheJsonItStandsForAndAZeroIsNotNothing) {
  WatchDecoder decoder = decoder_for(proto_job);
  EXPECT_TRUE(decoder.feed(bytes_of(job_frame)));
  ASSERT_EQ(seen_.size(), 1U);
  EXPECT_EQ(seen_[0].kind, WatchEvent::Kind::Added);
  EXPECT_EQ(seen_[0].object, json::parse(job_json));
  EXPECT_EQ(integer_at(seen_[0].object, {"spec", "completions"}, 1), 0);
}

TEST_F(ProtobufWatch, EventsThatComeInPiecesOrTogetherAreTheSame) {
  const std::string bytes = bytes_of(pod_frame) + bytes_of(pod_frame) + bytes_of(pod_frame);
  for (const std::size_t piece : {std::size_t{1}, std::size_t{3}, std::size_t{700}, bytes.size()}) {
    seen_.clear();
    WatchDecoder decoder = decoder_for(proto_pod);
    for (std::size_t at = 0; at < bytes.size(); at += piece)
      ASSERT_TRUE(decoder.feed(std::string_view(bytes).substr(at, piece)));
    ASSERT_EQ(seen_.size(), 3U) << piece;
    for (const Seen& one : seen_) EXPECT_EQ(one.object, json::parse(pod_json));
  }
}

TEST_F(ProtobufWatch, AnEventThatWasCutOffIsNone) {
  WatchDecoder decoder = decoder_for(proto_pod);
  const std::string bytes = bytes_of(pod_frame);
  EXPECT_TRUE(decoder.feed(std::string_view(bytes).substr(0, bytes.size() - 1)));
  EXPECT_TRUE(seen_.empty());
}

TEST_F(ProtobufWatch, AServerThatAnswersInJsonIsUnderstoodToo) {
  WatchDecoder decoder = decoder_for(proto_pod);
  EXPECT_TRUE(decoder.feed(R"({"type":"ADDED","object":{"metadata":{"name":"one"}}})"
                           "\n"));
  ASSERT_EQ(seen_.size(), 1U);
  EXPECT_EQ(name_of(seen_[0].object), "one");
}

TEST_F(ProtobufWatch, AnErrorEndsItAndSaysWhichItIs) {
  WatchDecoder decoder = decoder_for(proto_pod);
  EXPECT_FALSE(decoder.feed(bytes_of(error_frame)));
  ASSERT_TRUE(decoder.error());
  EXPECT_TRUE(decoder.error()->is_gone());
  EXPECT_EQ(decoder.error()->message, "too old resource version: 1 (2)");
  EXPECT_TRUE(decoder.error()->has_cause("ResourceVersionTooLarge"));
}

TEST_F(ProtobufWatch, BytesThatAreNoEventsEndItWithAnError) {
  const std::string good = bytes_of(pod_frame);
  std::vector<std::string> wrong = {std::string("\0\0\0\0", 4), std::string("\0\0\0\3abc", 7),
                                    std::string("\xff\xff\xff\xff", 4), good};
  wrong.back()[good.find("k8s")] = 'x';
  for (const std::string& bytes : wrong) {
    WatchDecoder decoder = decoder_for(proto_pod);
    EXPECT_FALSE(decoder.feed(bytes));
    ASSERT_TRUE(decoder.error());
    EXPECT_EQ(decoder.error()->code, 0);
  }
  EXPECT_TRUE(seen_.empty());
}

TEST(Protobuf, ARefusalIsReadInThisFormToo) {
  const ApiError error = api_error_of(410, {}, bytes_of(error_body));
  EXPECT_TRUE(error.is_gone());
  EXPECT_EQ(error.reason, "Expired");
  EXPECT_EQ(error.kind, "pods");
  EXPECT_EQ(error.retry_after, seconds(3));
}

TEST(Protobuf, BytesThatAreNoMessageAreNothing) {
  EXPECT_EQ(unwrap_proto("{}"), "");
  EXPECT_EQ(proto_bytes("\x0a\x7f", 1), "") << "its length is beyond the end";
  EXPECT_FALSE(read_proto("\x0a\x7f", proto_pod));
  EXPECT_FALSE(read_proto("\x08\x01", proto_pod)) << "metadata is no number";
  EXPECT_FALSE(read_proto(std::string(11, '\xff'), proto_pod)) << "a number without end";
}

}  // namespace
}  // namespace muster::kube
