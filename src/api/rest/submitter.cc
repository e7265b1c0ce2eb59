#include "api/rest/submitter.h"

#include <algorithm>
#include <random>
#include <set>
#include <utility>

#include "api/rest/job_queues.h"
#include "base/text.h"
#include "config/job_objects.h"
#include "view/state_word.h"

namespace muster::api {
namespace {

constexpr std::size_t batch_jobs = 10'000;
constexpr std::size_t known_bytes_most = std::size_t{8} << 20;
constexpr std::size_t along_most = 8;  // payloads that go with a submit, and their bytes
constexpr std::size_t along_bytes_most = 16 << 10;
constexpr Duration known_for = minutes(20);  // less than unnamed payloads are kept

std::uint64_t random_seed() {
  std::random_device device;
  return (std::uint64_t{device()} << 32) | device();
}

/// A job that the engine has forgotten is in the tables still: one that succeeded need not be
/// waited for, one that did not would be waited for in vain.
Status settle_dependencies(const sched::World& world, model::JobSpec& spec,
                           const std::set<std::string>& together, const FinishedJobs& finished) {
  std::vector<std::string> left;
  for (const std::string& id : spec.depends_on) {
    const auto ended = finished.find(id);
    if (together.contains(id) || !world.find_job(id).is_none()) {
      left.push_back(id);
    } else if (ended == finished.end()) {
      return invalid(fmt::format("depends_on: there is no job \"{}\"", id));
    } else if (ended->second != model::JobState::Succeeded) {
      return invalid(fmt::format("depends_on: job {} is {}: this one could never start", id,
                                 view::state_word(ended->second)));
    }
  }
  spec.depends_on = std::move(left);
  return Ok{};
}

/// A job may also name clusters that are to come, but one of them must be there.
Status check_pins(const sched::World& world, const std::vector<std::string>& pins) {
  std::vector<std::string_view> names;
  for (const sched::ClusterId id : world.fleet.by_name()) {
    const sched::Cluster& cluster = world.fleet.cluster(id);
    if (!cluster.joined) continue;
    if (std::find(pins.begin(), pins.end(), cluster.spec.name) != pins.end()) return Ok{};
    names.push_back(cluster.spec.name);
  }
  if (pins.empty()) return Ok{};
  const std::string near = nearest(pins.front(), names);
  return invalid(fmt::format("clusters: there is no cluster \"{}\"{}", pins.front(),
                             near.empty() ? "" : fmt::format("; did you mean {}?", near)));
}

Missing missing_of(const sched::World& world, const std::vector<model::JobSpec>& specs) {
  for (const model::JobSpec& spec : specs) {
    if (!check_queues(world, spec)) return Missing::Queue;
    if (!check_pins(world, spec.gang.clusters)) return Missing::Cluster;
  }
  return Missing::Nothing;
}

Status check_job(const sched::World& world, const model::JobSpec& spec) {
  if (Status status = check_queues(world, spec); !status) return status;
  if (Status status = check_pins(world, spec.gang.clusters); !status) return status;
  const std::string& pool = spec.gang.pool;
  if (!pool.empty() && world.find_pool(pool).is_none() && world.find_fleet_pool(pool) == nullptr)
    return invalid(fmt::format("pool: there is no pool \"{}\"", pool));
  return Ok{};
}

/// Pins lose them; a job without pins excludes them.
void leave_out(std::vector<std::string> clusters, model::Gang& gang) {
  const auto has = [](const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  if (!gang.clusters.empty()) {
    std::erase_if(gang.clusters, [&](const std::string& pin) { return has(clusters, pin); });
    return;
  }
  for (std::string& cluster : clusters) {
    if (!has(gang.excluded_clusters, cluster)) gang.excluded_clusters.push_back(std::move(cluster));
  }
}

std::vector<model::JobSpec> take_specs(Submit& submit) {
  std::vector<model::JobSpec> specs;
  for (config::Submission& job : submit.jobs) {
    job.spec.user = submit.user;
    specs.push_back(std::move(job.spec));
  }
  return specs;
}

control::Asked asked_of(Submit& submit, std::vector<model::JobSpec> specs, Time now) {
  control::Asked asked;
  const std::string detail = fmt::format("{} {}, queue {}", specs.size(),
                                         specs.size() == 1 ? "job" : "jobs", specs[0].queue);
  asked.audit.push_back({0, now, submit.user, submit.request, submit.verb, specs[0].id, detail});
  for (std::size_t i = 0; i < specs.size(); ++i) {
    asked.events.emplace_back(
        model::JobSubmitted{std::move(specs[i]), 0, std::move(submit.jobs[i].labels)});
  }
  return asked;
}

/// Of the loop's queue.
SubmitOutcome refusal(control::Requests::Put put) {
  using Put = control::Requests::Put;
  const Error error{Fault::Unavailable, put == Put::Full ? "too many events wait: try again later"
                                        : put == Put::Closed
                                            ? "the server is stopping: try again later"
                                            : "the store takes no writes: try again later"};
  return {error, put == Put::Full};
}

}  // namespace

FinishedJobs finished_among(const ports::Store& store,
                            const std::vector<config::Submission>& jobs) {
  FinishedJobs finished;
  std::set<std::string> looked_at;
  for (const config::Submission& job : jobs) {
    for (const std::string& id : job.spec.depends_on) {
      if (!looked_at.insert(id).second) continue;
      const auto row = store.job(id);
      if (row && model::is_final(row->state)) finished.emplace(id, row->state);
    }
  }
  return finished;
}

Status check_jobs(const sched::World& world, std::vector<model::JobSpec>& specs,
                  const FinishedJobs& finished) {
  std::set<std::string> together;
  for (const model::JobSpec& spec : specs) together.insert(spec.id);
  for (std::size_t i = 0; i < specs.size(); ++i) {
    Status status = check_job(world, specs[i]);
    if (status) status = settle_dependencies(world, specs[i], together, finished);
    if (status) continue;
    if (specs.size() == 1) return status;
    return invalid(fmt::format("jobs[{}].{}", i, status.error().message));
  }
  return Ok{};
}

struct Submitter::RecentKeys {
  static constexpr std::size_t most = 200'000;
  struct Seen {
    std::string hash;
    std::vector<std::string> ids;
  };
  std::map<std::pair<std::string, std::string>, Seen> seen;  // by user and key
  std::deque<std::pair<std::string, std::string>> order;

