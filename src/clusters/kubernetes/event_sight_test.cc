#include "clusters/kubernetes/event_sight.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>

namespace muster::clusters {
namespace {

EventSight sight(const char* text) { return event_sight_of(boost::json::parse(text)); }

TEST(EventSight, SaysWhatItIsAboutAndWhenItCameFirst) {
  const EventSight event = sight(R"({
    "metadata": {"uid": "u1", "creationTimestamp": "2026-01-31T12:00:09Z"},
    "involvedObject": {"kind": "Pod", "namespace": "ns", "name": "p-0"},
    "reason": "FailedScheduling", "message": "0/3 nodes are available", "type": "Warning",
    "count": 4, "firstTimestamp": "2026-01-31T12:00:00Z", "lastTimestamp": "2026-01-31T12:05:00Z",
    "eventTime": null})");
  EXPECT_EQ(event.uid, "u1");
  EXPECT_EQ(event.kind, "Pod");
  EXPECT_EQ(event.ns, "ns");
  EXPECT_EQ(event.name, "p-0");
  EXPECT_EQ(event.reason, "FailedScheduling");
  EXPECT_EQ(event.message, "0/3 nodes are available");
  EXPECT_TRUE(event.is_warning);
  EXPECT_EQ(event.at.ms, 1769860800000);
}

TEST(EventSight, NewerEventsHaveOneTime) {
  const EventSight event = sight(R"({
    "metadata": {"creationTimestamp": "2026-01-31T12:00:09Z"}, "firstTimestamp": null,
    "eventTime": "2026-01-31T12:00:01.500000Z", "type": "Normal", "reason": "Pulled"})");
  EXPECT_EQ(event.at.ms, 1769860801500);
  EXPECT_FALSE(event.is_warning);
  EXPECT_EQ(sight(R"({"metadata": {"creationTimestamp": "2026-01-31T12:00:00Z"}})").at.ms,
            1769860800000);
}

TEST(EventSight, WhatHappensToEveryPodIsNotAskedFor) {
  const std::string selector = worth_telling_selector();
  EXPECT_EQ(selector.find("reason!=Scheduled,reason!=Created,"), 0U) << selector;
  EXPECT_EQ(selector.find("BackOff"), std::string::npos) << selector;
}

}  // namespace
}  // namespace muster::clusters
