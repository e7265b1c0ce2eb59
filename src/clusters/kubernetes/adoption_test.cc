#include "clusters/kubernetes/adoption.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <functional>
#include <future>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "clusters/kubernetes/names.h"
#include "kube/json.h"
#include "kube/testing/scripted_server.h"

namespace muster::clusters {
namespace {

namespace json = boost::json;

constexpr const char* core = R"({"kind":"APIGroupDiscoveryList","items":[{"metadata":{},"versions":[
  {"version":"v1","resources":[{"resource":"pods","scope":"Namespaced",
    "responseKind":{"kind":"Pod"}}]}]}]})";
constexpr const char* groups = R"({"kind":"APIGroupDiscoveryList","items":[
  {"metadata":{"name":"batch"},"versions":[{"version":"v1","resources":[
    {"resource":"jobs","scope":"Namespaced","responseKind":{"kind":"Job"}}]}]},
  {"metadata":{"name":"apps"},"versions":[{"version":"v1","resources":[
    {"resource":"deployments","scope":"Namespaced","responseKind":{"kind":"Deployment"}},
    {"resource":"replicasets","scope":"Namespaced","responseKind":{"kind":"ReplicaSet"}}]}]}]})";
constexpr const char* not_found =
    R"({"kind":"Status","reason":"NotFound","code":404,"message":"not there"})";
constexpr const char* contended =
    R"({"kind":"Status","reason":"Conflict","code":409,"message":"the object has been modified"})";
constexpr const char* pods_path = "/api/v1/namespaces/team/pods";

std::string path_of(const std::string& kind, const std::string& name) {
  const std::string group = kind == "Job" ? "batch" : "apps";
  const std::string plural = kind == "Job"          ? "jobs"
                             : kind == "Deployment" ? "deployments"
                                                    : "replicasets";
  return fmt::format("/apis/{}/v1/namespaces/team/{}/{}", group, plural, name);
}

json::value owner(const std::string& kind, const std::string& name, const std::string& uid) {
  return {{"apiVersion", kind == "Job" ? "batch/v1" : "apps/v1"},
          {"kind", kind},
          {"name", name},
          {"uid", uid},
          {"controller", true}};
}

json::value with_owner(const std::string& name, const std::string& uid, json::value owned_by) {
  return {{"metadata",
           {{"name", name},
            {"namespace", "team"},
            {"uid", uid},
            {"ownerReferences", json::array({std::move(owned_by)})}}}};
}

/// Objects and pods of the namespace "team", and what is asked of it.
class Cluster {
 public:
  Cluster() : server_([this](net::Router& router) { fill(router); }) {}

  std::unique_ptr<kube::Client> client() {
    kube::Access access;
    access.cluster.server = server_.url();
    return kube::testing::make_client(access);
  }
  void put(const std::string& kind, const std::string& name, const json::value& object) {
    const std::lock_guard lock(mutex_);
    objects_[path_of(kind, name)] = object;
  }
  /// That runs on the node n-NAME.
  void put_pod(const std::string& name, json::value owned_by,
               const std::string& phase = "Running") {
    const std::lock_guard lock(mutex_);
    json::value pod = with_owner(name, "uid-" + name, std::move(owned_by));
    kube::set_at(pod, {"spec", "nodeName"}, json::string("n-" + name));
    kube::set_at(pod, {"status", "phase"}, json::string(phase));
    pods_[name] = std::move(pod);
  }
  /// Somebody else writes it, again and again.
  void contend(const std::string& pod) {
    const std::lock_guard lock(mutex_);
    contended_.insert(pod);
  }
  void drop_pod(const std::string& name) {
    const std::lock_guard lock(mutex_);
    pods_.erase(name);
  }
  /// A Job that an AppWrapper owns, and its pods.
  void put_job(const std::string& name, int pods) {
    put("Job", name,
        with_owner(name, "uid-" + name,
                   {{"apiVersion", "v1"}, {"kind", "Pod"}, {"name", "w"}, {"uid", "w-" + name}}));
    for (int i = 0; i < pods; ++i)
      put_pod(fmt::format("{}-{}", name, i), owner("Job", name, "uid-" + name));
  }
  std::size_t asked(const std::string& what) const {
    const std::lock_guard lock(mutex_);
    const auto at = asked_.find(what);
    return at == asked_.end() ? 0 : at->second;
  }
  std::set<std::string> marked() const {
    const std::lock_guard lock(mutex_);
    return marked_;
  }
  /// Before each answer, on a thread of the server's.
  std::function<void(const std::string& what)> on_question = [](const std::string&) {};

