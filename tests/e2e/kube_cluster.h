// What the tests of this folder know of the cluster that kube_test.py runs for them.
#pragma once

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>

#include "base/check.h"
#include "kube/client.h"
#include "kube/json.h"
#include "kube/kubeconfig.h"
#include "net/http_client.h"

namespace muster::e2e {

namespace json = boost::json;

inline std::string variable(const char* name) {
  const char* value = std::getenv(name);
  MUSTER_CHECK(value != nullptr, "{} is not set: run this through tests/e2e/kube_test.py", name);
  return value;
}

inline kube::Access access_from(const std::string& file) {
  const auto config = kube::load_kubeconfig(file);
  MUSTER_CHECK(config.ok(), "{}", config.error().message);
  const auto access = kube::access_of(*config);
  MUSTER_CHECK(access.ok(), "{}", access.error().message);
  return *access;
}

inline kube::Access admin() { return access_from(variable("MUSTER_E2E_KUBECONFIG")); }
inline kube::Access through_proxy() { return access_from(variable("MUSTER_E2E_PROXIED")); }

inline std::unique_ptr<kube::Client> connect(const kube::Access& access,
                                             kube::ClientOptions options = {}) {
  auto client = kube::Client::make(access, std::move(options));
  MUSTER_CHECK(client.ok(), "{}", client.error().message);
  return std::move(*client);
}

/// Makes the cluster or the proxy in front of it do something: "restart", "cut", "compact".
inline void command(const std::string& word) {
  auto client = net::HttpClient::make({.total_timeout = seconds(150)});
  const auto done =
      (*client)->send({.method = "POST", .url = variable("MUSTER_E2E_CONTROL") + "/" + word});
  ASSERT_TRUE(done.ok()) << done.error().message;
  ASSERT_EQ(done->status, 200) << done->body;
}

/// A namespace of its own for each test, so that they do not meet.
class Cluster : public ::testing::Test {
 protected:
  Cluster() : client(connect(admin())) {
    const auto made = client->send(kube::create_request(
        kube::resources::namespaces(), "",
        json::parse(R"({"apiVersion":"v1","kind":"Namespace","metadata":{"generateName":"t-"}})")));
    MUSTER_CHECK(made.ok(), "{}", made.error().message);
    ns = kube::name_of(*made);
  }

  /// Pods are refused until the namespace has its account, which comes a moment after it.
  json::value create_pod(const json::value& pod) const {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (true) {
      auto made = client->send(kube::create_request(kube::resources::pods(), ns, pod));
      if (made) return std::move(*made);
      MUSTER_CHECK(std::chrono::steady_clock::now() < end, "{}", made.error().message);
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
  }

  json::value config_map(std::string_view name, std::string_view value = "1") const {
    json::value object = json::parse(R"({"apiVersion":"v1","kind":"ConfigMap"})");
    kube::set_at(object, {"metadata", "name"}, json::string(name));
    kube::set_at(object, {"metadata", "namespace"}, json::string(ns));
    kube::set_at(object, {"data", "key"}, json::string(value));
    return object;
  }
  json::value create_config_map(std::string_view name, std::string_view value = "1") const {
    auto made = client->send(
        kube::create_request(kube::resources::config_maps(), ns, config_map(name, value)));
    EXPECT_TRUE(made.ok()) << made.error().message;
    return made ? *made : json::value();
  }
  void delete_config_map(std::string_view name) const {
    const auto done = client->send(kube::delete_request(kube::resources::config_maps(), ns, name));
    EXPECT_TRUE(done.ok()) << done.error().message;
  }

  std::unique_ptr<kube::Client> client;
  std::string ns;
};

}  // namespace muster::e2e
