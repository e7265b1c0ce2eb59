#include "model/runtime_class.h"

#include <gtest/gtest.h>

namespace muster::model {
namespace {

TEST(RuntimeClass, OfSeveralClustersTheMostCountsAndWhatAllSelect) {
  const Toleration kata{"kata", true, "", ""};
  const Toleration old{"old", true, "", ""};
  RuntimeClasses all;
  add(all, {{"kata", {{{250}, {64}, {}}, {{"kata", "yes"}, {"zone", "a"}}, {kata, old}}}});
  add(all, {{"kata", {{{100}, {128}, {{"x/y", 1}}}, {{"kata", "yes"}, {"zone", "b"}}, {kata}}},
            {"gvisor", {}}});
  EXPECT_EQ(all.at("kata"),
            (RuntimeClass{{{250}, {128}, {{"x/y", 1}}}, {{"kata", "yes"}}, {kata}}));
  EXPECT_EQ(all.at("gvisor"), RuntimeClass{});
}

}  // namespace
}  // namespace muster::model
