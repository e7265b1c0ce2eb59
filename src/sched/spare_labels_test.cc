#include "sched/spare_labels.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "sched/books.h"
#include "sched/testing/site.h"
#include "sched/whatif.h"

namespace muster::sched {
namespace {

using testing::job_spec;
using testing::node_spec;
using testing::Site;

model::JobSpec labelled(const std::string& id, const model::Labels& labels) {
  model::JobSpec spec = job_spec(id, "q", 1, 1);
  spec.gang.sets[0].pod.labels = labels;
  return spec;
}

/// Keeps away from pods with this label, node by node.
model::JobSpec shy(const std::string& id, const std::string& key, const std::string& value) {
  model::JobSpec spec = job_spec(id, "q", 1, 1);
  spec.gang.sets[0].pod.pod_anti_affinity = {{{{{key, value}}, {}}, "kubernetes.io/hostname"}};
  return spec;
}

class Spare : public Site, public ::testing::Test {
 protected:
  Spare() {
    cluster("c");
    queue("q");
  }
  void nodes(int count) {
    for (int i = 1; i <= count; ++i) node("c", node_spec(fmt::format("n{}", i), 8));
  }
  std::string node_of_job(const std::string& id) const {
    const Job& j = job(id);
    return j.active ? world.fleet.node(j.active->pods[0].node).spec.name : "";
  }
  World read_back() const {
    BookWriter writer(world, now);
    BookReader reader;
    while (auto record = writer.next()) {
      const Status added = reader.add(*record);
      EXPECT_TRUE(added) << added.error().message;
    }
    auto read = reader.finish();
    EXPECT_TRUE(read) << read.error().message;
    return std::move(read->world);
  }
};

TEST(SpareLabels, AreKeptAsTheyWere) {
  const std::vector<std::tuple<std::uint32_t, std::string, std::string>> given = {
      {0, "", ""},
      {0, "app", std::string("a\0b", 3)},
      {1, "app", std::string(300, 'x')},
      {70'000, std::string(20'000, 'k'), "v"}};
  SpareLabels spare;
  for (const auto& [set, key, value] : given) spare.add(set, key, value);
  std::vector<std::tuple<std::uint32_t, std::string, std::string>> seen;
  spare.for_each([&](std::uint32_t set, std::string_view key, std::string_view value) {
    seen.emplace_back(set, key, value);
  });
  EXPECT_EQ(seen, given);
}

TEST_F(Spare, JobsThatDifferInLabelsNobodyAsksForStandInOneLine) {
  for (const char* id : {"a", "b", "c"}) submit(labelled(id, {{"job-name", id}, {"app", "x"}}));
  EXPECT_EQ(world.shapes.size(), 1U);
  EXPECT_EQ(job("a").line, job("c").line);
  EXPECT_EQ(check(world), "");
}

TEST_F(Spare, ASelectorThatComesLaterSeesPodsThatRunAlready) {
  nodes(2);
  submit(labelled("loud", {{"app", "loud"}, {"job-name", "loud"}}));
  plan();
  const std::string taken = node_of_job("loud");
  submit(shy("shy", "app", "loud"));
  EXPECT_EQ(check(world), "");
  plan();
  EXPECT_NE(node_of_job("shy"), "");
  EXPECT_NE(node_of_job("shy"), taken);
  EXPECT_EQ(check(world), "");
}

TEST_F(Spare, ASelectorThatComesLaterSeesJobsThatWait) {
  submit(labelled("loud", {{"app", "loud"}}));
  submit(labelled("calm", {{"app", "calm"}}));
  EXPECT_EQ(job("loud").shape, job("calm").shape);
  submit(shy("shy", "app", "loud"));
  EXPECT_NE(job("loud").shape, job("calm").shape);
  EXPECT_EQ(check(world), "");
  nodes(1);
  plan();
  EXPECT_EQ(node_of_job("loud"), "n1");
  EXPECT_EQ(node_of_job("calm"), "n1");
  EXPECT_EQ(node_of_job("shy"), "");
}

TEST_F(Spare, ASelectorForAValueLeavesOtherValuesBesideTheirJobs) {
  for (const char* id : {"a", "b", "c"}) submit(labelled(id, {{"job-name", id}}));
  model::JobSpec self = shy("self", "job-name", "self");
  self.gang.sets[0].pod.labels = {{"job-name", "self"}};
  submit(self);
  EXPECT_EQ(world.shapes.size(), 2U);
  EXPECT_EQ(job("a").line, job("c").line);
  submit(shy("shy", "job-name", "b"));
  EXPECT_EQ(job("a").line, job("c").line);
  EXPECT_NE(job("a").line, job("b").line);
  EXPECT_EQ(check(world), "");
}

TEST_F(Spare, SelectorsThatNameNoValuesAskForAll) {
  struct Case {
    model::Operator op;
    std::vector<std::string> values;
    bool splits;
  };
  const std::vector<Case> cases = {{model::Operator::Exists, {}, true},
                                   {model::Operator::DoesNotExist, {}, true},
                                   {model::Operator::In, {"z"}, false},
                                   {model::Operator::NotIn, {"z"}, false},
                                   {model::Operator::NotIn, {"a"}, true}};
  int number = 0;
  for (const Case& c : cases) {
    const std::string key = fmt::format("key{}", ++number);
    const std::string first = fmt::format("first{}", number);
    const std::string second = fmt::format("second{}", number);
    submit(labelled(first, {{key, "a"}}));
    submit(labelled(second, {{key, "b"}}));
    model::JobSpec spec = job_spec(fmt::format("asks{}", number), "q", 1, 1);
    spec.gang.sets[0].pod.pod_anti_affinity = {
        {{{}, {{key, c.op, c.values}}}, "kubernetes.io/hostname"}};
    submit(spec);
    EXPECT_EQ(job(first).line != job(second).line, c.splits) << key;
    EXPECT_EQ(check(world), "");
  }
}

TEST_F(Spare, ATrialGivesBackWhatItShowedOfJobsThatHoldNodes) {
  nodes(1);
  submit(labelled("loud", {{"app", "loud"}}));
  plan();
  submit(labelled("waits", {{"app", "waits"}}));
  const ShapeId shape = job("loud").shape;
  const PodShapeId pod = job("loud").active->pods[0].pod;
  const LineId line = job("waits").line;
  for (int i = 0; i < 2; ++i) {
    const auto answer = what_if_submit(world, agenda, policy, shy("shy", "app", "loud"), now);
    ASSERT_TRUE(answer);
    EXPECT_FALSE(answer->starts_now);
    EXPECT_EQ(job("loud").shape, shape);
    EXPECT_EQ(job("loud").active->pods[0].pod, pod);
    EXPECT_FALSE(job("loud").spare.empty());
    EXPECT_EQ(job("waits").line, line);
    EXPECT_EQ(check(world), "");
  }
}

TEST(SpareCounts, WhoAloneHasALabelIsFoundWithoutASearch) {
  const auto asked = [](const char* key, const char* value) {
    AskedLabels labels;
    value == nullptr ? labels.add(key) : labels.add(key, value);
    return labels;
  };
  SpareLabels one;  // both of its sets have it
  one.add(0, "app", "x");
  one.add(1, "app", "x");
  SpareLabels other;
  other.add(0, "app", "y");
  SpareCounts counts;
  counts.add(one, JobSlot{7}, +1);
  counts.add(other, JobSlot{9}, +1);
  EXPECT_EQ(counts.who_may_have(asked("app", "x")), std::vector{JobSlot{7}});
  EXPECT_EQ(counts.who_may_have(asked("app", "z")), std::vector<JobSlot>{});
  EXPECT_EQ(counts.who_may_have(asked("app", nullptr)), std::nullopt) << "two have some";
  EXPECT_TRUE(counts.may_have(asked("app", nullptr)));
  counts.add(one, JobSlot{7}, -1);
  EXPECT_EQ(counts.who_may_have(asked("app", nullptr)), std::vector{JobSlot{9}});
  counts.add(other, JobSlot{9}, -1);
  EXPECT_FALSE(counts.may_have(asked("app", nullptr)));
  EXPECT_EQ(counts, SpareCounts{});
}

TEST_F(Spare, OthersKeysStayBesideTheJob) {
  submit(labelled("a", {{"app", "x"}, {"job-name", "a"}}));
  submit(shy("shy", "app", "x"));
  submit(labelled("b", {{"app", "x"}, {"job-name", "b"}}));
  EXPECT_EQ(job("a").shape, job("b").shape);
  EXPECT_EQ(world.shapes[job("a").shape].gang.sets[0].pod.labels, (model::Labels{{"app", "x"}}));
  EXPECT_FALSE(job("a").spare.empty());
  EXPECT_EQ(check(world), "");
}

TEST_F(Spare, ItIsAllTheSameWhoCameFirst) {
  Site other;
  other.cluster("c");
  other.queue("q");
  const auto both = [](Site& site, const model::JobSpec& first, const model::JobSpec& second,
                       std::uint64_t seq) {
    site.apply(model::JobSubmitted{first, seq});
    site.apply(model::JobSubmitted{second, seq});
  };
  both(*this, labelled("a", {{"app", "x"}}), shy("b", "app", "x"), 1);
  both(other, shy("b", "app", "x"), labelled("a", {{"app", "x"}}), 1);
  EXPECT_EQ(world.hash(), other.world.hash());
  EXPECT_EQ(world.shapes[job("a").shape].gang, other.world.shapes[other.job("a").shape].gang);
}

TEST_F(Spare, ATrialSeesWhatRunsAndLeavesTheLinesAlone) {
  nodes(1);
  submit(labelled("loud", {{"app", "loud"}}));
  plan();
  world.fleet.settle(world.shapes);
  submit(labelled("b", {{"app", "b"}}));
  submit(labelled("c", {{"app", "c"}}));
  const std::uint64_t hash = world.hash();
  const auto answer = what_if_submit(world, agenda, policy, shy("shy", "app", "loud"), now);
  ASSERT_TRUE(answer);
  EXPECT_FALSE(answer->starts_now);
  const auto beside = what_if_submit(world, agenda, policy, shy("shy", "app", "other"), now);
  ASSERT_TRUE(beside);
  EXPECT_TRUE(beside->starts_now);
  EXPECT_EQ(job("b").line, job("c").line);
  EXPECT_EQ(world.hash(), hash);
  EXPECT_EQ(check(world), "");
  submit(shy("shy", "app", "b"));
  EXPECT_NE(job("b").line, job("c").line) << "the trial is not taken for a question of somebody";
  EXPECT_EQ(check(world), "");
}

TEST_F(Spare, SnapshotsKeepThem) {
  submit(labelled("runs", {{"app", "x"}, {"job-name", "runs"}}));
  apply(model::Placed{"runs", 1, "c", "", {{0, "n1", "", 0b1, 1000}}});
  submit(labelled("waits", {{"app", "x"}, {"job-name", "waits"}}));
  submit(shy("shy", "app", "x"));
  World again = read_back();
  EXPECT_EQ(check(again), "");
  EXPECT_EQ(again.books_hash(), world.books_hash());
  EXPECT_EQ(again.shapes.asked_labels(), world.shapes.asked_labels());
  for (const char* id : {"runs", "waits", "shy"})
    EXPECT_EQ(again.job(again.find_job(id)).spare, job(id).spare) << id;
}

}  // namespace
}  // namespace muster::sched