 private:
  void fill(net::Router& router) {
    for (const char* method : {"GET", "PATCH", "DELETE"}) {
      router.add(method, "/{path...}",
                 [this](const net::Request& request, const net::Responder& to) {
                   const std::string selector(request.query_value("labelSelector"));
                   const std::string what = request.method + " " + request.path + selector;
                   on_question(what);
                   const std::lock_guard lock(mutex_);
                   ++asked_[what];
                   const std::string body = answer(request, selector);
                   to.send({code_of(body), {}, body});
                 });
    }
  }
  static int code_of(const std::string& body) {
    return body == not_found ? 404 : body == contended ? 409 : 200;
  }
  std::string answer(const net::Request& request, const std::string& selector) {
    if (request.path == "/api") return core;
    if (request.path == "/apis") return groups;
    if (request.path == pods_path) {
      json::array items;
      if (selector.starts_with('!')) {
        for (const auto& [name, pod] : pods_) items.push_back(pod);
      }
      return json::serialize(json::value{{"kind", "PodList"}, {"items", items}});
    }
    if (request.path.starts_with(pods_path)) {
      const auto pod = pods_.find(request.segments.back());
      if (pod == pods_.end()) return not_found;
      if (contended_.contains(pod->first)) return contended;
      marked_.insert(pod->first);
      return json::serialize(pod->second);
    }
    if (request.path.ends_with("/jobs")) return list_of(request.path, selector);
    const auto found = objects_.find(request.path);
    return found == objects_.end() ? not_found : json::serialize(found->second);
  }

  /// Of objects that have the label, or "!": that do not.
  std::string list_of(const std::string& path, const std::string& selector) const {
    json::array items;
    for (const auto& [at, object] : objects_) {
      const std::string label(kube::text_at(object, {"metadata", "labels", job_label}));
      const std::string has =
          label.empty() ? fmt::format("!{}", job_label) : fmt::format("{}={}", job_label, label);
      if (at.starts_with(path + "/") && has == selector) items.push_back(object);
    }
    return json::serialize(json::value{{"kind", "List"}, {"items", items}});
  }

  mutable std::mutex mutex_;
  std::map<std::string, json::value> objects_;  // by path; guarded by mutex_, as all that follows
  std::map<std::string, json::value> pods_;
  std::set<std::string> contended_;  // of them
  std::map<std::string, std::size_t> asked_;
  std::set<std::string> marked_;
  net::testing::Server server_;
};

ports::LeftWork work_of(const std::string& kind, const std::string& name) {
  const std::string version = kind == "Job" ? "batch/v1" : "apps/v1";
  const std::string objects =
      R"([{"apiVersion":")" + version + R"(","kind":")" + kind + R"(","metadata":{"name":")" +
      name +
      R"("},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":)" +
      R"({"a":"b"}},"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}}}])";
  return {"aw-" + name, "team", "w-" + name, objects};
}

/// Of a Job that says only how its name begins, and one that is named as that might be.
ports::LeftWork unnamed_work(const std::string& job, const std::string& owner_uid) {
  ports::LeftWork work = work_of("Job", "made-by-hand");
  const std::string named = work.objects;
  std::string unnamed = named;
  unnamed.replace(unnamed.find(R"("name":"made-by-hand")"), 21, R"("generateName":"made-")");
  work.objects = named.substr(0, named.size() - 1) + "," + unnamed.substr(1);
  work.job = job;
  work.owner_uid = owner_uid;
  return work;
}

/// As an earlier server made it in an attempt of the job.
json::value of_job(const std::string& name, const std::string& job, json::value owned_by) {
  json::value object = with_owner(name, "uid-" + name, std::move(owned_by));
  kube::set_at(object, {"metadata", "labels", job_label}, json::string(job));
  return object;
}

