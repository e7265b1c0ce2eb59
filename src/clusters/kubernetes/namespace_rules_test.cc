#include "clusters/kubernetes/namespace_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/json.h"
#include "kube/yaml.h"

namespace muster::clusters {
namespace {

using ::testing::HasSubstr;

boost::json::value yaml(std::string_view text) {
  const auto read = kube::parse_yaml(text);
  EXPECT_TRUE(read.ok()) << text;
  return read->at(0);
}

boost::json::value pod(const std::string& resources) {
  return yaml("{spec: {priorityClassName: muster, containers: [{name: a, resources: {" + resources +
              "}}]}}");
}

NamespaceRules with_quota(const std::string& spec, const std::string& used = "{}") {
  NamespaceRules rules;
  rules.quotas.push_back(quota_sight_of(
      yaml("{metadata: {name: q}, spec: " + spec + ", status: {used: " + used + "}}")));
  return rules;
}

NamespaceRules with_range(const std::string& limits) {
  NamespaceRules rules;
  rules.limits = limit_rules_of(yaml("{metadata: {name: r}, spec: {limits: [" + limits + "]}}"));
  return rules;
}

/// "" when it is allowed.
std::string refusal(const NamespaceRules& rules, const std::string& resources, int count = 2) {
  const auto status = check_namespace(rules, {{pod(resources), count}}, {{"count/jobs.batch", 1}});
  return status ? "" : status.error().message;
}

TEST(NamespaceRules, AQuotaWithoutRoomSaysWhichAndHowMuch) {
  const struct {
    const char* spec;
    const char* used;
    const char* resources;
    const char* words;  // "": allowed
  } cases[] = {
      {"{hard: {pods: 3}}", "{pods: 1}", "", ""},
      {"{hard: {pods: 3}}", "{pods: 2}", "", "quota q has no room: 2 pods wanted, 2 of 3 are used"},
      {"{hard: {pods: 1}}", "{}", "", "quota q allows 1 pods in all, the job wants 2"},
      {"{hard: {requests.cpu: 4}}", "{requests.cpu: 1}", "requests: {cpu: 1500m}", ""},
      {"{hard: {cpu: 4}}", "{cpu: 1500m}", "requests: {cpu: 1500m}",
       "quota q has no room: 3 cpu wanted, 1500m of 4 are used"},
      {"{hard: {requests.nvidia.com/gpu: 4}}", "{requests.nvidia.com/gpu: 3}",
       "limits: {nvidia.com/gpu: 1}", "2 requests.nvidia.com/gpu wanted, 3 of 4 are used"},
      {"{hard: {limits.memory: 4Gi}}", "{}", "limits: {memory: 2Gi}", ""},
      {"{hard: {limits.memory: 4Gi}}", "{}", "requests: {memory: 2Gi}",
       "every container must say how much"},
      {"{hard: {requests.cpu: 4}}", "{}", "",
       "every container must say how much it wants, and a does not"},
      {"{hard: {requests.cpu: 4}}", "{}", "requests: {cpu: 0}", ""},
      {"{hard: {count/jobs.batch: 5}}", "{count/jobs.batch: 5}", "",
       "1 count/jobs.batch wanted, 5 of 5 are used"},
      {"{hard: {pods: 0}, scopes: [Terminating]}", "{}", "", ""},
      {"{hard: {pods: 0}, scopes: [BestEffort]}", "{}", "", "allows 0 pods"},
      {"{hard: {pods: 0}, scopes: [BestEffort]}", "{}", "requests: {cpu: 1}", ""},
      {"{hard: {pods: 0}, scopes: [NotBestEffort]}", "{}", "requests: {cpu: 1}", "allows 0 pods"},
      {"{hard: {pods: 0}, scopeSelector: {matchExpressions: [{scopeName: PriorityClass, operator:"
       " In, values: [high]}]}}",
       "{}", "", ""},
      {"{hard: {pods: 0}, scopeSelector: {matchExpressions: [{scopeName: PriorityClass, operator:"
       " In, values: [muster]}]}}",
       "{}", "", "allows 0 pods"},
  };
  for (const auto& c : cases) {
    const std::string words = refusal(with_quota(c.spec, c.used), c.resources);
    if (*c.words == '\0') {
      EXPECT_EQ(words, "") << c.spec;
    } else {
      EXPECT_THAT(words, HasSubstr(c.words)) << c.spec;
    }
  }
}

TEST(NamespaceRules, AQuotaWantsAnAmountOfEveryContainerUnlessThePodSaysIt) {
  const auto words = [](const std::string& spec) {
    const auto status = check_namespace(with_quota("{hard: {requests.cpu: 9}}"),
                                        {{yaml("{spec: " + spec + "}")}}, {});
    return status ? "" : status.error().message;
  };
  const std::string containers = "containers: [{name: a, resources: {requests: {cpu: 1}}}]";
  EXPECT_EQ(words("{" + containers + "}"), "");
  EXPECT_THAT(words("{initContainers: [{name: i}], " + containers + "}"),
              HasSubstr("and i does not"));
  EXPECT_EQ(
      words("{resources: {requests: {cpu: 2}}, initContainers: [{name: i}], " + containers + "}"),
      "");
}

TEST(NamespaceRules, TheOverheadOfARuntimeClassCountsInQuotasAndNotInLimitRanges) {
  const boost::json::object overhead = {{"cpu", "500m"}, {"memory", "64Mi"}};
  const auto words = [&](const NamespaceRules& rules, const std::string& resources) {
    const auto asks = check_namespace(rules, {{pod(resources), 2, overhead}}, {});
    return asks ? "" : asks.error().message;
  };
  const NamespaceRules quota = with_quota("{hard: {requests.cpu: 2500m}}");
  EXPECT_EQ(words(quota, "requests: {cpu: 750m}"), "");
  EXPECT_THAT(words(quota, "requests: {cpu: 1}"), HasSubstr("the job wants 3"));
  EXPECT_EQ(words(with_range("{type: Pod, max: {cpu: 1}}"), "limits: {cpu: 1}"), "");
  EXPECT_THAT(words(with_quota("{hard: {pods: 0}, scopes: [BestEffort]}"), ""),
              HasSubstr("allows 0 pods"));
}

TEST(NamespaceRules, NoRoomIsForNowAndWhatMustBeSaidIsForEver) {
  const auto fault = [](const NamespaceRules& rules) {
    return check_namespace(rules, {{pod(""), 2}}, {}).error().fault;
  };
  EXPECT_EQ(fault(with_quota("{hard: {pods: 1}}")), Fault::Conflict);
  EXPECT_EQ(fault(with_quota("{hard: {requests.cpu: 1}}")), Fault::Invalid);
}

TEST(NamespaceRules, ALimitRangeRefusesWhatIsAboveOrBelow) {
  const NamespaceRules rules = with_range(
      "{type: Container, max: {cpu: 2}, min: {memory: 1Gi}}, {type: Pod, max: {cpu: 3}}");
  EXPECT_EQ(refusal(rules, "limits: {cpu: 2, memory: 1Gi}"), "");
  EXPECT_THAT(refusal(rules, "limits: {cpu: 4, memory: 1Gi}"),
              HasSubstr("container a: 4 of cpu is above the 2 that LimitRange r allows"));
  EXPECT_THAT(refusal(rules, "limits: {cpu: 1, memory: 1Mi}"),
              HasSubstr("1Mi of memory is below the 1Gi that LimitRange r wants"));
  EXPECT_THAT(refusal(rules, "requests: {cpu: 1, memory: 1Gi}"),
              HasSubstr("has no limit of cpu; LimitRange r wants one of at most 2"));
}

TEST(NamespaceRules, ALimitRangeMayBoundTheLimitByTheRequest) {
  const NamespaceRules rules =
      with_range("{type: Container, maxLimitRequestRatio: {cpu: '1.5', memory: 2}}");
  EXPECT_EQ(refusal(rules, "requests: {cpu: 2, memory: 1Gi}, limits: {cpu: 3, memory: 2Gi}"), "");
  EXPECT_THAT(refusal(rules, "requests: {cpu: 2, memory: 1Gi}, limits: {cpu: 4, memory: 2Gi}"),
              HasSubstr("container a: limit 4 of cpu to request 2 is above the ratio of 1500m that "
                        "LimitRange r allows"));
  EXPECT_THAT(refusal(rules, "requests: {cpu: 2, memory: 1Gi}, limits: {cpu: 2}"),
              HasSubstr("limit 0 of memory to request 1Gi"));
}

TEST(NamespaceRules, DefaultsCountAgainstTheQuota) {
  NamespaceRules rules =
      with_range("{type: Container, default: {cpu: 2, memory: 2Gi}, defaultRequest: {cpu: 1}}");
  boost::json::value one = pod("");
  put_defaults(one, rules.limits);
  const auto& container = kube::items_at(one, {"spec", "containers"}).at(0);
  EXPECT_EQ(kube::text_at(container, {"resources", "requests", "cpu"}), "1");
  EXPECT_EQ(kube::text_at(container, {"resources", "limits", "cpu"}), "2");
  EXPECT_EQ(kube::text_at(container, {"resources", "requests", "memory"}), "2Gi");
  rules.quotas = with_quota("{hard: {requests.cpu: 3, limits.cpu: 3}}").quotas;
  EXPECT_THAT(refusal(rules, ""), HasSubstr("quota q allows 3 limits.cpu in all, the job wants 4"));
}

TEST(NamespaceRules, OfCommandsTheirJobsAndPodsAreCounted) {
  const std::vector<boost::json::value> objects = {
      yaml("{apiVersion: v1, kind: Service, metadata: {name: s}, spec: {}}"),
      yaml("{apiVersion: batch/v1, kind: Job, spec: {completions: 3, template: {spec: {}}}}")};
  EXPECT_EQ(counted(objects),
            (std::map<std::string, std::int64_t>{
                {"count/jobs.batch", 1}, {"count/services", 1}, {"services", 1}}));
  const auto one = [](const std::string& version, const std::string& kind) {
    return counted({yaml("{apiVersion: " + version + ", kind: " + kind + "}")}).begin()->first;
  };
  EXPECT_EQ(one("networking.k8s.io/v1", "Ingress"), "count/ingresses.networking.k8s.io");
  EXPECT_EQ(one("networking.k8s.io/v1", "NetworkPolicy"),
            "count/networkpolicies.networking.k8s.io");
  EXPECT_EQ(one("example.com/v1", "Proxy"), "count/proxies.example.com");
  EXPECT_EQ(one("example.com/v1", "Gateway"), "count/gateways.example.com");
  EXPECT_EQ(one("example.com/v1", "Mesh"), "count/meshes.example.com");
  ASSERT_EQ(pods_of_jobs(objects).size(), 1U);
  EXPECT_EQ(pods_of_jobs(objects)[0].count, 3);
}

}  // namespace
}  // namespace muster::clusters
