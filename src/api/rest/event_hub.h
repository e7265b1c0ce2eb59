// The event stream: what the loop publishes, sent to whoever listens, in the order of the journal's
// sequence numbers. An event is written once and its bytes are shared by all who get it; what comes
// within some milliseconds is sent together. The newest events stay in memory; older ones are read
// from the journal. A client that does not keep up is dropped by the network's limit and comes
// again with Last-Event-ID; what it missed is sent as fast as it takes it, and when it has caught
// up it gets what comes.
//
// What clusters say about pods is no part of the journal: it is sent to those who listen at that
// moment, with the newest sequence before it.
//
// Thread contract: publish from the loop's thread: it only queues. listen and tell from any thread.
// A thread of its own writes and sends; another reads the journal for those who begin further back.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "api/rest/workers.h"
#include "control/loop.h"
#include "model/pod_note.h"
#include "net/responder.h"
#include "ports/store.h"

namespace muster::api {

struct EventFilter {
  std::string job = {};              // empty: all
  std::set<std::string> kinds = {};  // empty: all
};

struct Listen {
  EventFilter filter;
  std::optional<std::uint64_t> from = {};  // none: from now on
  bool follow = true;                      // false: ends when it has caught up
};

class EventHub {
 public:
  struct Options {
    std::size_t kept = 16'384;  // events in memory
    std::size_t queued_most = 1'000'000;
    std::chrono::milliseconds look_pause{5000};  // between two looks for those who went away
    std::function<void()> begun = {};            // on the thread that sends, before anything else
  };
  EventHub(const ports::Store& store, Options options);
  ~EventHub();

  void publish(const control::StepReport& report, const sched::World& world);
  void tell(const model::PodNote& note);
  /// NotFound if the journal does not go back so far. The stream is begun by `begin` when it is
  /// known that it can be.
  void listen(Listen what, std::function<net::Stream()> begin,
              std::function<void(const Error&)> refuse);
  std::size_t listeners() const;
  void stop();

 private:
  struct Published {
    std::uint64_t sequence = 0;  // of sight: that of the newest entry before it
    bool is_sight = false;
    std::optional<model::JobState> state;
    model::Event event;
  };
  struct Kept {
    std::uint64_t sequence = 0;
    std::string job;
    std::string_view kind;
    net::SharedBytes bytes;
  };
  struct Listener {
    EventFilter filter;
    net::Stream stream;
  };
  /// One that is sent what is in memory before it gets what comes.
  struct Replay {
    Listen what;
    net::Stream stream;
    std::uint64_t next = 0;
  };
  enum class Caught { Up, NotYet, Gone };

  void run();
  void wake();  // under queue_mutex_
  std::chrono::milliseconds pause() const;
  void send(const std::deque<Published>& batch);
  void send(const std::deque<model::PodNote>& notes);
  void send(const std::vector<Kept>& batch);
  static Kept kept_of(const model::Event& event, std::uint64_t sequence,
                      std::optional<model::JobState> state);
  static bool wants(const EventFilter& filter, const Kept& kept);
  void begin(const Listen& what, std::uint64_t from, const net::Stream& stream);
  /// Whether some have still to catch up.
  bool send_replays();
  Caught send_more(Replay& replay) const;
  /// Forgets those who went away: nothing is sent to who waits for a quiet job, which would tell.
  void forget_gone();
  void attach(const Listen& what, const net::Stream& stream);
  std::uint64_t first_kept() const { return kept_.empty() ? last_ + 1 : kept_.front().sequence; }

  const ports::Store& store_;
  const Options options_;

  std::mutex queue_mutex_;
  std::condition_variable queued_;
  std::deque<Published> queue_;
  std::deque<model::PodNote> notes_;
  bool overflowed_ = false;   // some were not queued: listeners must come again
  bool has_replays_ = false;  // new ones
  bool is_idle_ = false;      // the thread waits for something to send
  bool stopping_ = false;

  mutable std::mutex mutex_;  // of the rest
  std::deque<Kept> kept_;     // of the journal, in order, without gaps
  std::uint64_t last_ = 0;    // newest sequence sent
  std::list<Listener> all_;
  std::unordered_map<std::string, std::list<Listener>> by_job_;
  std::list<Replay> replays_;

  Workers readers_;
  std::thread thread_;
};

}  // namespace muster::api
