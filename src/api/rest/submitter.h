// Submits on their way: the payloads of all that wait are made durable together, with one sync,
// then the jobs go to the loop, which answers when they are in the journal. The payloads of a
// submit that comes alone go with its jobs, in one transaction: nothing waits for two syncs. A
// repeated submit under its idempotency key is answered with the jobs of the first.
//
// Thread contract: submit from any thread but the loop's; `done` is called on any thread and must
// not wait. A submit whose payloads go with it is handed over by the caller itself when nobody else
// is at it; a thread of our own writes all other payloads. The keys of the last minutes are kept
// for the loop's thread alone: between a key's first submit and its row in the store there is no
// gap.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/prng.h"
#include "base/result.h"
#include "base/time.h"
#include "config/job_file.h"
#include "control/requests.h"
#include "model/runtime_class.h"
#include "ports/store.h"

namespace muster::api {

struct Submit {
  std::vector<config::Submission> jobs;  // without ids
  std::string user;
  std::string request;  // id
  std::string key;      // of idempotency; empty: none
  std::string body_hash;
  std::string verb = "submit";  // for the audit
  /// Given ids, as many as jobs; empty: new ones. A given one that is taken is that job, repeated.
  std::vector<std::string> ids = {};
  /// So many jobs may wait then, in whatever way; with more it is busy, unless it is repeated.
  std::size_t unplaced_most = SIZE_MAX;
};

struct Submitted {
  std::vector<std::string> ids;
  bool repeated = false;
};

/// What a job names that is not there, and may be tomorrow.
enum class Missing { Nothing, Queue, Cluster };

/// How it went: the jobs, or an error; `busy`: too much waits already (429), nothing was kept.
struct SubmitOutcome {
  Result<Submitted> result;
  bool busy = false;
  Missing missing = Missing::Nothing;  // why there is an error
};

/// What the pods of a job run, as ports::Payloads says it, for whoever dispatches it soon.
struct AcceptedCommand {
  std::string job;
  std::shared_ptr<const model::Command> command;
  std::size_t bytes = 0;  // about what it holds
};

/// How jobs ended, by id: of those that others depend on.
using FinishedJobs = std::map<std::string, model::JobState>;

class Submitter {
 public:
  struct Options {
    std::size_t jobs_most = 100'000;  // that wait for their payloads
    Duration keys_kept = hours(24);
    /// Those of new jobs, once these are durable and before anything is planned: on the loop's
    /// thread. None: nobody wants to know.
    std::function<void(std::vector<AcceptedCommand>)> accepted = {};
    /// The RuntimeClasses of the clusters, which pods of objects may name. None: there are none.
    std::function<model::RuntimeClasses()> runtime_classes = {};
  };
  Submitter(ports::Store& store, control::Requests& requests, std::function<Time()> clock,
            Options options);
  ~Submitter();

  void submit(Submit submit, std::function<void(SubmitOutcome)> done);
  void stop();

 private:
  struct Waiting {
    Submit submit;
    std::vector<ports::Payload> payloads = {};  // that are to be written with it
    std::vector<std::size_t> bytes = {};        // of each job's document
    std::function<void(SubmitOutcome)> done;
  };
  /// Of keys whose rows may not be visible yet. The loop's thread alone.
  struct RecentKeys;

  enum class MaySync { No, Yes };

  void run();
  bool hand_over_all(std::vector<Waiting>& batch, MaySync may_sync);
  bool write_payloads(std::vector<Waiting>& batch, MaySync may_sync);
  bool take_along(std::vector<Waiting>& batch, const std::set<std::string>& fresh, Time now) const;
  std::vector<AcceptedCommand> commands_of(Waiting& waiting,
                                           const std::vector<std::string>& ids) const;
  void hand_over(Waiting waiting);
  std::string new_id();

  ports::Store& store_;
  control::Requests& requests_;
  const std::function<Time()> clock_;
  const Options options_;
  const std::shared_ptr<RecentKeys> recent_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Waiting> waiting_;
  std::size_t jobs_waiting_ = 0;
  bool at_work_ = false;  // somebody: the thread, or a caller
  bool stopping_ = false;

  // Of who is at work.
  Prng prng_;
  struct Known {
    std::string hash;
    Time put;
  };
  std::unordered_map<std::string, Known> known_;  // payloads that were put lately
  std::size_t known_bytes_ = 0;
  std::thread thread_;
};

/// Of the jobs that these depend on. What cannot be read is looked for in the engine alone.
FinishedJobs finished_among(const ports::Store& store, const std::vector<config::Submission>& jobs);

/// What the world has against these jobs: an unknown queue, pool or dependency. Dependencies that
/// the engine has forgotten and that succeeded are taken off.
Status check_jobs(const sched::World& world, std::vector<model::JobSpec>& specs,
                  const FinishedJobs& finished);

}  // namespace muster::api
