#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <string>
#include <vector>

#include "apps/muster/bench_server/parts.h"
#include "apps/muster/measuring/child_server.h"
#include "net/http_load.h"

namespace muster::app {
namespace {

namespace json = boost::json;

constexpr std::uint64_t batch = 1'000;
constexpr int fill_connections = 8;
constexpr int read_connections = 4;
constexpr double serving_s_most = 10;
constexpr double page_ms_most = 20;
constexpr std::uint64_t ids_every = 97;  // of so many jobs one is looked at later

/// Some of the ids.
Result<std::vector<std::string>> fill(ChildServer& server, std::int64_t jobs) {
  std::vector<std::string> ids;
  std::string refusal;
  std::uint64_t answered = 0;
  const std::uint64_t requests = (static_cast<std::uint64_t>(jobs) + batch - 1) / batch;
  const auto keep = [&](int status, std::string_view body) {
    if (status != 201) {
      refusal = fmt::format("{}: {}", status, body);
      return;
    }
    const json::value answer = json::parse(body);
    const json::array& all = answer.at("ids").as_array();
    for (std::size_t i = 0; i < all.size(); i += ids_every) ids.emplace_back(all[i].as_string());
    ++answered;
    bench_progress(fmt::format("many jobs: {} of {}", answered * batch, jobs));
  };
  const auto load =
      net::run_load({.port = server.port(),
                     .connections = fill_connections,
                     .length = hours(1),
                     .requests_max = requests,
                     .method = "POST",
                     .target = "/api/muster/v1/jobs",
                     .headers = {"Content-Type: application/json"},
                     .body = [](std::uint64_t n) { return submit_body(n * batch, batch); },
                     .on_answer = keep});
  if (!load) return load.error();
  if (load->refused > 0) return Error{Fault::Unavailable, "a submit was refused: " + refusal};
  return ids;
}

struct WorldHash {
  std::string hash;
  std::int64_t waiting = 0;
  friend bool operator==(const WorldHash&, const WorldHash&) = default;
};

Result<WorldHash> world_hash(ChildServer& server) {
  const auto text = server.get("/api/muster/v1/info?world=true");
  if (!text) return text.error();
  const json::value info = json::parse(*text);
  const json::value* world = info.as_object().if_contains("world");
  if (world == nullptr) return invalid("GET /info?world=true has no world");
  return WorldHash{std::string(world->at("hash").as_string()),
                   world->at("waiting").to_number<std::int64_t>()};
}

Status measure_restart(ChildServer& server, Sheet& sheet) {
  bench_progress("many jobs: kill -9 and start again");
  const auto before = world_hash(server);
  if (!before) return before.error();
  const auto took = server.restart();
  if (!took) return took.error();
  const auto after = world_hash(server);
  if (!after) return after.error();
  sheet.add({.measure = fmt::format("restart with {} waiting jobs: serving", before->waiting),
             .value = *took,
             .unit = "s",
             .reach = serving_s_most,
             .direction = Reach::AtMost});
  sheet.add({.measure = "  world hash equal to before, 1 is yes",
             .value = *before == *after ? 1.0 : 0.0,
             .unit = "",
             .reach = 1,
             .note = fmt::format("{} {}", before->hash, after->hash)});
  return Ok{};
}

Status measure_reads(const ServerBenchOptions& options, ChildServer& server,
                     const std::vector<std::string>& ids, Sheet& sheet) {
  const auto id = [&ids](std::uint64_t n) { return ids[n * 7919 % ids.size()]; };
  struct Question {
    std::string name;
    std::function<std::string(std::uint64_t)> target;
  };
  const auto jobs = static_cast<std::uint64_t>(options.jobs);
  const std::vector<Question> questions = {
      {"list page, anywhere",
       [jobs](std::uint64_t n) {
         return fmt::format("/jobs?limit=100&cursor={}", 100 + n * 7919 % jobs);
       }},
      {"list page of a queue's waiting jobs",
       [](std::uint64_t n) {
         return fmt::format("/jobs?limit=100&state=Waiting&queue=q{}", n % 16);
       }},
      {"explain", [id](std::uint64_t n) { return fmt::format("/jobs/{}/explain", id(n)); }},
      {"show", [id](std::uint64_t n) { return fmt::format("/jobs/{}", id(n)); }},
  };
  for (const Question& question : questions) {
    bench_progress("many jobs: " + question.name);
    const auto load = net::run_load(
        {.port = server.port(),
         .connections = read_connections,
         .length = options.length,
         .target_of = [&](std::uint64_t n) { return "/api/muster/v1" + question.target(n); }});
    if (!load) return load.error();
    if (load->refused > 0)
      return Error{Fault::Unavailable, fmt::format("{}: {} of {} were refused", question.name,
                                                   load->refused, load->answers)};
    sheet.add({.measure = fmt::format("{} at {} jobs, p99", question.name, options.jobs),
               .value = load->p99_ms,
               .unit = "ms",
               .reach = page_ms_most,
               .direction = Reach::AtMost,
               .note = fmt::format("p50 {:.2f} ms, {:.0f}/s by {} connections", load->p50_ms,
                                   load->per_second, read_connections)});
  }
  return Ok{};
}

}  // namespace

Status measure_many_jobs(const ServerBenchOptions& options, Sheet& sheet) {
  const auto folder = BenchFolder::make();
  if (!folder) return folder.error();
  auto server = ChildServer::start((*folder)->path(), full_fleet_yaml());
  if (!server) return server.error();
  const auto ids = fill(**server, options.jobs);
  if (!ids) return ids.error();
  if (Status read = measure_reads(options, **server, *ids, sheet); !read) return read;
  return measure_restart(**server, sheet);
}

}  // namespace muster::app
