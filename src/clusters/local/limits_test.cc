// What a pod may use of cpu and memory, and who holds it to that.
#include <gmock/gmock.h>
#include <unistd.h>

#include "clusters/local/testing/site.h"

namespace muster::clusters {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const ports::Attempt one{"a", 1};

constexpr model::Bytes memory{200 << 20};

/// Both controllers can be used here, in whichever version.
bool can_limit(const CgroupDirs& base) {
  return (!base.cpu.empty() || exists(base.unified + "/cpu.max")) &&
         (!base.memory.empty() || exists(base.unified + "/memory.max"));
}

/// A cluster and a pod with limits.
class Limits : public testing::Test {
 public:
  void SetUp() override {
    const CgroupDirs probe = make_cgroup_base("probe");
    const bool can = can_limit(probe);
    remove_cgroup_base(probe);
    if (!can) GTEST_SKIP() << "NOT TESTED: this machine lets us limit nothing";
  }
  void start(const std::string& script, model::Bytes most = memory) {
    model::Command command = Site::shell(script);
    command.sets[0].cpu = {500};
    command.sets[0].memory = most;
    site.run(one, command);
    site.hear<model::Started>(one);
    base = read_spec(site.dir(one))->cgroup;
    groups = cgroups_of_pod(base, one.job, one.number, 0);
    EXPECT_EQ(pod().limits,
              fmt::format("cpu: cgroup; memory: {}", most.v > 0 ? "cgroup" : "none asked"));
  }
  PodState pod() const { return read_state(site.dir(one))->pods.at(0); }
  /// A file of the kernel about the pod, of either version.
  std::string file_of_cpu(const std::string& v1, const std::string& v2) const {
    return groups.cpu.empty() ? groups.unified + "/" + v2 : groups.cpu + "/" + v1;
  }
  std::string file_of_memory(const std::string& v1, const std::string& v2) const {
    return groups.memory.empty() ? groups.unified + "/" + v2 : groups.memory + "/" + v1;
  }
  bool has_no_groups() const {
    for (const std::string* dir : groups.all()) {
      if (!dir->empty() && exists(*dir)) return false;
    }
    return true;
  }

