// What `muster cluster join` asks of the server, and with which kubeconfig.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/testing/scripted.h"

namespace muster::cli::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kubeconfig = "tests/cli/kubeconfig.yaml";

/// Answers that nothing is missing; `same_as` is the cluster that it is already.
json::value script(std::string_view same_as = "") {
  const json::object check{
      {"name", "east"},
      {"reachable", true},
      {"reason", nullptr},
      {"version", "v1.34.4"},
      {"user", "jane"},
      {"same_as", same_as.empty() ? json::value(nullptr) : json::value(same_as)},
      {"missing", json::array()},
      {"wanted", json::array{"get pods/log in namespace muster"}},
      {"rbac", ""}};
  return json::array{
      json::object{{"ask", "POST /clusters/check"}, {"body", check}},
      json::object{
          {"ask", "POST /clusters"}, {"status", 201}, {"body", json::object{{"name", "east"}}}}};
}

/// A command and what it asked.
struct Joining {
  explicit Joining(std::string_view same_as = "") : server(script(same_as)) {}

  Outcome run(std::vector<std::string> words) {
    words.insert(words.begin(), {"cluster", "join"});
    Outcome outcome;
    Host host = quiet_host(outcome, server.url());
    host.variable = [this, other = host.variable](const std::string& name) {
      return name == "KUBECONFIG" ? variable : other(name);
    };
    host.read_file = [other = host.read_file](const std::string& path) -> Result<std::string> {
      if (path != "cluster.yaml") return other(path);
      return std::string("name: east\ntype: simulated\nnodes: [{count: 1, cpu: 8}]\n");
    };
    return run_command(host, outcome, std::move(words));
  }
  std::vector<std::string> asked() const {
    std::vector<std::string> targets;
    for (const Seen& seen : server.seen()) targets.push_back(seen.target);
    return targets;
  }

  ScriptedServer server;
  std::string variable;
};

TEST(ClusterJoin, a_dry_run_of_a_file_joins_nothing) {
  Joining joining;
  const Outcome outcome = joining.run({"-f", "cluster.yaml", "--dry-run"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("east: can be joined"));
  EXPECT_THAT(joining.asked(), ElementsAre("POST /clusters/check"));
}

TEST(ClusterJoin, a_file_is_joined_unchecked_if_asked_for) {
  Joining joining;
  EXPECT_EQ(joining.run({"-f", "cluster.yaml", "--unchecked"}).code, 0);
  EXPECT_THAT(joining.asked(), ElementsAre("POST /clusters?unchecked=true"));
}

TEST(ClusterJoin, options_that_would_be_passed_over_are_refused) {
  Joining joining;
  const auto refusal = [&](std::vector<std::string> words) {
    const Outcome outcome = joining.run(std::move(words));
    EXPECT_EQ(outcome.code, 2);
    return outcome.err;
  };
  EXPECT_EQ(refusal({"-f", "cluster.yaml", "--namespace", "n"}),
            "muster: --namespace: cannot stand beside -f; write it into cluster.yaml\n");
  EXPECT_THAT(refusal({"-f", "cluster.yaml", "--namespaces", "a,b"}), HasSubstr("--namespaces: "));
  EXPECT_THAT(refusal({"-f", "cluster.yaml", "--image", "i"}), HasSubstr("--image: "));
  EXPECT_THAT(refusal({"-f", "cluster.yaml", "--kubeconfig", kubeconfig}),
              HasSubstr("--kubeconfig: "));
  EXPECT_THAT(refusal({"here", "--type", "local", "--image", "i"}),
              HasSubstr("--image: is not for clusters of type local"));
  EXPECT_THAT(refusal({"--kubeconfig", kubeconfig, "--slots", "4"}), HasSubstr("--slots: "));
  EXPECT_THAT(refusal({"--kubeconfig", kubeconfig, "--dry-run", "--unchecked"}),
              HasSubstr("exclude each other"));
  EXPECT_TRUE(joining.asked().empty());
}

TEST(ClusterJoin, without_a_file_the_kubeconfig_is_kubectls) {
  for (const auto& words : {std::vector<std::string>{"mine"},
                            std::vector<std::string>{"mine", "--type", "kubernetes"}}) {
    Joining joining;
    joining.variable = kubeconfig;
    const Outcome outcome = joining.run(words);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("mine: joined (Kubernetes v1.34.4, as jane)"));
    EXPECT_THAT(joining.asked(), ElementsAre("POST /clusters/check", "POST /clusters"));
    EXPECT_THAT(joining.server.seen().back().body, HasSubstr("https://10.0.0.8:6443"));
  }
}

TEST(ClusterJoin, a_dry_run_of_one_that_is_joined_says_what_it_lacks) {
  Joining joining("prod");
  Outcome outcome = joining.run({"--kubeconfig", kubeconfig, "--dry-run"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.out,
            "east: is joined already, as prod (Kubernetes v1.34.4, as jane)\n"
            "  missing, works without:  get pods/log in namespace muster\n");
  outcome = joining.run({"--kubeconfig", kubeconfig});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.out, HasSubstr("east: not joined: is joined already, as prod"));
}

TEST(ClusterJoin, the_check_is_told_of_the_kinds_that_lists_may_have) {
  Joining joining;
  joining.run({"--kubeconfig", kubeconfig, "--dry-run", "--objects", "--kinds", "JobSet,Service"});
  EXPECT_THAT(joining.asked(),
              ElementsAre("POST /clusters/check?objects=true&kinds=JobSet%2CService"));
}

}  // namespace
}  // namespace muster::cli::testing
