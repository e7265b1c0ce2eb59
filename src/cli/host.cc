#include "cli/host.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <sstream>

namespace muster::cli {
namespace {

// Signal handlers reach nothing but globals.
volatile sig_atomic_t interrupt_count = 0;

void count_interrupt(int) { interrupt_count = interrupt_count + 1; }

int interrupts() {
  static const bool installed = [] {
    struct sigaction action = {};
    action.sa_handler = count_interrupt;
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);
    return true;
  }();
  return installed ? static_cast<int>(interrupt_count) : 0;
}

winsize terminal_size() {
  winsize size = {};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) size = {};
  return size;
}

Result<std::string> read_input(Duration wait) {
  pollfd in{STDIN_FILENO, POLLIN, 0};
  const int ready = poll(&in, 1, static_cast<int>(wait.ms));
  if (ready == 0 || (ready < 0 && errno == EINTR)) return std::string();
  std::string bytes(std::size_t{32} << 10, '\0');
  const ssize_t count = ready < 0 ? -1 : read(STDIN_FILENO, bytes.data(), bytes.size());
  if (count < 0 && (errno == EINTR || errno == EAGAIN)) return std::string();
  if (count <= 0) return Error{Fault::NotFound, "the standard input is at its end"};
  bytes.resize(static_cast<std::size_t>(count));
  return bytes;
}

std::shared_ptr<void> raw_terminal() {
  const auto before = std::make_shared<termios>();
  if (tcgetattr(STDIN_FILENO, before.get()) != 0) return nullptr;
  termios raw = *before;
  cfmakeraw(&raw);
  tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
  return {before.get(), [before](void*) { tcsetattr(STDIN_FILENO, TCSADRAIN, before.get()); }};
}

Result<std::string> read_file(const std::string& path) {
  std::ostringstream text;
  if (path == "-") {
    text << std::cin.rdbuf();
    return text.str();
  }
  std::ifstream in(path, std::ios::binary);
  if (in) in.peek();  // a folder can be opened, but not read
  if (!in.is_open() || in.bad())
    return invalid(fmt::format("cannot read {}: {}", path, std::strerror(errno)));
  in.clear();
  text << in.rdbuf();
  return text.str();
}

}  // namespace

Host system_host() {
  Host host;
  host.out = [](std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
  };
  host.err = [](std::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); };
  host.variable = [](const std::string& name) {
    const char* value = std::getenv(name.c_str());
    return std::string(value == nullptr ? "" : value);
  };
  host.now = [] {
    const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
    return Time{std::chrono::duration_cast<std::chrono::milliseconds>(since_epoch).count()};
  };
  host.sleep = [](Duration d) { poll(nullptr, 0, static_cast<int>(d.ms)); };
  host.interrupts = interrupts;
  host.columns = [] { return static_cast<int>(terminal_size().ws_col); };
  host.rows = [] { return static_cast<int>(terminal_size().ws_row); };
  host.read_file = read_file;
  host.read_input = read_input;
  host.raw_terminal = raw_terminal;
  host.out_is_terminal = isatty(STDOUT_FILENO) == 1;
  host.err_is_terminal = isatty(STDERR_FILENO) == 1;
  host.in_is_terminal = isatty(STDIN_FILENO) == 1;
  return host;
}

bool wants_color(const Host& host) {
  return host.out_is_terminal && host.variable("NO_COLOR").empty() &&
         host.variable("TERM") != "dumb";
}

}  // namespace muster::cli
