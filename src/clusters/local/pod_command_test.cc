// Commands in pods of this machine.
#include "clusters/local/pod_command.h"

#include <gmock/gmock.h>

#include <future>
#include <mutex>

#include "clusters/local/testing/site.h"

namespace muster::clusters {
namespace {

using testing::HasSubstr;

const ports::Attempt one{"a", 1};

/// What a command says, collected.
struct Heard {
  std::mutex mutex;
  std::string out;     // guarded by mutex
  std::string errors;  // as well
  std::promise<Result<int>> end;
  std::future<Result<int>> ended = end.get_future();

  ports::PodCommandCallbacks callbacks() {
    const auto add = [this](std::string& to, std::string_view bytes) {
      const std::lock_guard lock(mutex);
      to += bytes;
    };
    ports::PodCommandCallbacks on;
    on.on_output = [this, add](std::string_view bytes) { add(out, bytes); };
    on.on_errors = [this, add](std::string_view bytes) { add(errors, bytes); };
    on.on_exit = [this](Result<int> code) { end.set_value(std::move(code)); };
    return on;
  }
  /// -1: it has none.
  int code() {
    const Result<int> code = ended.get();
    return code ? *code : -1;
  }
  bool has(std::string_view part) {
    const std::lock_guard lock(mutex);
    return out.find(part) != std::string::npos;
  }
};

ports::PodCommand shell(const std::string& script, bool has_input = false,
                        bool has_terminal = false) {
  return {.attempt = one,
          .pod = 0,
          .words = {"sh", "-c", script},
          .has_input = has_input,
          .has_terminal = has_terminal};
}

/// A job that runs until it is stopped.
struct RunningJob {
  explicit RunningJob(bool use_cgroups = true, std::size_t pods = 1) : site(use_cgroups) {
    model::Command command = Site::shell("sleep 1000");
    command.environment["COLOR"] = "blue";
    site.run(one, command, pods);
    site.hear<model::Started>(one);
  }
  Site site;
};

TEST(PodCommand, RunsInThePodsDirectoryAndEnvironmentAndEndsWithItsCode) {
  RunningJob job;
  Heard heard;
  const auto session = job.site.cluster->run(
      shell("echo $COLOR; pwd; echo $MUSTER_PEERS; echo wrong >&2; exit 7"), heard.callbacks());
  ASSERT_TRUE(session.ok()) << session.error().message;
  const Result<int> code = heard.ended.get();
  ASSERT_TRUE(code.ok()) << code.error().message;
  EXPECT_EQ(*code, 7);
  EXPECT_THAT(heard.out, HasSubstr("blue\n"));
  EXPECT_THAT(heard.out, HasSubstr(pod_dir(job.site.dir(one), 0) + "\n"));
  EXPECT_THAT(heard.out, HasSubstr("127.0.0.1:"));
  EXPECT_EQ(heard.errors, "wrong\n");
}

TEST(PodCommand, IsInEveryCgroupOfItsPod) {
  Site site;
  model::Command command = Site::shell("sleep 1000");
  command.sets[0].cpu = {4000};
  command.sets[0].memory = {1 << 30};
  site.run(one, command);
  site.hear<model::Started>(one);
  const auto lines = [&](const std::string& process) {
    return lines_of(fmt::format("/proc/{}/cgroup", process));
  };
  const auto of_pod = lines(std::to_string(read_state(site.dir(one))->pods[0].pid));
  Heard heard;
  const auto session = site.cluster->run(shell("cat /proc/self/cgroup"), heard.callbacks());
  ASSERT_TRUE(session.ok());
  EXPECT_EQ(heard.code(), 0);
  for (const std::string& line : of_pod) EXPECT_THAT(heard.out, HasSubstr(line + "\n"));
}

TEST(PodCommand, ReadsItsInputToTheEnd) {
  RunningJob job;
  Heard heard;
  const auto session = job.site.cluster->run(shell("wc -c", true), heard.callbacks());
  ASSERT_TRUE(session.ok());
  const std::string piece(100'000, 'x');
  for (int i = 0; i < 30; ++i) (*session)->write(piece);
  (*session)->end_input();
  EXPECT_EQ(heard.code(), 0);
  EXPECT_THAT(heard.out, HasSubstr("3000000"));
  EXPECT_EQ((*session)->pending_bytes(), 0U);
}

TEST(PodCommand, HasATerminalOfTheRightSizeWhenItAsksForOne) {
  RunningJob job;
  Heard heard;
  const auto session = job.site.cluster->run(
      shell("test -t 0 && test -t 1 && test -t 2 && echo all three; read go; stty size; exit 4",
            true, true),
      heard.callbacks());
  ASSERT_TRUE(session.ok());
  EXPECT_TRUE(eventually([&] { return heard.has("all three"); }));
  (*session)->resize(123, 45);
  (*session)->write("go\n");
  EXPECT_EQ(heard.code(), 4);
  EXPECT_THAT(heard.out, HasSubstr("45 123"));
}

TEST(PodCommand, TheEndOfTheInputIsTypedIntoATerminal) {
  RunningJob job;
  Heard heard;
  const auto session =
      job.site.cluster->run(shell("cat; echo over", true, true), heard.callbacks());
  ASSERT_TRUE(session.ok());
  (*session)->write("line\n");
  (*session)->end_input();
  EXPECT_EQ(heard.code(), 0);
  EXPECT_THAT(heard.out, HasSubstr("over"));
}

TEST(PodCommand, IsKilledWhenItIsCancelled) {
  RunningJob job;
  Heard heard;
  const auto session =
      job.site.cluster->run(shell("sleep 1000 & echo $!; wait"), heard.callbacks());
  ASSERT_TRUE(session.ok());
  EXPECT_TRUE(eventually([&] { return heard.has("\n"); }));
  (*session)->cancel();
  const Result<int> code = heard.ended.get();
  ASSERT_FALSE(code.ok());
  EXPECT_EQ(code.error().message, "cancelled");
  EXPECT_TRUE(eventually([&] { return !is_alive(std::stoi(heard.out)); }));
}

TEST(PodCommand, EndsWithThePodAlsoWithoutCgroups) {
  RunningJob job(false);
  Heard heard;
  ASSERT_TRUE(job.site.cluster->run(shell("echo $$; exec sleep 1000"), heard.callbacks()).ok());
  EXPECT_TRUE(eventually([&] { return heard.has("\n"); }));
  job.site.remove(one);
  EXPECT_FALSE(heard.ended.get().ok());
  EXPECT_TRUE(eventually([&] { return !is_alive(std::stoi(heard.out)); }));
}

TEST(PodCommand, EndsWithTheCluster) {
  RunningJob job;
  Heard heard;
  ASSERT_TRUE(job.site.cluster->run(shell("exec sleep 1000"), heard.callbacks()).ok());
  job.site.cluster.reset();
  EXPECT_FALSE(heard.ended.get().ok());
}

TEST(PodCommand, HeldOutputSlowsTheCommandDown) {
  RunningJob job;
  Heard heard;
  const auto session = job.site.cluster->run(
      shell("echo up; read go; head -c 1000000 /dev/zero; echo done > " + job.site.file("done"),
            true),
      heard.callbacks());
  ASSERT_TRUE(session.ok());
  EXPECT_TRUE(eventually([&] { return heard.has("up"); }));
  (*session)->hold_output(true);
  (*session)->write("go\n");
  EXPECT_TRUE(eventually([&] { return (*session)->pending_bytes() == 0; }));
  EXPECT_FALSE(exists(job.site.file("done")));  // a pipe takes 64 KiB
  (*session)->hold_output(false);
  EXPECT_EQ(heard.code(), 0);
  EXPECT_EQ(heard.out.size(), 1'000'003U);
}

TEST(PodCommand, WhatCannotRunIsSaidAtOnce) {
  RunningJob job;
  const auto refusal = [&](const ports::PodCommand& command) {
    Heard heard;
    const auto session = job.site.cluster->run(command, heard.callbacks());
    return session ? "fine" : session.error().message;
  };
  ports::PodCommand command = shell("true");
  command.pod = 3;
  EXPECT_EQ(refusal(command), "it has no pod 3; its pods are 0 to 0");
  command = shell("true");
  command.words = {"no-such-program"};
  EXPECT_EQ(refusal(command), "no-such-program: no such program");
  command = shell("true");
  command.attempt.number = 9;
  EXPECT_THAT(refusal(command), HasSubstr("does not run"));
}

TEST(PodCommand, AJobThatHasEndedTakesNoCommands) {
  Site site;
  site.run(one, Site::shell("true"));
  site.hear<model::Finished>(one);
  Heard heard;
  const auto session = site.cluster->run(shell("true"), heard.callbacks());
  ASSERT_FALSE(session.ok());
  EXPECT_EQ(session.error().message, "pod 0 does not run: it has ended");
}

}  // namespace
}  // namespace muster::clusters
