#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "apps/muster/bench_kube/clusters.h"
#include "apps/muster/bench_kube/create_load.h"
#include "apps/muster/bench_kube/gang_jobs.h"
#include "apps/muster/bench_kube/parts.h"
#include "kube/json.h"

namespace muster::app {
namespace {

using Clock = std::chrono::steady_clock;
using Clients = std::vector<std::unique_ptr<kube::Client>>;

constexpr std::size_t in_flight = 32;
constexpr double reach = 0.8;
constexpr int jobs_per_submit = 500;
constexpr double patience_s = 300;

struct Load {
  int clusters = 1;
  int gangs = 0;
  int pods = 1;
};

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// How many Jobs there are, without reading them. From the API server's cache as it is: to be sure
/// of the newest, it would ask etcd and wait up to a tenth of a second until the cache is as new,
/// which is not the time of whoever made the Jobs.
Result<std::int64_t> count_jobs(kube::Client& client) {
  kube::ApiRequest request = kube::list_request(kube::resources::jobs(), bench_namespace);
  request.query = {
      {"limit", "1"}, {"resourceVersion", "1"}, {"resourceVersionMatch", "NotOlderThan"}};
  const auto page = client.send(std::move(request));
  if (!page) return Error{Fault::Unavailable, page.error().message};
  return static_cast<std::int64_t>(kube::items_at(*page, {"items"}).size()) +
         kube::integer_at(*page, {"metadata", "remainingItemCount"});
}

Result<std::vector<std::int64_t>> count_jobs(const Clients& clients) {
  std::vector<std::int64_t> counts;
  for (const auto& client : clients) {
    const auto count = count_jobs(*client);
    if (!count) return count.error();
    counts.push_back(*count);
  }
  return counts;
}

/// How many each cluster got in the end. Looks more often as that comes near, so that looking takes
/// nearly nothing and the end is seen within milliseconds.
Result<std::vector<std::int64_t>> wait_for_jobs(const Clients& clients, std::int64_t wanted,
                                                Clock::time_point begin) {
  while (true) {
    const auto counts = count_jobs(clients);
    if (!counts) return counts.error();
    const std::int64_t count = std::accumulate(counts->begin(), counts->end(), std::int64_t{0});
    if (count >= wanted) return *counts;
    const double took = seconds_since(begin);
    if (took > patience_s) {
      return Error{Fault::Unavailable,
                   fmt::format("{} of {} Jobs were made in {:.0f} s", count, wanted, took)};
    }
    const double left = static_cast<double>(wanted - count) * took /
                        static_cast<double>(std::max<std::int64_t>(count, 1));
    std::this_thread::sleep_for(std::chrono::duration<double>(std::clamp(left / 2, 0.005, 0.25)));
  }
}

/// Jobs created by the client alone, in all clusters at once: the sum of their rates.
Result<double> limit_rate(const KubeBenchOptions& options, const Load& load) {
  bench_progress("limit: clusters");
  const auto clusters =
      BenchClusters::start({options.clusters_program, load.clusters, options.nodes});
  if (!clusters) return clusters.error();
  const auto clients = (*clusters)->clients();
  if (!clients) return clients.error();
  std::vector<std::vector<kube::ApiRequest>> requests;
  for (int i = 0; i < load.clusters; ++i) {
    const int count = load.gangs / load.clusters + (i < load.gangs % load.clusters ? 1 : 0);
    auto made = gang_job_requests(i * load.gangs, count, load.pods, options.nodes);
    if (!made) return made.error();
    requests.push_back(std::move(*made));
    const auto allowed = (*clients)[static_cast<std::size_t>(i)]->send(priority_class_request());
    if (!allowed) return Error{Fault::Unavailable, allowed.error().message};
  }
  bench_progress("limit: creating");
  std::vector<CreateLoad> loads;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    loads.emplace_back(
        *(*clients)[i],
        CreateLoad::Options{.count = requests[i].size(),
                            .in_flight = in_flight,
                            .request = [&one = requests[i]](std::size_t n) { return one[n]; }});
  }
  double rate = 0;
  for (std::size_t i = 0; i < loads.size(); ++i) {
    const auto took = loads[i].wait();
    if (!took) return took.error();
    rate += static_cast<double>(requests[i].size()) / *took;
  }
  return rate;
}

struct MusterRun {
  double rate = 0;
  std::vector<std::int64_t> jobs;  // of each cluster
};

/// The same gangs submitted to a server: from the first submit to the last Job.
Result<MusterRun> muster_rate(const KubeBenchOptions& options, const Load& load) {
  bench_progress("muster: clusters");
  const auto clusters =
      BenchClusters::start({options.clusters_program, load.clusters, options.nodes});
  if (!clusters) return clusters.error();
  const auto clients = (*clusters)->clients();
  if (!clients) return clients.error();
  const auto folder = BenchFolder::make();
  if (!folder) return folder.error();
  const auto server = ChildServer::start((*folder)->path(), (*clusters)->server_yaml());
  if (!server) return server.error();
  const Status seen =
      wait_for_nodes(**server, static_cast<std::size_t>(load.clusters), options.nodes);
  if (!seen) return seen.error();
  std::vector<std::string> bodies;
  for (int first = 0; first < load.gangs; first += jobs_per_submit) {
    const int count = std::min(jobs_per_submit, load.gangs - first);
    bodies.push_back(gang_submit_body(first, count, load.pods));
  }
  bench_progress("muster: submitting");
  const auto begin = Clock::now();
  for (std::string& body : bodies) {
    const auto answer = (*server)->post("/api/muster/v1/jobs", std::move(body));
    if (!answer) return answer.error();
  }
  auto made = wait_for_jobs(*clients, load.gangs, begin);
  if (!made) return made.error();
  return MusterRun{load.gangs / seconds_since(begin), std::move(*made)};
}

Status measure(const KubeBenchOptions& options, const Load& load, const std::string& title,
               Sheet& sheet) {
  std::vector<Turn> turns;
  std::vector<std::string> jobs;
  for (int i = 0; i < options.turns; ++i) {
    // Who goes second may find a warmer machine, or a busier one.
    const bool is_limit_first = i % 2 == 0;
    Result<double> limit = 0.0;
    if (is_limit_first) limit = limit_rate(options, load);
    if (!limit) return limit.error();
    const auto muster = muster_rate(options, load);
    if (!muster) return muster.error();
    if (!is_limit_first) limit = limit_rate(options, load);
    if (!limit) return limit.error();
    turns.push_back({muster->rate, *limit});
    jobs.push_back(fmt::format("{}", fmt::join(muster->jobs, "+")));
  }
  BenchRow row = row_of(title, "gangs/s", turns);
  sheet.add({.measure = fmt::format("limit: plain creates of the same Jobs, {} in flight{}",
                                    in_flight, load.clusters > 1 ? " each" : ""),
             .value = *row.limit,
             .unit = row.unit});
  if (load.clusters > 1) row.note += fmt::format("; Jobs by cluster {}", fmt::join(jobs, ", "));
  row.reach = reach;
  row.is_reach_of_ratio = true;
  sheet.add(row);
  return Ok{};
}

}  // namespace

Status measure_gangs(const KubeBenchOptions& options, Sheet& sheet) {
  return measure(options, {.clusters = 1, .gangs = options.gangs, .pods = 2},
                 fmt::format("{} gangs of 2 pods, submit to last Job", options.gangs), sheet);
}

Status measure_fleet(const KubeBenchOptions& options, Sheet& sheet) {
  return measure(options, {.clusters = 3, .gangs = options.fleet_gangs, .pods = 1},
                 fmt::format("{} gangs of 1 pod over three clusters", options.fleet_gangs), sheet);
}

}  // namespace muster::app
