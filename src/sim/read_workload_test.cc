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

constexpr const char* nodes = "sn,cpu_milli,memory_mib,gpu,model\nn1,64000,262144,8,V100\n";

TEST(ReadOpenb, PodsBecomeJobs) {
  const auto w = read_openb(
      {"name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,"
       "deletion_time,scheduled_time\n"
       "p1,12000,16384,1,460,V100|T4,LS,Running,100,400,150\n"
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
