#include "kube/kubeconfig.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>
#include <map>

#include "kube/testing/folder.h"

namespace muster::kube {
namespace {

using ::testing::ElementsAre;
using testing::Folder;
using ::testing::HasSubstr;

constexpr const char* two_clusters = R"(
apiVersion: v1
kind: Config
current-context: prod
preferences: {}
clusters:
- name: east
  cluster:
    server: https://10.0.0.1:6443
    certificate-authority: pki/ca.crt
    tls-server-name: east.example
- name: west
  cluster: {server: "https://west:443/k8s/clusters/c-1", insecure-skip-tls-verify: true}
users:
- name: admin
  user: {client-certificate: pki/admin.crt, client-key: /abs/admin.key}
- name: robot
  user: {token: 1234567}
contexts:
- name: prod
  context: {cluster: east, user: admin, namespace: team-a}
- name: lab
  context: {cluster: west, user: robot}
)";

Kubeconfig parsed(std::string_view text, const std::string& path = "/etc/k/config") {
  auto config = parse_kubeconfig(text, path);
  EXPECT_TRUE(config.ok()) << (config ? "" : config.error().message);
  return config ? *config : Kubeconfig{};
}

std::string refusal(std::string_view text) {
  const auto config = parse_kubeconfig(text, "f");
  if (!config) return config.error().message;
  const auto access = access_of(*config);
  return access ? "fine" : access.error().message;
}

/// A file whose only user is the one given.
std::string with_user(std::string_view user) {
  return "current-context: c\nclusters: [{name: k, cluster: {server: 'https://h'}}]\n"
         "contexts: [{name: c, context: {cluster: k, user: u}}]\nusers: [{name: u, user: " +
         std::string(user) + "}]\n";
}

std::string with_cluster(std::string_view cluster) {
  return "current-context: c\ncontexts: [{name: c, context: {cluster: k}}]\n"
         "clusters: [{name: k, cluster: " +
         std::string(cluster) + "}]\n";
}

std::function<const char*(const char*)> environment(std::map<std::string, std::string> values) {
  return [values = std::move(values)](const char* name) -> const char* {
    const auto found = values.find(name);
    return found == values.end() ? nullptr : found->second.c_str();
  };
}

TEST(Kubeconfig, TheCurrentContextNamesClusterUserAndNamespace) {
  const auto access = access_of(parsed(two_clusters));
  ASSERT_TRUE(access.ok());
  EXPECT_EQ(access->context, "prod");
  EXPECT_EQ(access->ns, "team-a");
  EXPECT_EQ(access->cluster.server, "https://10.0.0.1:6443");
  EXPECT_EQ(access->cluster.tls_server_name, "east.example");
  EXPECT_TRUE(access->cluster.verify);
}

TEST(Kubeconfig, RelativePathsMeanBesideTheirFile) {
  const auto access = access_of(parsed(two_clusters));
  EXPECT_EQ(access->cluster.ca.file, "/etc/k/pki/ca.crt");
  EXPECT_EQ(access->user.cert.file, "/etc/k/pki/admin.crt");
  EXPECT_EQ(access->user.key.file, "/abs/admin.key");
}

TEST(Kubeconfig, AnotherContextCanBeAskedFor) {
  const auto access = access_of(parsed(two_clusters), "lab");
  ASSERT_TRUE(access.ok());
  EXPECT_EQ(access->user.token, "1234567");
  EXPECT_FALSE(access->cluster.verify);
  EXPECT_EQ(access->ns, "default");
}

TEST(Kubeconfig, AnUnknownContextIsAnErrorThatListsThoseThere) {
  const auto access = access_of(parsed(two_clusters), "nowhere");
  ASSERT_FALSE(access.ok());
  EXPECT_EQ(access.error().message,
            "/etc/k/config: contexts: there is no 'nowhere'; there are: prod, lab");
}

TEST(Kubeconfig, DataWinsOverFilesAndIsDecoded) {
  const auto access = access_of(parsed(with_cluster(
      "{server: 'https://h', certificate-authority: x, certificate-authority-data: aGVsbG8=}")));
  ASSERT_TRUE(access.ok());
  EXPECT_EQ(access->cluster.ca.data, "hello");
}

TEST(Kubeconfig, OfSeveralFilesTheFirstWinsEntryByEntry) {
  Kubeconfig merged = merge_kubeconfigs(
      {parsed("users: [{name: admin, user: {token: first}}]", "/a/one"),
       parsed(two_clusters, "/b/two"), parsed("current-context: late", "/c/three")});
  EXPECT_EQ(merged.current_context, "prod");
  EXPECT_THAT(merged.files, ElementsAre("/a/one", "/b/two", "/c/three"));
  const auto access = access_of(merged);
  ASSERT_TRUE(access.ok());
  EXPECT_EQ(access->user.token, "first");
  EXPECT_TRUE(access->user.cert.empty()) << "the second file's fields do not leak into the first's";
  EXPECT_EQ(access->cluster.ca.file, "/b/pki/ca.crt");
}

TEST(Kubeconfig, AFileWithANameTwiceIsRefusedAsByKubectl) {
  EXPECT_EQ(refusal("clusters: [{name: k, cluster: {server: 'https://a'}},"
                    " {name: k, cluster: {server: 'https://b'}}]"),
            "f: clusters[1].name: 'k' is there twice");
  EXPECT_EQ(refusal("contexts: [{name: c, context: {cluster: k}}, {name: c}]"),
            "f: contexts[1].name: 'c' is there twice");
  EXPECT_EQ(refusal("users: [{name: u, user: {}}, {name: v}, {name: u, user: {token: t}}]"),
            "f: users[2].name: 'u' is there twice");
}

TEST(Kubeconfig, TheVariableListsFilesAndTheHomeFolderIsTheDefault) {
  EXPECT_THAT(kubeconfig_paths("/a::/b:/a", "/h"), ElementsAre("/a", "/b"));
  EXPECT_THAT(kubeconfig_paths("", "/h"), ElementsAre("/h/.kube/config"));
}

TEST(Kubeconfig, MissingFilesOfAListArePassedOverButOneMustBeThere) {
  Folder folder;
  const std::string file = folder.write("there", two_clusters);
  const std::string missing = folder.path("missing");
  auto config = load_kubeconfigs(environment({{"KUBECONFIG", missing + ":" + file}}));
  ASSERT_TRUE(config.ok());
  EXPECT_EQ(config->contexts.size(), 2U);
  config = load_kubeconfigs(environment({{"KUBECONFIG", missing}}));
  ASSERT_FALSE(config.ok());
  EXPECT_THAT(config.error().message, HasSubstr(missing));
  config = load_kubeconfig(missing);
  ASSERT_FALSE(config.ok());
  EXPECT_EQ(config.error().fault, Fault::NotFound);
}

TEST(Kubeconfig, ExecPluginsAreRead) {
  const auto access = access_of(parsed(with_user(
      "{exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: bin/get-token, "
      "args: [a, '1'], env: [{name: AWS_PROFILE, value: dev}], provideClusterInfo: true}}")));
  ASSERT_TRUE(access.ok());
  const ExecPlugin& exec = access->user.exec.value();
  EXPECT_EQ(exec.command, "/etc/k/bin/get-token");
  EXPECT_THAT(exec.args, ElementsAre("a", "1"));
  EXPECT_THAT(exec.env, ElementsAre(std::pair<std::string, std::string>("AWS_PROFILE", "dev")));
  EXPECT_TRUE(exec.provide_cluster_info);
}

TEST(Kubeconfig, ACommandWithoutASlashIsLookedUpInThePath) {
  const auto access = access_of(parsed(with_user(
      "{exec: {apiVersion: client.authentication.k8s.io/v1, command: aws, interactiveMode: "
      "Never}}")));
  EXPECT_EQ(access->user.exec->command, "aws");
}

TEST(Kubeconfig, TheExtensionForPluginsKeepsItsTypes) {
  const auto access = access_of(parsed(with_cluster(
      "{server: 'https://h', extensions: [{name: client.authentication.k8s.io/exec, extension: "
      "{audience: 7, deep: [true]}}]}")));
  ASSERT_TRUE(access.ok());
  EXPECT_EQ(boost::json::serialize(access->cluster.exec_config), R"({"audience":7,"deep":[true]})");
}

TEST(Kubeconfig, ErrorsNameTheFileAndTheField) {
  EXPECT_EQ(refusal("clusters: 7"), "f.clusters: must be a list");
  EXPECT_EQ(refusal("kind: Pod"), "f.kind: 'Pod' is not a kubeconfig, which has kind Config");
  EXPECT_EQ(refusal("a: [1"), "f: line 1, column 1: not YAML: end of sequence flow not found");
  EXPECT_EQ(refusal("clusters: [{cluster: {}}]"), "f: clusters[0].name: is missing");
  EXPECT_EQ(refusal(with_cluster("{}")), "f: clusters[k].server: is missing");
  EXPECT_EQ(refusal(with_cluster("{server: ftp://h}")),
            "f: clusters[k].server: 'ftp://h': begin with https://");
  EXPECT_EQ(refusal(with_cluster("{server: https://h, certificate-authority-data: '!'}")),
            "f: clusters[k].certificate-authority-data: is not base64");
  EXPECT_THAT(refusal(with_cluster(
                  "{server: https://h, insecure-skip-tls-verify: true, certificate-authority: x}")),
              HasSubstr("exclude each other"));
  EXPECT_THAT(refusal(with_cluster("{server: https://h, proxy-url: 'ftp://p:1'}")),
              HasSubstr("clusters[k].proxy-url"));
  EXPECT_EQ(refusal(with_cluster("{server: https://h, proxy-url: 'socks5://p:1'}")), "fine");
  EXPECT_EQ(refusal(with_cluster("{server: https://h, proxy-url: 'https://p:1'}")), "fine");
  EXPECT_THAT(refusal(with_user("{client-key: k}")),
              HasSubstr("users[u].client-certificate: is missing"));
  EXPECT_THAT(refusal(with_user("{as-groups: [g]}")), HasSubstr("users[u].as: is missing"));
  EXPECT_THAT(refusal(with_user("{auth-provider: {name: gcp}}")),
              HasSubstr("users[u].auth-provider: was removed"));
  EXPECT_THAT(refusal(with_user("{exec: {apiVersion: v7, command: x}}")),
              HasSubstr("users[u].exec.apiVersion: 'v7' is not known"));
  EXPECT_THAT(
      refusal(with_user("{exec: {apiVersion: client.authentication.k8s.io/v1, command: x}}")),
      HasSubstr("users[u].exec.interactiveMode: is missing"));
}

TEST(Kubeconfig, AUserThatCannotBeUsedIsInNobodyElsesWay) {
  const Kubeconfig config = parsed(R"(
clusters: [{name: k, cluster: {server: 'https://h'}}]
users:
- {name: good, user: {token: t}}
- {name: left-over, user: {auth-provider: {name: gcp}}}
- {name: old, user: {exec: {apiVersion: client.authentication.k8s.io/v1alpha1, command: x}}}
- name: talks
  user:
    exec: {apiVersion: client.authentication.k8s.io/v1, command: x, interactiveMode: Always}
- {name: broken, user: {client-certificate-data: '!'}}
contexts:
- {name: good, context: {cluster: k, user: good}}
- {name: left-over, context: {cluster: k, user: left-over}}
- {name: old, context: {cluster: k, user: old}}
- {name: talks, context: {cluster: k, user: talks}}
- {name: broken, context: {cluster: k, user: broken}}
)");
  EXPECT_TRUE(access_of(config, "good").ok());
  const auto why = [&](const char* context) {
    const auto access = access_of(config, context);
    return access ? "fine" : access.error().message;
  };
  EXPECT_THAT(why("left-over"), HasSubstr("users[left-over].auth-provider: was removed"));
  EXPECT_THAT(why("old"), HasSubstr("users[old].exec.apiVersion"));
  EXPECT_THAT(why("talks"), HasSubstr("users[talks].exec.interactiveMode: Always"));
  EXPECT_THAT(why("broken"), HasSubstr("users[broken].client-certificate-data: is not base64"));
}

TEST(Kubeconfig, InsideAClusterTheServiceAccountIsUsed) {
  Folder folder;
  folder.write("sa/token", "t0ken\n");
  folder.write("sa/ca.crt", "PEM");
  folder.write("sa/namespace", "jobs\n");
  const auto access = in_cluster_access(
      environment({{"KUBERNETES_SERVICE_HOST", "fd00::1"}, {"KUBERNETES_SERVICE_PORT", "443"}}),
      folder.path("sa"));
  ASSERT_TRUE(access.ok()) << access.error().message;
  EXPECT_EQ(access->cluster.server, "https://[fd00::1]:443");
  EXPECT_EQ(access->ns, "jobs");
  EXPECT_EQ(access->user.token_file, folder.path("sa/token"));
  EXPECT_FALSE(in_cluster_access(environment({}), folder.path("sa")).ok());
}

TEST(Kubeconfig, ANameOfAContextCanBecomeAPlainOne) {
  EXPECT_EQ(plain_name("east"), "east");
  EXPECT_EQ(plain_name("arn:aws:eks:eu-west-1:123:cluster/prod"), "prod");
  EXPECT_EQ(plain_name("kubernetes-admin@kubernetes"), "kubernetes-admin-kubernetes");
  EXPECT_EQ(plain_name("-.a b/"), "a-b-");
  EXPECT_EQ(plain_name(""), "");
  EXPECT_EQ(plain_name("--"), "");
}

}  // namespace
}  // namespace muster::kube
