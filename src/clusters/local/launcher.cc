#include "clusters/local/launcher.h"

#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace muster::clusters {

Launcher::~Launcher() { end(); }

Status Launcher::prepare() {
  if (socket_.is_open()) return Ok{};
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return io_error("make", "a socket");
  Fd ours(ends[0]);
  const Fd theirs(ends[1]);
  std::vector<std::string> words = command_;
  words.push_back(directory_);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, theirs.get(), 0);
  ::posix_spawnattr_init(&attributes);
  // A session of its own: what the terminal sends to the server does not reach it. And no signal
  // is blocked there that this thread may have blocked.
  sigset_t none;
  ::sigemptyset(&none);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK);
  errno = ::posix_spawn(&pid_, argv[0], &actions, &attributes, argv.data(), environ);
  const int failed = errno;
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  errno = failed;
  if (failed != 0) return io_error("start", command_[0]);
  socket_ = std::move(ours);
  return Ok{};
}

Status Launcher::start(const std::string& name) {
  for (int tries = 0; tries < 2; ++tries) {
    if (Status s = prepare(); !s) return s;
    const ssize_t n = ::send(socket_.get(), name.data(), name.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n >= 0 || errno == EAGAIN) return Ok{};
    end();  // it died: another one is started
  }
  return io_error("start a supervisor for", name);
}

void Launcher::end() {
  if (!socket_.is_open()) return;
  socket_.close();  // it ends by that, when it has made what it was told to
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) continue;
}

}  // namespace muster::clusters
