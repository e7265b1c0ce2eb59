#include "apps/muster/bench_kube/parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <chrono>
#include <thread>
#include <utility>

namespace muster::app {

BenchRow row_of(std::string measure, std::string unit, const std::vector<Turn>& turns) {
  std::vector<double> muster;
  std::vector<double> limit;
  std::vector<double> ratios;
  for (const Turn& turn : turns) {
    muster.push_back(turn.muster);
    limit.push_back(turn.limit);
    ratios.push_back(turn.muster / turn.limit);
  }
  const auto [least, most] = std::minmax_element(ratios.begin(), ratios.end());
  return {.measure = std::move(measure),
          .value = median(muster),
          .unit = std::move(unit),
          .limit = median(limit),
          .ratio = median(ratios),
          .note = fmt::format("{} turns, ratio {:.2f} to {:.2f}", turns.size(), *least, *most)};
}

Status wait_for_nodes(ChildServer& server, std::size_t clusters, std::int64_t nodes_each) {
  std::string seen;
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  while (std::chrono::steady_clock::now() < end) {
    const auto answer = server.get("/api/muster/v1/clusters");
    if (!answer) return answer.error();
    const boost::json::value read = boost::json::parse(*answer);
    std::size_t ready = 0;
    for (const boost::json::value& cluster : read.at("clusters").as_array()) {
      const bool is_ready = cluster.at("health").as_string() == "ready";
      if (is_ready && cluster.at("nodes_usable").as_int64() == nodes_each) ++ready;
    }
    if (ready == clusters) return Ok{};
    seen = *answer;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return Error{Fault::Unavailable, "the server does not see all nodes: " + seen};
}

}  // namespace muster::app
