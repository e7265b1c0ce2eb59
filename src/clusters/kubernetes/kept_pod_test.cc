#include "clusters/kubernetes/kept_pod.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace muster::clusters {
namespace {

model::ForeignPod pod(const std::string& uid, const std::string& node) {
  model::ForeignPod made;
  made.uid = uid;
  made.node = node;
  made.requests.cpu.v = 250;
  made.requests.memory.v = 1 << 29;
  made.requests.extended = {{"rdma/hca", 2}, {"ephemeral-storage", 1 << 20}};
  made.gpus = 3;
  made.labels = {{"app", "web"}, {"empty", ""}};
  made.host_ports = {80, 443};
  return made;
}

TEST(KeptPod, ComesOutAsItWentIn) {
  PodKeeper keeper;
  EXPECT_EQ(keeper.keep(pod("u-1", "n1")).unpacked(), pod("u-1", "n1"));
  model::ForeignPod bare;
  bare.uid = "u-2";
  bare.node = "n1";
  EXPECT_EQ(keeper.keep(bare).unpacked(), bare);
}

TEST(KeptPod, WhatReplicasSayIsKeptOnce) {
  PodKeeper keeper;
  const KeptPod first = keeper.keep(pod("u-1", "n1"));
  const KeptPod second = keeper.keep(pod("u-2", "n2"));
  EXPECT_EQ(first.facts.get(), second.facts.get());
  EXPECT_EQ(keeper.keep(pod("u-1", "n1")), first) << "seen again, nothing changed";
  model::ForeignPod changed = pod("u-1", "n1");
  changed.labels["app"] = "api";
  EXPECT_NE(keeper.keep(changed), first);
  EXPECT_NE(keeper.keep(pod("u-1", "n2")), first) << "another node";
}

TEST(KeptPod, TextsThatNobodyHasAnyMoreGo) {
  TextPool texts;
  const auto kept = texts.get("kept");
  for (int i = 0; i < 100'000; ++i) texts.get(fmt::format("text {}", i));
  EXPECT_LT(texts.size(), 2'000U);
  EXPECT_EQ(texts.get("kept").get(), kept.get());
}

}  // namespace
}  // namespace muster::clusters
