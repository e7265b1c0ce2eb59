// The server is killed again and again while it makes pods; every started program says so in a
// file. No attempt may be in it twice, and none that was not deleted may be missing.
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <set>

#include "base/prng.h"
#include "clusters/local/testing/many_attempts.h"
#include "clusters/local/testing/site.h"

namespace muster::clusters {

int serve_many_attempts(const std::string& directory, const std::string& starts) {
  ports::MemoryInbox inbox(100'000);
  ports::MemoryPayloads payloads;
  ports::MemoryLogSink logs;
  payloads.set("a", Site::shell("echo $MUSTER_ATTEMPT >> " + starts));
  LocalOptions options;
  options.name = "c1";
  options.directory = directory;
  options.node.name = "n1";
  auto opened = LocalCluster::open(options, {inbox, payloads, logs});
  if (!opened) return 2;
  std::set<std::uint32_t> waiting;
  for (std::uint32_t i = 1; i <= many_attempts; ++i) waiting.insert(i);
  while (!waiting.empty()) {
    for (const std::uint32_t i : waiting) {
      (*opened)->apply(Site::create({"a", i}));
      if (is_deleted(i)) (*opened)->apply({ports::Verb::Delete, {"a", i}, "c1", {}});
    }
    inbox.wait(seconds(5));
    for (const model::Event& event : inbox.take(100'000)) {
      if (const auto* finished = std::get_if<model::Finished>(&event.body))
        waiting.erase(finished->attempt);
      if (const auto* gone = std::get_if<model::Gone>(&event.body)) waiting.erase(gone->attempt);
    }
  }
  return 0;
}

namespace {

pid_t start_server(const std::string& directory, const std::string& starts) {
  std::string words[] = {"/proc/self/exe", "local-server", directory, starts};
  char* argv[] = {words[0].data(), words[1].data(), words[2].data(), words[3].data(), nullptr};
  pid_t pid = 0;
  EXPECT_EQ(::posix_spawn(&pid, argv[0], nullptr, nullptr, argv, environ), 0);
  return pid;
}

TEST(LocalClusterCrash, KilledServersRunEveryAttemptOnceAtMostAndForgetNone) {
  const Scratch temporary;
  const std::string directory = temporary.path() + "/cluster";
  const std::string starts = temporary.path() + "/starts";
  Prng prng(4);
  int kills = 0;
  for (int life = 0; life < 25; ++life) {
    const pid_t pid = start_server(directory, starts);
    // How far it comes differs from run to run, and is meant to.
    std::this_thread::sleep_for(std::chrono::milliseconds(prng.between(1, 60)));
    ::kill(pid, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(pid, &status, 0), pid);
    if (WIFSIGNALED(status)) ++kills;
  }
  EXPECT_GT(kills, 5);
  int status = 0;
  ASSERT_GT(::waitpid(start_server(directory, starts), &status, 0), 0);
  ASSERT_TRUE(WIFEXITED(status));
  ASSERT_EQ(WEXITSTATUS(status), 0);
  std::map<std::string, int> counts;
  for (const std::string& line : lines_of(starts)) ++counts[line];
  for (std::uint32_t i = 1; i <= many_attempts; ++i) {
    const int count = counts[std::to_string(i)];
    EXPECT_LE(count, 1) << "attempt " << i;
    if (!is_deleted(i)) {
      EXPECT_EQ(count, 1) << "attempt " << i;
    }
  }
}

}  // namespace
}  // namespace muster::clusters
