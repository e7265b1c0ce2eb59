#include "sched/quota.h"

#include <gtest/gtest.h>

#include <limits>

namespace muster::sched {
namespace {

using model::Limit;

/// Amounts are in whole GPUs here; the tree only ever sees numbers.
struct Tree {
  QuotaTree quota;
  Capacity capacity = Capacity(3, 100);
  Rules rules;

  QueueId queue(const std::string& name, const std::string& parent, const Limit& gpu = {},
                std::uint32_t weight = 1) {
    model::QueueSpec spec;
    spec.name = name;
    spec.parent = parent;
    spec.weight = weight;
    if (gpu != Limit{}) spec.limits["gpu"] = gpu;
    return quota.set(spec);
  }
  void use(QueueId id, std::int64_t gpus, int sign = +1) {
    quota.charge(id, {{resource_gpu, gpus}}, sign, Time{0}, Duration{0});
  }
  std::optional<OverQuota> over(QueueId id, std::int64_t gpus) {
    return quota.over(id, {{resource_gpu, gpus}}, capacity, rules);
  }
  std::int64_t used(QueueId id) const { return at(quota[id].use); }
  std::int64_t held(QueueId id) const { return at(quota[id].held); }
  static std::int64_t at(const std::vector<std::int64_t>& amounts) {
    return resource_gpu.index() < amounts.size() ? amounts[resource_gpu.index()] : 0;
  }
};

Limit maximum(std::int64_t n) { return {{}, n, {}, {}}; }
Limit guaranteed(std::int64_t n) { return {n, {}, {}, {}}; }
Limit borrowing(std::int64_t n, std::int64_t borrow) { return {n, {}, borrow, {}}; }
Limit lending(std::int64_t n, std::int64_t lend) { return {n, {}, {}, lend}; }

TEST(Quota, UseIsChargedUpToTheRoot) {
  Tree t;
  const QueueId a = t.queue("a", "");
  const QueueId b = t.queue("b", "a");
  const QueueId c = t.queue("c", "a");
  t.use(b, 3);
  t.use(c, 2);
  EXPECT_EQ(t.used(b), 3);
  EXPECT_EQ(t.used(a), 5);
  EXPECT_EQ(t.used(QuotaTree::root()), 5);
  t.use(b, 3, -1);
  EXPECT_EQ(t.used(b), 0);
  EXPECT_EQ(t.used(a), 2);
}

TEST(Quota, MaximumBindsAtEveryLevel) {
  struct Row {
    std::int64_t parent_max, child_max, asked;
    bool over_parent, over_child;
  };
  const Row rows[] = {{8, 4, 4, false, false}, {8, 4, 5, false, true}, {8, 10, 8, false, false},
                      {8, 10, 9, true, false}, {0, 4, 1, true, false}, {8, 0, 1, false, true}};
  for (const Row& row : rows) {
    Tree t;
    const QueueId parent = t.queue("parent", "", maximum(row.parent_max));
    const QueueId child = t.queue("child", "parent", maximum(row.child_max));
    const auto over = t.over(child, row.asked);
    EXPECT_EQ(over.has_value(), row.over_parent || row.over_child) << row.asked;
    if (!over) continue;
    EXPECT_EQ(over->queue, row.over_child ? child : parent);
    EXPECT_EQ(over->bound, QuotaBound::Maximum);
    EXPECT_EQ(over->asked, row.asked);
    EXPECT_EQ(over->room, row.over_child ? row.child_max : row.parent_max);
  }
}

TEST(Quota, BorrowsAtMostTheLimitAboveItsGuarantee) {
  struct Row {
    std::int64_t guaranteed, borrow, used, asked;
    bool allowed;
  };
  const Row rows[] = {{4, 2, 0, 4, true},  {4, 2, 0, 6, true},  {4, 2, 0, 7, false},
                      {4, 2, 5, 1, true},  {4, 2, 5, 2, false}, {4, 0, 0, 4, true},
                      {4, 0, 4, 1, false}, {0, 3, 0, 3, true},  {0, 3, 0, 4, false},
                      {0, 0, 0, 1, false}};
  for (const Row& row : rows) {
    Tree t;
    const QueueId q = t.queue("q", "", borrowing(row.guaranteed, row.borrow));
    t.use(q, row.used);
    const auto over = t.over(q, row.asked);
    EXPECT_EQ(!over, row.allowed) << row.guaranteed << " " << row.borrow << " " << row.asked;
    if (over) {
      EXPECT_EQ(over->bound, QuotaBound::Borrow);
      EXPECT_EQ(over->room, row.guaranteed + row.borrow - row.used);
    }
  }
}

TEST(Quota, WhatIsNotLentStaysFreeForItsOwner) {
  Tree t;
  t.capacity = Capacity(3, 10);
  const QueueId owner = t.queue("owner", "", lending(6, 2));
  const QueueId other = t.queue("other", "");
  EXPECT_EQ(t.held(owner), 4);
  EXPECT_FALSE(t.over(other, 6));
  const auto over = t.over(other, 7);
  ASSERT_TRUE(over);
  EXPECT_EQ(over->bound, QuotaBound::Held);
  EXPECT_EQ(over->room, 6);
  t.use(owner, 3);  // uses three of what it holds: still six for others
  EXPECT_EQ(t.held(owner), 1);
  EXPECT_FALSE(t.over(other, 6));
  EXPECT_TRUE(t.over(other, 7));
  EXPECT_FALSE(t.over(owner, 3)) << "its own guarantee is open to it";
}

TEST(Quota, WhatIsHeldFollowsUseBelow) {
  Tree t;
  const QueueId parent = t.queue("parent", "", lending(8, 0));
  const QueueId child = t.queue("child", "parent");
  EXPECT_EQ(t.held(parent), 8);
  t.use(child, 3);
  EXPECT_EQ(t.held(parent), 5) << "use of a child without limits is use of its parent";
  t.use(child, 3, -1);
  EXPECT_EQ(t.held(parent), 8);
}

TEST(Quota, WhatIsNotLentIsHeldAsFarAsTheMaximaAllow) {
  Tree t;
  const QueueId parent = t.queue("parent", "", maximum(8));
  const QueueId careful = t.queue("careful", "parent", lending(6, 0));
  const QueueId other = t.queue("other", "parent");
  EXPECT_EQ(t.held(parent), 6);
  t.use(other, 4);  // before the limits were as they are now
  EXPECT_EQ(t.held(careful), 6);
  EXPECT_EQ(t.held(parent), 4) << "no more of it could be used";
  const auto over = t.over(other, 1);
  ASSERT_TRUE(over);
  EXPECT_EQ(over->bound, QuotaBound::Held);
  EXPECT_EQ(over->queue, parent);
  EXPECT_EQ(over->room, 0);
  EXPECT_FALSE(t.over(careful, 4)) << "its own guarantee is open to it";
  t.use(other, 2, -1);
  EXPECT_FALSE(t.over(careful, 6));
  EXPECT_TRUE(t.over(other, 1)) << "two and six are all that the parent may use";
}

TEST(Quota, ChildrenHoldInsideTheirParent) {
  Tree t;
  const QueueId parent = t.queue("parent", "", lending(8, 8));
  t.queue("a", "parent", lending(3, 0));
  t.queue("b", "parent", lending(2, 0));
  EXPECT_EQ(t.held(parent), 5) << "the parent lends all of its own, the children do not";
}

TEST(Quota, AParentBorrowsAboveWhatItsChildrenAreGuaranteedTogether) {
  struct Row {
    std::int64_t own, borrow, allowed;
  };
  const Row rows[] = {{-1, 4, 12}, {5, 4, 12}, {10, 4, 14}};
  for (const Row& row : rows) {
    Tree t;
    Limit limit{{}, {}, row.borrow, {}};
    if (row.own >= 0) limit.guaranteed = row.own;
    t.queue("parent", "", limit);
    t.queue("a", "parent", guaranteed(6));
    t.queue("elsewhere", "", guaranteed(9));
    t.queue("b", "elsewhere", guaranteed(2));
    t.queue("b", "parent", guaranteed(2));  // it moves
    const QueueId c = t.queue("c", "parent");
    EXPECT_FALSE(t.over(c, row.allowed)) << row.own;
    const auto over = t.over(c, row.allowed + 1);
    ASSERT_TRUE(over) << row.own;
    EXPECT_EQ(over->bound, QuotaBound::Borrow);
    EXPECT_EQ(over->room, row.allowed);
    EXPECT_TRUE(t.quota.allows_alone(c, {{resource_gpu, row.allowed}}));
    EXPECT_FALSE(t.quota.allows_alone(c, {{resource_gpu, row.allowed + 1}}));
  }
}

TEST(Quota, EveryResourceBinds) {
  QuotaTree quota;
  model::QueueSpec spec;
  spec.name = "q";
  spec.limits["gpu"].maximum = 8;
  spec.limits["gpu.A100"].maximum = 2;
  spec.limits["cpu"].maximum = 100;
  const QueueId q = quota.set(spec);
  const ResourceId a100 = quota.resource("gpu.A100");
  struct Row {
    std::int64_t cpu, gpu, a100;
    std::optional<ResourceId> bound;
  };
  const Row rows[] = {{100, 8, 2, {}},
                      {101, 8, 2, resource_cpu},
                      {1, 9, 2, resource_gpu},
                      {1, 3, 3, a100},
                      {0, 0, 0, {}}};
  for (const Row& row : rows) {
    const auto over =
        quota.over(q, {{resource_cpu, row.cpu}, {resource_gpu, row.gpu}, {a100, row.a100}},
                   Capacity(4, 1000), Rules{});
    ASSERT_EQ(over.has_value(), row.bound.has_value()) << row.cpu << " " << row.gpu;
    if (over) EXPECT_EQ(over->resource, *row.bound);
  }
}

TEST(Quota, ASharedPrefixOfNamesMeansNothing) {
  Tree t;
  const QueueId team = t.queue("team", "", maximum(4));
  const QueueId team2 = t.queue("team-2", "", maximum(8));
  const QueueId te = t.queue("te", "");
  t.use(team, 4);
  EXPECT_EQ(t.used(team2), 0);
  EXPECT_EQ(t.used(te), 0);
  EXPECT_TRUE(t.over(team, 1));
  EXPECT_FALSE(t.over(team2, 8));
  t.quota.remove("team");
  EXPECT_FALSE(t.quota[team].alive);
  EXPECT_TRUE(t.quota[team2].alive);
}

TEST(Quota, ANewParentGetsTheUseAndTheOldOneLosesIt) {
  Tree t;
  const QueueId a = t.queue("a", "", lending(4, 0));
  const QueueId b = t.queue("b", "", lending(4, 0));
  const QueueId child = t.queue("child", "a", lending(1, 0));
  t.use(child, 2);
  EXPECT_EQ(t.used(a), 2);
  EXPECT_EQ(t.held(a), 2);
  t.queue("child", "b", lending(1, 0));
  EXPECT_EQ(t.used(a), 0);
  EXPECT_EQ(t.held(a), 4);
  EXPECT_EQ(t.used(b), 2);
  EXPECT_EQ(t.held(b), 2);
  EXPECT_EQ(t.used(QuotaTree::root()), 2);
  EXPECT_EQ(t.quota[child].parent, b);
}

TEST(Quota, AQueueNeverStandsBelowItself) {
  Tree t;
  const QueueId a = t.queue("a", "");
  const QueueId b = t.queue("b", "a");
  t.queue("a", "b");
  EXPECT_NE(t.quota[a].parent, b);
  t.queue("a", "a");
  EXPECT_NE(t.quota[a].parent, a);
  t.use(b, 1);
  EXPECT_EQ(t.used(a), 1);
}

TEST(Quota, AParentCanBeRemovedAfterItsChildren) {
  Tree t;
  const QueueId a = t.queue("a", "");
  const QueueId b = t.queue("b", "a");
  t.quota.remove("a");
  EXPECT_TRUE(t.quota[a].alive) << "it has a child";
  t.quota.remove("b");
  t.quota.remove("a");
  EXPECT_FALSE(t.quota[b].alive);
  EXPECT_FALSE(t.quota[a].alive);
}

TEST(Quota, GuaranteeIsThatOfTheLowestQueueThatHasOne) {
  Tree t;
  t.queue("parent", "", guaranteed(8));
  const QueueId with = t.queue("with", "parent", guaranteed(2));
  const QueueId without = t.queue("without", "parent");
  const QueueId alone = t.queue("alone", "");
  EXPECT_EQ(t.quota.guarantor(with), with);
  EXPECT_EQ(t.quota.guarantor(without), t.quota.find("parent"));
  EXPECT_TRUE(t.quota.guarantor(alone).is_none());
}

TEST(Quota, AGuaranteeOfZeroIsNoLimit) {
  Tree t;
  const QueueId q = t.queue("q", "", guaranteed(0));
  EXPECT_FALSE(t.over(q, 100)) << "it may borrow without limit";
}

TEST(Quota, ShareIsDominantAndWeighted) {
  struct Row {
    std::int64_t cpu, gpu;
    std::uint32_t weight;
    std::uint64_t share;
  };
  constexpr std::uint64_t one = std::uint64_t{1} << 32;
  const Row rows[] = {{0, 0, 1, 0},
                      {50, 0, 1, one / 2},
                      {50, 75, 1, one / 4 * 3},
                      {50, 75, 3, one / 4},
                      {100, 0, 2, one / 2},
                      {25, 25, 1, one / 4},
                      {1, 1, 0, std::numeric_limits<std::uint64_t>::max()}};
  Policy policy;
  policy.half_life = Duration{0};
  for (const Row& row : rows) {
    Tree t;
    const QueueId q = t.queue("q", "", {}, row.weight);
    t.quota.charge(q, {{resource_cpu, row.cpu}, {resource_gpu, row.gpu}}, +1, Time{0}, Duration{0});
    EXPECT_EQ(t.quota.share(q, t.capacity, Time{0}, policy), row.share)
        << row.cpu << " " << row.gpu << " " << row.weight;
  }
}

TEST(Quota, PastUseFadesWithTheHalfLife) {
  Tree t;
  Policy policy;
  policy.half_life = hours(1);
  t.capacity = Capacity(3, 1'000'000'000);
  constexpr std::int64_t half = 500'000'000;
  const QueueId q = t.queue("q", "");
  const auto share = [&](Time at) { return t.quota.share(q, t.capacity, at, policy); };
  t.quota.charge(q, {{resource_gpu, half}}, +1, Time{0}, policy.half_life);
  const Time end = Time{0} + hours(100);
  EXPECT_NEAR(static_cast<double>(share(end)), 4294967296.0, 100) << "use and as much remembered";
  t.quota.charge(q, {{resource_gpu, half}}, -1, end, policy.half_life);
  EXPECT_NEAR(static_cast<double>(share(end)), 4294967296.0 / 2, 100);
  EXPECT_NEAR(static_cast<double>(share(end + hours(1))), 4294967296.0 / 4, 100);
  EXPECT_NEAR(static_cast<double>(share(end + hours(2))), 4294967296.0 / 8, 100);
  EXPECT_EQ(share(end + hours(100)), 0u);
}

TEST(Quota, ATrialLeavesNoMemory) {
  Tree t;
  Policy policy;
  policy.half_life = hours(1);
  const QueueId q = t.queue("q", "");
  t.quota.charge(q, {{resource_gpu, 10}}, +1, Time{0}, policy.half_life);
  const std::uint64_t before = t.quota.share(q, t.capacity, Time{0} + hours(3), policy);
  t.quota.charge_for_now(q, {{resource_gpu, 40}}, +1);
  t.quota.charge_for_now(q, {{resource_gpu, 40}}, -1);
  EXPECT_EQ(t.quota.share(q, t.capacity, Time{0} + hours(3), policy), before);
}

TEST(Quota, WhatIsTriedCountsOnceHoweverLongTheQueueWasIdle) {
  Tree t;
  Policy policy;
  policy.half_life = hours(1);
  const QueueId q = t.queue("q", "");
  t.quota.charge_for_now(q, {{resource_gpu, 50}}, +1);
  EXPECT_EQ(t.quota.share(q, t.capacity, Time{0} + hours(100), policy), std::uint64_t{1} << 31);
}

TEST(Quota, GpuTypesCountInSharesByTheirWeightAlone) {
  Tree t;
  Policy policy;
  policy.half_life = Duration{0};
  const QueueId q = t.queue("q", "");
  const ResourceId t4 = t.quota.resource("gpu.T4");
  t.capacity = {100, 100, 100, 4};  // all there are of the type
  t.quota.charge(q, {{resource_gpu, 25}, {t4, 4}}, +1, Time{0}, Duration{0});
  EXPECT_EQ(t.quota.share(q, t.capacity, Time{0}, policy), std::uint64_t{1} << 30);
}

TEST(Quota, ANewParentGetsWhatIsRememberedAndTheOldOneLosesIt) {
  Tree t;
  Policy policy;
  policy.half_life = hours(1);
  const QueueId a = t.queue("a", "");
  const QueueId b = t.queue("b", "");
  const QueueId child = t.queue("child", "a");
  const Time end = Time{0} + hours(100);
  t.quota.charge(child, {{resource_gpu, 40}}, +1, Time{0}, policy.half_life);
  t.quota.charge(child, {{resource_gpu, 40}}, -1, end, policy.half_life);
  const Time later = end + hours(1);
  const auto share = [&](QueueId q) { return t.quota.share(q, t.capacity, later, policy); };
  const std::uint64_t was = share(a);
  EXPECT_GT(was, 0u);
  model::QueueSpec spec;
  spec.name = "child";
  spec.parent = "b";
  t.quota.set(spec, later, policy.half_life);
  EXPECT_EQ(share(a), 0u);
  EXPECT_EQ(share(b), was);
  EXPECT_EQ(share(child), was);
}

TEST(Quota, TreesDoNotMeet) {
  QuotaTree quota;
  model::QueueSpec spec;
  spec.name = "main";
  const QueueId main = quota.set(spec);
  spec.name = "budget";
  spec.tree = "money";
  spec.limits["gpu"].maximum = 2;
  const QueueId budget = quota.set(spec);
  quota.charge(main, {{resource_gpu, 5}}, +1, Time{0}, Duration{0});
  EXPECT_EQ(Tree::at(quota[budget].use), 0);
  EXPECT_NE(quota[main].parent, quota[budget].parent);
  EXPECT_TRUE(quota.over(budget, {{resource_gpu, 3}}, Capacity(3, 100), Rules{}));
}

TEST(Quota, OfWhatAJobChargesBesideItsQueueOneOfEachFurtherTreeStays) {
  QuotaTree quota;
  model::QueueSpec spec;
  spec.name = "main";
  const QueueId main = quota.set(spec);
  const auto further = [&](const std::string& name, const std::string& tree) {
    spec.name = name;
    spec.tree = tree;
    return quota.set(spec);
  };
  const QueueId money = further("budget", "money");
  const QueueId site = further("north", "sites");
  spec.parent = "budget";
  const QueueId below = further("apollo", "");
  EXPECT_TRUE(quota.is_in_main_tree(main));
  EXPECT_FALSE(quota.is_in_main_tree(below));
  EXPECT_EQ(quota.tree_name(below), "money");
  EXPECT_EQ(quota.tree_name(main), "");
  std::vector<QueueId> extra_queues = {below, main, money, site, below};
  quota.keep_one_per_tree(extra_queues);
  EXPECT_EQ(extra_queues, (std::vector<QueueId>{below, site}));
}

TEST(Quota, WhoWasChargedIsToldOnce) {
  QuotaTree quota;
  const QueueId a = quota.find_or_make("a");
  const QueueId b = quota.find_or_make("b");
  quota.charge(b, {{resource_gpu, 5}}, +1, Time{0}, Duration{0});
  quota.charge(a, {{resource_gpu, 5}}, +1, Time{0}, Duration{0});
  quota.charge(b, {{resource_gpu, 5}}, -1, Time{0}, Duration{0});
  EXPECT_EQ(quota.take_charged(), (std::vector<QueueId>{b, a}));
  EXPECT_EQ(quota.take_charged(), std::vector<QueueId>{});
  quota.charge(b, {{resource_gpu, 5}}, -1, Time{0}, Duration{0});
  EXPECT_EQ(quota.take_charged(), std::vector<QueueId>{b});
}

}  // namespace
}  // namespace muster::sched