  void add(const Submit& submit, const std::vector<std::string>& ids) {
    seen[{submit.user, submit.key}] = {submit.body_hash, ids};
    order.emplace_back(submit.user, submit.key);
    if (order.size() > most) {
      seen.erase(order.front());
      order.pop_front();
    }
  }
};

Submitter::Submitter(ports::Store& store, control::Requests& requests, std::function<Time()> clock,
                     Options options)
    : store_(store),
      requests_(requests),
      clock_(std::move(clock)),
      options_(options),
      recent_(std::make_shared<RecentKeys>()),
      prng_(random_seed()) {
  thread_ = std::thread([this] { run(); });
}

Submitter::~Submitter() { stop(); }

void Submitter::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Submitter::submit(Submit submit, std::function<void(SubmitOutcome)> done) {
  for (config::Submission& job : submit.jobs)
    config::add_runtime_classes(options_.runtime_classes, job);
  const Error busy{Fault::Unavailable, "too many submits wait: try again later"};
  const std::size_t jobs = submit.jobs.size();
  std::vector<Waiting> alone;
  {
    const std::lock_guard lock(mutex_);
    const bool has_room = jobs_waiting_ == 0 || jobs_waiting_ + jobs <= options_.jobs_most;
    if (!stopping_ && has_room && (at_work_ || !waiting_.empty() || jobs > along_most)) {
      jobs_waiting_ += jobs;
      waiting_.push_back({std::move(submit), {}, {}, std::move(done)});
      changed_.notify_one();
      return;
    }
    if (!stopping_ && has_room) {
      at_work_ = true;
      alone.push_back({std::move(submit), {}, {}, std::move(done)});
    }
  }
  if (alone.empty()) {
    done({busy, true});
    return;
  }
  const bool handed_over = hand_over_all(alone, MaySync::No);
  const std::lock_guard lock(mutex_);
  at_work_ = false;
  if (!handed_over) {
    jobs_waiting_ += jobs;
    waiting_.push_front(std::move(alone.front()));
  }
  if (stopping_ || !waiting_.empty()) changed_.notify_one();
}

void Submitter::run() {
  while (true) {
    std::vector<Waiting> batch;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return !at_work_ && (stopping_ || !waiting_.empty()); });
      if (waiting_.empty()) return;
      at_work_ = true;
      std::size_t jobs = 0;
      while (!waiting_.empty() && jobs < batch_jobs) {
        jobs += waiting_.front().submit.jobs.size();
        batch.push_back(std::move(waiting_.front()));
        waiting_.pop_front();
      }
      jobs_waiting_ -= jobs;
    }
    hand_over_all(batch, MaySync::Yes);
    const std::lock_guard lock(mutex_);
    at_work_ = false;
  }
}

