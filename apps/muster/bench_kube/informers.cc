#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "apps/muster/bench_kube/clusters.h"
#include "apps/muster/bench_kube/large_cluster.h"
#include "apps/muster/bench_kube/parts.h"
#include "clusters/kubernetes/sight.h"
#include "kube/requests.h"
#include "ports/inbox.h"

namespace muster::app {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double reach_time = 1.5;
constexpr double reach_bytes = 1024;
constexpr std::int64_t page = 500;  // objects, as informers ask for them

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Resident memory of this process: what the allocator keeps for later counts too.
double resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  double all = 0;
  double resident = 0;
  statm >> all >> resident;
  return resident * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

/// From the head of a page; its items are not looked at.
std::string continue_token(std::string_view head) {
  constexpr std::string_view key = "\"continue\":\"";
  const std::size_t items = head.find("\"items\":");
  const std::size_t at = head.find(key);
  if (at == std::string_view::npos || at > items) return "";
  const std::size_t begin = at + key.size();
  return std::string(head.substr(begin, head.find('"', begin) - begin));
}

/// All pages of a list, thrown away as they come.
Status read_raw(kube::Client& client, const kube::Resource& resource) {
  constexpr std::size_t head_bytes = 4096;
  kube::ListOptions which{.limit = page};
  do {
    std::string head;
    const auto read =
        client.stream(kube::list_request(resource, "", which), [&head](std::string_view bytes) {
          if (head.size() < head_bytes) head += bytes;
          return true;
        });
    if (!read) return Error{Fault::Unavailable, read.error().message};
    which.continue_token = continue_token(head);
  } while (!which.continue_token.empty());
  return Ok{};
}

Result<double> raw_seconds(const BenchClusters& clusters) {
  const auto client = clusters.client(clusters.names().front());
  if (!client) return client.error();
  const auto begin = Clock::now();
  auto nodes =
      std::async(std::launch::async, [&] { return read_raw(**client, kube::resources::nodes()); });
  const Status pods = read_raw(**client, kube::resources::pods());
  if (Status status = nodes.get(); !status) return status.error();
  if (!pods) return pods.error();
  return seconds_since(begin);
}

/// Takes everything, as the control loop does.
class Drain : public ports::Inbox {
 public:
  Status put(model::Event) override {
    ++events_;
    return Ok{};
  }
  std::vector<model::Event> take(std::size_t) override { return {}; }
  std::size_t size() const override { return 0; }
  std::size_t events() const { return events_; }

 private:
  std::size_t events_ = 0;
};

struct Sight {
  double seconds = 0;
  double resident = 0;  // bytes, with all that is kept
};

Result<Sight> first_sight(const KubeBenchOptions& options, const BenchClusters& clusters) {
  const auto client = clusters.client(clusters.names().front());
  if (!client) return client.error();
  Drain drain;
  const auto begin = Clock::now();
  clusters::KubernetesSight sight(**client, {.cluster = "kube", .namespaces = {"muster"}});
  while (!sight.is_complete()) {
    sight.changes().drain(drain);
    if (seconds_since(begin) > 300) return Error{Fault::Unavailable, "no sight within 300 s"};
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  const double took = seconds_since(begin);
  sight.changes().drain(drain);
  const auto wanted = static_cast<std::size_t>(options.informer_nodes + options.informer_pods);
  if (drain.events() < wanted) {
    return Error{Fault::Unavailable, fmt::format("{} of {} were seen", drain.events(), wanted)};
  }
  return Sight{took, resident_bytes()};
}

}  // namespace

Status measure_informers(const KubeBenchOptions& options, Sheet& sheet) {
  bench_progress("informers: the cluster");
  const auto clusters = BenchClusters::start({options.clusters_program, 1, 0, true});
  if (!clusters) return clusters.error();
  {
    const auto client = (*clusters)->client((*clusters)->names().front());
    if (!client) return client.error();
    const Status made = make_large_cluster(**client, options.informer_nodes, options.informer_pods);
    if (!made) return made;
  }
  std::vector<Turn> turns;
  std::vector<double> bytes;
  double before = 0;  // nothing seen yet, buffers of requests already there
  for (int i = 0; i < options.turns; ++i) {
    bench_progress("informers: reading raw");
    const auto raw = raw_seconds(**clusters);
    if (!raw) return raw.error();
    if (i == 0) before = resident_bytes();
    bench_progress("informers: the first sight");
    const auto sight = first_sight(options, **clusters);
    if (!sight) return sight.error();
    turns.push_back({sight->seconds, *raw});
    bytes.push_back((sight->resident - before) / options.informer_pods);
  }
  BenchRow row = row_of(fmt::format("informer start, {} nodes and {} pods", options.informer_nodes,
                                    options.informer_pods),
                        "s", turns);
  row.reach = reach_time;
  row.is_reach_of_ratio = true;
  row.direction = Reach::AtMost;
  sheet.add(row);
  sheet.add({.measure = "  kept per pod",
             .value = median(bytes),
             .unit = "B",
             .reach = reach_bytes,
             .direction = Reach::AtMost,
             .note = "resident memory, nodes and all else counted with them"});
  return Ok{};
}

}  // namespace muster::app
