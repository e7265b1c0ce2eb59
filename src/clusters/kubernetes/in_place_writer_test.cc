#include "clusters/kubernetes/in_place_writer.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <future>
#include <memory>

#include "kube/json.h"
#include "kube/testing/scripted_server.h"

namespace muster::clusters {
namespace {

namespace json = boost::json;
using Making = AttemptBook::Making;

constexpr InPlacePatience quick{.pause = milliseconds(1), .tries_most = 4, .tries_unseen = 2};
constexpr const char* conflict = R"({"kind":"Status","reason":"Conflict","code":409})";

kube::Resource ray(const char* plural, const char* kind) {
  kube::Resource made;
  made.group = "ray.io";
  made.version = "v1";
  made.plural = plural;
  made.kind = kind;
  return made;
}

std::string object(const std::string& spec, const std::string& status,
                   const std::string& labels = "", const std::string& kind = "RayCluster") {
  return fmt::format(R"({{"apiVersion":"ray.io/v1","kind":"{}","metadata":{{"name":"c",)"
                     R"("namespace":"ns","uid":"u","resourceVersion":"7","labels":{{{}}}}},)"
                     R"("spec":{{{}}},"status":{{{}}}}})",
                     kind, labels, spec, status);
}
const std::string marks = R"("muster.dev/job":"ray-1","muster.dev/attempt":"1")";
const std::string resting = object(R"("suspend":true)", R"("state":"suspended")");

struct OfApi {
  kube::testing::ScriptedServer server;
  std::unique_ptr<kube::Client> client = kube::testing::make_client(server.access());

  MadeObjects start() {
    auto done = std::make_shared<std::promise<MadeObjects>>();
    StartInPlace what;
    what.resource = ray("rayclusters", "RayCluster");
    what.uid = "u";
    what.dressed = json::parse(object(R"("suspend":false,"rayVersion":"2")", "", marks));
    what.queued = json::parse(resting);
    start_in_place(
        *client, std::move(what), [done](MadeObjects made) { done->set_value(std::move(made)); },
        quick);
    return done->get_future().get();
  }
  bool stop(const char* plural = "rayclusters", const char* kind = "RayCluster") {
    auto done = std::make_shared<std::promise<bool>>();
    StopInPlace what;
    what.resource = ray(plural, kind);
    what.hub = {"hub", "ray.io/v1", kind, "ns", "c", "u", true};
    what.attempt = {"ray-1", 1};
    what.queued = json::parse(resting);
    stop_in_place(*client, std::move(what), [done](bool is_done) { done->set_value(is_done); });
    return done->get_future().get();
  }
  std::vector<std::string> methods() const {
    std::vector<std::string> all;
    for (const std::string& line : server.asked()) all.push_back(line.substr(0, line.find(' ')));
    return all;
  }
  json::value written(std::size_t index) const { return json::parse(server.request(index).body); }
};
using Methods = std::vector<std::string>;

TEST(StartInPlace, WritesTheObjectThatRests) {
  OfApi api;
  api.server.then(200, resting).then(200, "{}");
  EXPECT_EQ(api.start().how, Making::Done);
  EXPECT_EQ(api.methods(), (Methods{"GET", "PUT"}));
  const json::value put = api.written(1);
  EXPECT_EQ(kube::version_of(put), "7");
  EXPECT_EQ(kube::text_at(put, {"spec", "rayVersion"}), "2");
  EXPECT_FALSE(kube::flag_at(put, {"spec", "suspend"}, true));
}

TEST(StartInPlace, WaitsForAnOperatorThatIsStillStoppingIt) {
  OfApi api;
  const std::string busy = object(R"("suspend":true)", R"("state":"ready")");
  api.server.then(200, busy).then(200, busy).then(200, resting).then(200, "{}");
  EXPECT_EQ(api.start().how, Making::Done);
  OfApi slow;
  for (int i = 0; i < quick.tries_most; ++i) slow.server.then(200, busy);
  const MadeObjects made = slow.start();
  EXPECT_EQ(made.how, Making::NotNow);
  EXPECT_EQ(made.reason, "RayCluster c: what ran of it before has not been stopped yet");
}

TEST(StartInPlace, OneThatNoOperatorHasSeenIsStartedAfterAWhile) {
  OfApi api;
  const std::string unseen = object(R"("suspend":true)", "");
  for (int i = 0; i <= quick.tries_unseen; ++i) api.server.then(200, unseen);
  api.server.then(200, "{}");
  EXPECT_EQ(api.start().how, Making::Done);
}

TEST(StartInPlace, WhoeverWroteFirstGoesFirst) {
  OfApi api;
  api.server.then(200, resting).then(409, conflict).then(200, resting).then(200, "{}");
  EXPECT_EQ(api.start().how, Making::Done);
  OfApi changed;
  changed.server.then(200, object(R"("suspend":true,"rayVersion":"3")", R"("state":"suspended")"));
  EXPECT_EQ(changed.start().reason, "RayCluster c: it was changed after it was queued");
}

TEST(StartInPlace, AskedAgainItIsDoneAndOfOthersItIsLeftAlone) {
  OfApi again;
  again.server.then(200, object(R"("suspend":false)", "", marks));
  EXPECT_EQ(again.start().how, Making::Done);
  EXPECT_EQ(again.methods(), Methods{"GET"});
  for (const char* there :
       {R"({"metadata":{"uid":"v"}})", R"({"metadata":{"uid":"u","deletionTimestamp":"x"}})",
        R"({"metadata":{"uid":"u","labels":{"muster.dev/job":"ray-2"}}})"}) {
    OfApi api;
    api.server.then(200, there);
    EXPECT_EQ(api.start().how, Making::NotNow) << there;
    EXPECT_EQ(api.methods(), Methods{"GET"});
  }
}

TEST(StopInPlace, PutsBackWhatWasQueuedAndLetsItRest) {
  OfApi api;
  const std::string runs =
      object(R"("suspend":false,"rayVersion":"2")", R"("state":"ready")", marks);
  api.server.then(200, runs).then(409, conflict).then(200, runs).then(200, "{}");
  EXPECT_TRUE(api.stop());
  const json::value put = api.written(3);
  EXPECT_TRUE(kube::flag_at(put, {"spec", "suspend"}));
  EXPECT_EQ(kube::find(put, {"spec", "rayVersion"}), nullptr);
  EXPECT_TRUE(kube::map_at(put, {"metadata", "labels"}).empty());
}

TEST(StopInPlace, IsDoneWhereTheAttemptHasItNoMore) {
  for (const auto& [code, there] : {std::pair{404, std::string("{}")}, std::pair{200, resting},
                                    std::pair{200, std::string(R"({"metadata":{"uid":"v"}})")}}) {
    OfApi api;
    api.server.then(code, there);
    EXPECT_TRUE(api.stop()) << there;
    EXPECT_EQ(api.methods(), Methods{"GET"});
  }
  OfApi silent;
  silent.server.then(403, "{}");
  EXPECT_FALSE(silent.stop()) << "nobody knows";
}

TEST(StopInPlace, OfARayJobThatHasEndedItsClusterGoes) {
  OfApi api;
  api.server
      .then(200,
            object(R"("suspend":false)",
                   R"("jobDeploymentStatus":"Complete","rayClusterName":"c-x1")", marks, "RayJob"))
      .then(200, "{}");
  EXPECT_TRUE(api.stop("rayjobs", "RayJob"));
  EXPECT_EQ(api.server.asked().back(), "DELETE /apis/ray.io/v1/namespaces/ns/rayclusters/c-x1");
}

}  // namespace
}  // namespace muster::clusters
