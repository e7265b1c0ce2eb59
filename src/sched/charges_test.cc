// What queues are charged is in the journal: a world that sees no nodes comes to the same.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "sched/testing/site.h"

namespace muster::sched {
namespace {

using testing::job_spec;
using testing::node_spec;
using testing::Site;

constexpr std::int64_t gib = std::int64_t{1} << 30;
using Use = std::map<std::string, std::int64_t>;

Use use_of(const World& world, const std::string& queue) {
  Use use;
  const QueueNode& node = world.quota[world.quota.find(queue)];
  for (std::uint16_t r = 0; r < node.use.size(); ++r) {
    if (node.use[r] != 0) use[world.quota.resource_name(ResourceId{r})] = node.use[r];
  }
  return use;
}

/// Whatever happens here is heard by a second world too, but for what is seen of nodes.
struct Ledger : Site {
  World blind;

  void happens(const model::EventBody& body) {
    apply(body);
    sched::apply(blind, {now, body}, policy);
  }
  Ledger() {
    model::ClusterSpec cluster;
    cluster.name = "a";
    happens(model::ClusterSet{cluster});
    model::QueueSpec queue;
    for (const char* name : {"q", "other"}) {
      queue.name = name;
      happens(model::QueueSet{queue});
    }
  }
  void see(const std::string& name, int gpus, const std::string& type) {
    model::NodeSpec spec = node_spec(name, gpus, type);
    spec.gpu_memory = {80 * gib};
    node("a", spec);
  }
  void wants(const model::JobSpec& spec) { happens(model::JobSubmitted{spec, ++seq}); }
  void decide() {
    for (const model::Decision& decision : sched::plan(world, agenda, policy, now).decisions) {
      happens(model::to_event(decision));
      if (const auto* placed = std::get_if<model::Placed>(&decision))
        happens(model::Started{placed->job, placed->attempt});
    }
  }
};

/// Seen, and folded by one who sees no nodes.
void expect_use(const Ledger& ledger, const std::string& queue, const Use& use) {
  EXPECT_EQ(use_of(ledger.world, queue), use);
  EXPECT_EQ(use_of(ledger.blind, queue), use);
}

model::JobSpec by_memory(const std::string& id, int pods) {
  model::JobSpec spec = job_spec(id, "q", pods, 1);
  spec.gang.sets[0].pod.requests.cpu = {0};
  spec.gang.sets[0].pod.gpu.memory_each = {20 * gib};
  return spec;
}

TEST(Charges, SharesByMemoryAreWhatWasPlaced) {
  Ledger ledger;
  ledger.see("n1", 1, "A100");
  ledger.wants(by_memory("four", 4));
  ledger.decide();
  const Use use = {{"gpu", 1000}, {"gpu.A100", 1000}};
  expect_use(ledger, "q", use);
}

TEST(Charges, SharesByMemoryKeepTheirThousandthsWhenTheirPodsAreBoundElsewhere) {
  Ledger ledger;
  ledger.see("n1", 1, "A100");
  ledger.see("n2", 1, "T4");
  model::JobSpec spec = by_memory("two", 2);
  spec.gang.sets[0].pod.gpu_types = {"A100"};
  ledger.wants(spec);
  ledger.decide();
  auto places = places_of(ledger.world, *ledger.job("two").active);
  places[1].node = "n2";
  places[1].gpu_type = "T4";
  ledger.happens(model::PodsBound{"two", 1, places});
  const Use use = {{"gpu", 500}, {"gpu.A100", 250}, {"gpu.T4", 250}};
  expect_use(ledger, "q", use);
}

TEST(Charges, WhatIsKeptForAGangWhileItsVictimsLeaveIsInTheJournal) {
  Ledger ledger;
  ledger.see("m1", 4, "A100");
  ledger.see("t1", 4, "T4");
  model::JobSpec low = job_spec("low", "other", 1, 4);
  low.gang.sets[0].pod.gpu_types = {"A100"};
  low.priority = 10;
  ledger.wants(low);
  ledger.decide();
  model::JobSpec mix = job_spec("mix", "q", 1, 4);
  mix.priority = 90;
  mix.gang.sets[0].name = "learner";
  mix.gang.sets[0].pod.gpu_types = {"A100"};
  mix.gang.sets.push_back(by_memory("actor", 2).gang.sets[0]);
  mix.gang.sets[1].name = "actor";
  mix.gang.sets[1].pod.gpu_types = {"T4"};
  ledger.wants(mix);
  ledger.decide();
  ASSERT_EQ(ledger.job("low").state, model::JobState::Stopping);
  const Use use = {{"cpu", 1000}, {"gpu", 4500}, {"gpu.A100", 4000}, {"gpu.T4", 500}};
  expect_use(ledger, "q", use);
  EXPECT_EQ(check(ledger.world), "");
}

/// Journals of before said nothing of it: then what is seen of nodes must not decide either.
TEST(Charges, OfOldJournalsReservedGpusAreOfNoKnownType) {
  Ledger ledger;
  ledger.see("m1", 4, "A100");
  ledger.wants(job_spec("j", "q", 1, 4));
  ledger.happens(model::Reserved{"j", "a", ledger.now, true, {"m1"}});
  const Use use = {{"cpu", 1000}, {"gpu", 4000}, {"gpu.", 4000}};
  expect_use(ledger, "q", use);
}

}  // namespace
}  // namespace muster::sched
