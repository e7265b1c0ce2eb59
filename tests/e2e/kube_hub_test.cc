// Jobs that stand for an object on a hub cluster, in a real Kubernetes: they go with that object,
// run in its namespace, are looked after as they say, and stay when they have ended.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <chrono>
#include <thread>

#include "tests/e2e/kube_desk.h"

namespace muster::e2e {
namespace {

using ::testing::HasSubstr;

class Hub : public Objects {
 protected:
  /// A job of these objects that a ConfigMap of this cluster stands for.
  model::Command owned(const std::string& job, const std::string& objects,
                       const model::ObjectCare& care, const std::string& cluster = "c1") {
    const json::value owner = create_config_map("owner-" + job);
    model::Command command;
    command.name = job;
    command.objects = "[" + objects + "]";
    command.sets.resize(1);
    command.hub = model::HubObject{cluster, "v1",           "ConfigMap",
                                   ns,      "owner-" + job, std::string(kube::uid_of(owner))};
    command.care = care;
    payloads.set(job, command);
    return command;
  }
  void delete_owner(const std::string& job, const std::string& propagation) const {
    kube::DeleteOptions options;
    options.propagation = propagation;
    const auto done = client->send(
        kube::delete_request(kube::resources::config_maps(), ns, "owner-" + job, options));
    ASSERT_TRUE(done.ok()) << done.error().message;
  }
  bool is_owner_there(const std::string& job) const {
    return client->send(kube::get_request(kube::resources::config_maps(), ns, "owner-" + job)).ok();
  }
  bool is_all_gone() const {
    return roots() == 0 && count(kube::resources::jobs()) == 0 &&
           count(kube::resources::pods()) == 0;
  }
  std::string make_namespace() const {
    const auto made = client->send(kube::create_request(
        kube::resources::namespaces(), "",
        json::parse(R"({"apiVersion":"v1","kind":"Namespace","metadata":{"generateName":"l-"}})")));
    EXPECT_TRUE(made.ok()) << made.error().message;
    return std::string(kube::name_of(*made));
  }
  std::size_t count_in(const kube::Resource& resource, const std::string& other) const {
    const auto found =
        client->send(kube::list_request(resource, other, {.label_selector = "muster.dev/job"}));
    EXPECT_TRUE(found.ok()) << found.error().message;
    return found ? kube::items_at(*found, {"items"}).size() : 0;
  }

