#include "kube/subprocess.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "kube/testing/folder.h"

namespace muster::kube {
namespace {

using testing::Folder;
using ::testing::HasSubstr;

Command shell(const std::string& script) {
  return {.program = "sh", .args = {"-c", script}, .env = environment_with({})};
}

TEST(Subprocess, OutputErrorsAndExitCodeComeBack) {
  const auto done = run_command(shell("echo out; echo err >&2; exit 3"));
  ASSERT_TRUE(done.ok());
  EXPECT_EQ(done->out, "out\n");
  EXPECT_EQ(done->errors, "err\n");
  EXPECT_EQ(done->exit_code, 3);
}

TEST(Subprocess, ItHasNoInputAndExactlyTheEnvironmentGiven) {
  Command command = shell("cat; echo \"$WORD:$HOME\"");
  command.env = {{"PATH", "/usr/bin:/bin"}, {"WORD", "a b"}};
  const auto done = run_command(command);
  ASSERT_TRUE(done.ok());
  EXPECT_EQ(done->out, "a b:\n");
}

TEST(Subprocess, ThePathOfTheCommandDoesNotChooseTheProgram) {
  const Folder folder;
  folder.script("sh", "echo another");
  Command command = shell("echo \"$PATH\"");
  command.env = {{"PATH", folder.path("")}};
  const auto done = run_command(command);
  ASSERT_TRUE(done.ok());
  EXPECT_EQ(done->out, folder.path("") + "\n");
}

TEST(Subprocess, AMissingProgramIsNotFound) {
  const auto in_path = run_command({.program = "muster-no-such-program"});
  ASSERT_FALSE(in_path.ok());
  EXPECT_EQ(in_path.error().fault, Fault::NotFound);
  const auto by_name = run_command({.program = "/no/such/program"});
  ASSERT_FALSE(by_name.ok());
  EXPECT_EQ(by_name.error().fault, Fault::NotFound);
}

TEST(Subprocess, WhatTakesTooLongIsEndedWithItsChildren) {
  Folder folder;
  Command command =
      shell("(while :; do sleep 0.01; done) & echo $! > " + folder.path("pid") + "; wait");
  command.time_limit = milliseconds(300);
  const auto done = run_command(command);
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().message, "did not end within 300ms; it was stopped");
  // The child's state is looked up: gone, or a zombie that waits for init.
  const auto state = run_command(shell("ps -o stat= -p $(cat " + folder.path("pid") + ") || true"));
  ASSERT_TRUE(state.ok());
  EXPECT_TRUE(state->out.empty() || state->out[0] == 'Z') << state->out;
}

TEST(Subprocess, EndlessOutputIsCutOff) {
  Command command = shell("while :; do echo yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy; done");
  command.output_bytes_max = 10'000;
  const auto done = run_command(command);
  ASSERT_FALSE(done.ok());
  EXPECT_THAT(done.error().message, HasSubstr("printed more than 10000 bytes"));
}

TEST(Subprocess, TheCallerCanStopIt) {
  Command command = shell("sleep 60");
  int asked = 0;
  command.is_stopped = [&] { return ++asked > 2; };
  const auto done = run_command(command);
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().message, "was stopped");
}

}  // namespace
}  // namespace muster::kube