using Answer = std::future<Result<ports::AdoptedPods>>;
Answer adopt(KubernetesAdopter& adopter, const ports::LeftWork& work) {
  auto promise = std::make_shared<std::promise<Result<ports::AdoptedPods>>>();
  adopter.adopt(work,
                [promise](const Result<ports::AdoptedPods>& found) { promise->set_value(found); });
  return promise->get_future();
}

const std::string list_pods = fmt::format("GET {}!{}", pods_path, job_label);

TEST(Adoption, PodsAreListedAndOwnersReadOnceForManyThatAreTakenOver) {
  constexpr int count = 20;
  Cluster cluster;
  for (int i = 0; i < count; ++i) cluster.put_job(fmt::format("j{}", i), 2);
  KubernetesAdopter adopter(cluster.client(), [] { return Time{1}; });
  std::vector<Answer> answers;
  for (int i = 0; i < count; ++i)
    answers.push_back(adopt(adopter, work_of("Job", fmt::format("j{}", i))));
  for (int i = 0; i < count; ++i) {
    const auto found = answers[static_cast<std::size_t>(i)].get();
    ASSERT_TRUE(found.ok()) << found.error().message;
    EXPECT_EQ(found->bound, 2);
    EXPECT_TRUE(found->nodes.contains(fmt::format("n-j{}-1", i)));
  }
  EXPECT_EQ(cluster.marked().size(), 2U * count);
  EXPECT_EQ(cluster.asked(list_pods), 1U);
  EXPECT_EQ(cluster.asked("GET " + path_of("Job", "j3")), 2U) << "for itself, and as an owner";
  EXPECT_EQ(cluster.asked("GET /apis"), 1U);
}

TEST(Adoption, WhoIsTakenOverLaterFindsPodsThatCameMeanwhile) {
  Cluster cluster;
  cluster.put_job("a", 1);
  cluster.put_job("b", 1);
  std::atomic<std::int64_t> now = 1;
  KubernetesAdopter adopter(cluster.client(), [&now] { return Time{now}; });
  ASSERT_TRUE(adopt(adopter, work_of("Job", "a")).get().ok());
  cluster.put_pod("new", owner("Job", "b", "uid-b"));
  ++now;
  EXPECT_EQ(adopt(adopter, work_of("Job", "b")).get()->bound, 2);
  EXPECT_EQ(cluster.asked(list_pods), 2U);
}

TEST(Adoption, OneWhosePodWasReplacedSinceTheListWasReadFindsTheNewOne) {
  Cluster cluster;
  cluster.put_job("a", 1);
  cluster.put_job("b", 1);
  std::promise<void> both;
  const auto are_both = both.get_future().share();
  cluster.on_question = [&](const std::string& what) {
    if (what == "GET /api") are_both.wait();
    if (!what.starts_with("PATCH") || !what.ends_with("a-0")) return;
    cluster.drop_pod("b-0");
    cluster.put_pod("b-1", owner("Job", "b", "uid-b"));
  };
  std::atomic<std::int64_t> now = 1;
  KubernetesAdopter adopter(cluster.client(), [&now] { return Time{++now}; });
  Answer a = adopt(adopter, work_of("Job", "a"));
  Answer b = adopt(adopter, work_of("Job", "b"));
  both.set_value();
  EXPECT_EQ(a.get()->bound, 1);
  const auto found = b.get();
  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_EQ(found->nodes, std::set<std::string>{"n-b-1"});
  EXPECT_EQ(cluster.asked(list_pods), 2U);
}

TEST(Adoption, APodThatOthersWriteIsAskedForAgainAndNotTakenForAnother) {
  Cluster cluster;
  cluster.put_job("a", 2);
  cluster.contend("a-1");
  KubernetesAdopter adopter(cluster.client(), [] { return Time{1}; });
  const auto found = adopt(adopter, work_of("Job", "a")).get();
  ASSERT_FALSE(found.ok()) << "without it the job would be submitted with one pod of two";
  EXPECT_EQ(found.error().fault, Fault::Unavailable);
}

