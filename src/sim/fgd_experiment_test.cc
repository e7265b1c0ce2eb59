#include "sim/fgd_experiment.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

namespace muster::sim {
namespace {

const std::string two_nodes =
    "sn,cpu_milli,memory_mib,gpu,model\n"
    "n1,32000,65536,4,T4\n"
    "n2,32000,65536,4,V100\n";

std::string pods(const std::string& lines) {
  return "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\n" + lines;
}

Result<FgdTrace> read(const std::string& nodes_csv, const std::string& pods_csv) {
  return read_fgd_trace({nodes_csv, "nodes.csv", pods_csv, "pods.csv"});
}

std::int64_t asked(const FgdTrace& trace, const std::vector<std::uint32_t>& list) {
  std::int64_t sum = 0;
  for (const std::uint32_t gang : list) {
    const model::GpuAsk& gpu = trace.gangs[gang].sets.front().pod.gpu;
    sum += gpu.count * gpu.each.v;
  }
  return sum;
}

TEST(FgdExperiment, ReadsNodesAndPods) {
  const auto trace = read(two_nodes, pods("a,1000,1024,1,500,T4|V100\nb,1000,1024,0,0,\n"
                                          "c,1000,1024,1,500,T4|V100\n"));
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  EXPECT_EQ(trace->capacity_milli, 8'000);
  ASSERT_EQ(trace->gangs.size(), 2u);
  EXPECT_EQ(trace->count[0], 2);
  EXPECT_EQ(trace->gangs[0].sets.front().pod.gpu_types, (std::vector<std::string>{"T4", "V100"}));
  EXPECT_EQ(trace->gangs[1].sets.front().pod.gpu.count, 0);
}

TEST(FgdExperiment, NamesTheLineAndTheColumnOfAnError) {
  const auto trace = read(two_nodes, pods("a,1000,1024,1,500,\nb,x,1024,0,0,\n"));
  ASSERT_FALSE(trace.ok());
  EXPECT_NE(trace.error().message.find("pods.csv:3: cpu_milli"), std::string::npos)
      << trace.error().message;
  EXPECT_FALSE(read("sn,cpu_milli,memory_mib,gpu,model\n", pods("")).ok());
}

TEST(FgdExperiment, TwoListsThatAreSwappedAreNamedWithTheWayOut) {
  const auto trace = read(pods("a,1000,1024,1,500,\n"), two_nodes);
  ASSERT_FALSE(trace.ok());
  EXPECT_EQ(trace.error().message,
            "nodes.csv:1: this is a pod list where the node list is asked for: give each of the "
            "two files in the place of the other");
}

TEST(FgdExperiment, DrawsOnOrThinsTo130PercentOfTheGpus) {
  const auto few = read(two_nodes, pods("a,1000,1024,1,700,\nb,1000,1024,0,0,\n"));
  const auto drawn = arrivals(*few, 42);
  EXPECT_GT(asked(*few, drawn), 10'400 - 700);
  EXPECT_LE(asked(*few, drawn), 10'400);
  EXPECT_EQ(drawn, arrivals(*few, 42));
  EXPECT_NE(drawn, arrivals(*few, 43));

  std::string many;
  for (int i = 0; i < 50; ++i) many += fmt::format("a{},1000,1024,1,1000,\n", i);
  const auto list = read(two_nodes, pods(many));
  EXPECT_EQ(asked(*list, arrivals(*list, 42)), 10'000);
}

TEST(FgdExperiment, EveryPolicyFillsWhatFitsAndDropsTheRest) {
  const auto trace = read(two_nodes, pods("a,1000,1024,1,1000,\n"));
  for (const auto choice : {sched::NodeChoice::Worth, sched::NodeChoice::Fgd,
                            sched::NodeChoice::BestFit, sched::NodeChoice::Random}) {
    const FgdRun run = run_fgd(*trace, choice, 42);
    EXPECT_EQ(run.offered, 10);
    EXPECT_EQ(run.placed, 8);
    EXPECT_DOUBLE_EQ(run.allocated_100_pct, 100.0);
    EXPECT_DOUBLE_EQ(run.allocated_130_pct, 100.0);
  }
}

TEST(FgdExperiment, MeanAndDeviationOfASample) {
  const MeanAndDeviation m = mean_of({1.0, 2.0, 3.0});
  EXPECT_DOUBLE_EQ(m.mean, 2.0);
  EXPECT_DOUBLE_EQ(m.deviation, 1.0);
  EXPECT_DOUBLE_EQ(mean_of({5.0}).deviation, 0.0);
}

}  // namespace
}  // namespace muster::sim
