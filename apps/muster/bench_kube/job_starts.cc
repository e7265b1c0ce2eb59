#include <fmt/format.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
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

/// One turn on one control plane: plain creates and submits in turns.
Result<Turn> turn(const KubeBenchOptions& options) {
  bench_progress("starts: cluster");
  const auto clusters = BenchClusters::start({options.clusters_program, 1, options.nodes});
  if (!clusters) return clusters.error();
  const auto client = (*clusters)->client((*clusters)->names().front());
  if (!client) return client.error();
  const auto folder = BenchFolder::make();
  if (!folder) return folder.error();
  const auto server = ChildServer::start((*folder)->path(), (*clusters)->server_yaml());
  if (!server) return server.error();
  if (Status seen = wait_for_nodes(**server, 1, options.nodes); !seen) return seen.error();
  const auto requests = gang_job_requests(0, options.starts + 1, 1, options.nodes);
  if (!requests) return requests.error();
  bench_progress("starts: a job at a time");
  JobWatch watch(**client);
  std::vector<double> creates;
  std::vector<double> starts;
  for (int i = 0; i < options.starts + 1; ++i) {
    const std::string body = gang_submit_body(i, 1, 1);
    auto begin = Clock::now();
    const auto answer = (*server)->post("/api/muster/v1/jobs", body);
    if (!answer) return answer.error();
    const auto came = watch.wait();
    if (!came) return came.error();
    const double start = std::chrono::duration<double, std::milli>(*came - begin).count();
    std::this_thread::sleep_for(rest);
    begin = Clock::now();
    const auto made = (*client)->send((*requests)[static_cast<std::size_t>(i)]);
    if (!made) return Error{Fault::Unavailable, made.error().message};
    const double create = ms_since(begin);
    if (const auto own = watch.wait(); !own) return own.error();
    std::this_thread::sleep_for(rest);
    if (i == 0) continue;  // the first ones warm up
    starts.push_back(start);
    creates.push_back(create);
  }
  return Turn{median(starts), median(creates)};
}

}  // namespace

Status measure_job_starts(const KubeBenchOptions& options, Sheet& sheet) {
  std::vector<Turn> turns;
  for (int i = 0; i < options.turns; ++i) {
    const auto one = turn(options);
    if (!one) return one.error();
    turns.push_back(*one);
  }
  BenchRow row = row_of("submit to Job created, idle, p50", "ms", turns);
  row.reach = reach;
  row.is_reach_of_ratio = true;
  row.direction = Reach::AtMost;
  sheet.add(row);
  return Ok{};
}

}  // namespace muster::app
