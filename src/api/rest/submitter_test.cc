#include "api/rest/submitter.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "control/loop.h"
#include "ports/memory_inbox.h"
#include "ports/memory_store.h"

namespace muster::api {
namespace {

/// A loop that steps when the test says so.
struct SubmitterTest : testing::Test {
  SubmitterTest() {
    model::QueueSpec queue;
    queue.name = "q";
    const std::vector<model::Event> books{{Time{0}, model::QueueSet{queue}}};
    MUSTER_CHECK(store.commit({books}).ok(), "set up");
    auto recovered = control::recover(store, policy);
    loop.emplace(control::Loop::Ports{inbox, store, {}, &requests}, std::move(*recovered), policy,
                 control::Options{});
    Submitter::Options options;
    options.accepted = [this](std::vector<AcceptedCommand> commands) {
      for (AcceptedCommand& command : commands) accepted.push_back(std::move(command));
    };
    options.runtime_classes = [] {
      return model::RuntimeClasses{{"kata", {{{250}, {}, {}}, {{"kata", "yes"}}, {}}}};
    };
    submitter.emplace(store, requests, [] { return Time{5}; }, options);
  }
  static Submit submit(const std::string& key, const std::string& queue = "q",
                       const std::string& hash = "h") {
    Submit out{{}, "ada", "r1", key, hash};
    config::Submission job;
    job.spec.queue = queue;
    job.spec.gang.sets.emplace_back();
    job.command.argv = {"true"};
    job.command.sets.emplace_back();
    out.jobs.push_back(job);
    return out;
  }
  void put(Submit what) {
    submitter->submit(std::move(what), [this](SubmitOutcome outcome) {
      const std::lock_guard lock(mutex);
      outcomes.push_back(std::move(outcome));
      changed.notify_all();
    });
  }
  /// Steps until so many were answered.
  void wait(std::size_t count) {
    for (int i = 0; i < 2000; ++i) {
      loop->step(Time{++now});
      std::unique_lock lock(mutex);
      if (changed.wait_for(lock, std::chrono::milliseconds(5),
                           [&] { return outcomes.size() >= count; }))
        return;
    }
    FAIL() << outcomes.size() << " answers";
  }
  /// Until so many wait for the loop.
  void wait_queued(std::size_t count) {
    for (int i = 0; i < 2000 && requests.size() < count; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    ASSERT_EQ(requests.size(), count);
  }

  sched::Policy policy;
  ports::MemoryInbox inbox{100};
  ports::MemoryStore store;
  control::Requests requests{100};
  std::optional<control::Loop> loop;
  std::int64_t now = 10;
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<SubmitOutcome> outcomes;
  std::vector<AcceptedCommand> accepted;
  std::optional<Submitter> submitter;
};

TEST_F(SubmitterTest, AJobIsDurableWithItsPayloadWhenItIsAnswered) {
  put(submit(""));
  wait(1);
  ASSERT_TRUE(outcomes[0].result) << outcomes[0].result.error().message;
  const auto row = store.job(outcomes[0].result->ids.at(0));
  ASSERT_TRUE(row);
  EXPECT_EQ(row->user, "ada");
  EXPECT_NE(store.payload(row->payload)->find("true"), std::string::npos);
  EXPECT_EQ(store.audit({}, 0, 9)->rows.at(0).verb, "submit");
}

TEST_F(SubmitterTest, WhatAJobNamesAndMayComeIsToldApartFromOtherErrors) {
  put(submit("", "nowhere"));
  Submit pinned = submit("");
  pinned.jobs[0].spec.gang.clusters = {"later"};
  put(std::move(pinned));
  Submit pooled = submit("");
  pooled.jobs[0].spec.gang.pool = "none";
  put(std::move(pooled));
  wait(3);
  std::map<std::string, Missing> missing;
  for (const SubmitOutcome& one : outcomes)
    missing[one.result.error().message.substr(0, 4)] = one.missing;
  EXPECT_EQ(missing,
            (std::map<std::string, Missing>{
                {"queu", Missing::Queue}, {"clus", Missing::Cluster}, {"pool", Missing::Nothing}}));
}

TEST_F(SubmitterTest, TwoOfOneKeyInOneStepAreOneJob) {
  put(submit("k"));
  put(submit("k"));
  wait_queued(2);
  wait(2);
  EXPECT_EQ(outcomes[0].result->ids, outcomes[1].result->ids);
  EXPECT_FALSE(outcomes[0].result->repeated);
  EXPECT_TRUE(outcomes[1].result->repeated);
  EXPECT_EQ(loop->world().job_count(), 1u);
}

TEST_F(SubmitterTest, AnotherBodyUnderTheKeyIsAConflict) {
  put(submit("k"));
  wait(1);
  put(submit("k", "q", "other"));
  wait(2);
  ASSERT_TRUE(outcomes[0].result);
  ASSERT_FALSE(outcomes[1].result);
  EXPECT_EQ(outcomes[1].result.error().fault, Fault::Conflict);
}

TEST_F(SubmitterTest, AKeyWhoseSubmitWasGivenUpIsFreeAgain) {
  put(submit("k"));
  wait_queued(1);
  store.be_busy(1);
  loop->step(Time{++now});
  loop->give_up_requests({Fault::Unavailable, "no disk"});
  ASSERT_EQ(outcomes.size(), 1u);
  EXPECT_FALSE(outcomes[0].result);
  put(submit("k"));
  wait(2);
  ASSERT_TRUE(outcomes[1].result);
  EXPECT_FALSE(outcomes[1].result->repeated);
  EXPECT_EQ(loop->world().job_count(), 1u);
}

TEST_F(SubmitterTest, AJobMayDependOnOneThatTheEngineHasForgotten) {
  const auto happens = [&](model::EventBody body) {
    ASSERT_TRUE(inbox.put({Time{0}, std::move(body)}));
    loop->step(Time{++now});
  };
  happens(model::ClusterSet{{"c", {}, {}, minutes(5)}});
  for (const char* id : {"done", "failed"}) {
    model::JobSubmitted submitted;
    submitted.spec.id = id;
    submitted.spec.queue = "q";
    submitted.spec.gang.sets.resize(1);
    happens(submitted);
    happens(model::Placed{id, 1, "c", "", {{0, "n", "", 0, 0}}});
    happens(model::Finished{id, 1, std::string(id) == "done", 1});
  }
  happens(model::FinishedForgotten{Time{now}, Time{0}});
  ASSERT_EQ(loop->world().live_jobs(), 0u);
  std::size_t answers = 0;
  for (const char* id : {"done", "failed", "never"}) {
    Submit what = submit("");
    what.jobs[0].spec.depends_on = {id};
    put(std::move(what));
    wait(++answers);
  }
  ASSERT_TRUE(outcomes[0].result) << outcomes[0].result.error().message;
  const sched::World& world = loop->world();
  EXPECT_TRUE(world.job(world.find_job(outcomes[0].result->ids[0])).depends_on.empty());
  ASSERT_FALSE(outcomes[1].result);
  EXPECT_EQ(outcomes[1].result.error().message,
            "depends_on: job failed is failed: this one could never start");
  ASSERT_FALSE(outcomes[2].result);
  EXPECT_EQ(outcomes[2].result.error().message, "depends_on: there is no job \"never\"");
}

TEST_F(SubmitterTest, WhoWaitsInWhateverWayCountsAndARepeatedSubmitIsNotTurnedAway) {
  const auto limited = [](const std::string& key, bool is_held) {
    Submit out = submit(key);
    out.unplaced_most = 2;
    out.jobs[0].spec.held = is_held;
    return out;
  };
  put(limited("first", true));
  wait(1);
  put(limited("second", false));
  wait(2);
  put(limited("third", true));
  wait(3);
  ASSERT_FALSE(outcomes[2].result);
  EXPECT_TRUE(outcomes[2].busy);
  EXPECT_EQ(outcomes[2].result.error().message, "2 jobs wait already");
  put(limited("first", true));
  wait(4);
  ASSERT_TRUE(outcomes[3].result);
  EXPECT_TRUE(outcomes[3].result->repeated);
  EXPECT_EQ(outcomes[3].result->ids, outcomes[0].result->ids);
}

TEST_F(SubmitterTest, AnUnknownQueueIsRefusedWithTheNearest) {
  put(submit("", "qq"));
  wait(1);
  ASSERT_FALSE(outcomes[0].result);
  EXPECT_EQ(outcomes[0].result.error().fault, Fault::Invalid);
  EXPECT_NE(outcomes[0].result.error().message.find("queue: there is no queue \"qq\""),
            std::string::npos);
}

TEST_F(SubmitterTest, AJobPinnedToClustersOfWhichNoneIsThereIsRefusedWithTheNearest) {
  ASSERT_TRUE(inbox.put({Time{0}, model::ClusterSet{{"here", {}, {}, minutes(5)}}}));
  loop->step(Time{++now});
  std::size_t answers = 0;
  for (const std::vector<std::string>& pins :
       std::vector<std::vector<std::string>>{{"hear"}, {"later", "here"}}) {
    Submit what = submit("");
    what.jobs[0].spec.gang.clusters = pins;
    put(std::move(what));
    wait(++answers);
  }
  ASSERT_FALSE(outcomes[0].result);
  EXPECT_EQ(outcomes[0].result.error().message,
            "clusters: there is no cluster \"hear\"; did you mean here?");
  EXPECT_TRUE(outcomes[1].result);
}

TEST_F(SubmitterTest, WhatADurableJobRunsIsSaidAsTheStoreWouldSayIt) {
  Submit what = submit("k");
  what.jobs = config::read_job_json(
                  R"({"queue": "q", "cpu": 2, "env": {"A": "${b}"}, "command": "echo $A",)"
                  R"( "pod_sets": [{"name": "head"}, {"name": "workers", "pods": 2, "gpus": 1}]})",
                  {})
                  .jobs;
  ASSERT_EQ(what.jobs.size(), 1u);
  put(std::move(what));
  wait_queued(1);
  EXPECT_TRUE(accepted.empty()) << "not before it is durable";
  wait(1);
  ASSERT_EQ(accepted.size(), 1u);
  EXPECT_EQ(accepted[0].job, outcomes[0].result->ids.at(0));
  const auto row = store.job(accepted[0].job);
  ASSERT_TRUE(row);
  const std::string text = *store.payload(row->payload);
  config::JobFile file = config::read_job_json(text, {});
  ASSERT_TRUE(file.ok());
  config::complete_command(file.jobs[0]);
  file.jobs[0].command.user = row->user;
  EXPECT_EQ(*accepted[0].command, file.jobs[0].command);
  EXPECT_EQ(accepted[0].bytes, text.size());
  put(submit("k"));  // repeated: it is the first one's command that counts
  wait(2);
  EXPECT_TRUE(outcomes[1].result->repeated);
  EXPECT_EQ(accepted.size(), 1u);
}

TEST_F(SubmitterTest, WhatARefusedJobRunsIsNotSaid) {
  put(submit("", "nowhere"));
  Submit given = submit("");
  given.ids = {"mine"};
  put(std::move(given));
  wait(2);
  EXPECT_FALSE(outcomes[0].result);
  EXPECT_TRUE(outcomes[1].result);
  EXPECT_TRUE(accepted.empty()) << "one with a given id may have been there before";
}

TEST_F(SubmitterTest, WhatRuntimeClassesPutIntoPodsIsPlannedFromTheStart) {
  Submit what = submit("");
  config::Submission& job = what.jobs[0];
  job.command.argv.clear();
  job.command.objects = R"([{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},
    "spec":{"runtimeClassName":"kata","containers":[{"name":"a"}]}}])";
  job.spec.gang.sets[0].pod.requests.cpu.v = 1000;
  put(std::move(what));
  wait(1);
  ASSERT_TRUE(outcomes[0].result);
  const sched::World& world = loop->world();
  const sched::JobSlot slot = world.find_job(outcomes[0].result->ids[0]);
  const model::Gang& gang = world.shapes[world.job(slot).shape].gang;
  EXPECT_EQ(gang.sets[0].pod.requests.cpu.v, 1250);
  EXPECT_EQ(gang.sets[0].pod.node_selector, (model::Labels{{"kata", "yes"}}));
}

