#include "apps/muster/bench_kube/large_cluster.h"

#include <fmt/format.h>

#include <boost/json.hpp>
#include <string>

#include "apps/muster/bench_kube/create_load.h"
#include "apps/muster/bench_kube/parts.h"
#include "kube/requests.h"

namespace muster::app {
namespace {

namespace json = boost::json;

constexpr std::size_t in_flight = 32;

json::value node_object(std::size_t number) {
  const json::value amounts = {{"cpu", "32"}, {"memory", "256Gi"}, {"pods", "110"}};
  const std::string name = fmt::format("node-{}", number);
  return {{"apiVersion", "v1"},
          {"kind", "Node"},
          {"metadata",
           {{"name", name},
            {"labels",
             {{"kubernetes.io/hostname", name},
              {"kubernetes.io/arch", "amd64"},
              {"kubernetes.io/os", "linux"},
              {"node.kubernetes.io/instance-type", "m5.8xlarge"},
              {"topology.kubernetes.io/region", "eu-central-1"},
              {"topology.kubernetes.io/zone", fmt::format("eu-central-1{}", "abc"[number % 3])}}}}},
          {"status",
           {{"capacity", amounts},
            {"allocatable", amounts},
            {"conditions", json::array({{{"type", "Ready"}, {"status", "True"}}})}}}};
}

json::value container_object(std::string_view name) {
  json::array env;
  for (int i = 0; i < 10; ++i) {
    env.push_back({{"name", fmt::format("SETTING_{}_OF_{}", i, name)},
                   {"value", fmt::format("http://service-{}.production.svc:8080/path", i)}});
  }
  return {{"name", name},
          {"image", fmt::format("registry.example.com/production/{}:v1.2.3", name)},
          {"args", json::array({"--log-level=info", "--listen=0.0.0.0:8080"})},
          {"env", std::move(env)},
          {"resources",
           {{"requests", {{"cpu", "250m"}, {"memory", "512Mi"}}},
            {"limits", {{"cpu", "1"}, {"memory", "1Gi"}}}}}};
}

/// A deployment's pod with a sidecar.
json::value pod_object(std::size_t number, int nodes) {
  const std::size_t app = number / 50;
  return {{"apiVersion", "v1"},
          {"kind", "Pod"},
          {"metadata",
           {{"name", fmt::format("service-{}-7c9f8d6b5d-{:05x}", app, number)},
            {"labels",
             {{"app.kubernetes.io/name", fmt::format("service-{}", app)},
              {"app.kubernetes.io/managed-by", "Helm"},
              {"app.kubernetes.io/version", "1.2.3"},
              {"pod-template-hash", "7c9f8d6b5d"}}},
            {"annotations",
             {{"prometheus.io/scrape", "true"},
              {"prometheus.io/port", "8080"},
              {"checksum/config", std::string(64, 'c')}}}}},
          {"spec",
           {{"nodeName", fmt::format("node-{}", number % static_cast<std::size_t>(nodes))},
            {"automountServiceAccountToken", false},
            {"containers", json::array({container_object("main"), container_object("proxy")})}}}};
}

Status create_all(kube::Client& client, const kube::Resource& resource, int count,
                  const std::function<json::value(std::size_t)>& object) {
  const std::string_view ns = resource.is_namespaced ? bench_namespace : "";
  CreateLoad load(client, {.count = static_cast<std::size_t>(count),
                           .in_flight = in_flight,
                           .request = [&](std::size_t n) {
                             return kube::create_request(resource, ns, object(n));
                           }});
  const auto took = load.wait();
  if (!took) return took.error();
  return Ok{};
}

}  // namespace

Status make_large_cluster(kube::Client& client, int nodes, int pods) {
  // Nobody else makes it here, and pods are refused without it.
  const json::value account = {
      {"apiVersion", "v1"}, {"kind", "ServiceAccount"}, {"metadata", {{"name", "default"}}}};
  const Status with_account = create_all(client, kube::resources::service_accounts(), 1,
                                         [&](std::size_t) { return account; });
  if (!with_account) return with_account;
  const Status with_nodes = create_all(client, kube::resources::nodes(), nodes, node_object);
  if (!with_nodes) return with_nodes;
  return create_all(client, kube::resources::pods(), pods,
                    [nodes](std::size_t n) { return pod_object(n, nodes); });
}

}  // namespace muster::app
