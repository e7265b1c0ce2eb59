#include "clusters/kubernetes/object_writer.h"

#include <gtest/gtest.h>

#include <future>
#include <string>
#include <vector>

#include "kube/json.h"
#include "kube/testing/scripted_server.h"

namespace muster::clusters {
namespace {

using Making = AttemptBook::Making;

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

TEST(ObjectWriter, PodsOfMusterPushNobodyAway) {
  const auto made = priority_class_object("muster");
  EXPECT_EQ(kube::text_at(made, {"preemptionPolicy"}), "Never");
  EXPECT_EQ(kube::name_of(made), "muster");
  EXPECT_FALSE(kube::flag_at(made, {"globalDefault"}, true));
}

TEST(ObjectWriter, WhereNobodyKnowsItsHomeItsSecretIsDeletedWhereItWouldBe) {
  kube::testing::ScriptedServer server;
  const auto client = kube::testing::make_client(server.access());
  ObjectWriter writer(*client, {.namespaces = {""}, .own = "own"});
  for (int i = 0; i < 3; ++i) server.then(200, R"({"items":[]})");  // no root, no Job, no pod
  for (int i = 0; i < 8; ++i) server.then(200, "{}");
  std::promise<bool> done;
  writer.remove(
      {"a", 1}, [] { return std::string("team"); },
      [&](bool is_taken) { done.set_value(is_taken); });
  EXPECT_TRUE(done.get_future().get());
  std::vector<std::string> deleted;
  for (const std::string& line : server.asked()) {
    if (line.starts_with("DELETE") && line.find("/secrets?") != std::string::npos)
      deleted.push_back(line.substr(0, line.find('?')));
  }
  EXPECT_EQ(deleted, (std::vector<std::string>{"DELETE /api/v1/namespaces/own/secrets",
                                               "DELETE /api/v1/namespaces/team/secrets"}));
}

}  // namespace
}  // namespace muster::clusters
