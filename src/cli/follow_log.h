// The output of a job as it comes: used by `logs` and `run`.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "cli/command.h"

namespace muster::cli {

/// Writes lines of a log. Out goes to the standard output and err to the standard error, unless
/// everything shall go to the output; lines of several pods begin with the name of their pod.
class LogPrinter {
 public:
  struct Options {
    bool pods = false;   // write their names
    bool times = false;  // and when
    bool all_to_out = false;
  };
  LogPrinter(const Host& host, Options options) : host_(&host), options_(options) {}
  void print(const json::value& line);
  /// Ends a line that its pod has not ended.
  void finish();

 private:
  const Host* host_;
  Options options_;
  std::string open_;  // "pod/stream" of a line that goes on
};

struct LogFollower {
  std::string path;  // of the job: "/jobs/7"
  net::QueryPairs query;
  std::function<Next()> on_pause = {};
  std::function<void()> on_line = {};                  // before the line is written
  std::function<void(const json::value&)> write = {};  // instead of the printer
};

/// Until the job is finished and its last line is written. The last event of the stream; nothing if
/// on_pause stopped it or the server ended it early.
Result<std::optional<json::value>> follow_log(Api& api, LogPrinter& printer, LogFollower follower);

}  // namespace muster::cli
