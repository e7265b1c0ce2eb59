// Properties of the engine on random histories. A failure is shrunk and printed as a scenario file.
//
//   MUSTER_PROPERTY_RUNS   how many histories (default: enough for CI)
//   MUSTER_PROPERTY_SEED   seed of the first one (default 1)
//   MUSTER_PROPERTY_LINES  lines per history (default 40)
//   MUSTER_PROPERTY_KEEP   go on after a failure and print this many of them
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "sim/scenario.h"
#include "tests/properties/history.h"
#include "tests/properties/runner.h"

namespace muster::properties {
namespace {

constexpr unsigned hang_seconds = 60;

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

/// Runs `work` in a child process, because a failed MUSTER_CHECK ends the process it happens in.
/// Returns what it wrote, and how the child ended if that was not by itself.
template <typename Work>
std::string in_child(const Work& work, bool quiet = false) {
  int ends[2];
  if (pipe(ends) != 0) return "pipe failed";
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    alarm(hang_seconds);
    if (quiet) (void)!std::freopen("/dev/null", "w", stderr);
    const std::string text = work();
    std::size_t at = 0;
    while (at < text.size()) {
      const ssize_t written = write(ends[1], text.data() + at, text.size() - at);
      if (written <= 0) break;
      at += static_cast<std::size_t>(written);
    }
    _exit(0);
  }
  close(ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t n = read(ends[0], buffer, sizeof buffer); n > 0;
       n = read(ends[0], buffer, sizeof buffer))
    text.append(buffer, static_cast<std::size_t>(n));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status))
    text += WTERMSIG(status) == SIGALRM ? "does not end" : "ends in a crash";
  else if (WEXITSTATUS(status) != 0)
    text += "ends in a crash";
  return text;
}

/// The number of the property, or the kind of crash: shrinking keeps to one failure.
std::string kind_of(const std::string& wrong) {
  const std::size_t colon = wrong.find("): ");
  const std::string what = colon == std::string::npos ? wrong : wrong.substr(colon + 3);
  return what.substr(0, 14);
}

std::string scenario_of(const History& history) {
  const std::string text = text_of(history);
  const std::string rewritten =
      in_child([&] { return sim::run_scenario("shrunk.scn", text, sched::Rules{}).rewritten; });
  return rewritten.starts_with("#") || rewritten.find("----") != std::string::npos ? rewritten
                                                                                   : text;
}

/// Seeds [first, first + count) in one child; the first seed that fails, or nothing.
struct Batch {
  std::uint64_t failed_seed = 0;
  std::string wrong;
};
Batch run_batch(std::uint64_t first, std::uint64_t count, int lines) {
  void* shared = mmap(nullptr, sizeof(std::atomic<std::uint64_t>), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto* at = new (shared) std::atomic<std::uint64_t>(first);
  Batch batch;
  batch.wrong = in_child([&] {
    for (std::uint64_t seed = first; seed < first + count; ++seed) {
      at->store(seed);
      alarm(hang_seconds);
      std::string wrong = first_wrong(random_history(seed, lines));
      if (!wrong.empty()) return wrong;
    }
    return std::string();
  });
  batch.failed_seed = at->load();
  munmap(shared, sizeof(std::atomic<std::uint64_t>));
  return batch;
}

void report(std::uint64_t seed, int lines, const std::string& wrong) {
  const std::string kind = kind_of(wrong);
  std::string shrunk_wrong = wrong;
  const History shrunk = shrink(random_history(seed, lines), [&](const History& less) {
    const std::string now = in_child([&] { return first_wrong(less); }, /*quiet=*/true);
    const bool same = !now.empty() && kind_of(now) == kind;
    if (same) shrunk_wrong = now;
    return same;
  });
  ADD_FAILURE() << "seed " << seed << ": " << shrunk_wrong << "\n# shrunk to " << shrunk.size()
                << " lines\n"
                << scenario_of(shrunk);
}

TEST(Properties, HoldOnRandomHistories) {
  const std::uint64_t runs = from_environment("MUSTER_PROPERTY_RUNS", 300);
  const std::uint64_t first = from_environment("MUSTER_PROPERTY_SEED", 1);
  const int lines = static_cast<int>(from_environment("MUSTER_PROPERTY_LINES", 40));
  std::uint64_t left_to_keep = from_environment("MUSTER_PROPERTY_KEEP", 1);
  constexpr std::uint64_t batch_size = 100;
  for (std::uint64_t seed = first; seed < first + runs;) {
    const std::uint64_t count = std::min(batch_size, first + runs - seed);
    const Batch batch = run_batch(seed, count, lines);
    if (batch.wrong.empty()) {
      seed += count;
      if (runs > batch_size) fmt::print("{} of {} histories\n", seed - first, runs);
      std::fflush(stdout);
      continue;
    }
    report(batch.failed_seed, lines, batch.wrong);
    if (--left_to_keep == 0) return;
    seed = batch.failed_seed + 1;
  }
}

/// One file for a closer look: MUSTER_PROPERTY_FILE names a list of scenario lines.
TEST(Properties, HoldOnTheNamedFile) {
  const char* path = std::getenv("MUSTER_PROPERTY_FILE");
  if (path == nullptr) GTEST_SKIP() << "MUSTER_PROPERTY_FILE is not set";
  std::ifstream file(path);
  History history;
  bool output = false;
  for (std::string line; std::getline(file, line);) {
    if (line.empty()) output = false;
    if (line == "----") output = true;
    if (!line.empty() && !output && !line.starts_with('#')) history.push_back(line);
  }
  EXPECT_EQ(in_child([&] { return first_wrong(history); }), "");
}

/// The generator is no use if nothing happens in its histories.
TEST(Properties, RandomHistoriesPlaceAndEvict) {
  std::size_t placed = 0;
  std::size_t evicted = 0;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    const Outcome outcome = run(random_history(seed, 40));
    placed += outcome.placed;
    evicted += outcome.evicted;
  }
  EXPECT_GT(placed, 100u);
  EXPECT_GT(evicted, 0u);
}

TEST(Properties, AFailureShrinksToItsCause) {
  const History history = random_history(1, 60);
  const History shrunk = shrink(history, [](const History& h) {
    return text_of(h).find("submit j3 ") != std::string::npos &&
           text_of(h).find("cluster a") != std::string::npos;
  });
  EXPECT_EQ(shrunk.size(), 2u) << text_of(shrunk);
}

TEST(Properties, TheSameSeedIsTheSameHistory) {
  EXPECT_EQ(random_history(5, 40), random_history(5, 40));
  EXPECT_NE(random_history(5, 40), random_history(6, 40));
}

}  // namespace
}  // namespace muster::properties