/// False if payloads would have to be synced and that must not be: then nothing was done.
bool Submitter::hand_over_all(std::vector<Waiting>& batch, MaySync may_sync) {
  if (const std::optional<Error> refused = requests_.store_refusal()) {
    for (const Waiting& waiting : batch) waiting.done({*refused});
    return true;
  }
  if (!write_payloads(batch, may_sync)) return false;
  for (Waiting& waiting : batch) {
    if (waiting.done) hand_over(std::move(waiting));
  }
  return true;
}

/// Writing a few small payloads takes the loop less time than a sync takes; many would hold it up.
bool Submitter::take_along(std::vector<Waiting>& batch, const std::set<std::string>& fresh,
                           Time now) const {
  if (batch.size() != 1 || fresh.size() > along_most) return false;
  std::size_t bytes = 0;
  for (const std::string& text : fresh) bytes += text.size();
  if (bytes > along_bytes_most) return false;
  for (const std::string& text : fresh)
    batch.front().payloads.push_back({store_.payload_hash(text), text, now});
  return true;
}

/// Those whose payloads cannot be written are answered here, and lose their `done`. False as
/// hand_over_all.
bool Submitter::write_payloads(std::vector<Waiting>& batch, MaySync may_sync) {
  const Time now = clock_();
  if (known_bytes_ > known_bytes_most) {
    known_.clear();
    known_bytes_ = 0;
  }
  std::vector<std::pair<config::Submission*, std::string>> texts;
  std::set<std::string> fresh;
  for (Waiting& waiting : batch) {
    for (config::Submission& job : waiting.submit.jobs) {
      std::string text = config::to_json(job);
      const auto it = known_.find(text);
      if (it == known_.end() || it->second.put + known_for < now) fresh.insert(text);
      waiting.bytes.push_back(text.size());
      texts.emplace_back(&job, std::move(text));
    }
  }
  std::map<std::string_view, std::string_view> hashes_along;
  if (take_along(batch, fresh, now)) {
    for (const ports::Payload& payload : batch.front().payloads)
      hashes_along.emplace(payload.bytes, payload.hash);
  } else if (!fresh.empty()) {
    if (may_sync == MaySync::No) {
      for (Waiting& waiting : batch) waiting.bytes.clear();
      return false;
    }
    const std::vector<std::string_view> views(fresh.begin(), fresh.end());
    const auto hashes = store_.put_payloads(views, now);
    if (!hashes) {
      for (Waiting& waiting : batch) std::exchange(waiting.done, nullptr)({hashes.error()});
      return true;
    }
    for (std::size_t i = 0; i < views.size(); ++i) {
      known_bytes_ += views[i].size() + 64;
      known_[std::string(views[i])] = {(*hashes)[i], now};
    }
  }
  for (const auto& [job, text] : texts) {
    const auto along = hashes_along.find(text);
    job->spec.payload = along != hashes_along.end() ? along->second : known_.at(text).hash;
    leave_out(std::exchange(job->unfit_clusters, {}), job->spec.gang);
  }
  return true;
}

