#include "view/json.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "sched/agenda.h"

namespace muster::view {
namespace {

namespace json = boost::json;
using namespace sched;  // NOLINT: the engine's words are what is tested

/// Cluster a with two nodes of eight GPUs; in queue q one job runs and one waits.
struct Json : testing::Test {
  World world;
  Agenda agenda;
  Policy policy;
  Time now = Time{0} + hours(1);

  Json() {
    tell(model::ClusterSet{{"a", {}, {}, minutes(5)}});
    for (const std::string name : {"n1", "n2"}) {
      model::NodeSpec node;
      node.name = name;
      node.allocatable.cpu = {64'000};
      node.allocatable.memory = {std::int64_t{1} << 38};
      node.gpu_count = 8;
      node.gpu_type = "A100";
      tell(model::NodeSeen{"a", node});
    }
    model::QueueSpec queue;
    queue.name = "q";
    queue.limits["gpu"].maximum = 12'000;
    queue.limits["memory"].guaranteed = std::int64_t{64} << 30;
    tell(model::QueueSet{queue});
    submit("runs", 1, 500);
    submit("waits", 2, 1000);
    tell(model::Placed{"runs", 1, "a", "", {{0, "n1", "A100", 1, 500}}});
  }
  void tell(model::EventBody body) { apply(world, {now, std::move(body)}, policy); }
  void submit(const std::string& id, int pods, std::int64_t each) {
    model::JobSpec job;
    job.id = id;
    job.user = "ann \"quote\"";
    job.queue = "q";
    model::PodSet set;
    set.count = pods;
    set.pod.requests.cpu = {1500};
    set.pod.gpu.count = each < 1000 ? 1 : 8;
    set.pod.gpu.each = {each};
    job.gang.sets.push_back(set);
    tell(model::JobSubmitted{job, world.job_count() + 1});
  }
  JobRow row(const std::string& id) const {
    const JobSlot slot = world.find_job(id);
    if (world.job(slot).active) return {slot, {}, {}};
    const Why over =
        OverQuota{world.quota.find("q"), resource_gpu, QuotaBound::Maximum, 16'000, 11'500};
    return {slot, over, Estimate{now, now + minutes(1), Time::never()}};
  }
};

TEST_F(Json, AJobRow) {
  const json::object runs = json::parse(job_json(world, row("runs"), now)).as_object();
  EXPECT_EQ(runs.at("id"), "runs");
  EXPECT_EQ(runs.at("user"), "ann \"quote\"");
  EXPECT_EQ(runs.at("state"), "Starting");
  EXPECT_EQ(runs.at("cluster"), "a");
  EXPECT_EQ(runs.at("nodes"), (json::array{"n1"}));
  EXPECT_EQ(runs.at("attempt"), 1);
  EXPECT_TRUE(runs.at("verdict").is_null());
  const json::object waits = json::parse(job_json(world, row("waits"), now)).as_object();
  EXPECT_EQ(waits.at("state"), "Waiting");
  EXPECT_TRUE(waits.at("cluster").is_null());
  EXPECT_TRUE(waits.at("nodes").as_array().empty());
  const json::object& why = waits.at("verdict").as_object();
  EXPECT_EQ(why.at("kind"), "over-quota");
  EXPECT_EQ(why.at("queue"), "q");
  EXPECT_EQ(why.at("asked"), "16");
  EXPECT_EQ(why.at("room"), "11500m");
  EXPECT_EQ(why.at("text"), "over quota: queue q may use 11.5 GPUs more, asks 16 (maximum)");
  EXPECT_EQ(waits.at("estimate").at("expected_ms"), (now + minutes(1)).ms);
  EXPECT_TRUE(waits.at("estimate").at("high_ms").is_null());
  const std::vector<JobRow> both = {row("waits"), row("runs")};
  const json::array list = json::parse(jobs_json(world, both, now)).as_array();
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0].at("id"), "waits");
}

TEST_F(Json, EveryBoundOfAQuotaHasItsWord) {
  const std::vector<std::pair<QuotaBound, std::string>> bounds = {{QuotaBound::Maximum, "maximum"},
                                                                  {QuotaBound::Borrow, "borrow"},
                                                                  {QuotaBound::Held, "held"},
                                                                  {QuotaBound::Kept, "kept"}};
  for (const auto& [bound, word] : bounds) {
    JobRow waits = row("waits");
    waits.why = OverQuota{world.quota.find("q"), resource_gpu, bound, 2'000, 1'000};
    const json::object why = json::parse(job_json(world, waits, now)).at("verdict").as_object();
    EXPECT_EQ(why.at("bound"), json::value(word));
  }
}

TEST_F(Json, AJobInAFurtherTreeIsToldItsTree) {
  model::QueueSpec queue;
  queue.name = "apollo";
  queue.tree = "projects";
  tell(model::QueueSet{queue});
  JobRow lost = row("waits");
  lost.why = FurtherTree{world.quota.find("apollo")};
  const json::object why = json::parse(job_json(world, lost, now)).at("verdict").as_object();
  EXPECT_EQ(why.at("kind"), "further-tree");
  EXPECT_EQ(why.at("queue"), "apollo");
  EXPECT_EQ(why.at("tree"), "projects");
}

TEST_F(Json, AQueueThatWasRemovedIsSeenAsLongAsItHasJobs) {
  model::QueueSpec queue;
  queue.name = "empty";
  tell(model::QueueSet{queue});
  tell(model::QueueRemoved{"empty"});
  tell(model::QueueRemoved{"q"});
  EXPECT_TRUE(is_gone(world, world.quota.find("empty")));
  EXPECT_FALSE(is_gone(world, world.quota.find("q")));
  const json::array list =
      json::parse(queues_json(world, world.capacity(policy), policy, now)).as_array();
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list[0].at("name"), "q");
  EXPECT_EQ(list[0].at("exists"), false);
}

