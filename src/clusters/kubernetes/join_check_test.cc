#include "clusters/kubernetes/join_check.h"

#include <gtest/gtest.h>

namespace muster::clusters {
namespace {

TEST(JoinCheck, WhatDoesNotAnswerCannotBeUsedAndSaysWhy) {
  kube::Access access;
  access.cluster.server = "http://127.0.0.1:1";
  const JoinReport report = check_join(access, {}, seconds(2));
  EXPECT_FALSE(report.can_be_used());
  EXPECT_NE(report.problem.find("refused"), std::string::npos) << report.problem;
  EXPECT_TRUE(report.rbac.empty());
}

TEST(JoinCheck, WhatMakesNoSenseIsSaidBeforeAnythingIsAsked) {
  kube::Access access;
  access.cluster.server = "https://h";
  access.user.cert.file = "/no/such/cert";
  access.user.key.file = "/no/such/key";
  EXPECT_NE(check_join(access, {}, seconds(2)).problem, "");
}

}  // namespace
}  // namespace muster::clusters
