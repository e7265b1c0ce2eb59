#include "kube/exec_credential.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "kube/json.h"
#include "kube/testing/folder.h"
#include "kube/timestamp.h"

namespace muster::kube {
namespace {

using ::testing::AllOf;
using testing::Folder;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* v1 = "client.authentication.k8s.io/v1";
constexpr const char* v1beta1 = "client.authentication.k8s.io/v1beta1";

std::string answer(std::string_view status, std::string_view version = v1) {
  return fmt::format(R"({{"apiVersion":"{}","kind":"ExecCredential","status":{}}})", version,
                     status);
}

TEST(ExecCredential, ATokenWithItsExpiryIsRead) {
  const auto credential = parse_exec_credential(
      answer(R"({"token":"t","expirationTimestamp":"2026-01-31T12:00:00Z"})"), v1);
  ASSERT_TRUE(credential.ok()) << credential.error().message;
  EXPECT_EQ(credential->token, "t");
  EXPECT_EQ(credential->expires, parse_timestamp("2026-01-31T12:00:00Z", "").value());
}

TEST(ExecCredential, WrongAnswersAreErrorsWithoutTheirSecrets) {
  const auto refusal = [](std::string_view output) -> std::string {
    const auto credential = parse_exec_credential(output, v1);
    return credential ? "fine" : credential.error().message;
  };
  EXPECT_EQ(refusal("secret"), "printed no JSON object");
  EXPECT_EQ(refusal(R"({"kind":"Pod"})"), "printed kind 'Pod', not ExecCredential");
  EXPECT_THAT(refusal(answer(R"({"token":"secret"})", v1beta1)),
              AllOf(HasSubstr("but the kubeconfig says"), Not(HasSubstr("secret"))));
  EXPECT_EQ(refusal(R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1"})"),
            "printed no status");
  EXPECT_THAT(refusal(answer("{}")), HasSubstr("neither token nor"));
  EXPECT_THAT(refusal(answer(R"({"clientKeyData":"k"})")), HasSubstr("come together"));
  EXPECT_THAT(refusal(answer(R"({"token":"secret","expirationTimestamp":"soon"})")),
              AllOf(HasSubstr("expirationTimestamp"), Not(HasSubstr("secret"))));
}

TEST(ExecCredential, ThePluginIsToldItsVersionAndTheClusterWhenItAsks) {
  ExecPlugin plugin{.api_version = v1beta1, .command = "x"};
  ClusterEntry cluster{.server = "https://h:1", .tls_server_name = "n"};
  cluster.ca.data = "PEM";
  cluster.exec_config = boost::json::parse(R"({"audience":7})");
  EXPECT_EQ(exec_info(plugin, cluster),
            R"({"apiVersion":"client.authentication.k8s.io/v1beta1","kind":"ExecCredential",)"
            R"("spec":{"interactive":false}})");
  plugin.provide_cluster_info = true;
  const auto info = boost::json::parse(exec_info(plugin, cluster));
  EXPECT_EQ(text_at(info, {"spec", "cluster", "server"}), "https://h:1");
  EXPECT_EQ(text_at(info, {"spec", "cluster", "certificate-authority-data"}), "UEVN");
  EXPECT_EQ(integer_at(info, {"spec", "cluster", "config", "audience"}), 7);
}

TEST(ExecCredential, ThePluginRunsWithItsArgumentsAndEnvironment) {
  Folder folder;
  UserEntry user{.name = "u", .origin = "f"};
  user.exec =
      ExecPlugin{.api_version = v1,
                 .command = folder.script("plugin",
                                          "printf '%s' \"$KUBERNETES_EXEC_INFO\" > \"$OUT\"\n"
                                          "echo '" +
                                              answer(R"({"token":"'$1'"})") + "'\n"),
                 .args = {"word"},
                 .env = {{"OUT", folder.path("info")}}};
  const auto credential = run_exec_plugin(user, {});
  ASSERT_TRUE(credential.ok()) << credential.error().message;
  EXPECT_EQ(credential->token, "word");
  EXPECT_THAT(folder.read("info"), HasSubstr(R"("kind":"ExecCredential")"));
}

TEST(ExecCredential, FailuresNameTheUserAndTheHint) {
  Folder folder;
  UserEntry user{.name = "u", .origin = "f"};
  user.exec = ExecPlugin{
      .api_version = v1, .command = folder.path("nothing"), .install_hint = "install it with apt"};
  EXPECT_THAT(run_exec_plugin(user, {}).error().message,
              AllOf(HasSubstr("f: users[u].exec: "), HasSubstr("; install it with apt")));
  user.exec->command = folder.script("fails", "echo secret; echo 'token expired' >&2; exit 7");
  EXPECT_THAT(run_exec_plugin(user, {}).error().message,
              AllOf(HasSubstr("ended with code 7: token expired"), Not(HasSubstr("secret"))));
}

TEST(Timestamp, ReadsWhatItWritesAndWhatOthersWrite) {
  const auto ms = [](std::string_view text) {
    const auto time = parse_timestamp(text, "at");
    return time ? time->ms : -1;
  };
  EXPECT_EQ(ms("1970-01-01T00:00:01Z"), 1000);
  EXPECT_EQ(ms("2026-01-31T12:00:00.123456Z"), ms("2026-01-31T12:00:00Z") + 123);
  EXPECT_EQ(ms("2026-01-31T14:30:00+02:30"), ms("2026-01-31T12:00:00Z"));
  EXPECT_EQ(to_timestamp(Time{ms("2024-02-29T23:59:59Z")}), "2024-02-29T23:59:59Z");
  EXPECT_EQ(to_micro_timestamp(Time{1500}), "1970-01-01T00:00:01.500000Z");
  for (const char* wrong : {"", "2026", "2025-02-29T00:00:00Z", "2026-01-31T25:00:00Z",
                            "2026-01-31T12:00:00", "2026-01-31T12:00:00Zx", "2026-01-31 12:00"}) {
    EXPECT_EQ(ms(wrong), -1) << wrong;
  }
}

}  // namespace
}  // namespace muster::kube