TEST_F(Json, QueueRows) {
  const Capacity capacity = world.capacity(policy);
  const json::array list = json::parse(queues_json(world, capacity, policy, now)).as_array();
  ASSERT_EQ(list.size(), 1u);
  const json::object& q = list[0].as_object();
  EXPECT_EQ(q.at("name"), "q");
  EXPECT_EQ(q.at("limits").at("gpu").at("maximum"), "12");
  EXPECT_EQ(q.at("limits").at("memory").at("guaranteed"), "64Gi");
  EXPECT_EQ(q.at("use").at("gpu"), "500m");
  EXPECT_EQ(q.at("use").at("gpu.A100"), "500m");
  EXPECT_EQ(q.at("use").at("cpu"), "1500m");
  EXPECT_EQ(q.at("waiting"), 1);
  EXPECT_EQ(q.at("strategy"), "backfill");
  EXPECT_GE(q.at("share_ppm").to_number<std::int64_t>(), 500 * 1'000'000 / 16'000 - 1);
}

TEST_F(Json, ClusterRows) {
  model::NodeSpec gone =
      world.fleet.node(world.fleet.find_node(world.fleet.find_cluster("a"), "n2")).spec;
  gone.cordoned = true;
  tell(model::NodeSeen{"a", gone});
  const json::array list = json::parse(clusters_json(world)).as_array();
  ASSERT_EQ(list.size(), 1u);
  const json::object& a = list[0].as_object();
  EXPECT_EQ(a.at("name"), "a");
  EXPECT_EQ(a.at("health"), "ready");
  EXPECT_EQ(a.at("nodes"), 2);
  EXPECT_EQ(a.at("nodes_usable"), 1);
  EXPECT_EQ(a.at("jobs"), 1);
  EXPECT_EQ(a.at("gpus").at("A100").at("total"), 16);
  EXPECT_EQ(a.at("gpus").at("A100").at("idle"), "7500m");
}

TEST_F(Json, AClusterSaysWhatPeopleAllowIt) {
  model::ClusterSpec spec = world.fleet.cluster(world.fleet.find_cluster("a")).spec;
  spec.admission = model::Admission::Draining;
  tell(model::ClusterSet{spec});
  const json::object a =
      json::parse(cluster_json(world, world.fleet.find_cluster("a"), {{"a", {.type = "local"}}}))
          .as_object();
  EXPECT_EQ(a.at("admission"), "draining");
  EXPECT_EQ(a.at("type"), "local");
  EXPECT_TRUE(a.at("version").is_null());
  EXPECT_TRUE(a.at("user").is_null());
}

TEST_F(Json, AClusterSaysWhichKubernetesItIsAndAsWhomTheServerIsThere) {
  const ClusterNotes notes = {{"a", {.type = "kubernetes", .version = "v1.34.4", .user = "jane"}}};
  const json::object a =
      json::parse(cluster_json(world, world.fleet.find_cluster("a"), notes)).as_object();
  EXPECT_EQ(a.at("version"), "v1.34.4");
  EXPECT_EQ(a.at("user"), "jane");
}

TEST_F(Json, Decisions) {
  model::Placed placed{"runs", 1, "a", "", {{0, "n1", "A100", 5, 1000}}};
  const std::vector<model::Decision> decisions = {
      placed, model::Stopped{"x", 2, model::StopWhy::Reclaim, "y"},
      model::Reserved{"x", "a", Time::never(), false, {"n1"}}, model::ReservationDropped{"x"},
      model::GivenUp{"x", model::FailWhy::DependencyFailed}};
  const json::array list = json::parse(decisions_json(decisions, now)).as_array();
  ASSERT_EQ(list.size(), 5u);
  EXPECT_EQ(list[0].at("kind"), "placed");
  EXPECT_EQ(list[0].at("pods").as_array()[0].at("devices"), (json::array{0, 2}));
  EXPECT_EQ(list[1].at("why"), "reclaim");
  EXPECT_EQ(list[1].at("beneficiary"), "y");
  EXPECT_TRUE(list[2].at("start_ms").is_null());
  EXPECT_EQ(list[3].at("kind"), "reservation-dropped");
  EXPECT_EQ(list[4].at("why"), "dependency-failed");
}

TEST_F(Json, ScoresAndCounterfactuals) {
  ClusterScore score;
  score.cluster = world.fleet.find_cluster("a");
  score.points[0] = 700;
  score.total = 700;
  const json::array table =
      json::parse(scores_json(world, std::vector<ClusterScore>{score}, {})).as_array();
  EXPECT_EQ(table[0].at("parts").at("fit").at("points"), 700);
  EXPECT_EQ(table[0].at("parts").at("fit").at("weight"), ClusterWeights{}.fit);
  EXPECT_EQ(table[0].as_object().count("gpu_type"), 0u);

  const auto changes = what_if(world, agenda, policy, world.find_job("waits"), now);
  const json::array list = json::parse(counterfactuals_json(world, changes, now)).as_array();
  bool quota = false;
  for (const json::value& change : list) {
    EXPECT_FALSE(change.at("text").as_string().empty());
    quota = quota || change.at("kind") == "more-quota";
  }
  EXPECT_EQ(list.size(), changes.size());
  EXPECT_FALSE(quota) << "there is no room for it either";
}

TEST_F(Json, AnAnswerToWhatIfSubmit) {
  model::JobSpec job;
  job.id = "asks";
  job.queue = "q";
  job.gang.sets.emplace_back();
  job.gang.sets[0].pod.gpu.count = 8;
  const auto answer = what_if_submit(world, agenda, policy, job, now);
  ASSERT_TRUE(answer.ok());
  const json::object out =
      json::parse(submit_json(world, *answer, policy.cluster_weights, now)).as_object();
  EXPECT_EQ(out.at("starts_now"), true);
  EXPECT_EQ(out.at("nodes").as_array()[0].at("node"), "n2");
  EXPECT_FALSE(out.at("scores").as_array().empty());
}

TEST_F(Json, AnExplanationHasAllOfItAlsoInLines) {
  const JobSlot waits = world.find_job("waits");
  const JobRow known = row("waits");
  ClusterScore score;
  score.cluster = world.fleet.find_cluster("a");
  score.total = 900;
  const std::vector<ClusterScore> scores = {score};
  const Explanation explanation{
      waits, known.why, known.estimate, {HigherPriority{70, 1}, FewerPods{2, 1, {}, {1}}}, scores};
  const json::object out =
      json::parse(explanation_json(world, explanation, policy.cluster_weights, now)).as_object();
  EXPECT_EQ(out.at("verdict").at("kind"), "over-quota");
  EXPECT_EQ(out.at("estimate").at("expected_ms"), (now + minutes(1)).ms);
  EXPECT_EQ(out.at("changes").as_array().size(), 2u);
  EXPECT_EQ(out.at("scores").as_array().size(), 1u);
  EXPECT_EQ(out.at("nodes"), json::array());
  const std::string text(out.at("text").as_string());
  for (const std::string_view part :
       {"waits is waiting: ", "expected to start in 1m", "\n- ", "\nplaced by these points"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
}

TEST_F(Json, ARunningJobIsExplainedWithoutAVerdict) {
  const json::object out =
      json::parse(explanation_json(world, {world.find_job("runs"), {}, {}, {}, {}}, {}, now))
          .as_object();
  EXPECT_TRUE(out.at("verdict").is_null());
  EXPECT_TRUE(out.at("estimate").is_null());
  EXPECT_EQ(out.at("nodes"), (json::array{"n1"}));
  EXPECT_EQ(out.at("text"), "runs is starting in cluster a since a moment");
}

TEST_F(Json, When) {
  const json::object waits =
      json::parse(when_json(world, world.find_job("waits"), row("waits").estimate, now))
          .as_object();
  EXPECT_EQ(waits.at("job"), "waits");
  EXPECT_EQ(waits.at("state"), "Waiting");
  EXPECT_EQ(waits.at("estimate").at("low_ms"), now.ms);
  const json::object runs =
      json::parse(when_json(world, world.find_job("runs"), {}, now)).as_object();
  EXPECT_TRUE(runs.at("estimate").is_null());
  EXPECT_EQ(runs.at("text"), "runs is starting in cluster a since a moment");
}

TEST_F(Json, UseOfAQueueCountsThoseBelowIt) {
  model::QueueSpec below;
  below.name = "q.below";
  below.parent = "q";
  tell(model::QueueSet{below});
  tell(model::QueueChanged{"waits", "q.below"});
  const Capacity capacity = world.capacity(policy);
  const json::object out =
      json::parse(queue_usage_json(world, world.quota.find("q"), capacity)).as_object();
  EXPECT_EQ(out.at("name"), "q");
  EXPECT_EQ(out.at("limits").at("gpu").at("maximum"), "12");
  EXPECT_EQ(out.at("use").at("gpu"), "500m");
  EXPECT_EQ(out.at("capacity").at("gpu"), "16");
  EXPECT_EQ(out.at("jobs").at("Waiting"), 1);
  EXPECT_EQ(out.at("jobs").at("Starting"), 1);
  ASSERT_EQ(out.at("users").as_array().size(), 1u);
  const json::object& ann = out.at("users").as_array()[0].as_object();
  EXPECT_EQ(ann.at("user"), "ann \"quote\"");
  EXPECT_EQ(ann.at("running"), 1);
  EXPECT_EQ(ann.at("use").at("gpu"), "500m");
}

TEST_F(Json, WhatMoreQuotaWouldDo) {
  const QuotaAsk ask{"q", "gpu", 4000};
  const QuotaAnswer answer{1, true, {world.find_job("waits")}};
  const json::object out = json::parse(quota_answer_json(world, ask, answer)).as_object();
  EXPECT_EQ(out.at("count"), 1);
  EXPECT_EQ(out.at("at_least"), true);
  EXPECT_EQ(out.at("jobs"), (json::array{"waits"}));
  EXPECT_NE(out.at("text").as_string().find("at least 1 job of queue q"), std::string::npos);
}

}  // namespace
}  // namespace muster::view
