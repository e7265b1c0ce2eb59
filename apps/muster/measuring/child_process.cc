#include "apps/muster/measuring/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace muster::app {
namespace {

/// What follows the hello in its line; empty if the output ends before.
std::string read_after(int fd, std::string_view hello) {
  std::string text;
  char buffer[512];
  while (true) {
    const std::size_t at = text.find(hello);
    const std::size_t end = at == std::string::npos ? at : text.find('\n', at);
    if (end != std::string::npos) return text.substr(at + hello.size(), end - at - hello.size());
    const ssize_t count = ::read(fd, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return "";
    text.append(buffer, static_cast<std::size_t>(count));
  }
}

}  // namespace

Result<std::string> ChildProcess::start(Options options) {
  auto output = clusters::make_pipe();
  if (!output) return output.error();
  const std::string program = options.words.front();
  const std::string hello = options.hello;
  if (Status spawned = spawn(std::move(options), output->write.get()); !spawned)
    return spawned.error();
  output->write.close();
  std::string said = read_after(output->read.get(), hello);
  if (!said.empty()) return said;
  kill();
  return Error{Fault::Unavailable, fmt::format("{} did not start", program)};
}

Status ChildProcess::spawn(Options options, int output) {
  auto input = clusters::make_pipe();
  if (!input) return input.error();
  std::vector<char*> argv;
  for (std::string& word : options.words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, input->read.get(), 0);
  ::posix_spawn_file_actions_adddup2(&actions, output, 1);
  if (!options.error_file.empty())
    ::posix_spawn_file_actions_addopen(&actions, 2, options.error_file.c_str(),
                                       O_WRONLY | O_CREAT | O_APPEND, 0600);
  const int failed = ::posix_spawnp(&pid_, argv[0], &actions, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) {
    pid_ = 0;
    errno = failed;
    return clusters::io_error("start", options.words.front());
  }
  input_ = std::move(input->write);
  return Ok{};
}

void ChildProcess::end() {
  input_.close();
  int status = 0;
  while (pid_ != 0 && ::waitpid(pid_, &status, 0) < 0 && errno == EINTR) continue;
  pid_ = 0;
}

void ChildProcess::kill() {
  if (pid_ != 0) ::kill(pid_, SIGKILL);
  end();
}

}  // namespace muster::app
