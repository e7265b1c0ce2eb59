// Writes the statuses of AppWrappers: not more often than once a second each, and one that moves
// when it has come to rest for a moment, so that steps which follow each other closely are one
// write. How many pods are in which state is no step: that all run is told at once, other counts
// wait, for longer each time; and for long before all run and when none does any more, because the
// job is about to be written with them.
//
// Threads: one, the hub's; answers of the API server come back to it through `later`.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "api/appwrapper/due_jobs.h"
#include "api/appwrapper/facts.h"
#include "api/appwrapper/wrapper_watch.h"
#include "base/time.h"
#include "kube/client.h"

namespace muster::api {

struct StatusPace {
  Duration settle = milliseconds(60);        // one that moves is written when it rests so long,
  Duration settle_most = milliseconds(800);  // at the latest after this,
  Duration making_most = seconds(5);         // or this while its objects are being made
  Duration pause = seconds(1);               // between two writes of one
  Duration counts = seconds(5);              // until counts are written, doubled each time
  Duration counts_between = seconds(30);     // the same before all run, and when none does
  Duration counts_most = minutes(5);
};

/// Whether an AppWrapper stays as it is.
enum class Moves {
  No,
  Soon,   // it waits to be looked at, or leaves: not worth a write yet
  Making  // it has its place; where many are made at once its objects may take seconds
};

/// What is to be written of an AppWrapper.
struct StatusSource {
  const WrapperKey& key;
  std::string_view uid;
  bool is_v1beta2 = false;
  const WrapperFacts& facts;
};

class StatusWriter {
 public:
  using Answer = std::function<void(const std::optional<kube::ApiError>&)>;
  struct Parts {
    std::function<Time()> clock;
    /// Of a job; none: it is not to be written any more.
    std::function<std::optional<StatusSource>(const std::string& job)> source;
    std::function<void(const kube::ApiRequest&, Answer)> send;
    std::function<void(std::function<void()>)> later;      // on the hub's thread
    std::function<void(const std::string& job)> on_write;  // it has changed enough to be written
    std::function<void(const std::string&)> say;
  };
  StatusWriter(StatusPace pace, Parts parts) : pace_(pace), parts_(std::move(parts)) {}

  /// An AppWrapper that was found with this status. The id stays where it is until it is forgotten.
  void add(const std::string& job, const boost::json::object& status);
  void forget(const std::string& job);
  /// Something changed.
  void touch(const std::string& job, Moves moves);
  /// For so long, at most: the rest is due at once.
  void write_due(Duration most);
  Time next_due() const { return due_.next(); }
  /// As it stands now, written or not.
  boost::json::object now_of(const std::string& job) const;

 private:
  /// One of 100,000: small.
  struct Entry {
    std::string written = {};  // packed
    Time dirty_since = Time::never();
    Time counts_since = Time::never();  // what is not written yet are counts, and since when
    Time written_at = {};
    std::uint16_t failures = 0;
    std::uint8_t counts_written = 0;  // in a row
    bool is_writing = false;
    bool is_run_told = false;  // that all pods run, in this state
  };
  using Entries = std::unordered_map<std::string_view, Entry>;

  void write(const std::string& job, Entries::iterator at);
  /// Nothing is to be written, or not yet.
  bool may_wait(Entry& entry, const WrapperFacts& facts, bool is_step, Time now) const;
  Duration counts_wait(const Entry& entry, const WrapperFacts& facts) const;
  void send(const std::string& job, const StatusSource& source, const boost::json::object& changes,
            std::string packed);
  void wrote(const std::string& job, std::string packed,
             const std::optional<kube::ApiError>& error);

  const StatusPace pace_;
  const Parts parts_;
  Entries entries_;
  DueJobs due_;
};

}  // namespace muster::api
