#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "apps/muster/bench_server/parts.h"
#include "apps/muster/measuring/child_server.h"
#include "net/http_load.h"
#include "store/sqlite/commit_limit.h"

namespace muster::app {
namespace {

constexpr int connections = 64;
constexpr double reach_batches = 5'000;
constexpr double reach_singly = 1'000;

/// What the server wrote for the jobs of a load.
struct Written {
  double commits = 0;
  double bytes = 0;  // its database files
};

double database_bytes(const std::string& folder) {
  double bytes = 0;
  std::error_code ignored;
  for (const char* name : {"/data/muster.db", "/data/muster-blobs.db"})
    bytes += static_cast<double>(std::filesystem::file_size(folder + name, ignored));
  return bytes;
}

Result<Written> written(ChildServer& server, const std::string& folder) {
  const auto samples = server.metrics();
  if (!samples) return samples.error();
  const auto commits = samples->find("muster_store_commit_seconds_count");
  if (commits == samples->end())
    return invalid("the server has no metric muster_store_commit_seconds_count");
  return Written{commits->second, database_bytes(folder)};
}

struct Submits {
  double jobs_per_s = 0;
  double p99_ms = 0;
  double jobs_per_commit = 0;
  double bytes_per_job = 0;
};

Result<Submits> submit(ChildServer& server, const std::string& folder, std::uint64_t batch,
                       Duration length) {
  const auto before = written(server, folder);
  if (!before) return before.error();
  std::string refusal;
  const auto load =
      net::run_load({.port = server.port(),
                     .connections = connections,
                     .length = length,
                     .method = "POST",
                     .target = "/api/muster/v1/jobs",
                     .headers = {"Content-Type: application/json"},
                     .body = [batch](std::uint64_t n) { return submit_body(n * batch, batch); },
                     .on_answer =
                         [&](int status, std::string_view body) {
                           if (status != 201) refusal = fmt::format("{}: {}", status, body);
                         }});
  if (!load) return load.error();
  if (load->refused > 0) return Error{Fault::Unavailable, "a submit was refused: " + refusal};
  const auto after = written(server, folder);
  if (!after) return after.error();
  const double jobs = static_cast<double>(load->answers * batch);
  return Submits{load->per_second * static_cast<double>(batch), load->p99_ms,
                 jobs / std::max(1.0, after->commits - before->commits),
                 std::max(100.0, (after->bytes - before->bytes) / jobs)};
}

/// The same bytes a job, as many jobs a commit, by SQLite alone.
Result<double> raw_sqlite(const std::string& file, const Submits& submits, Duration length) {
  return store::measure_commit_limit(
      file, static_cast<std::size_t>(submits.bytes_per_job),
      std::max<std::size_t>(1, static_cast<std::size_t>(submits.jobs_per_commit)), length);
}

}  // namespace

Status measure_submits(const ServerBenchOptions& options, Sheet& sheet) {
  const auto folder = BenchFolder::make();
  if (!folder) return folder.error();
  const std::string& path = (*folder)->path();
  auto server = ChildServer::start(path, full_fleet_yaml());
  if (!server) return server.error();
  const Duration limit_length{options.length.ms / 2};
  bench_progress("submits: the raw limit of HTTP");
  const auto http = net::run_load({.port = (*server)->port(),
                                   .connections = connections,
                                   .length = limit_length,
                                   .target = "/healthz"});
  if (!http) return http.error();
  for (const std::uint64_t batch : {std::uint64_t{100}, std::uint64_t{1}}) {
    const std::string how = batch == 1 ? "singly" : fmt::format("in batches of {}", batch);
    bench_progress("submits: " + how);
    const auto submits = submit(**server, path, batch, options.length);
    if (!submits) return submits.error();
    const auto raw = raw_sqlite(fmt::format("{}/raw-{}.db", path, batch), *submits, limit_length);
    if (!raw) return raw.error();
    const double raw_http = http->per_second * static_cast<double>(batch);
    sheet.add(
        {.measure = fmt::format("submits {}, {} connections", how, connections),
         .value = submits->jobs_per_s,
         .unit = "jobs/s",
         .limit = std::min(*raw, raw_http),
         .reach = batch == 1 ? reach_singly : reach_batches,
         .note = fmt::format("{:.0f} jobs a commit, {:.0f} bytes a job, p99 {:.1f} ms",
                             submits->jobs_per_commit, submits->bytes_per_job, submits->p99_ms)});
    sheet.add({.measure = "  beside raw SQLite, commits of that size",
               .value = submits->jobs_per_s,
               .unit = "jobs/s",
               .limit = *raw});
    sheet.add({.measure = "  beside raw HTTP, GET /healthz",
               .value = submits->jobs_per_s,
               .unit = "jobs/s",
               .limit = raw_http});
  }
  return Ok{};
}

}  // namespace muster::app
