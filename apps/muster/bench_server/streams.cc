#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <boost/json.hpp>
#include <chrono>
#include <cmath>
#include <string>
#include <thread>
#include <vector>

#include "apps/muster/bench_server/parts.h"
#include "apps/muster/measuring/child_server.h"
#include "net/stream_load.h"

namespace muster::app {
namespace {

namespace json = boost::json;
using Clock = std::chrono::steady_clock;

constexpr double events_per_s = 1'000;
constexpr std::size_t listeners_of_all = 100;
constexpr std::size_t not_reading = 100;
constexpr int rounds_most = 7;
constexpr Duration long_enough = seconds(5);  // shorter runs look only whether everything works
constexpr double growth_percent_most = 10;
constexpr std::uint64_t batch = 1'000;
constexpr std::chrono::milliseconds beat{20};
constexpr std::string_view fleet =
    "clusters:\n"
    "- name: sim\n"
    "  type: simulated\n"
    "  run_time: 2s\n"
    "  nodes: [{count: 1000, cpu: 64, memory: 256Gi}]\n";

/// Jobs that wait for their release, each of which makes the same few events.
Result<std::vector<std::string>> submit_held(ChildServer& server, std::uint64_t jobs) {
  std::vector<std::string> ids;
  while (ids.size() < jobs) {
    json::array list;
    for (std::uint64_t i = 0; i < std::min(batch, jobs - ids.size()); ++i)
      list.push_back(json::object{{"command", "true"}, {"cpu", 1}, {"held", true}});
    const auto answer =
        server.post("/api/muster/v1/jobs", json::serialize(json::object{{"jobs", list}}));
    if (!answer) return answer.error();
    const json::value parsed = json::parse(*answer);
    for (const json::value& id : parsed.at("ids").as_array()) ids.emplace_back(id.as_string());
  }
  return ids;
}

/// Releases jobs at an even pace, from a thread of its own.
class Releaser {
 public:
  Releaser(ChildServer& server, const std::vector<std::string>& ids, double per_s)
      : ids_(ids), per_s_(per_s), url_(fmt::format("http://127.0.0.1:{}", server.port())) {
    thread_ = std::thread([this] { run(); });
  }
  ~Releaser() {
    stopping_ = true;
    thread_.join();
  }
  Releaser(const Releaser&) = delete;
  Releaser& operator=(const Releaser&) = delete;
  bool is_out_of_jobs() const { return next_ >= ids_.size(); }
  std::uint64_t failed() const { return failed_; }

 private:
  void run() {
    auto client = net::HttpClient::make({});
    if (!client) {
      ++failed_;
      return;
    }
    const auto begin = Clock::now();
    for (auto at = begin; !stopping_; at += beat) {
      std::this_thread::sleep_until(at);
      const double elapsed = std::chrono::duration<double>(at - begin).count();
      const auto due = static_cast<std::size_t>(elapsed * per_s_);
      for (; next_ < std::min(due, ids_.size()); ++next_) {
        (*client)->send_later(
            {.method = "POST",
             .url = fmt::format("{}/api/muster/v1/jobs/{}/release", url_, ids_[next_])},
            [this](const Result<net::ClientResponse>& answer) {
              if (!answer || answer->status != 200) ++failed_;
            });
      }
    }
  }

