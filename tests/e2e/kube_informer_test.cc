// Informers on a real API server, and what happens to it: connections cut, server restarted,
// revisions compacted away. Whatever happens, the store becomes what the cluster has.
#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>

#include "kube/informer.h"
#include "kube/watch.h"
#include "tests/e2e/kube_cluster.h"

namespace muster::e2e {
namespace {

using Value = std::shared_ptr<const std::string>;

/// The ConfigMaps of a namespace, through the proxy, and how often each key was told.
class Watched {
 public:
  explicit Watched(const std::string& ns, Duration idle_timeout = minutes(3))
      : client_(connect(through_proxy(), {.connect_timeout = seconds(3), .timeout = seconds(10)})),
        informer_(
            *client_,
            {.resource = kube::resources::config_maps(),
             .ns = ns,
             .field_selector = "metadata.name!=kube-root-ca.crt",
             .page = 10,
             .idle_timeout = idle_timeout,
             .backoff_min = milliseconds(100),
             .backoff_max = milliseconds(500)},
            [](const json::value& object) {
              return std::string(kube::text_at(object, {"data", "key"}));
            },
            handlers()) {}
  ~Watched() { informer_.stop(); }

  kube::Informer<std::string>& informer() { return informer_; }
  bool wait_until(const std::function<bool()>& condition) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!condition()) {
      if (std::chrono::steady_clock::now() >= end) return false;
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, std::chrono::milliseconds(50));
    }
    return true;
  }
  /// The store has exactly these names.
  bool becomes(const std::vector<std::string>& names) {
    return wait_until([&] {
      if (informer_.store().size() != names.size()) return false;
      const std::lock_guard lock(mutex_);
      return std::all_of(names.begin(), names.end(),
                         [&](const std::string& name) { return live_.count(name) == 1; });
    });
  }
  int added(const std::string& name) {
    const std::lock_guard lock(mutex_);
    return added_[name];
  }
  int deleted(const std::string& name) {
    const std::lock_guard lock(mutex_);
    return deleted_[name];
  }
  int failures() {
    const std::lock_guard lock(mutex_);
    return failures_;
  }

 private:
  static std::string name_in(const std::string& key) { return key.substr(key.find('/') + 1); }
  void note(const std::function<void()>& what) {
    {
      const std::lock_guard lock(mutex_);
      what();
    }
    changed_.notify_all();
  }
  kube::InformerHandlers<std::string> handlers() {
    kube::InformerHandlers<std::string> on;
    on.on_add = [this](const std::string& key, const Value&) {
      note([&] {
        ++added_[name_in(key)];
        live_.insert(name_in(key));
      });
    };
    on.on_update = [this](const std::string&, const Value&, const Value&) { note([] {}); };
    on.on_delete = [this](const std::string& key, const Value&) {
      note([&] {
        ++deleted_[name_in(key)];
        live_.erase(name_in(key));
      });
    };
    on.on_synced = [this] { note([] {}); };
    on.on_failure = [this](const kube::ApiError&, int) { note([&] { ++failures_; }); };
    return on;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, int> added_;  // guarded by mutex_, as the next three
  std::map<std::string, int> deleted_;
  std::set<std::string> live_;
  int failures_ = 0;
  std::unique_ptr<kube::Client> client_;
  kube::Informer<std::string> informer_;
};

class KubeInformer : public Cluster {
 protected:
  ~KubeInformer() override {
    command("flow");
    command("pass");
  }
};

TEST_F(KubeInformer, WhatIsThereAndWhatComesIsInTheStore) {
  std::vector<std::string> names;
  for (int i = 0; i < 25; ++i) {
    names.push_back(fmt::format("m-{}", i));
    create_config_map(names.back());
  }
  Watched watched(ns);
  ASSERT_TRUE(watched.informer().wait_for_sync(seconds(30)));
  EXPECT_EQ(watched.informer().store().size(), 25U);
  create_config_map("later", "7");
  names.emplace_back("later");
  ASSERT_TRUE(watched.becomes(names));
  EXPECT_EQ(*watched.informer().store().get(ns + "/later"), "7");
  delete_config_map("later");
  names.pop_back();
  EXPECT_TRUE(watched.becomes(names));
  EXPECT_EQ(watched.informer().stats().lists, 1U);
}

