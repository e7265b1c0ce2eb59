#include "api/appwrapper/packed_status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "api/appwrapper/status_v1beta1.h"
#include "api/appwrapper/status_v1beta2.h"

namespace muster::api {
namespace {

namespace json = boost::json;

WrapperFacts waiting_facts() {
  static const std::string job = "aw-01234567-01234567-0123-0123-0123-0123456789ab";
  WrapperFacts facts;
  facts.job = &job;
  model::JobCourse& row = facts.row.emplace();
  row.queue = "default";
  facts.wait =
      WrapperWait{WrapperWait::Kind::Room, "waits for room: 1 of 2 pods fit in cluster kube-1",
                  Time{0} + hours(500'000)};
  facts.ask.components.push_back({"job", "Job", "batch/v1", {{"template.spec.template", 2}}});
  return facts;
}

TEST(PackedStatus, OneThatWaitsIsSmall) {
  const Time now = Time{1'800'000'000'123};
  const WrapperFacts facts = waiting_facts();
  const auto packed_part = [&](const json::object& status) {
    const std::string packed = pack_status(status, *facts.job);
    EXPECT_EQ(unpack_status(packed, *facts.job), status);
    return static_cast<double>(packed.size()) / static_cast<double>(json::serialize(status).size());
  };
  EXPECT_LT(packed_part(status_v1beta1({}, facts, now)), 0.25);
  EXPECT_LT(packed_part(status_v1beta2({}, facts, now)), 0.45);
}

TEST(PackedStatus, NoPhraseIsHiddenByAShorterOne) {
  // Of each kind of condition that a waiting one has: what is left are times and its own words.
  const WrapperFacts facts = waiting_facts();
  const std::string packed = pack_status(status_v1beta1({}, facts, Time{0}), *facts.job);
  for (const char* phrase : {"AwaitingHeadOfLine", "FrontOfQueue", "AppWrapperNotRunnable",
                             "Insufficient resources to dispatch"})
    EXPECT_THAT(packed, testing::Not(testing::HasSubstr(phrase)));
}

TEST(PackedStatus, WhatOthersWroteComesBackAsItWas) {
  for (const char* text :
       {"{}", R"({"a":"\u0001\u001f\n","b":[1.5,null,{"c":"ä 2026-01-01T00:00:00Z"}]})",
        R"({"a":"2026-01-01T00:00:00Z2026-01-01T00:00:00Z","b":"2026-01-01T00:00:00"})",
        R"({"a":"2026-01-01T00:00:00.123456Z","b":"2026-01-01T00:00:00.1234567Z",)"
        R"("c":"2026-01-01T00:00:00.123456Z"})",
        R"({"a":"2026-01-01T00:00:00.\"Z","b":"2026-01-01T00:00:00","reason":"Z"})",
        R"({"a":"of a job, and a jobs"})"}) {
    const json::object status = json::parse(text).as_object();
    EXPECT_EQ(unpack_status(pack_status(status, "a job"), "a job"), status) << text;
  }
}

}  // namespace
}  // namespace muster::api
