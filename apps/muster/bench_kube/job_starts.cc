#include <fmt/format.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "apps/muster/bench_kube/clusters.h"
#include "apps/muster/bench_kube/gang_jobs.h"
#include "apps/muster/bench_kube/parts.h"
#include "kube/json.h"
#include "kube/watch.h"

namespace muster::app {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double reach = 2;
constexpr std::chrono::seconds patience{30};
/// Between two: until the pods of the last one are made and bound.
constexpr std::chrono::milliseconds rest{400};

double ms_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

/// Sees Jobs as they come into being.
class JobWatch {
 public:
  explicit JobWatch(kube::Client& client)
      : decoder_([this](const kube::WatchEvent& event) { return take(event); }) {
    call_ = client.stream_later(
        kube::watch_request(kube::resources::jobs(), bench_namespace),
        [this](std::string_view bytes) { return decoder_.feed(bytes); },
        [this](const kube::Reply<Ok>&) {
          const std::lock_guard lock(mutex_);
          is_over_ = true;
          changed_.notify_all();
        });
  }
  ~JobWatch() {
    call_.cancel();
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return is_over_; });
  }
  /// When the next one came that was not waited for yet.
  Result<Clock::time_point> wait() {
    std::unique_lock lock(mutex_);
    const bool has_come =
        changed_.wait_for(lock, patience, [this] { return !came_.empty() || is_over_; });
    if (!has_come || came_.empty()) return Error{Fault::Unavailable, "no Job was made"};
    const auto first = came_.front();
    came_.erase(came_.begin());
    return first;
  }

 private:
  bool take(const kube::WatchEvent& event) {
    if (event.kind != kube::WatchEvent::Kind::Added) return true;
    const auto now = Clock::now();
    {
      const std::lock_guard lock(mutex_);
      came_.push_back(now);
    }
    changed_.notify_all();
    return true;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Clock::time_point> came_;  // guarded by mutex_, as the next
  bool is_over_ = false;
  kube::WatchDecoder decoder_;  // of the client's I/O thread
  kube::Client::Call call_;
};

/// A submit and a plain create, one after the other, on a server and a client that are at rest.
class Pair {
 public:
  static Result<std::unique_ptr<Pair>> start(const KubeBenchOptions& options) {
    auto pair = std::make_unique<Pair>();
    auto clusters = BenchClusters::start({options.clusters_program, 1, options.nodes});
    if (!clusters) return clusters.error();
    pair->clusters_ = std::move(*clusters);
    auto client = pair->clusters_->client(pair->clusters_->names().front());
    if (!client) return client.error();
    pair->client_ = std::move(*client);
    auto folder = BenchFolder::make();
    if (!folder) return folder.error();
    pair->folder_ = std::move(*folder);
    auto server = ChildServer::start(pair->folder_->path(), pair->clusters_->server_yaml());
    if (!server) return server.error();
    pair->server_ = std::move(*server);
    if (Status seen = wait_for_nodes(*pair->server_, 1, options.nodes); !seen) return seen.error();
    auto requests = gang_job_requests(0, options.starts + 2, 1, options.nodes);
    if (!requests) return requests.error();
    pair->requests_ = std::move(*requests);
    pair->watch_.emplace(*pair->client_);
    return pair;
  }

  /// How long each took, in ms, the one shortly after the other.
  Result<Turn> next() { return next_after(rest); }

  /// The same, each after such a rest: whoever comes second finds an API server that is awake.
  Result<Turn> next_after(std::chrono::milliseconds pause) {
    std::this_thread::sleep_for(pause);
    const auto started = submit();
    if (!started) return started.error();
    std::this_thread::sleep_for(pause);
    const auto created = create();
    if (!created) return created.error();
    ++number_;
    return Turn{*started, *created};
  }

 private:
  Result<double> submit() {
    const auto begin = Clock::now();
    const auto answer = server_->post("/api/muster/v1/jobs", gang_submit_body(number_, 1, 1));
    if (!answer) return answer.error();
    const auto came = watch_->wait();
    if (!came) return came.error();
    return std::chrono::duration<double, std::milli>(*came - begin).count();
  }
  Result<double> create() {
    const auto begin = Clock::now();
    const auto made = client_->send(requests_[static_cast<std::size_t>(number_)]);
    if (!made) return Error{Fault::Unavailable, made.error().message};
    const double took = ms_since(begin);
    if (const auto own = watch_->wait(); !own) return own.error();
    return took;
  }

  std::unique_ptr<BenchClusters> clusters_;
  std::unique_ptr<kube::Client> client_;
  std::unique_ptr<BenchFolder> folder_;
  std::unique_ptr<ChildServer> server_;
  std::vector<kube::ApiRequest> requests_;
  std::optional<JobWatch> watch_;
  int number_ = 0;
};

struct TurnOfStarts {
  Turn usual;       // medians
  Turn after_rest;  // one of each
};

/// One turn on one control plane.
Result<TurnOfStarts> turn(const KubeBenchOptions& options) {
  bench_progress("starts: cluster");
  auto pair = Pair::start(options);
  if (!pair) return pair.error();
  bench_progress("starts: a job at a time");
  std::vector<double> creates;
  std::vector<double> starts;
  for (int i = 0; i < options.starts + 1; ++i) {
    const auto took = (*pair)->next();
    if (!took) return took.error();
    if (i == 0) continue;  // the first ones warm up
    starts.push_back(took->muster);
    creates.push_back(took->limit);
  }
  bench_progress("starts: a rest");
  const auto rested = (*pair)->next_after(std::chrono::milliseconds(options.rest.ms));
  if (!rested) return rested.error();
  return TurnOfStarts{{median(starts), median(creates)}, *rested};
}

void add_row(const std::string& title, const std::vector<Turn>& turns, Sheet& sheet) {
  BenchRow row = row_of(title, "ms", turns);
  row.reach = reach;
  row.is_reach_of_ratio = true;
  row.direction = Reach::AtMost;
  sheet.add(row);
}

}  // namespace

Status measure_job_starts(const KubeBenchOptions& options, Sheet& sheet) {
  std::vector<Turn> usual;
  std::vector<Turn> after_rest;
  for (int i = 0; i < options.turns; ++i) {
    const auto one = turn(options);
    if (!one) return one.error();
    usual.push_back(one->usual);
    after_rest.push_back(one->after_rest);
  }
  add_row("submit to Job created, idle, p50", usual, sheet);
  add_row(fmt::format("the same, each after {} s of rest, one a turn", options.rest.ms / 1000),
          after_rest, sheet);
  return Ok{};
}

}  // namespace muster::app