/// Nobody else needs the commands from here on. Jobs with given ids may be there already, with
/// commands of their own.
std::vector<AcceptedCommand> Submitter::commands_of(Waiting& waiting,
                                                    const std::vector<std::string>& ids) const {
  std::vector<AcceptedCommand> commands;
  if (!options_.accepted || !waiting.submit.ids.empty()) return commands;
  for (std::size_t i = 0; i < waiting.submit.jobs.size(); ++i) {
    config::Submission& job = waiting.submit.jobs[i];
    config::complete_command(job);
    job.command.user = waiting.submit.user;
    commands.push_back(
        {ids[i], std::make_shared<const model::Command>(std::move(job.command)), waiting.bytes[i]});
  }
  return commands;
}

void Submitter::hand_over(Waiting waiting) {
  struct Shared {
    Submit submit;
    std::vector<std::string> ids;
    bool repeated = false;
    bool is_first = false;  // under its key
    bool is_busy = false;
    Missing missing = Missing::Nothing;
    FinishedJobs finished;
    std::vector<ports::Payload> payloads;
    std::vector<AcceptedCommand> commands;
    std::function<void(SubmitOutcome)> done;
  };
  const auto shared = std::make_shared<Shared>();
  shared->finished = finished_among(store_, waiting.submit.jobs);
  shared->ids = waiting.submit.ids;
  while (shared->ids.size() < waiting.submit.jobs.size()) shared->ids.push_back(new_id());
  config::give_ids(waiting.submit.jobs, shared->ids);
  shared->commands = commands_of(waiting, shared->ids);
  shared->submit = std::move(waiting.submit);
  shared->payloads = std::move(waiting.payloads);
  shared->done = std::move(waiting.done);

  const auto ask = [shared, recent = recent_, kept = options_.keys_kept](
                       const sched::World& world, Time now) -> Result<control::Asked> {
    Submit& submit = shared->submit;
    if (!submit.key.empty()) {
      const auto seen = recent->seen.find({submit.user, submit.key});
      if (seen != recent->seen.end()) {
        if (seen->second.hash != submit.body_hash)
          return Error{Fault::Conflict, "this Idempotency-Key was used for another submit"};
        shared->ids = seen->second.ids;
        shared->repeated = true;
        return control::Asked{};
      }
    }
    for (const std::string& id : submit.ids)
      shared->repeated = shared->repeated || !world.find_job(id).is_none();
    if (shared->repeated) return control::Asked{};
    if (const std::size_t waiting = world.unplaced();
        waiting + submit.jobs.size() > submit.unplaced_most) {
      shared->is_busy = true;
      return Error{Fault::Unavailable, fmt::format("{} jobs wait already", waiting)};
    }
    std::vector<model::JobSpec> specs = take_specs(submit);
    if (Status status = check_jobs(world, specs, shared->finished); !status) {
      shared->missing = missing_of(world, specs);
      return status.error();
    }
    control::Asked asked = asked_of(submit, std::move(specs), now);
    asked.payloads = std::move(shared->payloads);
    if (!submit.key.empty()) {
      asked.keys.push_back({submit.user, submit.key, submit.body_hash, shared->ids, now + kept});
      recent->add(submit, shared->ids);
      shared->is_first = true;
    }
    return asked;
  };
  const auto done = [shared, recent = recent_,
                     accepted = options_.accepted](const Result<control::Answer>& answer) {
    if (!answer) {
      if (shared->is_first) recent->seen.erase({shared->submit.user, shared->submit.key});
      shared->done({answer.error(), shared->is_busy, shared->missing});
      return;
    }
    if (!shared->repeated && !shared->commands.empty()) accepted(std::move(shared->commands));
    shared->done({Submitted{shared->ids, shared->repeated}});
  };
  const auto put = requests_.put({ask, done}, shared->submit.jobs.size());
  if (put != control::Requests::Put::Taken) shared->done(refusal(put));
}

/// Twelve letters and digits, without those that are easily mistaken.
std::string Submitter::new_id() {
  constexpr std::string_view letters = "0123456789abcdefghjkmnpqrstvwxyz";
  std::string id;
  std::uint64_t bits = prng_.next();
  for (int i = 0; i < 12; ++i, bits >>= 5) id += letters[bits & 31];
  return id;
}

}  // namespace muster::api
