#include "apps/muster/bench_appwrapper/hub.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "api/appwrapper/install.h"
#include "apps/muster/bench_appwrapper/wrapper_objects.h"
#include "apps/muster/bench_kube/create_load.h"
#include "apps/muster/bench_kube/parts.h"

namespace muster::app {
namespace {

constexpr std::size_t in_flight = 32;
constexpr Duration served_within = seconds(30);
constexpr double reach_s = 1;  // of a canary

}  // namespace

Result<std::unique_ptr<BenchHub>> BenchHub::start(const WrapperBenchOptions& options,
                                                  AuditLog audit) {
  std::unique_ptr<BenchHub> hub(new BenchHub());
  hub->nodes_ = options.nodes;
  ClustersWanted wanted;
  wanted.program = options.clusters_program;
  wanted.nodes = options.nodes;
  wanted.is_audited = audit == AuditLog::Kept;
  auto clusters = BenchClusters::start(wanted);
  if (!clusters) return clusters.error();
  hub->clusters_ = std::move(*clusters);
  auto client = hub->clusters_->client(hub->clusters_->names().front());
  if (!client) return client.error();
  hub->client_ = std::move(*client);
  const Status installed = api::install_crds(*hub->client_, api::OldGroup::IfThere, served_within,
                                             [](const api::InstalledCrd&) {});
  if (!installed) return installed.error();
  hub->sightings_ = std::make_unique<Sightings>(*hub->client_);
  return hub;
}

Status BenchHub::serve() {
  auto folder = BenchFolder::make();
  if (!folder) return folder.error();
  folder_ = std::move(*folder);
  auto server = ChildServer::start(
      folder_->path(),
      fmt::format("{}appwrappers: {{cluster: {}, namespace: {}}}\n", clusters_->server_yaml(),
                  clusters_->names().front(), bench_namespace));
  if (!server) return server.error();
  server_ = std::move(*server);
  if (Status seen = wait_for_nodes(*server_, 1, nodes_); !seen) return seen;
  // Once through everything: what is made once a cluster is there, and the hub watches.
  const auto first = canary("first");
  if (!first) return first.error();
  return sightings_->wait_for(WrapperStage::Dispatched, 1);
}

Result<double> BenchHub::send(int count,
                              const std::function<kube::ApiRequest(std::size_t)>& request) {
  CreateLoad load(
      *client_,
      {.count = static_cast<std::size_t>(count), .in_flight = in_flight, .request = request});
  return load.wait();
}

Result<double> BenchHub::canary(const std::string& name) {
  const auto begin = Sightings::Clock::now();
  const auto made = client_->send(create_wrapper(name, PodSize::Fits));
  if (!made) return Error{Fault::Unavailable, made.error().message};
  const auto seen = sightings_->wait_for_job(name);
  if (!seen) return seen.error();
  return std::chrono::duration<double>(*seen - begin).count();
}

Result<BenchRow> canary_row(BenchHub& hub, const std::string& title, const std::string& name) {
  std::vector<double> took;
  for (int i = 0; i < canaries_a_row; ++i) {
    const auto one = hub.canary(fmt::format("{}-{}", name, i));
    if (!one) return one.error();
    took.push_back(*one);
  }
  return BenchRow{.measure = title,
                  .value = *std::max_element(took.begin(), took.end()),
                  .unit = "s",
                  .reach = reach_s,
                  .direction = Reach::AtMost,
                  .note = fmt::format("the slowest of {}; the first {:.3f}, median {:.3f}",
                                      canaries_a_row, took.front(), median(took))};
}

}  // namespace muster::app