  const std::vector<std::string>& ids_;
  const double per_s_;
  const std::string url_;
  std::atomic<std::size_t> next_{0};
  std::atomic<std::uint64_t> failed_{0};
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

/// What the loop did over a while.
struct Window {
  double seconds = 0;
  double events = 0;
  double decisions = 0;
  double latency_s = 0;  // of all decisions together: see muster_decision_seconds
  double decision_ms() const { return latency_s * 1e3 / decisions; }
};

Window operator+(const Window& a, const Window& b) {
  return {a.seconds + b.seconds, a.events + b.events, a.decisions + b.decisions,
          a.latency_s + b.latency_s};
}

Result<Window> watch(ChildServer& server, Duration length) {
  const auto begin = Clock::now();
  const auto before = server.metrics();
  if (!before) return before.error();
  std::this_thread::sleep_for(std::chrono::milliseconds(length.ms));
  const auto after = server.metrics();
  if (!after) return after.error();
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  const auto grew = [&](std::string_view name) {
    double sum = 0;
    for (const auto& [key, value] : *after) {
      if (key != name && !key.starts_with(fmt::format("{}{{", name))) continue;
      const auto it = before->find(key);
      sum += value - (it == before->end() ? 0 : it->second);
    }
    return sum;
  };
  const double decisions = grew("muster_decision_seconds_count");
  if (decisions < 1) return Error{Fault::Unavailable, "the loop decided nothing"};
  return Window{seconds, grew("muster_events_total") + grew("muster_decisions_total"), decisions,
                grew("muster_decision_seconds_sum")};
}

/// Those of one job each first, then those of all, then those that do not read.
std::vector<net::StreamClient> clients_of(const std::vector<std::string>& ids, std::size_t count) {
  const std::string all = "/api/muster/v1/events";
  std::vector<net::StreamClient> clients;
  const std::size_t special = std::min(count, listeners_of_all + not_reading);
  for (std::size_t i = 0; i + special < count; ++i)
    clients.push_back({.target = fmt::format("{}?job={}", all, ids[i % ids.size()])});
  for (std::size_t i = 0; i < special; ++i)
    clients.push_back({.target = all, .reads = i < listeners_of_all});
  return clients;
}

Result<double> dropped_so_far(ChildServer& server) {
  const auto samples = server.metrics();
  if (!samples) return samples.error();
  const auto it = samples->find("muster_http_dropped_streams_total");
  return it == samples->end() ? 0.0 : it->second;
}

/// They fall behind by the second; half a minute is more than enough.
Status wait_dropped(ChildServer& server, double until) {
  for (int tries = 0; tries < 300; ++tries) {
    const auto dropped = dropped_so_far(server);
    if (!dropped) return dropped.error();
    if (*dropped >= until) return Ok{};
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  return Error{Fault::Unavailable, "clients that do not read are not dropped"};
}

/// How many of those that did not read were dropped, and read on without a gap once they came
/// again.
Result<double> resume(ChildServer& server, net::StreamLoad& load, std::size_t slow) {
  const auto slow_of = [slow](const std::vector<net::StreamSeen>& seen) {
    return std::vector<net::StreamSeen>(seen.end() - static_cast<std::ptrdiff_t>(slow), seen.end());
  };
  load.read_all();
  const auto all_ended = [&](const std::vector<net::StreamSeen>& seen) {
    const auto of = slow_of(seen);
    return std::all_of(of.begin(), of.end(), [](const auto& one) { return one.ended; });
  };
  load.wait(all_ended, seconds(10));
  const std::vector<net::StreamSeen> dropped = slow_of(load.seen());
  std::vector<net::StreamClient> again;
  for (const net::StreamSeen& one : dropped) {
    if (one.ended && one.last_id > 0)
      again.push_back(
          {.target = "/api/muster/v1/events", .last_event_id = fmt::format("{}", one.last_id)});
  }
  if (again.empty()) return 0.0;
  const auto reader = load.seen()[load.seen().size() - slow - 1];
  const auto resumed = net::StreamLoad::open("127.0.0.1", server.port(), again);
  if (!resumed) return resumed.error();
  (*resumed)->wait(
      [&](const std::vector<net::StreamSeen>& seen) {
        return std::all_of(seen.begin(), seen.end(),
                           [&](const auto& one) { return one.last_id >= reader.last_id; });
      },
      seconds(30));
  const std::vector<net::StreamSeen> seen = (*resumed)->seen();
  double good = 0;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    const std::string& from = again[i].last_event_id;
    const bool follows = fmt::format("{}", seen[i].first_id - 1) == from;
    if (follows && seen[i].gaps == 0 && seen[i].last_id >= reader.last_id) ++good;
  }
  return good;
}

struct Streams {
  std::vector<double> alone_ms;
  std::vector<double> streaming_ms;
  std::vector<double> growth;  // of a round: with clients over without, less one
  std::vector<double> noise;   // how far two windows without clients are apart
  double events_per_s = 0;     // the fewest
  double resumed = 0;
  std::uint64_t gaps = 0;
  std::uint64_t delivered = 0;
};

int rounds_of(const ServerBenchOptions& options) {
  return options.length < long_enough ? 1 : rounds_most;
}

Result<Streams> run_rounds(ChildServer& server, const std::vector<std::string>& ids,
                           const ServerBenchOptions& options) {
  Streams out;
  const auto count = static_cast<std::size_t>(options.clients);
  const std::size_t slow = std::min(count, not_reading);
  const Duration half{options.length.ms / 2};
  for (int round = 0; round < rounds_of(options); ++round) {
    bench_progress("streams: without clients");
    const auto first = watch(server, Duration{half.ms / 2});
    if (!first) return first.error();
    const auto second = watch(server, Duration{half.ms / 2});
    if (!second) return second.error();
    const Window alone = *first + *second;
    bench_progress(fmt::format("streams: {} clients", count));
    const auto dropped_before = dropped_so_far(server);
    if (!dropped_before) return dropped_before.error();
    const auto load = net::StreamLoad::open("127.0.0.1", server.port(), clients_of(ids, count));
    if (!load) return load.error();
    const auto streaming = watch(server, half);
    if (!streaming) return streaming.error();
    out.alone_ms.push_back(alone.decision_ms());
    out.streaming_ms.push_back(streaming->decision_ms());
    out.growth.push_back(streaming->decision_ms() / alone.decision_ms() - 1);
    out.noise.push_back(std::abs(second->decision_ms() / first->decision_ms() - 1));
    const double rate = streaming->events / streaming->seconds;
    out.events_per_s = round == 0 ? rate : std::min(out.events_per_s, rate);
    if (Status gone = wait_dropped(server, *dropped_before + static_cast<double>(slow)); !gone)
      return gone.error();
    const auto resumed = resume(server, **load, slow);
    if (!resumed) return resumed.error();
    out.resumed = round == 0 ? *resumed : std::min(out.resumed, *resumed);
    const std::vector<net::StreamSeen> seen = (*load)->seen();
    for (std::size_t i = 0; i < seen.size(); ++i) {
      out.delivered += seen[i].events;
      if (i + slow + listeners_of_all >= count && i + slow < count) out.gaps += seen[i].gaps;
    }
  }
  return out;
}

void add_rows(const ServerBenchOptions& options, const Streams& streams, Sheet& sheet) {
  sheet.add(
      {.measure = fmt::format("decision latency with {} event clients, growth", options.clients),
       .value = median(streams.growth) * 100,
       .unit = "%",
       .reach = growth_percent_most,
       .direction = Reach::AtMost,
       .note = fmt::format("median of {} rounds; {:.2f} ms without, {:.2f} ms with them",
                           streams.growth.size(), median(streams.alone_ms),
                           median(streams.streaming_ms))});
  sheet.add({.measure = "  the same without clients, one half to the other",
             .value = median(streams.noise) * 100,
             .unit = "%",
             .note = "noise"});
  sheet.add({.measure = "  events meanwhile",
             .value = streams.events_per_s,
             .unit = "events/s",
             .reach = events_per_s,
             .note = fmt::format("{} delivered", streams.delivered)});
  sheet.add({.measure = "  clients that did not read: dropped, then resumed",
             .value = streams.resumed,
             .unit = "clients",
             .reach = std::min<double>(not_reading, static_cast<double>(options.clients))});
  sheet.add({.measure = "  gaps that those of all events saw",
             .value = static_cast<double>(streams.gaps),
             .unit = "gaps",
             .reach = 0,
             .direction = Reach::AtMost});
}

/// As many descriptors as may be: each client has one.
void raise_descriptors() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

Status measure_streams(const ServerBenchOptions& options, Sheet& sheet) {
  raise_descriptors();
  const auto folder = BenchFolder::make();
  if (!folder) return folder.error();
  auto server = ChildServer::start((*folder)->path(), std::string(fleet));
  if (!server) return server.error();
  bench_progress("streams: submitting");
  // A released job makes at least four events: released, placed, started, finished.
  const double releases_per_s = std::ceil(events_per_s / 4 * 1.05);
  const double seconds_most =
      rounds_of(options) * (static_cast<double>(options.length.ms) / 1e3 + 30);
  const auto jobs = static_cast<std::uint64_t>(releases_per_s * seconds_most);
  const auto ids = submit_held(**server, jobs);
  if (!ids) return ids.error();
  const Releaser releaser(**server, *ids, releases_per_s);
  const auto streams = run_rounds(**server, *ids, options);
  if (!streams) return streams.error();
  if (releaser.failed() > 0)
    return Error{Fault::Unavailable, fmt::format("{} releases failed", releaser.failed())};
  if (releaser.is_out_of_jobs()) return invalid("all jobs were released too early");
  add_rows(options, *streams, sheet);
  return Ok{};
}

}  // namespace muster::app
