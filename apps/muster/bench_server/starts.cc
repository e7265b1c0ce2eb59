#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <chrono>
#include <thread>
#include <vector>

#include "apps/muster/bench_server/parts.h"
#include "apps/muster/measuring/child_server.h"
#include "clusters/files.h"
#include "store/sqlite/commit_limit.h"

namespace muster::app {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double times_most = 3;
constexpr std::size_t entry_bytes = 1000;  // about what a submit writes
constexpr int patience_ms = 30'000;

double ms_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

/// A pipe with a name: whoever runs says so by a byte.
class Bell {
 public:
  static Result<Bell> make(const std::string& path) {
    if (::mkfifo(path.c_str(), 0600) != 0) return clusters::io_error("make", path);
    Bell bell(path, clusters::Fd(::open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC)));
    if (!bell.fd_.is_open()) return clusters::io_error("open", path);
    return bell;
  }
  /// What rings it: the same program here and on the cluster.
  std::vector<std::string> command() const { return {"/bin/sh", "-c", "echo >> " + path_}; }
  bool wait() const {
    pollfd ready{fd_.get(), POLLIN, 0};
    char byte = 0;
    return ::poll(&ready, 1, patience_ms) == 1 && ::read(fd_.get(), &byte, 1) == 1;
  }

 private:
  Bell(std::string path, clusters::Fd fd) : path_(std::move(path)), fd_(std::move(fd)) {}
  std::string path_;
  clusters::Fd fd_;
};

/// fork and exec of the bell's command by nobody but the kernel, until it rings.
Result<double> spawn_ms(const Bell& bell) {
  std::vector<std::string> words = bell.command();
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const auto begin = Clock::now();
  pid_t pid = 0;
  if (::posix_spawn(&pid, argv[0], nullptr, nullptr, argv.data(), environ) != 0)
    return invalid("cannot start /bin/sh");
  const bool rang = bell.wait();
  const double took = ms_since(begin);
  ::waitpid(pid, nullptr, 0);
  if (!rang) return invalid("/bin/sh did not run");
  return took;
}

/// Each differs, as jobs of people do.
std::string job_of(const Bell& bell, int number) {
  boost::json::array words;
  for (const std::string& word : bell.command()) words.emplace_back(word);
  return boost::json::serialize(boost::json::object{
      {"name", fmt::format("bell-{}", number)}, {"command", words}, {"cpu", "100m"}});
}

/// Nothing runs and nothing is written any more.
Status settle(ChildServer& server, const std::string& id) {
  for (int tries = 0; tries < 3000; ++tries) {
    const auto job = server.get("/api/muster/v1/jobs/" + id);
    if (!job) return job.error();
    if (job->find(R"("state":"Succeeded")") != std::string::npos) return Ok{};
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return Error{Fault::Unavailable, "a job that rang did not end"};
}

Result<double> start_ms(ChildServer& server, const Bell& bell, int number) {
  const std::string body = job_of(bell, number);
  const auto begin = Clock::now();
  const auto answer = server.post("/api/muster/v1/jobs", body);
  if (!answer) return answer.error();
  if (!bell.wait()) return Error{Fault::Unavailable, "a job did not start within 30 s"};
  const double took = ms_since(begin);
  const auto ids = boost::json::parse(*answer);
  const std::string id(ids.at("ids").at(0).as_string());
  if (Status settled = settle(server, id); !settled) return settled.error();
  return took;
}

}  // namespace

Status measure_starts(const ServerBenchOptions& options, Sheet& sheet) {
  const auto folder = BenchFolder::make();
  if (!folder) return folder.error();
  const std::string& path = (*folder)->path();
  auto server = ChildServer::start(path, "clusters: [{name: here, type: local, slots: 1}]\n");
  if (!server) return server.error();
  auto bell = Bell::make(path + "/bell");
  if (!bell) return bell.error();
  bench_progress("starts: a job at a time");
  // The limits are measured between the starts: a disk that rests or that others use is another
  // one.
  const auto probe = store::CommitProbe::make(path + "/raw.db");
  if (!probe) return probe.error();
  std::vector<double> starts;
  std::vector<double> spawns;
  std::vector<double> commits;
  for (int i = 0; i < options.starts + 1; ++i) {
    const auto start = start_ms(**server, *bell, i);
    if (!start) return start.error();
    const auto spawn = spawn_ms(*bell);
    if (!spawn) return spawn.error();
    const auto commit = (*probe)->commit(1, entry_bytes);
    if (!commit) return commit.error();
    if (i == 0) continue;  // the first one warms up
    starts.push_back(*start);
    spawns.push_back(*spawn);
    commits.push_back(*commit);
  }
  const double limit = median(spawns) + median(commits);
  sheet.add({.measure = "submit to process started, idle, p50",
             .value = median(starts),
             .unit = "ms",
             .limit = limit,
             .reach = times_most * limit,
             .direction = Reach::AtMost,
             .note = fmt::format("fork and exec {:.2f} ms, commit {:.2f} ms", median(spawns),
                                 median(commits))});
  return Ok{};
}

}  // namespace muster::app
