#include "clusters/kubernetes/object_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kube/json.h"
#include "kube/testing/scripted_server.h"

namespace muster::clusters {
namespace {

using Making = AttemptBook::Making;
using ::testing::ElementsAre;

Making judged(int code, const std::string& reason = "") {
  kube::ApiError error;
  error.code = code;
  error.reason = reason;
  return judge_refusal(error).how;
}

TEST(ObjectWriter, ARefusalIsTheJobsFaultTheClustersOrAMatterOfTime) {
  EXPECT_EQ(judged(422, "Invalid"), Making::Refused);
  EXPECT_EQ(judged(400, "BadRequest"), Making::Refused);
  EXPECT_EQ(judged(403, "Forbidden"), Making::NotNow) << "a quota, or a missing permission";
  EXPECT_EQ(judged(404, "NotFound"), Making::NotNow) << "the namespace is not there";
  EXPECT_EQ(judged(409, "Conflict"), Making::Unavailable) << "asked again, it is done";
  for (const int code : {0, 401, 429, 500, 503}) {
    EXPECT_EQ(judged(code), Making::Unavailable) << code << ": nobody knows whether it was done";
  }
}

TEST(ObjectWriter, ANamespaceThatIsNotThereIsNamed) {
  kube::ApiError error;
  error.code = 404;
  error.reason = "NotFound";
  error.message = "namespaces \"later\" not found";
  const MadeObjects judged = judge_refusal(error);
  EXPECT_EQ(judged.how, Making::NotNow);
  EXPECT_EQ(judged.reason, "there is no namespace 'later'; it is tried again");
}

TEST(ObjectWriter, AnotherOfTheNameIsToldByTheUidThatThePatchNames) {
  kube::ApiError error;
  error.code = 422;
  error.reason = "Invalid";
  error.message = R"(Pod "p" is invalid: metadata.uid: Invalid value: "a": field is immutable)";
  EXPECT_TRUE(error.is_of_another());
  error.message = R"(Pod "p" is invalid: metadata.labels: Invalid value: "a b")";
  EXPECT_FALSE(error.is_of_another()) << "that is what was asked for";
  error.code = 409;
  error.reason = "Conflict";
  error.message =
      R"(Operation cannot be fulfilled on pods "p": StorageError: invalid object, Code: 4, )"
      "AdditionalErrorMsg: Precondition failed: UID in precondition: a, UID in object meta: b";
  EXPECT_TRUE(error.is_of_another());
}

TEST(ObjectWriter, AConflictThatNamesNoUidTellsNothingOfAnother) {
  kube::ApiError error;
  error.code = 409;
  error.reason = "Conflict";
  error.message =
      R"(Operation cannot be fulfilled on pods "p": the object has been modified; please apply )"
      "your changes to the latest version and try again";
  EXPECT_FALSE(error.is_of_another());
  error.message = "";
  EXPECT_FALSE(error.is_of_another());
}

TEST(ObjectWriter, PodsOfMusterPushNobodyAway) {
  const auto made = priority_class_object("muster");
  EXPECT_EQ(kube::text_at(made, {"preemptionPolicy"}), "Never");
  EXPECT_EQ(kube::name_of(made), "muster");
  EXPECT_FALSE(kube::flag_at(made, {"globalDefault"}, true));
}

/// Of an attempt that, as far as anybody knows, would be made in "team".
Taken taken_of(ObjectWriter& writer) {
  std::promise<Taken> done;
  writer.remove(
      {"a", 1}, [] { return std::string("team"); }, [&](Taken taken) { done.set_value(taken); });
  return done.get_future().get();
}

TEST(ObjectWriter, WhereNobodyKnowsItsHomeItsSecretIsDeletedWhereItWouldBe) {
  kube::testing::ScriptedServer server;
  const auto client = kube::testing::make_client(server.access());
  ObjectWriter writer(*client, {.namespaces = {""}, .own = "own"});
  for (int i = 0; i < 3; ++i) server.then(200, R"({"items":[]})");  // no root, no Job, no pod
  for (int i = 0; i < 8; ++i) server.then(200, "{}");
  EXPECT_EQ(taken_of(writer), Taken::All);
  std::vector<std::string> deleted;
  for (const std::string& line : server.asked()) {
    if (line.starts_with("DELETE") && line.find("/secrets?") != std::string::npos)
      deleted.push_back(line.substr(0, line.find('?')));
  }
  EXPECT_EQ(deleted, (std::vector<std::string>{"DELETE /api/v1/namespaces/own/secrets",
                                               "DELETE /api/v1/namespaces/team/secrets"}));
}

TEST(ObjectWriter, WhereItsHomeCannotBeFoundOutNothingIsTaken) {
  kube::testing::ScriptedServer server;
  kube::ClientOptions once;
  once.read_attempts_max = 1;
  const auto client = kube::testing::make_client(server.access(), once);
  ObjectWriter writer(*client, {.namespaces = {""}, .own = "own"});
  // Whether it is gone is not answered, nor is where its Jobs are.
  server.then(500, "no").then(500, "no");
  EXPECT_EQ(taken_of(writer), Taken::No);
  EXPECT_EQ(server.asked().size(), 2U) << "nothing is deleted";
}

TEST(ObjectWriter, WhatOneOfItsNamespacesDidNotTakeIsNotTaken) {
  constexpr const char* no =
      R"({"kind":"Status","code":409,"reason":"Conflict","message":"not now"})";
  kube::testing::ScriptedServer server;
  const auto client = kube::testing::make_client(server.access());
  ObjectWriter writer(*client, {.namespaces = {"one", "two"}, .own = "one"});
  server.then(409, no);  // roots of the first, where all else is taken, as in the second
  for (int i = 0; i < 7; ++i) server.then(200, "{}");
  EXPECT_EQ(taken_of(writer), Taken::AllButRoots);
  for (int i = 0; i < 7; ++i) server.then(200, "{}");
  server.then(409, no);  // Secrets of the second
  EXPECT_EQ(taken_of(writer), Taken::No);
}

/// A Job of a gang, and the Service by which its pods find each other.
struct Gang {
  boost::json::value job = boost::json::parse(
      R"({"kind":"Job","metadata":{"name":"m-a-1","namespace":"ns"},"spec":{}})");
  boost::json::value peers =
      boost::json::parse(R"({"kind":"Service","metadata":{"name":"peers","namespace":"ns"}})");
};

std::future<MadeObjects> make(ObjectWriter& writer) {
  const auto done = std::make_shared<std::promise<MadeObjects>>();
  const Gang gang;
  writer.make(gang.peers, {gang.job}, [done](MadeObjects how) { done->set_value(std::move(how)); });
  return done->get_future();
}

std::string script_step(const net::Request& request) {
  return request.target.find("/services") != std::string::npos ? "service" : "job";
}

TEST(ObjectWriter, AJobIsMadeBeforeTheServiceOfItsPeers) {
  kube::testing::ScriptedServer server;
  const auto client = kube::testing::make_client(server.access());
  ObjectWriter writer(*client, {.namespaces = {"ns"}, .own = "ns"});
  std::vector<std::string> steps;
  const auto note = [&](const net::Request& request, const net::Responder& answer) {
    steps.push_back(script_step(request));
    answer.send({201, {}, "{}"});
  };
  server.then(note).then(note);
  EXPECT_EQ(make(writer).get().how, Making::Done);
  EXPECT_THAT(steps, ElementsAre("job", "service"));
}

TEST(ObjectWriter, AGangWhosePeersCannotBeMadeIsNotMade) {
  kube::testing::ScriptedServer server;
  const auto client = kube::testing::make_client(server.access());
  ObjectWriter writer(*client, {.namespaces = {"ns"}, .own = "ns"});
  const auto refuse_services = [](const net::Request& request, const net::Responder& answer) {
    const bool is_fine = script_step(request) == "job";
    const char* no = R"({"kind":"Status","reason":"Forbidden","code":403,"message":"no services"})";
    answer.send({is_fine ? 201 : 403, {}, is_fine ? "{}" : no});
  };
  for (int i = 0; i < 3; ++i) server.then(refuse_services);
  const MadeObjects made = make(writer).get();
  EXPECT_EQ(made.how, Making::NotNow);
  EXPECT_EQ(made.reason, "no services");
}

/// A list of one Job, for an AppWrapper of the hub.
boost::json::value marked(std::string_view kind, std::string_view server, std::string_view epoch) {
  boost::json::value made = boost::json::parse(
      R"({"metadata":{"name":"j","namespace":"ns","uid":"u","labels":{"muster.dev/job":"aw-1",)"
      R"("muster.dev/attempt":"1"},"annotations":{"muster.dev/hub":"h/AppWrapper/ns/j"}},)"
      R"("data":{}})");
  kube::set_at(made, {"apiVersion"}, kind == "Job" ? "batch/v1" : "v1");
  kube::set_at(made, {"kind"}, boost::json::string(kind));
  kube::set_at(made, {"metadata", "labels", "muster.dev/server"}, boost::json::string(server));
  kube::set_at(made, {"metadata", "annotations", "muster.dev/epoch"}, boost::json::string(epoch));
  return made;
}

struct Answered {
  int code = 200;
  std::string body = {};  // "": what is there
};

/// Makes it where another server made it before, and the Job's patch is answered so; what was asked
/// after its kind was found.
std::pair<MadeObjects, std::vector<std::string>> meet_old(std::string_view old_epoch,
                                                          const Answered& job_patch = {}) {
  kube::testing::ScriptedServer server;
  const auto client = kube::testing::make_client(server.access());
  ObjectWriter writer(*client, {.namespaces = {"ns"}, .own = "ns", .server = "new"});
  const std::string taken =
      R"({"kind":"Status","reason":"AlreadyExists","code":409,"message":"there is one"})";
  server.then(200, R"({"kind":"APIGroupDiscoveryList","items":[]})")
      .then(200, R"({"kind":"APIGroupDiscoveryList","items":[{"metadata":{"name":"batch"},)"
                 R"("versions":[{"version":"v1","resources":[{"resource":"jobs","scope":)"
                 R"("Namespaced","responseKind":{"kind":"Job"}}]}]}]})");
  for (const char* kind : {"ConfigMap", "Job"}) {
    const std::string old = boost::json::serialize(marked(kind, "old", old_epoch));
    const bool is_answered = std::string_view(kind) == "Job" && !job_patch.body.empty();
    server.then(409, taken).then(200, old);
    server.then(is_answered ? job_patch.code : 200, is_answered ? job_patch.body : old);
  }
  server.then(200, R"({"items":[]})");
  ListedObjects listed;
  listed.root = marked("ConfigMap", "new", "7");
  listed.objects = {marked("Job", "new", "7")};
  listed.is_workload = {true};
  std::promise<MadeObjects> done;
  writer.make(std::move(listed), [&](MadeObjects how) { done.set_value(std::move(how)); });
  MadeObjects made = done.get_future().get();
  std::vector<std::string> asked;
  for (const std::string& line : server.asked()) asked.push_back(line.substr(0, line.find('?')));
  asked.erase(asked.begin(), asked.begin() + 2);
  return {std::move(made), std::move(asked)};
}

TEST(ObjectWriter, WhatAnEarlierServerMadeForTheSameHubObjectIsTakenOver) {
  const auto [made, asked] = meet_old("6");
  EXPECT_EQ(made.how, Making::Done) << made.reason;
  const std::string maps = "/api/v1/namespaces/ns/configmaps";
  const std::string jobs = "/apis/batch/v1/namespaces/ns/jobs";
  EXPECT_THAT(asked, ElementsAre("POST " + maps, "GET " + maps + "/j", "PATCH " + maps + "/j",
                                 "POST " + jobs, "GET " + jobs + "/j", "PATCH " + jobs + "/j",
                                 "GET /api/v1/namespaces/ns/pods"));
}

TEST(ObjectWriter, WhatCannotBeTakenOverBecauseOthersWriteItIsAskedForAgain) {
  const auto [contended, asked] = meet_old(
      "6", {409, R"({"kind":"Status","reason":"Conflict","code":409,"message":"Operation cannot )"
                 R"(be fulfilled on jobs.batch \"j\": the object has been modified"})"});
  EXPECT_EQ(contended.how, Making::Unavailable) << "it runs, and nothing of it is removed";
  EXPECT_EQ(asked.size(), 6U);
  const auto [replaced, _] = meet_old(
      "6", {422, R"({"kind":"Status","reason":"Invalid","code":422,"message":"Job.batch \"j\" )"
                 R"(is invalid: metadata.uid: Invalid value: \"u\": field is immutable"})"});
  EXPECT_EQ(replaced.how, Making::NotNow) << "it is another one by now";
}

TEST(ObjectWriter, WhatALaterServerMadeIsLeftToIt) {
  const auto [made, asked] = meet_old("8");
  EXPECT_EQ(made.how, Making::Refused);
  EXPECT_EQ(asked.size(), 2U) << "nothing is changed";
}

TEST(ObjectWriter, NothingIsMadeWithAClassThatPushesPodsAwayUntilItIsGone) {
  kube::testing::ScriptedServer server;
  const auto client = kube::testing::make_client(server.access());
  ObjectWriter writer(*client, {.namespaces = {"ns"}, .own = "ns", .priority_class = "muster"});
  server.then(409, R"({"kind":"Status","reason":"AlreadyExists","code":409,"message":"no"})")
      .then(200, R"({"preemptionPolicy":"PreemptLowerPriority"})");
  for (int i = 0; i < 3; ++i) server.then(201, "{}");
  const MadeObjects refused = make(writer).get();
  EXPECT_EQ(refused.how, Making::NotNow);
  EXPECT_THAT(refused.reason, testing::HasSubstr("would push others away"));
  EXPECT_EQ(writer.trouble(), refused.reason);
  EXPECT_EQ(make(writer).get().how, Making::Done);
  EXPECT_EQ(writer.trouble(), "");
}

TEST(ObjectWriter, WhatIsPreparedIsNotMadeAgainByTheFirstJob) {
  kube::testing::ScriptedServer server;
  const auto client = kube::testing::make_client(server.access());
  ObjectWriter writer(*client, {.namespaces = {"ns"}, .own = "ns", .priority_class = "muster"});
  for (int i = 0; i < 3; ++i) server.then(201, "{}");
  writer.prepare();
  EXPECT_EQ(make(writer).get().how, Making::Done);
  const auto asked = server.asked();
  ASSERT_EQ(asked.size(), 3U);
  EXPECT_EQ(asked[0], "POST /apis/scheduling.k8s.io/v1/priorityclasses?fieldManager=muster");
}

}  // namespace
}  // namespace muster::clusters