TEST_F(SubmitterTest, ASubmitThatComesAloneIsWithTheLoopWhenTheCallReturns) {
  put(submit(""));
  EXPECT_EQ(requests.size(), 1u);
  wait(1);
}

TEST_F(SubmitterTest, PayloadsOfASubmitThatComesAloneAreWrittenWithIt) {
  // Nothing is in the store before the loop commits, everything after.
  put(submit(""));
  wait_queued(1);
  const std::string text = [&] {
    Submit what = submit("");
    return config::to_json(what.jobs[0]);
  }();
  EXPECT_FALSE(store.payload(store.payload_hash(text)));
  wait(1);
  ASSERT_TRUE(outcomes[0].result);
  EXPECT_EQ(*store.payload(store.payload_hash(text)), text);
  // Many at once have a sync of their own, before their jobs are in the books.
  Submit many = submit("");
  for (int i = 0; i < 20; ++i) {
    many.jobs.push_back(many.jobs[0]);
    many.jobs.back().command.argv = {"true", std::to_string(i)};
  }
  const std::string last = config::to_json(many.jobs.back());
  put(std::move(many));
  wait_queued(1);
  EXPECT_EQ(*store.payload(store.payload_hash(last)), last);
  wait(2);
}

}  // namespace
}  // namespace muster::api
