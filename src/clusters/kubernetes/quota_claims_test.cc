#include "clusters/kubernetes/quota_claims.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>

namespace muster::clusters {
namespace {

using ::testing::Pair;
using ::testing::UnorderedElementsAre;

const ports::Attempt first{"a", 1};
const ports::Attempt second{"b", 1};

std::vector<QuotaSight> quotas() {
  QuotaSight quota;
  quota.name = "q";
  quota.hard = {{"pods", 4}, {"requests.cpu", 4000}, {"count/jobs.batch", 3}};
  quota.used = {{"pods", 0}};
  return {quota};
}

/// A gang of so many pods of one CPU, made of one Job.
QuotaAsks asks(std::int64_t pods) {
  const auto pod = boost::json::parse(
      R"({"spec":{"containers":[{"name":"main","resources":{"requests":{"cpu":"1"}}}]}})");
  auto asked = asks_of({{pod, pods}}, {{"count/jobs.batch", 1}}, quotas());
  EXPECT_TRUE(asked.ok());
  return *asked;
}

std::map<std::string, std::int64_t> used(const QuotaClaims& claims) {
  auto all = quotas();
  claims.add_to("ns", all);
  return all.front().used;
}

TEST(QuotaClaims, AGangOnItsWayTakesRoomBeforeItsPodsAreThere) {
  QuotaClaims claims;
  claims.claim(first, "ns", asks(2), 2);
  EXPECT_THAT(used(claims), UnorderedElementsAre(Pair("pods", 2), Pair("requests.cpu", 2000),
                                                 Pair("count/jobs.batch", 1)));
  auto full = quotas();
  claims.claim(second, "ns", asks(2), 2);
  claims.add_to("ns", full);
  EXPECT_FALSE(check_quotas(asks(1), full).ok());
}

TEST(QuotaClaims, WhatShowsInTheQuotaIsNotCountedTwice) {
  QuotaClaims claims;
  claims.claim(first, "ns", asks(2), 2);
  claims.objects_made(first);
  claims.pods_seen(first, 1);
  EXPECT_THAT(used(claims), UnorderedElementsAre(Pair("pods", 1), Pair("requests.cpu", 1000)));
  claims.pods_seen(first, 0);  // it is gone again; it was there
  EXPECT_THAT(used(claims), UnorderedElementsAre(Pair("pods", 1), Pair("requests.cpu", 1000)));
  claims.pods_seen(first, 2);
  EXPECT_THAT(used(claims), UnorderedElementsAre(Pair("pods", 0)));
  EXPECT_EQ(claims.size(), 0U);
}

TEST(QuotaClaims, AGangThatIsTakenBackGivesItsRoomBack) {
  QuotaClaims claims;
  claims.claim(first, "ns", asks(3), 3);
  claims.claim(first, "ns", asks(2), 2);  // asked for again
  claims.release(first);
  claims.release(first);
  EXPECT_THAT(used(claims), UnorderedElementsAre(Pair("pods", 0)));
}

TEST(QuotaClaims, OtherNamespacesHaveTheirOwnRoom) {
  QuotaClaims claims;
  claims.claim(first, "other", asks(2), 2);
  EXPECT_THAT(used(claims), UnorderedElementsAre(Pair("pods", 0)));
}

}  // namespace
}  // namespace muster::clusters
