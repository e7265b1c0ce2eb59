#include "kube/self_contained.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/kubeconfig.h"
#include "kube/testing/folder.h"

namespace muster::kube {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::Folder;
using ::testing::HasSubstr;

Access access_from(const std::string& text, const std::string& path) {
  const auto config = parse_kubeconfig(text, path);
  EXPECT_TRUE(config.ok()) << (config ? "" : config.error().message);
  const auto access = access_of(*config);
  EXPECT_TRUE(access.ok()) << (access ? "" : access.error().message);
  return *access;
}

std::string with(std::string_view cluster, std::string_view user) {
  return fmt::format(
      "current-context: prod\nclusters: [{{name: east, cluster: {}}}]\n"
      "contexts: [{{name: prod, context: {{cluster: east, user: me, namespace: team}}}}]\n"
      "users: [{{name: me, user: {}}}]\n",
      cluster, user);
}

TEST(SelfContained, FilesBecomeContentAndTheResultReadsTheSameAnywhere) {
  const Folder folder;
  folder.write("pki/ca.crt", "CA");
  folder.write("pki/me.crt", "CERT");
  folder.write("pki/me.key", "KEY");
  folder.write("token", "secret\n");
  const Access access = access_from(
      with("{server: 'https://h:6443', certificate-authority: pki/ca.crt, tls-server-name: n}",
           "{client-certificate: pki/me.crt, client-key: pki/me.key, tokenFile: token, as: ann, "
           "as-groups: [a, b]}"),
      folder.path("config"));
  const auto copied = copy_files(access);
  ASSERT_TRUE(copied.ok()) << copied.error().message;
  EXPECT_THAT(copied->copied, ElementsAre(folder.path("token")));
  EXPECT_TRUE(check_without_files(copied->access).ok());
  EXPECT_FALSE(check_without_files(access).ok());

  const Access again = access_from(kubeconfig_of(copied->access), "sent");
  EXPECT_EQ(again.context, "prod");
  EXPECT_EQ(again.ns, "team");
  EXPECT_EQ(again.cluster.name, "east");
  EXPECT_EQ(again.cluster.server, "https://h:6443");
  EXPECT_EQ(again.cluster.tls_server_name, "n");
  EXPECT_EQ(again.cluster.ca, (PemSource{.data = "CA"}));
  EXPECT_EQ(again.user.cert, (PemSource{.data = "CERT"}));
  EXPECT_EQ(again.user.key, (PemSource{.data = "KEY"}));
  EXPECT_EQ(again.user.token, "secret");
  EXPECT_EQ(again.user.impersonate.user, "ann");
  EXPECT_THAT(again.user.impersonate.groups, ElementsAre("a", "b"));
}

TEST(SelfContained, FilesThatAreNotCopiedStayFiles) {
  const Access access =
      access_from(with("{server: 'https://h:6443', certificate-authority: /pki/ca.crt}",
                       "{client-certificate: /pki/me.crt, client-key: /pki/me.key, tokenFile: "
                       "/run/token}"),
                  "/k/config");
  const Access again = access_from(kubeconfig_of(access), "written");
  EXPECT_EQ(again.cluster.ca, (PemSource{.file = "/pki/ca.crt"}));
  EXPECT_EQ(again.user.cert, (PemSource{.file = "/pki/me.crt"}));
  EXPECT_EQ(again.user.key, (PemSource{.file = "/pki/me.key"}));
  EXPECT_EQ(again.user.token_file, "/run/token");
}

TEST(SelfContained, APluginStaysAReference) {
  const Access access = access_from(
      with("{server: 'https://h', insecure-skip-tls-verify: true, extensions: [{name: "
           "client.authentication.k8s.io/exec, extension: {audience: x, number: 3}}]}",
           "{exec: {apiVersion: client.authentication.k8s.io/v1, command: aws, args: [eks, "
           "get-token], env: [{name: A, value: b}], interactiveMode: IfAvailable, "
           "provideClusterInfo: true}}"),
      "/k/config");
  const Access again = access_from(kubeconfig_of(access), "sent");
  ASSERT_TRUE(again.user.exec);
  EXPECT_EQ(again.user.exec->command, "aws");
  EXPECT_THAT(again.user.exec->args, ElementsAre("eks", "get-token"));
  EXPECT_EQ(again.user.exec->env, access.user.exec->env);
  EXPECT_TRUE(again.user.exec->provide_cluster_info);
  EXPECT_FALSE(again.cluster.verify);
  EXPECT_EQ(again.cluster.exec_config, access.cluster.exec_config);
}

TEST(SelfContained, OnlyProgramsThatAreAllowedMayRun) {
  const Access access = access_from(
      with("{server: 'https://h'}",
           "{exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: ./aws}}"),
      "/k/config");
  const std::vector<std::string> by_name = {"aws"};
  const std::vector<std::string> by_path = {"/k/aws"};
  const Status refused = check_plugin(access, by_name);
  ASSERT_FALSE(refused.ok()) << "a path is another program than that of the name";
  EXPECT_THAT(refused.error().message, HasSubstr("/k/aws"));
  EXPECT_TRUE(check_plugin(access, by_path).ok());
  EXPECT_TRUE(check_plugin(access_from(with("{server: 'https://h'}", "{token: t}"), "f"), {}).ok());
}

TEST(SelfContained, AnEnvironmentThatChangesWhichCodeRunsIsRefused) {
  const std::vector<std::string> allowed = {"aws"};
  Access access;
  access.user.name = "me";
  const auto refusal = [&](const std::string& name) {
    access.user.exec = ExecPlugin{.command = "aws", .env = {{"AWS_PROFILE", "p"}, {name, "x"}}};
    const Status checked = check_plugin(access, allowed);
    return checked ? std::string("fine") : checked.error().message;
  };
  for (const char* name : {"PATH", "LD_PRELOAD", "LD_LIBRARY_PATH", "BASH_ENV", "ENV", "PYTHONPATH",
                           "PERL5LIB", "NODE_OPTIONS", "RUBYOPT", "OPENSSL_CONF", "CLOUDSDK_PYTHON",
                           "", "LD_PRELOAD=/x", "BASH_FUNC_aws%%", "AWS_CONFIG_FILE",
                           "XDG_CONFIG_HOME", "AZURE_CONFIG_DIR", "KUBECONFIG"}) {
    EXPECT_THAT(refusal(name), AllOf(HasSubstr("users[me].exec.env: "), HasSubstr(name),
                                     HasSubstr("take it out of the kubeconfig")));
  }
  for (const char* name :
       {"AWS_REGION", "AZURE_TENANT_ID", "HTTPS_PROXY", "no_proxy", "ENVIRONMENT", "MY_PATH"})
    EXPECT_EQ(refusal(name), "fine") << name;
}

TEST(SelfContained, AFileThatIsNotThereIsNamedWithItsField) {
  const auto copied = copy_files(access_from(
      with("{server: 'https://h', certificate-authority: none.crt}", "{token: t}"), "/k/config"));
  ASSERT_FALSE(copied.ok());
  EXPECT_THAT(copied.error().message, HasSubstr("clusters[east].certificate-authority: "));
  EXPECT_THAT(copied.error().message, HasSubstr("/k/none.crt"));
}

}  // namespace
}  // namespace muster::kube