TEST_F(KubeInformer, ACutConnectionGoesOnWithoutAListAndWithoutAGap) {
  create_config_map("a");
  Watched watched(ns);
  ASSERT_TRUE(watched.becomes({"a"}));
  for (int i = 0; i < 5; ++i) {
    command("cut");
    create_config_map(fmt::format("b-{}", i));
  }
  ASSERT_TRUE(watched.becomes({"a", "b-0", "b-1", "b-2", "b-3", "b-4"}));
  EXPECT_EQ(watched.informer().stats().lists, 1U);
  EXPECT_GE(watched.informer().stats().watches, 2U);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(watched.added(fmt::format("b-{}", i)), 1);
}

TEST_F(KubeInformer, ARestartOfTheServerLosesNothing) {
  create_config_map("before");
  Watched watched(ns);
  ASSERT_TRUE(watched.becomes({"before"}));
  command("restart");
  create_config_map("after");
  ASSERT_TRUE(watched.becomes({"before", "after"}));
  EXPECT_EQ(watched.added("before"), 1) << "told once, whether it listed again or not";
  EXPECT_EQ(watched.deleted("before"), 0);
}

TEST_F(KubeInformer, RevisionsThatWereCompactedAwayMeanANewListWithTheDifferences) {
  create_config_map("stays");
  create_config_map("goes");
  create_config_map("made-anew");
  Watched watched(ns);
  ASSERT_TRUE(watched.becomes({"stays", "goes", "made-anew"}));
  command("refuse");
  ASSERT_TRUE(watched.wait_until([&] { return watched.informer().stats().watches > 1; }));
  delete_config_map("goes");
  delete_config_map("made-anew");
  create_config_map("made-anew", "2");
  create_config_map("comes");
  command("compact");
  command("restart");  // its cache of old events is gone as well
  command("pass");
  ASSERT_TRUE(watched.becomes({"stays", "made-anew", "comes"}));
  EXPECT_EQ(watched.informer().stats().lists, 2U);
  EXPECT_EQ(watched.added("stays"), 1);
  EXPECT_EQ(watched.deleted("stays"), 0);
  EXPECT_TRUE(watched.wait_until([&] { return watched.deleted("goes") == 1; }))
      << "nobody saw it go, and it is told";
  EXPECT_EQ(watched.added("made-anew"), 2);
  EXPECT_EQ(watched.deleted("made-anew"), 1);
  EXPECT_EQ(*watched.informer().store().get(ns + "/made-anew"), "2");
}

TEST_F(KubeInformer, AServerThatIsDownForAWhileIsFoundAgain) {
  create_config_map("a");
  Watched watched(ns);
  ASSERT_TRUE(watched.becomes({"a"}));
  command("kill");
  ASSERT_TRUE(watched.wait_until([&] { return watched.informer().stats().watches > 1; }));
  command("start");
  create_config_map("b");
  ASSERT_TRUE(watched.becomes({"a", "b"}));
  EXPECT_GE(watched.failures(), 1);
}

TEST_F(KubeInformer, AConnectionThatHangsIsGivenUpAndGoesOnWithoutAGap) {
  create_config_map("a");
  Watched watched(ns, seconds(3));
  ASSERT_TRUE(watched.becomes({"a"}));
  command("stall");
  create_config_map("b");
  ASSERT_TRUE(watched.wait_until([&] { return watched.failures() > 0; }));
  command("flow");
  ASSERT_TRUE(watched.becomes({"a", "b"}));
  EXPECT_EQ(watched.informer().stats().lists, 1U);
  EXPECT_EQ(watched.added("b"), 1);
}

TEST_F(KubeInformer, AWatchFromForgottenTimesIsGone) {
  create_config_map("a");
  command("compact");
  kube::ApiError error;
  kube::WatchDecoder decoder([](const kube::WatchEvent&) { return true; });
  const auto end = client->stream(
      kube::watch_request(kube::resources::config_maps(), ns, {.resource_version = "1"}),
      [&](std::string_view bytes) { return decoder.feed(bytes); });
  if (!end) error = end.error();
  if (decoder.error()) error = *decoder.error();
  EXPECT_TRUE(error.is_gone()) << error.code << " " << error.message;
}

TEST_F(KubeInformer, AVersionFromTheFutureIsToldApart) {
  kube::ApiRequest request =
      kube::list_request(kube::resources::config_maps(), ns, {.resource_version = "999999999"});
  request.may_retry = false;
  const auto reply = client->send(request);
  ASSERT_FALSE(reply.ok());
  EXPECT_TRUE(reply.error().is_from_the_future()) << reply.error().message;
}

}  // namespace
}  // namespace muster::e2e
