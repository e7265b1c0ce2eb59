#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/read_kueue.h"
#include "sim/read_traces.h"
#include "sim/workload.h"

namespace muster::sim {
namespace {

using testing::HasSubstr;

TEST(ReadKueue, TheBaselineIsFifteenThousandWorkloadsInThirtyQueues) {
  const Workload w = kueue_workload();
  EXPECT_EQ(w.jobs.size(), 15'000u);
  EXPECT_EQ(w.queues.size(), 35u);
  EXPECT_EQ(w.machines.at(0).node.allocatable.cpu.v, 600'000);
}

constexpr const char* tiny = R"(cohorts:
- className: co
  count: 1
  queuesSets:
  - className: cq
    count: 2
    nominalQuota: 10
    borrowingLimit: 5
    workloadsSets:
    - count: 3
      creationIntervalMs: 100
      workloads:
      - className: small
        runtimeMs: 200
        priority: 50
        request: 1
)";

TEST(ReadKueue, CountsIntervalsAndQuotaAreTaken) {
  const auto w = read_kueue(tiny, "t.yaml");
  ASSERT_TRUE(w) << w.error().message;
  EXPECT_EQ(w->jobs.size(), 6u);
  EXPECT_EQ(w->jobs.back().submit, Time{200});
  EXPECT_EQ(w->queues.at(0).limits.at("cpu").maximum, 20'000);
  EXPECT_EQ(w->queues.at(1).limits.at("cpu").guaranteed, 10'000);
  EXPECT_EQ(w->queues.at(1).limits.at("cpu").borrow, 5'000);
}

TEST(ReadKueue, ErrorsNameFileAndLine) {
  std::string text = tiny;
  text.replace(text.find("runtimeMs: 200"), 14, "runtimeMs: soon");
  EXPECT_THAT(read_kueue(text, "t.yaml").error().message, HasSubstr("t.yaml:14: runtimeMs"));
  EXPECT_THAT(read_kueue("a: [", "t.yaml").error().message, HasSubstr("t.yaml:"));
  EXPECT_THAT(read_kueue("a: b", "t.yaml").error().message, HasSubstr("cohorts"));
  EXPECT_THAT(read_kueue("", "t.yaml").error().message, HasSubstr("t.yaml:1"));
}

std::string with(std::string text, const std::string& old, const std::string& now) {
  return text.replace(text.find(old), old.size(), now);
}

TEST(ReadKueue, AFewBytesCannotAskForAnyNumberOfWorkloads) {
  EXPECT_EQ(read_kueue(with(tiny, "count: 3", "count: 1000000000"), "t").error().message,
            "t:10: more than 1000000 workloads in all");
  const ReadLimits limits{.jobs = 5};
  EXPECT_EQ(read_kueue(with(tiny, "count: 2", "count: 1000000000"), "t", limits).error().message,
            "t:10: more than 5 workloads in all");
  const std::string empty = "- {className: c, count: 1000000000, queuesSets: []}";
  EXPECT_EQ(read_kueue(empty, "t").error().message, "t:1: more than 10000 queues in all");
}

TEST(ReadKueue, TheQuotaOfAllQueuesIsAnAmount) {
  const std::string large = with(tiny, "nominalQuota: 10", "nominalQuota: 10T");
  EXPECT_TRUE(read_kueue(large, "t"));
  EXPECT_EQ(read_kueue(with(large, "count: 1", "count: 2"), "t").error().message,
            "t:5: nominalQuota: too much over all queues");
  EXPECT_EQ(read_kueue(with(large, "count: 2", "count: 1000000000"), "t").error().message,
            "t:5: nominalQuota: too much over all queues");
}

TEST(ReadKueue, AnUnknownKeyIsRefusedWithTheNearestKnownOne) {
  const auto wrong = [](const std::string& old, const std::string& now) {
    const auto w = read_kueue(with(tiny, old, now), "t");
    return w ? std::string("read") : w.error().message;
  };
  EXPECT_EQ(wrong("borrowingLimit", "borowingLimit"),
            "t:8: `borowingLimit` is not known; did you mean `borrowingLimit`?");
  EXPECT_EQ(wrong("cohorts:", "colour: red\ncohorts:"), "t:1: `colour` is not known");
  EXPECT_EQ(wrong("priority: 50", "prioritySet: 50\n        priority: 50"),
            "t:15: `prioritySet` is not known; did you mean `priority`?");
  EXPECT_EQ(wrong("request: 1", "request: 1\n        devices: 2"),
            "t:17: devices: devices of DRA are not simulated; leave them out");
  EXPECT_EQ(wrong("borrowingLimit: 5", "reclaimWithinCohort: Any"), "read");
  EXPECT_EQ(wrong("borrowingLimit: 5", "reclaimWithinCohort: Never"),
            "t:8: reclaimWithinCohort: 'Never' cannot be simulated; Muster does what Any says");
}

constexpr const char* racks = R"(topology:
  name: racks
  levels:
  - {name: block, count: 2, nodeLabel: t/block}
  - {name: rack, count: 2, nodeLabel: t/rack}
  - {name: node, count: 3, nodeLabel: kubernetes.io/hostname, capacity: {cpu: 8, memory: 16Gi}}
resourceFlavor: {name: f, nodeLabel: group, topologyName: racks}
)";

TEST(ReadKueue, LevelsOfATopologyAreNodesAndItsWorkloadsGangs) {
  const std::string gang =
      with(tiny, "request: 1",
           "request: 1\n        podCount: 4\n        tasConstraint: preferred\n"
           "        tasLevel: t/rack");
  const auto w = read_kueue(std::string(racks) + gang, "t");
  ASSERT_TRUE(w) << w.error().message;
  ASSERT_EQ(w->machines.size(), 12u);
  const model::NodeSpec& last = w->machines.back().node;
  EXPECT_EQ(last.name, "block-1.rack-1.node-2");
  EXPECT_EQ(last.labels.at("t/rack"), "block-1.rack-1");
  EXPECT_EQ(last.allocatable.cpu.v, 8'000);
  EXPECT_EQ(last.allocatable.memory.v, std::int64_t{16} << 30);
  EXPECT_EQ(w->jobs.at(0).spec.gang.sets.at(0).count, 4);
  EXPECT_EQ(w->jobs.at(0).spec.gang.topology, (model::TopologyDomain{"t/rack", false}));
  EXPECT_THAT(read_kueue(gang, "t").error().message, HasSubstr("tasLevel: 't/rack' is no"));
  const std::string balanced = with(gang, "preferred", "balanced");
  EXPECT_THAT(read_kueue(racks + balanced, "t").error().message,
              HasSubstr("tasConstraint: 'balanced' cannot be simulated"));
  const std::string many = with(racks, "count: 3", "count: 1000000000");
  EXPECT_THAT(read_kueue(many + gang, "t").error().message, HasSubstr("more than 100000 nodes"));
}

TEST(ReadKueue, ANameStandsForOneQueueOrWorkload) {
  const std::string twice = R"(- className: co
  count: 1
  queuesSets:
  - {className: cq, count: 1, nominalQuota: 1, workloadsSets: []}
  - {className: cq, count: 1, nominalQuota: 1, workloadsSets: []})";
  EXPECT_EQ(read_kueue(twice, "t").error().message, "t:5: className: 'co-0-cq-0' is there twice");
  const std::string again =
      std::string(tiny) + "      - {className: small, runtimeMs: 1, priority: 1, request: 1}\n";
  EXPECT_EQ(read_kueue(again, "t").error().message,
            "t:17: className: 'co-0-cq-0-small-0' is there twice");
}

constexpr const char* nodes = "sn,cpu_milli,memory_mib,gpu,model\nn1,64000,262144,8,V100\n";

TEST(ReadOpenb, PodsBecomeJobs) {
  const auto w = read_openb(
      {"name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,"
       "deletion_time,scheduled_time\n"
       "p1,12000,16384,1,460,V100|T4|V100,LS,Running,100,400,150\n"
       "p2,6000,1024,0,0,,BE,Pending,50,90,\n",
       "pods.csv", nodes, "nodes.csv"});
  ASSERT_TRUE(w) << w.error().message;
  ASSERT_EQ(w->jobs.size(), 2u);
  EXPECT_EQ(w->jobs[0].spec.id, "p2");
  EXPECT_EQ(w->jobs[0].submit, Time{0}) << "the first arrival is time 0";
  EXPECT_EQ(w->jobs[0].run_time, seconds(40));
  EXPECT_EQ(w->jobs[1].submit, Time{50'000});
  EXPECT_EQ(w->jobs[1].run_time, seconds(250));
  const model::PodShape& pod = w->jobs[1].spec.gang.sets.at(0).pod;
  EXPECT_EQ(pod.gpu.each.v, 460);
  EXPECT_EQ(pod.gpu_types, (std::vector<std::string>{"V100", "T4"}));
  EXPECT_EQ(w->queues.size(), 2u);
}

TEST(ReadOpenb, ErrorsNameFileAndLine) {
  const auto read = [](const char* pods) { return read_openb({pods, "p.csv", nodes, "n.csv"}); };
  EXPECT_THAT(read("name,cpu_milli\n").error().message, HasSubstr("p.csv:1: not an openb pod"));
  const std::string header = "name,cpu_milli,memory_mib,num_gpu,gpu_milli\n";
  EXPECT_THAT(read((header + "p,1,2,x,0\n").c_str()).error().message,
              HasSubstr("p.csv:2: num_gpu"));
  EXPECT_THAT(read((header + "p,1,2\n").c_str()).error().message, HasSubstr("p.csv:2: 3 fields"));
  EXPECT_THAT(read_openb({"x", "p.csv", "a,b\n", "n.csv"}).error().message, HasSubstr("n.csv:1"));
}

TEST(ReadOpenb, NumbersThatNoFleetHasAreRefused) {
  const auto pods = [](const std::string& row) {
    const std::string header =
        "name,cpu_milli,memory_mib,num_gpu,gpu_milli,creation_time,"
        "deletion_time\n";
    return read_openb({header + row, "p.csv", nodes, "n.csv"}).error().message;
  };
  EXPECT_THAT(pods("p,1,36028797018963967,0,0,0,1\n"), HasSubstr("p.csv:2: memory_mib: "));
  EXPECT_THAT(pods("p,1,2,4294967297,0,0,1\n"), HasSubstr("p.csv:2: num_gpu: "));
  EXPECT_THAT(pods("p,1,2,1,1001,0,1\n"), HasSubstr("p.csv:2: gpu_milli: "));
  EXPECT_THAT(pods("p,1,2,1,0,36028797018963967,1\n"), HasSubstr("p.csv:2: creation_time: "));
  EXPECT_THAT(pods(",1,2,1,0,0,1\n"), HasSubstr("p.csv:2: id: must not be empty"));
  EXPECT_THAT(pods("p,1,2,1,0,0,1\np,1,2,1,0,0,1\n"), HasSubstr("p.csv:3: name: 'p' is there"));
  const auto machines = [](const std::string& rows) {
    return read_openb({"x", "p.csv", "sn,cpu_milli,memory_mib,gpu,model\n" + rows, "n.csv"})
        .error()
        .message;
  };
  EXPECT_THAT(machines("n,1,1,17,T4\n"), HasSubstr("n.csv:2: gpu: 17 is outside 0 to 16"));
  EXPECT_THAT(machines("n,1,1,1,T4\nn,1,1,1,T4\n"), HasSubstr("n.csv:3: sn: 'n' is there twice"));
  EXPECT_THAT(machines(",1,1,1,T4\n"), HasSubstr("n.csv:2: sn: a node needs a name"));
}

TEST(ReadOpenb, AListOfNothingIsRefused) {
  const std::string header = "name,cpu_milli,memory_mib,num_gpu,gpu_milli\n";
  EXPECT_EQ(read_openb({header, "p.csv", nodes, "n.csv"}).error().message,
            "p.csv:1: the list is empty");
  EXPECT_EQ(
      read_openb({header + "p,1,2,0,0\n", "p.csv", "sn,cpu_milli,memory_mib,gpu,model\n", "n.csv"})
          .error()
          .message,
      "n.csv:1: the list is empty");
}

TEST(ReadGavel, AFleetForAnyDemandIsNotMade) {
  const std::string row = "LM (batch size 5)\tcmd\t-n\t0\t1099511627776\t0\t4096\n";
  EXPECT_THAT(read_gavel(row, "t", 0).error().message, HasSubstr("t:1: the fleet would have more"));
  EXPECT_TRUE(read_gavel(row, "t", 4096));
  EXPECT_FALSE(read_gavel(row, "t", 2'000'000'000));
}

TEST(ReadGavel, AFleetThatIsTooSmallForTheLargestJobThatRunsIsNotMade) {
  const std::string rows =
      "LM (batch size 5)\tcmd\t-n\t0\t109\t0.0\t10\n"  // two nodes
      "LM (batch size 5)\tcmd\t-n\t0\t109\t1.0\t32\n";
  EXPECT_EQ(read_gavel(rows, "t", 24).error().message,
            "t:1: the largest job wants 32 GPUs, --gpus 24 is less");
  EXPECT_TRUE(read_gavel(rows, "t", 32));
  EXPECT_TRUE(read_gavel(rows, "t", 10, {}, 1)) << "the second one does not run";
  EXPECT_FALSE(read_gavel(rows, "t", 8, {}, 1));
}

TEST(ReadGavel, StepsBecomeRunTimeAndGpusBecomeGangs) {
  const auto w = read_gavel(
      "ResNet-18 (batch size 128)\tcmd\t-n\t1\t1800\t0.000000\t1\n"
      "LM (batch size 5)\tcmd\t-n\t0\t109\t303.000000\t32\n",
      "t.trace", 0);
  ASSERT_TRUE(w) << w.error().message;
  ASSERT_EQ(w->jobs.size(), 2u);
  EXPECT_EQ(w->jobs[0].run_time, seconds(100));
  EXPECT_EQ(w->jobs[1].submit, Time{303'000});
  EXPECT_EQ(w->jobs[1].spec.gang.sets.at(0).count, 4);
  EXPECT_EQ(w->jobs[1].spec.gang.sets.at(0).pod.gpu.count, 8);
  EXPECT_EQ(w->machines.size(), 4u) << "at least the largest job fits";
}

TEST(ReadGavel, ErrorsNameFileAndLine) {
  EXPECT_EQ(read_gavel("", "t", 0).error().message, "t:1: no jobs");
  EXPECT_EQ(read_gavel("\r\n\n", "t", 8).error().message, "t:1: no jobs");
  EXPECT_THAT(read_gavel("a\tb\n", "t", 0).error().message, HasSubstr("t:1: 2 fields"));
  EXPECT_THAT(read_gavel("Vision\tc\t-n\t1\t5\t0.0\t1\n", "t", 0).error().message,
              HasSubstr("t:1: unknown job type: Vision"));
}

TEST(ReadWorkload, SaysWhatItCanRead) {
  EXPECT_THAT(read_workload("none.trace", {}).error().message, HasSubstr("cannot be read"));
  EXPECT_THAT(read_workload("src", {}).error().message, HasSubstr("folder"));
  EXPECT_THAT(read_workload("Makefile", {}).error().message, HasSubstr("unknown kind of file"));
}

}  // namespace
}  // namespace muster::sim
