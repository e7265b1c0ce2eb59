// Followed logs: streams that get the lines of a job as they come, over all attempts to come, and
// an `end` when the job is finished and all of its output was sent. The id of a line is
// "attempt:offset" of where to go on, so that a client resumes after it.
//
// Thread contract: follow from any thread. One thread looks at all followed logs in turn.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <list>
#include <mutex>
#include <string>
#include <thread>

#include "base/time.h"
#include "net/responder.h"
#include "ports/log_store.h"
#include "ports/store.h"

namespace muster::api {

struct Follow {
  std::string job;
  std::uint32_t attempt = 0;  // 0: the newest with output, or the first to come
  ports::LogQuery query;      // `tail` holds for what is there at the beginning
};

/// One line as JSON: a LogLine.
std::string log_line_json(const ports::LogLine& line, std::uint32_t attempt);

class LogFollower {
 public:
  LogFollower(const ports::Store& store, const ports::LogStore& logs);
  ~LogFollower();

  void follow(Follow what, net::Stream stream);
  void stop();

 private:
  struct One {
    Follow what;
    net::Stream stream;
    bool is_over = false;  // the job is finished
    int quiet = 0;         // looks without a new line since
  };
  void run();
  /// False when it is done.
  bool look(One& one) const;
  bool send_lines(One& one) const;

  const ports::Store& store_;
  const ports::LogStore& logs_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::list<One> fresh_;
  bool stopping_ = false;
  std::list<One> followed_;  // of the thread alone
  std::thread thread_;
};

}  // namespace muster::api
