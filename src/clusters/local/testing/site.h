// A local cluster in a temporary directory, with everything it needs in memory.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "base/testing/scratch.h"
#include "clusters/local/local_cluster.h"
#include "clusters/local/make_attempt.h"
#include "clusters/local/processes.h"
#include "ports/memory_inbox.h"
#include "ports/memory_log_sink.h"
#include "ports/memory_payloads.h"

namespace muster::clusters {

constexpr Duration patience = seconds(30);  // nothing takes so long; a test fails after it

/// Until `what` is true.
template <typename What>
bool eventually(What what) {
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::milliseconds(patience.ms);
  while (!what()) {
    if (std::chrono::steady_clock::now() > give_up) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

inline std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

inline bool is_alive(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string text;
  return std::getline(file, text) && text.find(") Z ") == std::string::npos;
}

class Site {
 public:
  explicit Site(bool use_cgroups = true) : use_cgroups_(use_cgroups) { open(); }
  ~Site() {
    // Whatever a test left is stopped: nothing of it is expected.
    if (cluster == nullptr) open();
    cluster->relist({});
    EXPECT_TRUE(cluster->wait_settled(patience));
    cluster.reset();
  }

  LocalOptions options() const {
    LocalOptions options;
    options.name = "c1";
    options.directory = directory();
    options.node.name = "n1";
    options.node.allocatable.cpu = {8000};
    options.use_cgroups = use_cgroups_;
    return options;
  }
  void open() {
    auto opened = LocalCluster::open(options(), {inbox, payloads, logs});
    ASSERT_TRUE(opened) << opened.error().message;
    cluster = std::move(*opened);
  }
  /// The server ends and another one comes; pods do not notice.
  void restart() {
    cluster.reset();
    open();
  }

  std::string directory() const { return temporary.path() + "/cluster"; }
  std::string dir(const ports::Attempt& attempt) const {
    return directory() + "/attempts/" + dir_name(attempt);
  }
  std::string file(const std::string& name) const { return temporary.path() + "/" + name; }

  /// A job of one set whose pods run `script` in a shell.
  static model::Command shell(const std::string& script) {
    model::Command command;
    command.name = "test";
    command.user = "ann";
    command.argv = {"sh", "-c", script};
    command.stop_grace = milliseconds(300);
    command.sets = {{"workers", {}, {}, {}, {}}};
    return command;
  }
  static ports::Action create(const ports::Attempt& attempt, std::size_t pods = 1) {
    ports::Action action{ports::Verb::Create, attempt, "c1", {}};
    for (std::size_t i = 0; i < pods; ++i) action.pods.push_back({0, "n1", "", 0, 0});
    return action;
  }
  void run(const ports::Attempt& attempt, const model::Command& command, std::size_t pods = 1) {
    payloads.set(attempt.job, command);
    cluster->apply(create(attempt, pods));
  }
  void remove(const ports::Attempt& attempt) {
    cluster->apply({ports::Verb::Delete, attempt, "c1", {}});
  }

  /// The next event of this kind about the attempt; others are dropped.
  template <typename Body>
  Body hear(const ports::Attempt& attempt) {
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::milliseconds(patience.ms);
    while (std::chrono::steady_clock::now() < give_up) {
      for (model::Event& event : inbox.take(100)) heard_.push_back(std::move(event));
      while (!heard_.empty()) {
        const model::Event event = std::move(heard_.front());
        heard_.pop_front();
        const auto* body = std::get_if<Body>(&event.body);
        if (body != nullptr && body->job == attempt.job && body->attempt == attempt.number)
          return *body;
      }
      inbox.wait(milliseconds(20));
    }
    ADD_FAILURE() << "not heard of " << attempt.job << " in time";
    return {};
  }
  std::string out(const ports::Attempt& attempt, std::uint32_t pod = 0,
                  ports::Stream stream = ports::Stream::Out) const {
    return logs.text({attempt.job, attempt.number, pod}, stream);
  }

  Scratch temporary;
  ports::MemoryInbox inbox{10'000};
  ports::MemoryPayloads payloads;
  ports::MemoryLogSink logs;
  std::unique_ptr<LocalCluster> cluster;

 private:
  bool use_cgroups_;
  std::deque<model::Event> heard_;
};

}  // namespace muster::clusters
