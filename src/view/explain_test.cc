#include "view/explain.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace muster::view {
namespace {

using namespace sched;  // NOLINT: the engine's words are what is tested

/// Clusters a and b, queue research, jobs train-7 and train-3.
struct Explain : testing::Test {
  World world;
  Policy policy;
  Time now = Time{0} + hours(1000);
  ClusterId a;
  ClusterId b;
  QueueId research;
  JobSlot train7;

  Explain() {
    for (const std::string name : {"a", "b"}) {
      tell(model::ClusterSet{{name, {}, {}, minutes(5)}});
      model::NodeSpec node;
      node.name = name + "1";
      node.gpu_count = 8;
      node.gpu_type = name == "a" ? "A100" : "H100";
      tell(model::NodeSeen{name, node});
    }
    model::QueueSpec queue;
    queue.name = "research";
    tell(model::QueueSet{queue});
    queue.name = "apollo";
    queue.tree = "projects";
    tell(model::QueueSet{queue});
    for (const std::string id : {"train-7", "train-3"}) {
      model::JobSpec job;
      job.id = id;
      job.queue = "research";
      job.gang.sets.emplace_back();
      tell(model::JobSubmitted{job, 1});
    }
    a = world.fleet.find_cluster("a");
    b = world.fleet.find_cluster("b");
    research = world.quota.find("research");
    train7 = world.find_job("train-7");
  }
  void tell(model::EventBody body) { apply(world, {now, std::move(body)}, policy); }
  std::string line(const Why& why) const { return verdict_line(world, why, now); }
  std::string say(const Why& why) const { return sentence(world, why, now); }
  std::string line(const Counterfactual& c) const { return counterfactual_line(world, c, now); }
  std::string say(const Counterfactual& c) const { return sentence(world, c, now); }
};

TEST_F(Explain, EveryVerdictHasALine) {
  EXPECT_EQ(line(Why{NotTried{}}), "not-tried");
  EXPECT_EQ(line(Why{Infeasible{8, 2, a}}), "infeasible 2/8 best=a");
  EXPECT_EQ(line(Why{NoRoom{8, 5, a}}), "no-room 5/8 best=a");
  EXPECT_EQ(line(Why{WouldDelay{train7, now + minutes(20)}}), "would-delay train-7 until=+20m");
  EXPECT_EQ(line(Why{HasReservation{a, now + hours(1)}}), "reserved a +1h");
  EXPECT_EQ(line(Why{Preempting{a, 2}}), "preempting a victims=2");
  EXPECT_EQ(line(Why{OverQuota{research, resource_gpu, QuotaBound::Maximum, 16'000, 12'000}}),
            "over-quota research gpu asked=16 room=12 maximum");
  EXPECT_EQ(line(Why{OverQuota{research, resource_cpu, QuotaBound::Borrow, 1'500, -500}}),
            "over-quota research cpu asked=1.5 room=-0.5 borrow");
  EXPECT_EQ(
      line(Why{OverQuota{QuotaTree::root(), resource_memory, QuotaBound::Held, 3LL << 29, 0}}),
      "over-quota fleet memory asked=1.5Gi room=0 held");
  EXPECT_EQ(line(Why{BehindFirst{train7}}), "behind-first train-7");
  EXPECT_EQ(line(Why{NotBefore{now + minutes(5)}}), "not-before +5m");
  EXPECT_EQ(line(Why{WaitsFor{train7}}), "waits-for train-7");
  EXPECT_EQ(line(Why{NoCluster{1, 0}}), "no-cluster excluded=1 unhealthy=0");
  EXPECT_EQ(line(Why{UnknownQueue{}}), "unknown-queue");
  EXPECT_EQ(line(Why{FurtherTree{world.quota.find("apollo")}}), "further-tree projects");
  EXPECT_EQ(line(Why{OnHold{}}), "on-hold");
}

TEST_F(Explain, EveryVerdictIsASentence) {
  EXPECT_EQ(say(Why{NotTried{}}), "not looked at yet");
  EXPECT_EQ(say(Why{Infeasible{8, 2, a}}),
            "can never start: 2 of 8 pods fit even in an empty cluster a");
  EXPECT_EQ(say(Why{NoRoom{8, 5, a}}), "waits for room: 5 of 8 pods fit in cluster a");
  EXPECT_EQ(say(Why{WouldDelay{train7, now + minutes(20)}}),
            "would delay train-7, which has nodes reserved 20m from now");
  EXPECT_EQ(say(Why{Preempting{a, 1}}), "starts in cluster a when 1 job has made room for it");
  EXPECT_EQ(say(Why{OverQuota{research, resource_gpu, QuotaBound::Maximum, 16'000, 12'000}}),
            "over quota: queue research may use 12 GPUs more, asks 16 (maximum)");
  EXPECT_EQ(say(Why{OverQuota{research, resource_gpu, QuotaBound::Borrow, 500, 0}}),
            "over quota: queue research may use no more GPUs, asks 0.5 (borrow limit)");
  EXPECT_EQ(say(Why{OverQuota{QuotaTree::root(), resource_gpu, QuotaBound::Held, 8'000, 1'000}}),
            "over quota: all queues together may use 1 GPU more, asks 8 (the rest is promised to "
            "others)");
  EXPECT_EQ(say(Why{OverQuota{research, resource_gpu, QuotaBound::Held, 8'000, 0}}),
            "over quota: queue research may use no more GPUs, asks 8 (the rest is promised to "
            "others)");
  EXPECT_EQ(say(Why{WaitsFor{JobSlot::none()}}), "waits for a job that is not there");
  EXPECT_EQ(say(Why{FurtherTree{world.quota.find("apollo")}}),
            "its queue apollo is of the tree 'projects', which jobs name in extra_queues");
  const Why lacking{NoCluster{0, 0, 1, ShapeId::none(), 0}};
  EXPECT_EQ(line(lacking), "no-cluster excluded=0 unhealthy=0 lacking=1 ?");
  EXPECT_EQ(say(lacking), "no cluster serves its kind ?: is a definition missing?");
  EXPECT_EQ(
      say(Why{NoCluster{1, 2}}),
      "no cluster may run it: 1 ruled out by its pins, exclusions or pool, 2 not taking jobs");
}

TEST_F(Explain, EveryCounterfactualHasALine) {
  const TypeId h100 = world.fleet.find_type("H100");
  EXPECT_EQ(line(FewerPods{8, 6, a, {6}}), "fewer-pods 8->6 cluster=a");
  EXPECT_EQ(line(OtherCluster{b, Bar::Excluded}), "other-cluster b excluded");
  EXPECT_EQ(line(OtherGpuType{h100, b}), "other-gpu-type H100 cluster=b");
  EXPECT_EQ(line(HigherPriority{51, 2}), "higher-priority 51 victims=2");
  EXPECT_EQ(line(MoreQuota{{{research, resource_gpu, QuotaBound::Maximum, 4'000}}}),
            "more-quota research gpu +4 maximum");
  EXPECT_EQ(line(MoreQuota{{{research, resource_gpu, QuotaBound::Held, 4'000},
                            {research, resource_cpu, QuotaBound::Borrow, 250}}}),
            "more-quota research gpu +4 guaranteed, research cpu +0.25 borrow");
  EXPECT_EQ(line(WhenJobEnds{train7, now + minutes(40), a}), "when-ends train-7 +40m cluster=a");
  EXPECT_EQ(line(ShorterRunLimit{minutes(20), a}), "run-limit 20m cluster=a");
  EXPECT_EQ(line(NodesUnavailable{2, a, {}}), "nodes-unavailable 2 cluster=a");
  EXPECT_EQ(line(ClusterBack{b, model::Health::Cordoned}), "cluster-back b cordoned");
  EXPECT_EQ(line(CutShort{}), "cut-short");
}

TEST_F(Explain, EveryCounterfactualIsASentence) {
  EXPECT_EQ(say(FewerPods{8, 6, a, {6}}), "starts now in cluster a with 6 pods instead of 8");
  EXPECT_EQ(say(OtherCluster{b, Bar::Pinned}),
            "would start now in cluster b, but it is pinned to others");
  EXPECT_EQ(say(OtherGpuType{world.fleet.find_type("H100"), b}),
            "would start now on H100 GPUs in cluster b");
  EXPECT_EQ(say(HigherPriority{51, 1}),
            "with priority 51 it would start when 1 running job has made room for it");
  EXPECT_EQ(say(HigherPriority{51, 0}), "with priority 51 it would start now");
  EXPECT_EQ(say(MoreQuota{{{research, resource_gpu, QuotaBound::Maximum, 1'000}}}),
            "would start now if queue research had 1 GPU more (maximum)");
  EXPECT_EQ(say(WhenJobEnds{train7, now + minutes(40), a}),
            "fits in cluster a when train-7 ends, expected in 40m");
  EXPECT_EQ(say(ShorterRunLimit{minutes(20), a}),
            "would start now in cluster a if it ran at most 20m");
  EXPECT_EQ(say(NodesUnavailable{1, a, {}}),
            "would start now in cluster a if 1 node there was ready and not cordoned");
  EXPECT_EQ(say(ClusterBack{b, model::Health::Draining}),
            "would start now in cluster b, but that is draining");
}

TEST_F(Explain, DecisionsSayWhatHappensAndWhy) {
  model::Placed placed{"train-7", 2, "a", "gold", {}};
  placed.pods = {{0, "n1", "A100", 1, 1000}, {0, "n1", "A100", 2, 1000}, {0, "n2", "", 0, 0}};
  EXPECT_EQ(sentence(model::Decision{placed}, now),
            "train-7 starts in cluster a: 3 pods on 2 nodes of pool gold (attempt 2)");
  EXPECT_EQ(sentence(model::Decision{model::Stopped{"x", 1, model::StopWhy::Priority, "y"}}, now),
            "x goes back to its queue: y has a higher priority");
  EXPECT_EQ(sentence(model::Decision{model::Stopped{"x", 1, model::StopWhy::RunLimit, ""}}, now),
            "x is stopped: it has reached its run-time limit");
  const model::Reserved reserved{"x", "a", now + hours(2), false, {"n1", "n2"}};
  EXPECT_EQ(sentence(model::Decision{reserved}, now), "x has 2 nodes reserved in cluster a: in 2h");
  EXPECT_EQ(sentence(model::Decision{model::GivenUp{"x", model::FailWhy::DeadlinePassed}}, now),
            "x fails: its deadline has passed");
}

TEST_F(Explain, AnEstimateIsATimeAndABand) {
  EXPECT_EQ(sentence(Estimate{now + minutes(20), now + minutes(40), now + minutes(80)}, now),
            "in 40m, between 20m and 1h20m");
  EXPECT_EQ(sentence(Estimate{now, now + minutes(40), now + minutes(80)}, now),
            "in 40m, between now and 1h20m");
  EXPECT_EQ(sentence(Estimate{now, now, now}, now), "now");
  EXPECT_EQ(sentence(Estimate{Time::never(), Time::never(), Time::never()}, now),
            "never, as things are");
}

TEST_F(Explain, AnswersToWhatIf) {
  SubmitAnswer answer;
  answer.starts_now = true;
  answer.cluster = a;
  answer.nodes = {{world.fleet.find_node(a, "a1"), 2}};
  EXPECT_EQ(sentence(world, answer, now), "would start now in cluster a: 2 pods on 1 node");
  answer.starts_now = false;
  answer.why = NoRoom{8, 5, a};
  answer.estimate = {now + minutes(1), now + minutes(2), now + minutes(3)};
  EXPECT_EQ(sentence(world, answer, now),
            "would wait: waits for room: 5 of 8 pods fit in cluster a; expected to start in 2m, "
            "between 1m and 3m");
  const QuotaAsk ask{"research", "gpu", 8'000};
  EXPECT_EQ(sentence(world, ask, QuotaAnswer{}),
            "no job of queue research would start with 8 GPUs more");
  EXPECT_EQ(sentence(world, ask, QuotaAnswer{3, true, {train7}}),
            "at least 3 jobs of queue research would start with 8 GPUs more: train-7 and 2 more");
}

TEST_F(Explain, TheScoreTableIsAligned) {
  ClusterScore row;
  row.cluster = a;
  row.type = world.fleet.find_type("A100");
  row.points.fill(1000);
  row.total = 2550;
  const std::string table = score_table(world, std::vector<ClusterScore>{row}, {});
  const std::string head = table.substr(0, table.find('\n'));
  EXPECT_EQ(head.substr(0, 13), "cluster  gpu ");
  EXPECT_NE(table.find("\nweight"), std::string::npos);
  EXPECT_NE(table.find("\na        A100"), std::string::npos);
  const std::string last = table.substr(table.rfind('\n', table.size() - 2) + 1);
  EXPECT_EQ(last.size() - 1, head.size());
  EXPECT_TRUE(last.ends_with(" 2550\n"));
}

TEST(Words, AmountsCarryTheirUnits) {
  EXPECT_EQ(amount_text("gpu", 1500), "1.5");
  EXPECT_EQ(amount_text("gpu.A100", 125), "0.125");
  EXPECT_EQ(amount_text("gpu", -2000), "-2");
  EXPECT_EQ(amount_text("memory", std::int64_t{64} << 30), "64Gi");
  EXPECT_EQ(amount_text("memory", 1 << 20), "1Mi");
  EXPECT_EQ(amount_text("memory", 1000), "1000");
  EXPECT_EQ(amount_text("memory", (std::int64_t{1} << 31) - 1), "2Gi");
  EXPECT_EQ(amount_text("rdma/hca", 4), "4");
  EXPECT_EQ(amount_with_unit("gpu", 1000), "1 GPU");
  EXPECT_EQ(amount_with_unit("gpu.A100", 4000), "4 A100 GPUs");
  EXPECT_EQ(amount_with_unit("cpu", 1000), "1 CPU core");
  EXPECT_EQ(amount_with_unit("cpu", 2500), "2.5 CPU cores");
  EXPECT_EQ(amount_with_unit("memory", std::int64_t{1} << 30), "1Gi memory");
}

TEST(Words, TimesAreRelativeAndRough) {
  const Time now = Time{0} + hours(1);
  EXPECT_EQ(relative(now, now), "now");
  EXPECT_EQ(relative(now + milliseconds(400), now), "in a moment");
  EXPECT_EQ(relative(now + seconds(45), now), "in 45s");
  EXPECT_EQ(relative(now - minutes(5), now), "5m ago");
  EXPECT_EQ(relative(now + hours(26) + minutes(3), now), "in 1d2h");
  EXPECT_EQ(relative(now + hours(24) + minutes(3), now), "in 1d");
  EXPECT_EQ(relative(Time::never(), now), "never");
}

}  // namespace
}  // namespace muster::view
