// Many listeners of event streams, for benchmarks: each has a connection of its own, one thread
// with the lowest priority reads them all, so that listeners on the machine of the server take as
// little from it as those elsewhere would. What arrives is counted and looked at for gaps in the
// ids.
//
// Thread contract: everything from one thread; the reading happens on another.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace muster::net {

struct StreamClient {
  std::string target;
  std::string last_event_id = {};  // resumes after it; "": from now on
  bool reads = true;               // false: from read_all() on only
};

/// What a client got.
struct StreamSeen {
  int status = 0;  // 0: no head yet
  std::uint64_t events = 0;
  std::uint64_t first_id = 0;  // 0: none yet
  std::uint64_t last_id = 0;
  std::uint64_t gaps = 0;  // ids that follow on none: neither the same nor the next
  bool ended = false;
};

/// Reads the lines of a stream for what StreamSeen counts.
class StreamCounter {
 public:
  void feed(std::string_view bytes);
  const StreamSeen& seen() const { return seen_; }
  void end() { seen_.ended = true; }

 private:
  void line(std::string_view text);
  std::string begun_;  // a line without its end
  StreamSeen seen_;
};

class StreamLoad {
 public:
  /// Connected, and those that read have their head.
  static Result<std::unique_ptr<StreamLoad>> open(const std::string& host, std::uint16_t port,
                                                  const std::vector<StreamClient>& clients);
  ~StreamLoad();

  std::vector<StreamSeen> seen() const;
  /// Those that did not read do from now on.
  void read_all();
  /// False if it is not so after that time.
  bool wait(const std::function<bool(const std::vector<StreamSeen>&)>& until, Duration at_most);

 private:
  class Impl;
  explicit StreamLoad(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster::net
