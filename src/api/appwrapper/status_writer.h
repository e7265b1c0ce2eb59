// Writes the statuses of AppWrappers: not more often than once a second each, and one that moves
// when it has come to rest for a moment, so that steps which follow each other closely are one
// write.
//
// Threads: one, the hub's; answers of the API server come back to it through `later`.
#pragma once

#include <boost/json/object.hpp>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

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
};

/// Whether an AppWrapper stays as it is.
enum class Moves {
  No,
  Soon,   // it waits to be looked at, or leaves: not worth a write yet
  Making  // it has its place; where many are made at once its objects may take seconds
};

/// What is to be written of an AppWrapper.
struct StatusSource {
  bool is_v1beta2 = false;
  const WrapperFacts* facts = nullptr;
};

class StatusWriter {
 public:
  struct Parts {
    std::function<Time()> clock;
    /// Of a job; none: it is not to be written any more.
    std::function<std::optional<StatusSource>(const std::string& job)> source;
    std::function<void(std::function<void()>)> later;      // on the hub's thread
    std::function<void(const std::string& job)> on_write;  // it has changed enough to be written
    std::function<void(const std::string&)> say;
  };
  StatusWriter(kube::Client& client, StatusPace pace, Parts parts)
      : client_(client), pace_(pace), parts_(std::move(parts)) {}

  /// An AppWrapper that was found with this status.
  void add(const std::string& job, const WrapperKey& key, const std::string& uid,
           const boost::json::object& status);
  void forget(const std::string& job);
  /// Something changed.
  void touch(const std::string& job, Moves moves);
  void write_due();
  Time next_due() const { return due_.empty() ? Time::never() : due_.begin()->first; }
  /// As it stands now, written or not.
  boost::json::object now_of(const std::string& job) const;

 private:
  struct Entry {
    WrapperKey key = {};
    std::string uid = {};
    std::string written = {};  // JSON
    Time dirty_since = Time::never();
    Time written_at = {};
    Time due = Time::never();
    bool is_writing = false;
    int failures = 0;
  };
  using Entries = std::unordered_map<std::string, Entry>;

  void set_due(const std::string& job, Entry& entry, Time due);
  void write(const std::string& job, Entry& entry);
  void wrote(const std::string& job, const std::string& text,
             const std::optional<kube::ApiError>& error);

  kube::Client& client_;
  const StatusPace pace_;
  const Parts parts_;
  Entries entries_;
  std::set<std::pair<Time, std::string>> due_;
};

}  // namespace muster::api
