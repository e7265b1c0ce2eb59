#include "apps/muster/bench_server/parts.h"

#include <fmt/format.h>

#include <array>

namespace muster::app {
namespace {

constexpr std::uint64_t queues = 16;

/// As people have them: everybody's arguments differ, what they ask for is one of a few.
std::string job_json(std::uint64_t n) {
  constexpr std::array gpus = {1, 1, 1, 2, 4, 8};
  return fmt::format(
      R"({{"name":"train-{0}","queue":"q{1}","command":["python","train.py","--seed","{0}"],)"
      R"("gpus":{2},"cpu":4,"memory":"16Gi"}})",
      n, n % queues, gpus[n % gpus.size()]);
}

}  // namespace

std::string submit_body(std::uint64_t first, std::uint64_t count) {
  if (count == 1) return job_json(first);
  std::string body = R"({"jobs":[)";
  for (std::uint64_t n = first; n < first + count; ++n)
    body += (n == first ? "" : ",") + job_json(n);
  return body + "]}";
}

std::string full_fleet_yaml() {
  std::string yaml =
      "clusters:\n"
      "- name: sim\n"
      "  type: simulated\n"
      "  run_time: 24h\n"
      "  nodes: [{count: 4, cpu: 64, memory: 256Gi, gpu: {A100: 8}}]\n"
      "queues:\n";
  for (std::uint64_t i = 0; i < queues; ++i) yaml += fmt::format("- {{name: q{}}}\n", i);
  return yaml;
}

}  // namespace muster::app