  Site site;
  CgroupDirs base, groups;
};

std::int64_t number_in(const std::string& path, const std::string& key) {
  for (const std::string& line : lines_of(path)) {
    if (line.starts_with(key + " ")) return std::stoll(line.substr(key.size()));
  }
  ADD_FAILURE() << "no " << key << " in " << path;
  return 0;
}

/// The cpu time that the process has had, in milliseconds.
std::int64_t cpu_ms_of(std::int64_t pid) {
  const auto lines = lines_of(fmt::format("/proc/{}/stat", pid));
  if (lines.empty()) return 0;
  std::istringstream fields(lines[0].substr(lines[0].rfind(')') + 2));
  std::string skipped;
  for (int i = 0; i < 11; ++i) fields >> skipped;
  std::int64_t user = 0;
  std::int64_t system = 0;
  fields >> user >> system;
  return (user + system) * 1000 / ::sysconf(_SC_CLK_TCK);
}

TEST_F(Limits, AreWhatTheKernelHoldsThePodTo) {
  start("exec sleep 1000");
  if (groups.cpu.empty()) {
    EXPECT_THAT(lines_of(groups.unified + "/cpu.max"), ElementsAre("50000 100000"));
  } else {
    EXPECT_THAT(lines_of(groups.cpu + "/cpu.cfs_quota_us"), ElementsAre("50000"));
    EXPECT_THAT(lines_of(groups.cpu + "/cpu.cfs_period_us"), ElementsAre("100000"));
  }
  EXPECT_THAT(lines_of(file_of_memory("memory.limit_in_bytes", "memory.max")),
              ElementsAre(std::to_string(memory.v)));
  const std::string pid = std::to_string(pod().pid);
  EXPECT_THAT(lines_of(file_of_cpu("cgroup.procs", "cgroup.procs")), ElementsAre(pid));
  EXPECT_THAT(lines_of(file_of_memory("cgroup.procs", "cgroup.procs")), ElementsAre(pid));
}

/// Where only its cpu is limited, in version 1, it runs before it is put there.
TEST_F(Limits, SoonHoldForAllThatThePodHasStarted) {
  start("sleep 1000 & sleep 1000 & exec sleep 1000", model::Bytes{0});
  const std::string list = file_of_cpu("cgroup.procs", "cgroup.procs");
  EXPECT_TRUE(eventually([&] { return lines_of(list).size() == 3; })) << lines_of(list).size();
}

TEST_F(Limits, AProgramThatTakesMoreMemoryIsEndedAndTheJobSaysSo) {
  start("exec python3 -c 'x = b\"x\" * (400 << 20); print(len(x))'");
  const auto finished = site.hear<model::Finished>(one);
  EXPECT_FALSE(finished.success);
  EXPECT_EQ(finished.exit_code, 137);
  EXPECT_EQ(finished.reason, "workers-0 ran out of memory: its limit is 200Mi");
  EXPECT_EQ(site.out(one), "");
}

TEST_F(Limits, AChildOfTheProgramThatTakesMoreMemoryIsToldTheSameWay) {
  start("python3 -c 'x = b\"x\" * (400 << 20)'; exit 5");
  const auto finished = site.hear<model::Finished>(one);
  EXPECT_FALSE(finished.success);
  EXPECT_EQ(finished.reason, "workers-0 ran out of memory: its limit is 200Mi");
}

TEST_F(Limits, HalfACoreIsAboutHalfOfTheTime) {
  start("while :; do :; done");
  const std::string stat = file_of_cpu("cpu.stat", "cpu.stat");
  constexpr std::int64_t periods = 12;  // of 100 ms each
  ASSERT_TRUE(eventually([&] { return number_in(stat, "nr_periods") >= periods; }));
  const std::int64_t used_ms = cpu_ms_of(pod().pid);
  const std::int64_t periods_ms = number_in(stat, "nr_periods") * 100;
  EXPECT_GT(number_in(stat, "nr_throttled"), 0);
  EXPECT_LE(used_ms, periods_ms * 6 / 10 + 100);
  EXPECT_GE(used_ms, periods_ms / 10) << "others may have the machine, but not all of it";
}

TEST_F(Limits, CgroupsGoWithThePodAndWithTheClusterThatMadeThem) {
  start("exec sleep 1000");
  EXPECT_FALSE(has_no_groups());
  site.remove(one);
  site.hear<model::Gone>(one);
  EXPECT_TRUE(has_no_groups());
  site.cluster.reset();
  for (const std::string* dir : base.all()) EXPECT_FALSE(!dir->empty() && exists(*dir)) << *dir;
  site.open();
}

TEST_F(Limits, OfASupervisorThatWasKilledAreClearedByTheServer) {
  start("exec sleep 1000");
  ::kill(static_cast<pid_t>(read_state(site.dir(one))->supervisor_pid), SIGKILL);
  EXPECT_FALSE(site.hear<model::Finished>(one).success);
  EXPECT_TRUE(eventually([&] { return has_no_groups(); }));
}

TEST(LimitsWithoutCgroups, TheMemoryLimitIsAnRlimit) {
  Site site(false);
  model::Command command = Site::shell("python3 -c 'x = bytearray(300 << 20)' 2>&1; ulimit -v");
  command.sets[0].memory = memory;
  site.run(one, command);
  EXPECT_TRUE(site.hear<model::Finished>(one).success);
  EXPECT_THAT(site.out(one), HasSubstr("MemoryError"));
  EXPECT_THAT(site.out(one), testing::EndsWith(fmt::format("{}\n", 200 << 10)));
  EXPECT_EQ(read_state(site.dir(one))->pods[0].limits, "cpu: none asked; memory: rlimit");
}

}  // namespace
}  // namespace muster::clusters
