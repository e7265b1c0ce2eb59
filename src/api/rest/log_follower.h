// Followed logs: streams that get the lines of a job as they come, over all attempts to come, and
// an `end` when the job is finished and all of its output was sent. The id of a line is
// "attempt:offset" of where to go on, so that a client resumes after it.
//
// Whoever writes output or learns of a job's end says so by wake(), and the log is looked at; those
// that nobody woke are looked at now and then.
//
// Thread contract: follow and wake from any thread. One thread looks at all followed logs in turn.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <list>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>

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
  /// There may be something new about this job. Cheap when nobody follows it.
  void wake(const std::string& job);
  void stop();

 private:
  struct One {
    Follow what;
    net::Stream stream;
    bool is_done = false;
    bool is_behind = false;  // the client has yet to take what was sent
  };
  void run();
  /// Until there is nothing new of it.
  void look(One& one) const;
  enum class Look { Again, Later, Done };
  Look look_once(One& one) const;
  Look finish(One& one, const model::JobRow& row) const;
  bool send_lines(One& one) const;

  const ports::Store& store_;
  const ports::LogStore& logs_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::list<One> fresh_;
  std::unordered_map<std::string, std::size_t> jobs_;  // followed ones, by how many
  std::set<std::string> woken_;                        // of these
  bool stopping_ = false;
  std::list<One> followed_;  // of the thread alone
  std::thread thread_;
};

}  // namespace muster::api
