// Asks the engine why jobs wait: some at a time, for a moment, because it answers on the loop's
// thread and what is decided meanwhile goes before; each again from time to time, less often the
// more there are.
//
// Threads: the hub's; answers come back to it through `later`.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/appwrapper/due_jobs.h"
#include "api/appwrapper/facts.h"
#include "base/time.h"
#include "control/reads.h"

namespace muster::api {

class WaitDesk {
 public:
  struct Pace {
    Duration again = seconds(20);         // one is asked about at the soonest, or
    Duration between = milliseconds(2);   // this for each that waits, if that is longer
    Duration not_yet = milliseconds(60);  // after no plan had looked at it
    Duration busy = seconds(1);           // after the loop took no question
  };
  struct Parts {
    std::function<Time()> clock;
    control::Reads& reads;
    std::function<void(std::function<void()>)> later;  // on the hub's thread
    /// The id of a job that waits, where it stays; null: it does not wait any more.
    std::function<const std::string*(const std::string& job)> find;
    std::function<void(const std::string& job, const WrapperWait& wait)> tell;
  };
  WaitDesk(Pace pace, Parts parts) : pace_(pace), parts_(std::move(parts)) {}

  /// Instead of when it was to be asked about; never: not at all, and then the id may go.
  void set(std::string_view job, Time at) { due_.set(job, at); }
  void drop(std::string_view job) { due_.drop(job); }
  void ask_due();
  /// Never while an answer is on its way.
  Time next_due() const { return is_asking_ ? Time::never() : due_.next(); }

 private:
  struct Question {
    std::vector<std::string> jobs = {};
    std::vector<std::optional<WrapperWait>> waits = {};  // of the first of them
  };
  void told(const Question& asked);
  void set_if_there(const std::string& job, Time at);

  const Pace pace_;
  const Parts parts_;
  DueJobs due_;
  bool is_asking_ = false;
};

}  // namespace muster::api
