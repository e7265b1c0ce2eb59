#include "model/selector.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace muster::model {
namespace {

using Values = std::vector<std::string>;

TEST(Requirement, HoldsExactlyWhenItDoesInKubernetes) {
  const Labels labels = {{"zone", "a"},    {"empty", ""},    {"gen", "7"},
                         {"signed", "+7"}, {"minus", "-7"},  {"float", "7.5"},
                         {"hex", "0x8"},   {"zeros", "007"}, {"huge", "9223372036854775808"}};
  struct Case {
    std::string_view key;
    Operator op;
    Values values;
    bool holds;
  };
  const Case cases[] = {
      {"zone", Operator::In, {"a"}, true},
      {"zone", Operator::In, {"b", "a"}, true},
      {"zone", Operator::In, {"b"}, false},
      {"zone", Operator::In, {}, false},
      {"zone", Operator::In, {"A"}, false},
      {"empty", Operator::In, {""}, true},
      {"missing", Operator::In, {""}, false},
      {"zone", Operator::NotIn, {"a"}, false},
      {"zone", Operator::NotIn, {"b"}, true},
      {"zone", Operator::NotIn, {}, true},
      {"missing", Operator::NotIn, {"a"}, true},
      {"zone", Operator::Exists, {}, true},
      {"empty", Operator::Exists, {}, true},
      {"missing", Operator::Exists, {}, false},
      {"zone", Operator::DoesNotExist, {}, false},
      {"empty", Operator::DoesNotExist, {}, false},
      {"missing", Operator::DoesNotExist, {}, true},
      {"gen", Operator::Gt, {"6"}, true},
      {"gen", Operator::Gt, {"7"}, false},
      {"gen", Operator::Gt, {"-8"}, true},
      {"gen", Operator::Gt, {"10"}, false},  // as numbers, not as text
      {"gen", Operator::Lt, {"8"}, true},
      {"gen", Operator::Lt, {"7"}, false},
      {"gen", Operator::Lt, {"10"}, true},
      {"signed", Operator::Gt, {"6"}, true},
      {"minus", Operator::Lt, {"0"}, true},
      {"zeros", Operator::Gt, {"6"}, true},
      {"float", Operator::Gt, {"6"}, false},
      {"float", Operator::Lt, {"8"}, false},
      {"hex", Operator::Gt, {"6"}, false},
      {"huge", Operator::Gt, {"6"}, false},
      {"zone", Operator::Gt, {"6"}, false},
      {"empty", Operator::Lt, {"6"}, false},
      {"missing", Operator::Gt, {"6"}, false},
      {"missing", Operator::Lt, {"6"}, false},
      {"gen", Operator::Gt, {"x"}, false},
      {"gen", Operator::Gt, {}, false},
      {"gen", Operator::Gt, {"5", "6"}, false},
  };
  for (const Case& c : cases) {
    const Requirement requirement{std::string(c.key), c.op, c.values};
    EXPECT_EQ(matches(requirement, labels), c.holds)
        << c.key << " " << to_text(c.op) << " " << (c.values.empty() ? "" : c.values[0]);
  }
}

TEST(WholeNumber, IsReadAsGoReadsIt) {
  EXPECT_EQ(whole_number("-9223372036854775808"), INT64_MIN);
  EXPECT_EQ(whole_number("+9223372036854775807"), INT64_MAX);
  EXPECT_EQ(whole_number("-0"), 0);
  for (const std::string_view text : {"", "+", "-", "+-1", "-+1", "++1", " 1", "1 ", "1e3", "1_0",
                                      "9223372036854775808", "-9223372036854775809"}) {
    EXPECT_EQ(whole_number(text), std::nullopt) << text;
  }
}

TEST(NodeTerm, NeedsAllItsExpressionsAndFields) {
  const Labels labels = {{"gpu", "A100"}, {"zone", "a"}};
  const Requirement a100{"gpu", Operator::In, {"A100"}};
  const Requirement zone_b{"zone", Operator::In, {"b"}};
  const Requirement is_n1{"metadata.name", Operator::In, {"n1"}};
  const Requirement not_n1{"metadata.name", Operator::NotIn, {"n1"}};
  EXPECT_TRUE(matches(NodeTerm{{a100}, {}}, labels, "n1"));
  EXPECT_TRUE(matches(NodeTerm{{a100}, {is_n1}}, labels, "n1"));
  EXPECT_TRUE(matches(NodeTerm{{}, {is_n1}}, labels, "n1"));
  EXPECT_TRUE(matches(NodeTerm{{}, {not_n1}}, labels, "n2"));
  EXPECT_FALSE(matches(NodeTerm{{a100, zone_b}, {}}, labels, "n1"));
  EXPECT_FALSE(matches(NodeTerm{{a100}, {is_n1}}, labels, "n2"));
  EXPECT_FALSE(matches(NodeTerm{{a100}, {not_n1}}, labels, "n1"));
}

TEST(NodeTerm, WithoutAnyRequirementMatchesNoNode) {
  EXPECT_FALSE(matches(NodeTerm{}, {{"zone", "a"}}, "n1"));
}

TEST(NodeTerm, KnowsNoFieldButTheName) {
  const Labels labels = {{"metadata.namespace", "x"}, {"metadata.name", "label"}};
  EXPECT_FALSE(matches(NodeTerm{{}, {{"metadata.namespace", Operator::In, {"x"}}}}, labels, "n1"));
  EXPECT_FALSE(
      matches(NodeTerm{{}, {{"metadata.namespace", Operator::NotIn, {"y"}}}}, labels, "n1"));
  EXPECT_FALSE(matches(NodeTerm{{}, {{"metadata.name", Operator::Exists, {}}}}, labels, "n1"));
  EXPECT_FALSE(matches(NodeTerm{{}, {{"metadata.name", Operator::In, {"label"}}}}, labels, "n1"));
}

TEST(LabelSelector, SelectsPodsThatHaveAllItsLabelsAndMeetAllItsExpressions) {
  const Labels pod = {{"app", "web"}, {"tier", "front"}};
  EXPECT_TRUE(matches(LabelSelector{{{"app", "web"}}, {}}, pod));
  EXPECT_TRUE(matches(LabelSelector{{{"app", "web"}}, {{"tier", Operator::Exists, {}}}}, pod));
  EXPECT_FALSE(matches(LabelSelector{{{"app", "db"}}, {}}, pod));
  EXPECT_FALSE(matches(LabelSelector{{{"team", "x"}}, {}}, pod));
  EXPECT_FALSE(
      matches(LabelSelector{{{"app", "web"}}, {{"tier", Operator::NotIn, {"front"}}}}, pod));
}

TEST(LabelSelector, SelectsEveryPodWhenEmpty) {
  EXPECT_TRUE(matches(LabelSelector{}, {}));
  EXPECT_TRUE(matches(LabelSelector{}, {{"app", "web"}}));
}

TEST(Toleration, CoversATaintExactlyWhenItDoesInKubernetes) {
  const Taint gpu{"gpu", "yes", TaintEffect::NoSchedule};
  const Taint bare{"gpu", "", TaintEffect::NoExecute};
  struct Case {
    Toleration toleration;
    Taint taint;
    bool covers;
  };
  const Case cases[] = {
      {{.key = "gpu", .exists = false, .value = "yes", .effect = ""}, gpu, true},
      {{.key = "gpu", .exists = false, .value = "yes", .effect = "NoSchedule"}, gpu, true},
      {{.key = "gpu", .exists = false, .value = "yes", .effect = "NoExecute"}, gpu, false},
      {{.key = "gpu", .exists = false, .value = "no", .effect = ""}, gpu, false},
      {{.key = "cpu", .exists = false, .value = "yes", .effect = ""}, gpu, false},
      {{.key = "gpu", .exists = false, .value = "", .effect = ""}, gpu, false},
      {{.key = "gpu", .exists = false, .value = "", .effect = ""}, bare, true},
      {{.key = "gpu", .exists = true, .value = "", .effect = ""}, gpu, true},
      {{.key = "gpu", .exists = true, .value = "", .effect = "NoExecute"}, gpu, false},
      {{.key = "", .exists = true, .value = "", .effect = ""}, gpu, true},
      {{.key = "", .exists = true, .value = "", .effect = "NoExecute"}, gpu, false},
      {{.key = "", .exists = true, .value = "", .effect = "NoExecute"}, bare, true},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(tolerates(c.toleration, c.taint), c.covers)
        << c.toleration.key << "=" << c.toleration.value << ":" << c.toleration.effect;
  }
}

TEST(Toleration, IsNeededForEveryTaintThatForbids) {
  const Toleration gpu{.key = "gpu", .exists = true, .value = "", .effect = ""};
  const Toleration team{.key = "team", .exists = false, .value = "x", .effect = ""};
  const Taint gpu_taint{"gpu", "", TaintEffect::NoSchedule};
  const Taint team_taint{"team", "x", TaintEffect::NoExecute};
  const Taint soft{"spot", "", TaintEffect::PreferNoSchedule};
  EXPECT_TRUE(tolerates_all({}, {}));
  EXPECT_TRUE(tolerates_all({}, {soft}));
  EXPECT_FALSE(tolerates_all({}, {gpu_taint}));
  EXPECT_FALSE(tolerates_all({gpu}, {gpu_taint, team_taint}));
  EXPECT_FALSE(tolerates_all({gpu}, {soft, team_taint}));
  EXPECT_TRUE(tolerates_all({gpu, team}, {team_taint, soft, gpu_taint}));
}

TEST(Names, OfOperatorsAndEffectsAreReadBack) {
  for (const Operator op : {Operator::In, Operator::NotIn, Operator::Exists, Operator::DoesNotExist,
                            Operator::Gt, Operator::Lt}) {
    EXPECT_EQ(*parse_operator(to_text(op), "operator"), op);
  }
  for (const TaintEffect effect :
       {TaintEffect::NoSchedule, TaintEffect::PreferNoSchedule, TaintEffect::NoExecute}) {
    EXPECT_EQ(*parse_effect(to_text(effect), "effect"), effect);
  }
}

TEST(Names, OfOperatorsAndEffectsAreSuggestedWhenMistyped) {
  EXPECT_EQ(parse_operator("Notin", "operator").error().message,
            "operator: unknown: 'Notin'; did you mean NotIn?");
  EXPECT_EQ(
      parse_operator("matches-regex", "operator").error().message,
      "operator: unknown: 'matches-regex'; use one of In, NotIn, Exists, DoesNotExist, Gt, Lt");
  EXPECT_EQ(parse_effect("NoScheduel", "effect").error().message,
            "effect: unknown: 'NoScheduel'; did you mean NoSchedule?");
  EXPECT_FALSE(parse_effect("", "effect").ok());
}

}  // namespace
}  // namespace muster::model