  static constexpr model::ObjectCare at_once{.starts_when_made = true};
};

void every_namespace(clusters::KubernetesOptions& options) { options.objects.namespaces = {"*"}; }

TEST_F(Hub, WhoeverDeletesTheOwnerDeletesAllOfIt) {
  for (const char* propagation : {"Background", "Foreground"}) {
    Desk desk(ns, "s1", payloads);
    const std::string job = propagation == std::string("Background") ? "a" : "b";
    owned(job, batch_job("train-" + job, "sleep", 2), at_once);
    desk.create(job, 2);
    EXPECT_EQ(desk.hears(job + " started"), job + " started");
    EXPECT_TRUE(eventually([&] { return desk.sight({job, 1}).pods.running == 2; }));
    EXPECT_TRUE(desk.sight({job, 1}).is_made);
    delete_owner(job, propagation);
    EXPECT_TRUE(eventually([&] { return is_all_gone() && !is_owner_there(job); })) << propagation;
    desk.remove(job);  // as whoever watches the owner says then
    EXPECT_EQ(desk.hears(job), job + " gone") << "no other word: it is no error";
  }
}

TEST_F(Hub, AnOwnerTakesAllAlongWhileNobodyLooks) {
  {
    Desk desk(ns, "s1", payloads);
    owned("a", batch_job("train", "sleep", 2), at_once);
    desk.create("a", 2);
    EXPECT_EQ(desk.hears("a started"), "a started");
  }
  delete_owner("a", "Background");
  EXPECT_TRUE(eventually([&] { return is_all_gone(); }));
  Desk again(ns, "s1", payloads);
  again.relist(std::vector<ports::Expected>{{{"a", 1}, true}});
  EXPECT_EQ(again.hears("a"), "a gone");
}

TEST_F(Hub, TheRootOfAnotherClustersObjectHasNoOwner) {
  Desk desk(ns, "s1", payloads);
  owned("a", batch_job("train", "sleep"), at_once, "another");
  desk.create("a");
  EXPECT_EQ(desk.hears("a started"), "a started");
  delete_owner("a", "Background");
  std::this_thread::sleep_for(std::chrono::seconds(3));
  EXPECT_EQ(roots(), 1U);
  desk.remove("a");
  EXPECT_EQ(desk.hears("a gone"), "a gone");
}

TEST_F(Hub, JobsRunInNamespacesThatAreMadeLater) {
  Desk desk(ns, "s1", payloads, every_namespace);
  model::Command command = owned("a", batch_job("train", "sleep", 2), {});
  command.container.ns = "l-not-yet";
  payloads.set("a", command);
  desk.create("a", 2);
  EXPECT_THAT(desk.hears("a did not start"), HasSubstr("there is no namespace 'l-not-yet'"));
  const std::string later = make_namespace();
  command.container.ns = later;
  payloads.set("b", command);
  desk.create("b", 2);
  EXPECT_EQ(desk.hears("b started"), "b started");
  EXPECT_EQ(count_in(kube::resources::pods(), later), 2U);
  EXPECT_EQ(count(kube::resources::pods()), 0U);
  desk.remove("b");
  EXPECT_EQ(desk.hears("b gone"), "b gone");
  EXPECT_EQ(count_in(kube::resources::pods(), later), 0U);
  EXPECT_EQ(count_in(kube::resources::config_maps(), later), 0U);
}

TEST_F(Hub, AnotherInstanceFindsWhereAnAttemptIsToDeleteIt) {
  const std::string later = make_namespace();
  model::Command listed = owned("a", batch_job("train", "sleep"), at_once);
  listed.container.ns = later;
  payloads.set("a", listed);
  give_command("b", "sleep");
  {
    Desk desk(ns, "s1", payloads, every_namespace);
    desk.create("a");
    EXPECT_EQ(desk.hears("a started"), "a started");
    desk.create("b");
    EXPECT_EQ(desk.hears("b started"), "b started");
  }
  Desk again(ns, "s1", payloads, every_namespace);
  again.remove("a");
  EXPECT_EQ(again.hears("a gone"), "a gone");
  EXPECT_EQ(count_in(kube::resources::pods(), later), 0U);
  EXPECT_EQ(count(kube::resources::pods()), 1U) << "of the other job";
  again.relist({});
  EXPECT_TRUE(eventually([&] { return is_all_gone(); }));
}

TEST_F(Hub, TheQuotaOfTheObjectsNamespaceCounts) {
  const std::string later = make_namespace();
  const auto made = client->send(kube::create_request(
      kube::resources::resource_quotas(), later,
      json::parse(R"({"apiVersion":"v1","kind":"ResourceQuota","metadata":{"name":"team"},)"
                  R"("spec":{"hard":{"pods":"1"}}})")));
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_TRUE(eventually([&] {
    const auto quota =
        client->send(kube::get_request(kube::resources::resource_quotas(), later, "team"));
    return quota.ok() && kube::find(*quota, {"status", "hard"}) != nullptr;
  }));
  Desk desk(ns, "s1", payloads, every_namespace);
  std::this_thread::sleep_for(std::chrono::seconds(1));
  model::Command command = owned("a", batch_job("train", "sleep", 2), {});
  payloads.set("b", command);
  command.container.ns = later;
  payloads.set("a", command);
  desk.create("a", 2);
  EXPECT_THAT(desk.hears("a did not start"),
              HasSubstr("namespace " + later + ": quota team allows 1 pods in all"));
  desk.create("b", 2);
  EXPECT_EQ(desk.hears("b started"), "b started") << "there is none in its own";
}

TEST_F(Hub, WhatIsToBeKeptStaysOverARestartAndWhatRunsUnwantedGoes) {
  model::ObjectCare kept = at_once;
  kept.keep_ended = true;
  owned("done", batch_job("done", "true"), kept);
  owned("going", batch_job("going", "sleep"), kept);
  const auto forget_soon = [](clusters::KubernetesOptions& options) {
    options.book.keep_ended = milliseconds(500);
  };
  {
    Desk desk(ns, "s1", payloads, forget_soon);
    desk.create("done");
    EXPECT_THAT(desk.hears("done finished"), HasSubstr("done finished true 0"));
    desk.create("going");
    EXPECT_EQ(desk.hears("going started"), "going started");
    std::this_thread::sleep_for(std::chrono::seconds(2));
    EXPECT_EQ(count(kube::resources::jobs()), 2U) << "others are removed by now";
    desk.relist(std::vector<ports::Expected>{{{"going", 1}, true}});
    EXPECT_EQ(desk.hears("going started"), "going started");
  }
  Desk again(ns, "s1", payloads, forget_soon);
  again.relist({});
  EXPECT_TRUE(eventually([&] { return count(kube::resources::jobs()) == 1; }));
  std::this_thread::sleep_for(std::chrono::seconds(2));
  EXPECT_EQ(count(kube::resources::jobs()), 1U) << "that which ended by itself";
  again.remove("done");
  EXPECT_EQ(again.hears("done gone"), "done gone");
  EXPECT_TRUE(eventually([&] { return is_all_gone(); }));
}

TEST_F(Hub, TooFewReadyPodsRequeueItUntilItMayNotBeAnyMore) {
  model::ObjectCare care = at_once;
  care.ready_pods = 2;
  care.ready_within = seconds(8);
  care.requeues_most = 1;
  care.requeue_pause = Duration{0};
  owned("a", batch_job("train", "sleep", 2), care);
  Desk desk(ns, "s1", payloads);
  desk.create("a", 2, 1, "nowhere");  // a node that is not there
  EXPECT_EQ(desk.hears("a started"), "a started");
  EXPECT_TRUE(eventually([&] { return !desk.sight({"a", 1}).trouble.empty(); })) << "why";
  EXPECT_EQ(desk.hears("a did not start"),
            "a did not start: Insufficient number of Running and Completed pods, minimum=2, "
            "running=0, completed=0.");
  desk.create("a", 2, 1, "nowhere", /*attempt=*/2, /*requeues=*/1);
  EXPECT_THAT(desk.hears("a finished"), HasSubstr("a finished false 1 Insufficient number"));
  EXPECT_TRUE(is_all_gone());
}

TEST_F(Hub, NamedConditionsCompleteItAndItWaitsForItsPods) {
  json::value web = json::parse(deployment("web"));
  kube::set_at(web, {"metadata", "annotations", "muster.dev/complete-when"}, "available");
  model::ObjectCare care = at_once;
  care.waits_for_pods = true;
  owned("a", json::serialize(web), care);
  Desk desk(ns, "s1", payloads);
  desk.create("a", 2);
  EXPECT_EQ(desk.hears("a started"), "a started");
  EXPECT_TRUE(eventually([&] { return desk.sight({"a", 1}).is_complete; }));
  EXPECT_TRUE(eventually([&] { return desk.sight({"a", 1}).pods.running == 2; }));
  const auto scaled = client->send(kube::patch_request(deployments(), ns, "web", kube::Patch::Merge,
                                                       json::parse(R"({"spec":{"replicas":0}})")));
  ASSERT_TRUE(scaled.ok()) << scaled.error().message;
  EXPECT_THAT(desk.hears("a finished"), HasSubstr("a finished true 0"));
}

}  // namespace
}  // namespace muster::e2e
