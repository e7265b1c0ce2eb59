#include "kube/cluster_profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>

#include "kube/kubeconfig.h"

namespace muster::kube {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
namespace json = boost::json;

const json::value profile = json::parse(R"({
  "metadata": {"name": "east", "namespace": "fleet"},
  "status": {
    "accessProviders": [{"name": "reader", "cluster": {"server": "https://east:6443",
      "certificate-authority-data": "Q0E=", "certificate-authority": "/etc/shadow",
      "extensions": [
        {"name": "client.authentication.k8s.io/exec", "extension": {"clusterName": "east"}},
        {"name": "clusterprofiles.multicluster.x-k8s.io/exec/additional-args",
         "extension": ["--cluster", "east"]},
        {"name": "clusterprofiles.multicluster.x-k8s.io/exec/additional-envs",
         "extension": {"REGION": "eu", "MODE": "theirs"}}]}}],
    "credentialProviders": [
      {"name": "old", "cluster": {"server": "https://old"}},
      {"name": "reader", "cluster": {"server": "https://not-this-one"}}]}})");

json::value providers(const std::string& more) {
  return json::parse(R"({"providers": [{"name": "nobody", "execConfig": {}},
    {"name": "reader", "execConfig": {"apiVersion": "client.authentication.k8s.io/v1",
     "command": "creds", "args": ["get"], "env": [{"name": "MODE", "value": "ours"}],
     "provideClusterInfo": true})" +
                     more + "}]}");
}

Access access_with(const std::string& more) {
  const auto text = kubeconfig_of_profile(profile, providers(more));
  EXPECT_TRUE(text.ok()) << (text ? "" : text.error().message);
  const auto config = parse_kubeconfig(*text, "profile");
  EXPECT_TRUE(config.ok()) << (config ? "" : config.error().message);
  return *access_of(*config);
}

TEST(ClusterProfile, TheFirstProviderOfTheFileThatTheProfileOffersIsTaken) {
  const Access access = access_with("");
  EXPECT_EQ(access.context, "east");
  EXPECT_EQ(access.cluster.server, "https://east:6443");
  EXPECT_EQ(access.cluster.ca, (PemSource{.data = "CA"})) << "and no file of this machine";
  ASSERT_TRUE(access.user.exec);
  EXPECT_EQ(access.user.exec->command, "creds");
  EXPECT_TRUE(access.user.exec->provide_cluster_info);
  EXPECT_EQ(access.cluster.exec_config, (json::object{{"clusterName", "east"}}));
}

TEST(ClusterProfile, AProfileAddsToTheProgramsArgumentsOnlyWhenAsked) {
  const Access plain = access_with("");
  EXPECT_THAT(plain.user.exec->args, ElementsAre("get"));
  EXPECT_THAT(plain.user.exec->env, ElementsAre(Pair("MODE", "ours")));
  const Access more = access_with(
      R"(, "profileSourcedCLIArgsPolicy": "Append",
           "profileSourcedEnvVarsPolicy": "AppendIfNotExists")");
  EXPECT_THAT(more.user.exec->args, ElementsAre("get", "--cluster", "east"));
  EXPECT_THAT(more.user.exec->env, ElementsAre(Pair("MODE", "ours"), Pair("REGION", "eu")));
  const Access replaced = access_with(R"(, "profileSourcedEnvVarsPolicy": "Replace")");
  EXPECT_THAT(replaced.user.exec->env, ElementsAre(Pair("MODE", "theirs"), Pair("REGION", "eu")));
}

TEST(ClusterProfile, OneThatNoProviderKnowsIsSaid) {
  const auto none = kubeconfig_of_profile(profile, json::parse(R"({"providers": []})"));
  ASSERT_FALSE(none.ok());
  EXPECT_THAT(none.error().message, HasSubstr("east"));
  EXPECT_FALSE(
      kubeconfig_of_profile(profile, providers(R"(, "profileSourcedCLIArgsPolicy": "X")")).ok());
}

}  // namespace
}  // namespace muster::kube
