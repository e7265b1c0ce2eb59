#include "apps/muster/bench_server/child_server.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "clusters/files.h"
#include "net/url.h"

namespace muster::app {
namespace {

constexpr std::string_view hello = "muster serves at ";

/// The URL in the first lines that a server prints; empty if it ends before.
std::string read_url(int fd) {
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

std::string last_lines(const std::string& file) {
  const auto text = clusters::read_file(file);
  if (!text) return "";
  return text->substr(text->size() - std::min<std::size_t>(text->size(), 500));
}

}  // namespace

Result<std::unique_ptr<BenchFolder>> BenchFolder::make() {
  std::string name = (std::filesystem::temp_directory_path() / "muster-bench-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr)
    return invalid(fmt::format("cannot make a folder {}", name));
  return std::unique_ptr<BenchFolder>(new BenchFolder(std::move(name)));
}

BenchFolder::~BenchFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

Result<std::unique_ptr<ChildServer>> ChildServer::start(const std::string& folder,
                                                        const std::string& yaml) {
  {
    std::ofstream out(folder + "/muster.yaml");
    out << fmt::format("data_dir: {}/data\nlisten: 127.0.0.1:0\n{}", folder, yaml);
  }
  auto client = net::HttpClient::make({.total_timeout = seconds(120)});
  if (!client) return client.error();
  std::unique_ptr<ChildServer> server(new ChildServer(folder, std::move(*client)));
  if (Status spawned = server->spawn(); !spawned) return spawned.error();
  return server;
}

ChildServer::~ChildServer() { kill(); }

Status ChildServer::spawn() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return clusters::io_error("make", "a pipe");
  const clusters::Fd ours(ends[0]);
  clusters::Fd theirs(ends[1]);
  const std::string log = folder_ + "/server.log";
  std::string words[] = {"/proc/self/exe", "serve", "--config", folder_ + "/muster.yaml"};
  char* argv[] = {words[0].data(), words[1].data(), words[2].data(), words[3].data(), nullptr};
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, theirs.get(), 1);
  ::posix_spawn_file_actions_addopen(&actions, 2, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  const int failed = ::posix_spawn(&pid_, argv[0], &actions, nullptr, argv, environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) {
    pid_ = 0;
    errno = failed;
    return clusters::io_error("start", "the server");
  }
  theirs.close();
  const std::string url = read_url(ours.get());
  const auto parsed = net::parse_url(url, "url");
  if (url.empty() || !parsed) {
    kill();
    return Error{Fault::Unavailable, fmt::format("the server did not start: {}", last_lines(log))};
  }
  port_ = parsed->port;
  return Ok{};
}

void ChildServer::kill() {
  if (pid_ == 0) return;
  ::kill(pid_, SIGKILL);
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) continue;
  pid_ = 0;
}

Result<double> ChildServer::restart() {
  kill();
  const auto begin = std::chrono::steady_clock::now();
  if (Status spawned = spawn(); !spawned) return spawned.error();
  if (const auto ready = get("/readyz"); !ready) return ready.error();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

Result<double> ChildServer::cpu_seconds() const {
  const auto stat = clusters::read_file(fmt::format("/proc/{}/stat", pid_));
  if (!stat) return stat.error();
  // After the name in parentheses, which may hold anything: state is the first field, utime and
  // stime the 12th and 13th.
  const std::vector<std::string_view> fields =
      split(std::string_view(*stat).substr(stat->rfind(')') + 2), ' ');
  if (fields.size() < 13) return invalid("/proc/PID/stat is not as it should be");
  const double ticks = std::strtod(std::string(fields[11]).c_str(), nullptr) +
                       std::strtod(std::string(fields[12]).c_str(), nullptr);
  return ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

Result<std::string> ChildServer::send(net::ClientRequest request) {
  request.url = fmt::format("http://127.0.0.1:{}{}", port_, request.url);
  auto answer = client_->send(std::move(request));
  if (!answer) return answer.error();
  if (answer->status / 100 != 2)
    return Error{Fault::Unavailable, fmt::format("{}: {}", answer->status, answer->body)};
  return std::move(answer->body);
}

Result<std::string> ChildServer::get(const std::string& target) { return send({.url = target}); }

Result<std::string> ChildServer::post(const std::string& target, std::string body) {
  return send({.method = "POST",
               .url = target,
               .headers = {{"Content-Type", "application/json"}},
               .body = std::move(body)});
}

Result<std::map<std::string, double>> ChildServer::metrics() {
  const auto text = get("/metrics");
  if (!text) return text.error();
  std::map<std::string, double> samples;
  for (const std::string_view line : split(*text, '\n')) {
    const std::size_t blank = line.rfind(' ');
    if (line.empty() || line[0] == '#' || blank == std::string_view::npos) continue;
    samples[std::string(line.substr(0, blank))] =
        std::strtod(std::string(line.substr(blank + 1)).c_str(), nullptr);
  }
  return samples;
}

}  // namespace muster::app
