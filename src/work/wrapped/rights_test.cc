#include "work/wrapped/rights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "kube/json.h"

namespace muster::work {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

AppWrapper wrapping(std::string_view api_version, std::string_view kind) {
  AppWrapper wrapper;
  WrappedItem& item = wrapper.items.emplace_back();
  item.field = "spec.components[0].template";
  item.object = {{"apiVersion", api_version}, {"kind", kind}};
  return wrapper;
}

TEST(Rights, KindsAreNamedWithTheirGroup) {
  EXPECT_TRUE(check_kinds(wrapping("batch/v1", "Job"), {"Pod", "batch/Job"}).ok());
  EXPECT_TRUE(check_kinds(wrapping("v1", "Pod"), {"Pod", "batch/Job"}).ok());
  EXPECT_FALSE(check_kinds(wrapping("example.com/v1", "Job"), {"Pod", "batch/Job"}).ok());
  EXPECT_FALSE(check_kinds(wrapping("example.com/v1", "Pod"), {"Pod", "batch/Job"}).ok());
}

TEST(Rights, AStarAllowsAll) {
  EXPECT_TRUE(check_kinds(wrapping("example.com/v1", "Widget"), {"*"}).ok());
}

TEST(Rights, ARefusalNamesTheItemAndTheFix) {
  const Status no = check_kinds(wrapping("rbac.authorization.k8s.io/v1", "Role"), usual_kinds());
  ASSERT_FALSE(no.ok());
  EXPECT_EQ(no.error().message,
            "spec.components[0].template: rbac.authorization.k8s.io/Role is not among the kinds "
            "that AppWrappers may wrap here; its administrator may add it to appwrappers.kinds");
}

TEST(Rights, TheUsualKindsGiveNoRights) {
  EXPECT_THAT(usual_kinds(), Contains("ray.io/RayCluster"));
  EXPECT_THAT(usual_kinds(), Not(Contains(HasSubstr("rbac"))));
  EXPECT_THAT(usual_kinds(), Not(Contains("ServiceAccount")));
}

TEST(Rights, ThePolicyAsksForEveryUsualKindAndItsBindingDenies) {
  const auto made = creators_policy();
  ASSERT_EQ(made.size(), 2U);
  const std::string policy = boost::json::serialize(made[0]);
  for (const std::string& kind : usual_kinds())
    EXPECT_THAT(policy, HasSubstr("!('" + kind + "' in variables.kinds)"));
  EXPECT_EQ(kube::text_at(made[1], {"spec", "policyName"}), creators_policy_name);
  EXPECT_THAT(boost::json::serialize(made[1]), HasSubstr(R"("validationActions":["Deny"])"));
}

TEST(Rights, AnInstalledPolicyIsTheSameUnlessSomebodyMakesItCheckLess) {
  const auto wanted = creators_policy();
  const auto is_same_with = [&](std::size_t which, kube::Path path, boost::json::value value) {
    boost::json::value there = wanted[which];
    kube::set_at(there, path, std::move(value));
    return is_as_installed(there, wanted[which]);
  };
  const boost::json::object none;
  EXPECT_TRUE(is_as_installed(wanted[0], wanted[0]) && is_as_installed(wanted[1], wanted[1]));
  EXPECT_FALSE(is_as_installed(wanted[1], wanted[0]));
  EXPECT_FALSE(is_as_installed(none, wanted[0]));
  // As API servers write it.
  EXPECT_TRUE(is_same_with(0, {"metadata", "generation"}, 1));
  EXPECT_TRUE(is_same_with(0, {"status"}, {{"observedGeneration", 1}}));
  EXPECT_TRUE(is_same_with(0, {"spec", "matchConstraints", "matchPolicy"}, "Equivalent"));
  EXPECT_TRUE(is_same_with(0, {"spec", "matchConstraints", "namespaceSelector"}, none));
  boost::json::value scoped = wanted[0];
  scoped.at_pointer("/spec/matchConstraints/resourceRules/0").as_object()["scope"] = "*";
  EXPECT_TRUE(is_as_installed(scoped, wanted[0]));
  // As somebody might.
  scoped.at_pointer("/spec/matchConstraints/resourceRules/0").as_object()["scope"] = "Cluster";
  EXPECT_FALSE(is_as_installed(scoped, wanted[0]));
  EXPECT_FALSE(is_same_with(0, {"spec", "failurePolicy"}, "Ignore"));
  EXPECT_FALSE(is_same_with(0, {"spec", "validations"}, boost::json::array()));
  EXPECT_FALSE(is_same_with(0, {"spec", "matchConstraints", "namespaceSelector"},
                            {{"matchLabels", {{"team", "a"}}}}));
  EXPECT_FALSE(is_same_with(1, {"spec", "validationActions"}, boost::json::array{"Warn"}));
  EXPECT_FALSE(is_same_with(1, {"spec", "matchResources"},
                            {{"namespaceSelector", {{"matchLabels", {{"team", "a"}}}}}}));
}

}  // namespace
}  // namespace muster::work