TEST(Adoption, PodsAreFoundOverAllTheirOwnersAndThoseOfOthersAreNot) {
  Cluster cluster;
  cluster.put("Deployment", "web",
              with_owner("web", "uid-web",
                         {{"apiVersion", "v1"}, {"kind", "Pod"}, {"name", "w"}, {"uid", "w-web"}}));
  cluster.put("ReplicaSet", "web-1",
              with_owner("web-1", "uid-web-1", owner("Deployment", "web", "uid-web")));
  cluster.put_pod("ours", owner("ReplicaSet", "web-1", "uid-web-1"));
  cluster.put_pod("ended", owner("ReplicaSet", "web-1", "uid-web-1"), "Succeeded");
  cluster.put_pod("orphan", owner("ReplicaSet", "web-0", "uid-web-0"));
  cluster.put_pod("namesake", owner("ReplicaSet", "web-1", "uid-before"));
  cluster.put_job("other", 1);
  KubernetesAdopter adopter(cluster.client(), [] { return Time{1}; });
  const auto found = adopt(adopter, work_of("Deployment", "web")).get();
  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_EQ(found->bound, 1);
  EXPECT_EQ(cluster.marked(), std::set<std::string>{"ours"});
}

TEST(Adoption, WhatHasANameThatWasMadeUpIsFoundByItsOwnerAndKeepsItsName) {
  Cluster cluster;
  cluster.put_job("made-by-hand", 1);
  cluster.put_job("made-of-another", 1);
  cluster.put("Job", "made-x7", with_owner("made-x7", "uid-made-x7", owner("A", "w", "w-mine")));
  cluster.put_pod("mine", owner("Job", "made-x7", "uid-made-x7"));
  KubernetesAdopter adopter(cluster.client(), [] { return Time{1}; });
  const auto found = adopt(adopter, unnamed_work("aw-1", "w-mine")).get();
  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_EQ(cluster.marked(), std::set<std::string>{"mine"});
  const json::value named = json::parse(found->objects);
  ASSERT_EQ(named.as_array().size(), 2U);
  EXPECT_EQ(kube::name_of(named.as_array()[0]), "made-by-hand") << "as its author called it";
  EXPECT_EQ(kube::name_of(named.as_array()[1]), "made-x7");
}

TEST(Adoption, WhatAnEarlierServerMadeUpANameForIsFoundByTheJobAndStopped) {
  Cluster cluster;
  const json::value root = {{"kind", "ConfigMap"}, {"name", "m-aw-1-2"}, {"uid", "uid-root"}};
  cluster.put("Job", "made-0a1b2c3d", of_job("made-0a1b2c3d", "aw-1", root));
  cluster.put("Job", "made-of-it", of_job("made-of-it", "aw-1", owner("JobSet", "made-s", "s")));
  cluster.put("Job", "made-elsewhere", of_job("made-elsewhere", "aw-2", root));
  KubernetesAdopter adopter(cluster.client(), [] { return Time{1}; });
  std::promise<Status> promise;
  adopter.release(unnamed_work("aw-1", "w-mine"),
                  [&](const Status& done) { promise.set_value(done); });
  EXPECT_TRUE(promise.get_future().get().ok());
  EXPECT_EQ(cluster.asked("DELETE " + path_of("Job", "made-0a1b2c3d")), 1U);
  EXPECT_EQ(cluster.asked("DELETE " + path_of("Job", "made-of-it")), 0U);
  EXPECT_EQ(cluster.asked("DELETE " + path_of("Job", "made-elsewhere")), 0U);
}

TEST(Adoption, WhatIsNotThereAndHasNoNameStaysWithoutOne) {
  Cluster cluster;
  cluster.put("Job", "made-by-hand",
              with_owner("made-by-hand", "uid-by-hand", owner("A", "w", "w-mine")));
  KubernetesAdopter adopter(cluster.client(), [] { return Time{1}; });
  const auto found = adopt(adopter, unnamed_work("aw-1", "w-mine")).get();
  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_EQ(found->objects, "") << "made-by-hand is the other one's name";
}

}  // namespace
}  // namespace muster::clusters
