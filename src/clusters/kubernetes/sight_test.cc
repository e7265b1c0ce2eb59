#include "clusters/kubernetes/sight.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "kube/testing/scripted_server.h"

namespace muster::clusters {
namespace {

using kube::testing::make_client;
using kube::testing::ScriptedServer;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

/// What is asked first for pods, beside nodes and kinds.
std::vector<std::string> first_asked(SightOptions options, std::size_t lists) {
  ScriptedServer server;
  for (std::size_t i = 0; i < lists + 2; ++i)
    server.then(
        [](const net::Request&, const net::Responder& answer) { answer.send({404, {}, "{}"}); });
  const auto client = make_client(server.access());
  const KubernetesSight sight(*client, std::move(options));
  for (int left = 1000; server.asked().size() < lists + 2 && left > 0; --left)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  std::vector<std::string> pods;
  for (const std::string& line : server.asked()) {
    if (line.find("/pods?") != std::string::npos && pods.size() < lists) pods.push_back(line);
  }
  return pods;
}

TEST(KubernetesSight, PodsThatOthersWatchForUsAreLeftOutAndThoseElsewhereAskedForApart) {
  const auto asked = first_asked({.namespaces = {"a", "b"}, .server = "me"}, 2);
  ASSERT_EQ(asked.size(), 2U);
  EXPECT_THAT(asked, Contains(AllOf(HasSubstr("labelSelector=muster.dev%2Fserver%21%3Dme"),
                                    Not(HasSubstr("fieldSelector")))));
  EXPECT_THAT(asked, Contains(AllOf(HasSubstr("labelSelector=muster.dev%2Fserver%3Dme"),
                                    HasSubstr("metadata.namespace%21%3Da"),
                                    HasSubstr("metadata.namespace%21%3Db"))));
}

TEST(KubernetesSight, WhereAllNamespacesAreOursNothingIsElsewhere) {
  EXPECT_THAT(first_asked({.namespaces = {""}, .server = "me"}, 1),
              ElementsAre(HasSubstr("labelSelector=muster.dev%2Fserver%21%3Dme")));
}

TEST(KubernetesSight, AServerWithoutANameSeesAllPods) {
  EXPECT_THAT(first_asked({.namespaces = {"a"}}, 1), ElementsAre(Not(HasSubstr("Selector"))));
}

}  // namespace
}  // namespace muster::clusters
