// AppWrappers that cannot become jobs yet, because something is missing that may come: a queue, a
// cluster, or what another controller left of them cannot be taken over. There may be 100,000 of
// them, all with the same mistyped queue, so of each is kept its id and what it lacks and no more;
// who asks for one again reads its object again.
//
// Those that lack the same are asked for in rounds: first a few of them, others each time; the rest
// only if one of those lacks it no more. Never more than some are out at the same time, so that
// nobody else waits for them. A round that brought nothing makes the pause before the next one
// longer, where the pace says so.
//
// Of one thread. Times are arguments.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "api/appwrapper/facts.h"
#include "base/time.h"

namespace muster::api {

class UnplacedDesk {
 public:
  using Kind = WrapperWait::Kind;
  struct Parts {
    /// It is to be read and tried once more; retried() says when that was done.
    std::function<void(const std::string& job)> retry;
    /// What comes of the try is not known yet.
    std::function<bool(const std::string& job)> is_open;
  };
  explicit UnplacedDesk(Parts parts) : parts_(std::move(parts)) {}

  /// Instead of what it lacked before. The id stays where it is until it is dropped. False: others
  /// lack the same already.
  bool add(std::string_view job, Kind kind, std::uint64_t what, Time now);
  /// False: it was not there.
  bool drop(std::string_view job);
  bool has(std::string_view job) const { return where_.contains(job); }
  void retried(const std::string& job);
  /// What lacks such is asked for at once.
  void look_again(Kind kind, Time now);
  void ask_due(Time now);
  Time next_due(Time now) const;

  static constexpr std::size_t first_asked = 20;  // of each lack, in a round
  static constexpr std::size_t out_most = 128;

 private:
  using What = std::pair<Kind, std::uint64_t>;
  struct Lack {
    What what = {};
    std::set<std::string_view> jobs = {};
    std::string last = {};   // that was asked for
    std::size_t left = 0;    // to be asked for in this round
    std::size_t out = 0;     // asked for, and not known yet
    bool is_over = false;    // one of those asked for lacks it no more
    bool is_wanted = false;  // another round, right after this one
    Duration pause = {};     // after a round that brings nothing
    Time due = Time::never();
  };
  struct Out {
    Lack* lack = nullptr;
    bool is_retried = false;
  };

  void set_due(Lack& lack, Time at);
  void begin(Lack& lack);
  void settle(Time now);
  void end_round(Lack& lack, Time now);
  /// Whose turn it is; null: nobody has anybody left to ask for.
  Lack* next_lack();
  void ask_next(Lack& lack);

  const Parts parts_;
  std::map<What, Lack> lacks_;
  std::unordered_map<std::string_view, Lack*> where_;
  std::set<std::pair<Time, What>> due_;
  std::set<What> running_;  // rounds
  What turn_ = {};          // the lack that was asked for last
  std::map<std::string, Out> out_;
};

}  // namespace muster::api
