#include "clusters/kubernetes/sight_changes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ports/memory_inbox.h"

namespace muster::clusters {
namespace {

using ::testing::ElementsAre;

/// Names of the nodes seen, in order.
std::vector<std::string> said(ports::Inbox& inbox) {
  std::vector<std::string> names;
  for (const model::Event& event : inbox.take(100)) {
    if (const auto* seen = std::get_if<model::NodeSeen>(&event.body)) {
      names.push_back(seen->node.name);
    }
    if (const auto* gone = std::get_if<model::NodeGone>(&event.body)) {
      names.push_back("-" + gone->node);
    }
  }
  return names;
}

model::NodeSeen node(const std::string& name) {
  model::NodeSeen seen;
  seen.node.name = name;
  return seen;
}

TEST(SightChanges, OfAThingOnlyTheNewestIsSaid) {
  SightChanges changes;
  ports::MemoryInbox inbox(100);
  changes.put("n/a", node("a1"));
  changes.put("n/b", node("b"));
  changes.put("n/a", node("a2"));
  changes.put("n/b", model::NodeGone{"c", "b"});
  EXPECT_EQ(changes.size(), 2U);
  EXPECT_TRUE(changes.drain(inbox));
  EXPECT_THAT(said(inbox), ElementsAre("a2", "-b"));
  EXPECT_EQ(changes.size(), 0U);
}

TEST(SightChanges, WhatAFullInboxRefusesIsSaidLaterInOrder) {
  SightChanges changes;
  ports::MemoryInbox inbox(2);
  for (const char* name : {"a", "b", "c", "d"}) changes.put(name, node(name));
  EXPECT_FALSE(changes.drain(inbox));
  EXPECT_EQ(changes.size(), 2U);
  EXPECT_THAT(said(inbox), ElementsAre("a", "b"));
  changes.put("c", node("c, newer"));
  EXPECT_TRUE(changes.drain(inbox));
  EXPECT_THAT(said(inbox), ElementsAre("c, newer", "d"));
}

}  // namespace
}  // namespace muster::clusters
