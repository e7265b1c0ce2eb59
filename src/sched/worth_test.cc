#include "sched/worth.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <initializer_list>
#include <vector>

#include "base/prng.h"
#include "sched/worth_baselines.h"
#include "sched/worth_math.h"

namespace muster::sched::worth {
namespace {

NodeState node(std::int64_t cpu_milli, std::int64_t memory_mib,
               std::initializer_list<std::int16_t> free, std::uint8_t model = 0) {
  NodeState s;
  s.cpu_milli = cpu_milli;
  s.memory_mib = memory_mib;
  s.model = model;
  s.gpus = static_cast<std::uint8_t>(free.size());
  std::copy(free.begin(), free.end(), s.free.begin());
  std::sort(s.free.begin(), s.free.begin() + s.gpus);
  return s;
}

PodShape share(std::int32_t milli) { return {4'000, 16'000, 1, milli, any_model}; }
PodShape whole(std::int32_t gpus) { return {8'000 * gpus, 32'000 * gpus, gpus, 1000, any_model}; }

/// Halves, thirds and whole GPUs, on ten idle nodes of eight.
std::vector<ShapeCount> usual_demand() {
  return {{share(500), 400}, {share(300), 300}, {whole(1), 200}, {whole(8), 20}};
}
NodeState roomy(std::initializer_list<std::int16_t> free) { return node(96'000, 700'000, free); }

Mix usual_mix() {
  const NodeCount idle{roomy({1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000}), 10};
  return make_mix(usual_demand(), std::vector{idle}, 80'000, nullptr);
}

std::int64_t score(Choice choice, const Mix& mix, const NodeState& n, const PodShape& pod) {
  WorthMemo memo;
  return judge(choice, mix, memo, n, pod, 0)->score;
}

// ---- arithmetic

TEST(WorthMath, PowersOfTwo) {
  struct Row {
    std::int64_t ticks;
    std::uint64_t power;
  };
  for (const Row& row : {Row{-5, exp2_one}, Row{0, exp2_one}, Row{octave, exp2_one / 2},
                         Row{8 * octave, exp2_one / 256}, Row{31 * octave, 2}, Row{32 * octave, 0},
                         Row{std::int64_t{1} << 50, 0}}) {
    EXPECT_EQ(exp2_neg(row.ticks), row.power) << row.ticks;
  }
  // 2^-0.5 = 0.70710678 to 8 digits; the chain of products loses a little.
  EXPECT_NEAR(static_cast<std::int64_t>(exp2_neg(octave / 2)), 3'037'000'500, 200);
}

TEST(WorthMath, LogarithmsOfTwo) {
  struct Row {
    std::uint64_t x;
    std::int64_t ticks;
  };
  for (const Row& row :
       {Row{1, 0}, Row{2, octave}, Row{3, 6492}, Row{10, 13606}, Row{1000, 40819},
        Row{std::uint64_t{1} << 32, 32 * octave}, Row{~std::uint64_t{0}, 64 * octave - 1}}) {
    EXPECT_EQ(log2_ticks(row.x), row.ticks) << row.x;
  }
}

TEST(WorthMath, ChordsAgreeWithSquaring) {
  const auto agree = [](std::uint64_t x) {
    const int top = static_cast<int>(std::bit_width(x)) - 1;
    return log2_ticks(x) == top * octave + log2_digits((x << (63 - top)) >> 32, octave_bits);
  };
  for (std::uint64_t x = 1; x < 20'000; ++x) ASSERT_TRUE(agree(x)) << x;
  Prng prng(7);
  for (int i = 0; i < 20'000; ++i) {
    const std::uint64_t x = prng.next() >> prng.below(63);
    if (x > 0) ASSERT_TRUE(agree(x)) << x;
  }
}

TEST(WorthMath, SoftMaximumDoublesByOneOctaveAndIgnoresTheFarBelow) {
  EXPECT_EQ(SoftMax().value(), never);
  SoftMax one;
  one.add(-700);
  EXPECT_EQ(one.value(), -700);
  SoftMax two = one;
  two.add(-700);
  EXPECT_EQ(two.value(), -700 + octave);
  SoftMax far = one;
  far.add(-700 - 40 * octave);
  EXPECT_EQ(far.value(), -700);
  SoftMax rising;
  rising.add(-40 * octave);
  rising.add(9);
  EXPECT_EQ(rising.value(), 9);
}

// ---- states

TEST(WorthState, ShareTakesTheGivenDeviceAndKeepsTheOrder) {
  const NodeState after = place(roomy({300, 600, 1000}), share(500), 2);
  EXPECT_EQ(after, node(92'000, 684'000, {300, 500, 600}));
}

TEST(WorthState, SeveralGpusTakeTheEmptiest) {
  const NodeState after = place(roomy({300, 1000, 1000}), whole(2), 0);
  EXPECT_EQ(after, node(80'000, 636'000, {0, 0, 300}));
}

TEST(WorthState, FitsLooksAtEveryAmount) {
  const NodeState n = node(8'000, 32'000, {300, 1000}, 3);
  struct Row {
    const char* name;
    PodShape pod;
    bool fits;
  };
  const Row rows[] = {
      {"all of it", {8'000, 32'000, 1, 1000, any_model}, true},
      {"cpu", {8'001, 0, 1, 1000, any_model}, false},
      {"memory", {0, 32'001, 1, 1000, any_model}, false},
      {"two gpus", {0, 0, 2, 300, any_model}, true},
      {"two whole gpus", {0, 0, 2, 1000, any_model}, false},
      {"three gpus", {0, 0, 3, 100, any_model}, false},
      {"its model", {0, 0, 1, 100, std::uint64_t{1} << 3}, true},
      {"another model", {0, 0, 1, 100, ~(std::uint64_t{1} << 3)}, false},
      {"no gpu, whatever the model", {8'000, 0, 0, 0, 0}, true},
  };
  for (const Row& row : rows) EXPECT_EQ(fits(n, row.pod), row.fits) << row.name;
}

// ---- worth

TEST(Worth, GrowsWithFreeGpu) {
  const Mix mix = usual_mix();
  std::int64_t last = -1;
  for (std::int16_t free = 0; free < 1000; free = static_cast<std::int16_t>(free + 10)) {
    const std::int64_t now = worth_of(mix, roomy({free}));
    EXPECT_GE(now, last) << free;
    last = now;
  }
  EXPECT_EQ(worth_of(mix, roomy({0})), 0);
  EXPECT_GT(worth_of(mix, roomy({500})), 400 * ticks_per_milli);
  // Each further idle GPU adds to it too.
  EXPECT_LT(worth_of(mix, roomy({1000})), worth_of(mix, roomy({1000, 1000})));
}

TEST(Worth, GrowsWithFreeCpuAndMemory) {
  const Mix mix = usual_mix();
  std::int64_t last = -1;
  for (std::int64_t cores = 0; cores <= 64; ++cores) {
    const std::int64_t now = worth_of(mix, node(cores * 1000, 700'000, {1000, 1000, 500}));
    EXPECT_GE(now, last) << cores;
    last = now;
  }
  last = -1;
  for (std::int64_t gib = 0; gib <= 256; ++gib) {
    const std::int64_t now = worth_of(mix, node(96'000, gib * 1024, {1000, 1000, 500}));
    EXPECT_GE(now, last) << gib;
    last = now;
  }
}

TEST(Worth, OfANodeStarvedOfCpuIsLess) {
  const Mix mix = usual_mix();
  const std::int64_t rich = worth_of(mix, node(96'000, 700'000, {1000, 1000}));
  const std::int64_t poor = worth_of(mix, node(2'000, 700'000, {1000, 1000}));
  EXPECT_LT(poor, rich / 2);
}

TEST(Worth, OfANodeWithoutGpusIsNothing) {
  const Mix mix = usual_mix();
  EXPECT_EQ(worth_of(mix, node(96'000, 700'000, {})), 0);
}

TEST(Worth, PodOfCpuAloneGoesWhereNoGpuNeedsTheCpu) {
  const Mix mix = usual_mix();
  const PodShape cpu_only{8'000, 1'000, 0, 0, any_model};
  const std::int64_t on_cpu_node = score(Choice::Default, mix, node(16'000, 700'000, {}), cpu_only);
  EXPECT_EQ(on_cpu_node, 0);
  EXPECT_LT(on_cpu_node,
            score(Choice::Default, mix, node(16'000, 700'000, {1000, 1000}), cpu_only));
}

TEST(Worth, PerfectFitIsPreferredToOneThatLeavesASliver) {
  const Mix mix = usual_mix();  // nothing below 300 is asked for
  struct Row {
    std::int32_t asked;
    std::int16_t perfect;
    std::int16_t sliver;
  };
  for (const Row& row :
       {Row{500, 500, 700}, Row{500, 500, 600}, Row{500, 800, 900}, Row{300, 300, 1000}}) {
    EXPECT_LT(score(Choice::Default, mix, roomy({row.perfect}), share(row.asked)),
              score(Choice::Default, mix, roomy({row.sliver}), share(row.asked)))
        << row.asked << " on " << row.perfect << " or " << row.sliver;
    WorthMemo memo;  // the same among the devices of one node
    const NodeState both = roomy({row.perfect, row.sliver});
    EXPECT_EQ(judge(Choice::Default, mix, memo, both, share(row.asked), 0)->device, 0u);
  }
}

TEST(Worth, SliverThatIsLostAnywayMakesATie) {
  const Mix mix = usual_mix();  // 100 are of no use before and after
  EXPECT_EQ(score(Choice::Default, mix, roomy({300}), share(300)),
            score(Choice::Default, mix, roomy({400}), share(300)));
  WorthMemo memo;
  EXPECT_EQ(judge(Choice::Default, mix, memo, roomy({300, 400}), share(300), 0)->device, 0u);
}

TEST(Worth, IdleGpuIsOpenedForAnEquallyGoodFitOnlyWhenGpusAreScarce) {
  // Two halves fill a GPU as well as one fills a half, and idle GPUs are marked down.
  const NodeState n = roomy({500, 1000});
  const std::vector<NodeCount> fleet = {{roomy({1000, 1000, 1000, 1000}), 10}};
  struct Row {
    std::int64_t capacity_milli;
    std::size_t device;
  };
  for (const Row& row : {Row{40'000, 0}, Row{79'999, 0}, Row{80'000, 1}, Row{400'000, 1}}) {
    const Mix mix = make_mix(usual_demand(), fleet, row.capacity_milli, nullptr);
    WorthMemo memo;
    EXPECT_EQ(judge(Choice::Default, mix, memo, n, share(500), 0)->device, row.device)
        << row.capacity_milli;
  }
}

TEST(Worth, EqualDevicesTieToTheFirst) {
  const Mix mix = usual_mix();
  WorthMemo memo;
  for (const Choice choice : {Choice::Default, Choice::Fgd, Choice::BestFit, Choice::Random}) {
    EXPECT_EQ(judge(choice, mix, memo, roomy({700, 700, 700}), share(300), 0)->device, 0u);
  }
}

TEST(Worth, NodesThatHardlyDifferTie) {
  const Mix mix = usual_mix();
  EXPECT_EQ(score(Choice::Default, mix, node(96'000, 700'000, {500}), share(500)),
            score(Choice::Default, mix, node(95'900, 700'000, {500}), share(500)));
}

TEST(Worth, CountsOnlyPodsThatMayUseTheModel) {
  std::vector<ShapeCount> demand = usual_demand();
  for (ShapeCount& d : demand) d.shape.models = 1;  // all want model 0
  const std::vector<NodeCount> fleet = {{node(96'000, 700'000, {1000, 1000}, 0), 10},
                                        {node(96'000, 700'000, {1000, 1000}, 1), 10}};
  const Mix mix = make_mix(demand, fleet, 40'000, nullptr);
  EXPECT_GT(worth_of(mix, fleet[0].state), 0);
  EXPECT_EQ(worth_of(mix, fleet[1].state), 0);
}

TEST(Worth, ModelWithoutANodeIsValuedByThePodsThatMayUseIt) {
  std::vector<ShapeCount> demand = usual_demand();
  demand[0].shape.models = std::uint64_t{1} << 40;
  const std::vector<NodeCount> fleet = {{roomy({1000, 1000}), 10}};
  const Mix mix = make_mix(demand, fleet, 20'000, nullptr);
  for (std::size_t model = 0; model < models_max; ++model) {
    ASSERT_LT(mix.class_of_model[model], mix.model_of_class.size());
  }
  EXPECT_EQ(mix.tables.size(), mix.model_of_class.size() * Mix::tables_per_class);
  EXPECT_NE(mix.class_of_model[40], mix.class_of_model[0]);
  EXPECT_EQ(mix.class_of_model[63], mix.class_of_model[0]);
  EXPECT_GT(worth_of(mix, node(96'000, 700'000, {500}, 40)), 400 * ticks_per_milli);
}

TEST(Mix, OfNothingIsHarmless) {
  const NodeState n = roomy({1000, 500});
  WorthMemo memo;
  const Mix never_made;
  EXPECT_EQ(worth_of(never_made, n), 0);
  for (const Mix& mix :
       {make_mix({}, {}, 0, nullptr), make_mix({}, std::vector<NodeCount>{{n, 3}}, 6'000, nullptr),
        make_mix(usual_demand(), {}, 0, nullptr)}) {
    memo.clear();
    for (const Choice choice : {Choice::Default, Choice::Fgd, Choice::BestFit, Choice::Random}) {
      EXPECT_TRUE(judge(choice, mix, memo, n, share(300), 5).has_value());
      EXPECT_TRUE(judge(choice, mix, memo, node(9'000, 90'000, {}), {1, 1, 0, 0, 0}, 5));
    }
  }
}

TEST(Mix, KeepsTheCommonestKindsInOrder) {
  std::vector<ShapeCount> demand;
  for (std::int64_t i = 0; i < 400; ++i) {
    demand.push_back({{1'000 + i * 7 % 400, 1'000, 1, 500, any_model}, 1 + i});
  }
  const Mix mix = make_mix(demand, std::vector<NodeCount>{{roomy({1000}), 4}}, 4'000, nullptr);
  ASSERT_EQ(mix.kinds.size(), 256u);
  for (std::size_t i = 0; i < mix.kinds.size(); ++i) {
    EXPECT_GT(mix.kinds[i].count, 400 - 256);
    if (i > 0) EXPECT_LT(mix.kinds[i - 1].shape.cpu_milli, mix.kinds[i].shape.cpu_milli);
  }
}

TEST(Mix, DoesNotDependOnTheOrderOrSplittingOfItsInputs) {
  const NodeState a = roomy({1000, 1000});
  const NodeState b = node(20'000, 90'000, {300, 810});
  std::vector<ShapeCount> demand = usual_demand();
  const Mix one = make_mix(demand, std::vector<NodeCount>{{a, 5}, {b, 2}}, 14'000, nullptr);
  std::reverse(demand.begin(), demand.end());
  const Mix two = make_mix(demand, std::vector<NodeCount>{{b, 1}, {a, 5}, {b, 1}}, 14'000, nullptr);
  for (const NodeState& n : {a, b}) EXPECT_EQ(worth_of(one, n), worth_of(two, n));
  ASSERT_EQ(one.kinds.size(), two.kinds.size());
  for (std::size_t i = 0; i < one.kinds.size(); ++i) {
    EXPECT_EQ(one.kinds[i].price, two.kinds[i].price);
  }
}

TEST(Mix, SurvivesExtremeAmounts) {
  const std::int64_t most = amount_max;
  const NodeState huge = node(most, most, {1000, 1000, 1000, 1000});
  const std::vector<ShapeCount> demand = {{{0, 0, 1, 1000, any_model}, std::int64_t{1} << 32},
                                          {{1, 1, 16, 1000, any_model}, 1},
                                          {{most, most, 1, 10, any_model}, 1}};
  for (std::size_t n = 1; n <= demand.size(); ++n) {
    const Mix mix = make_mix(std::span(demand).first(n), std::vector<NodeCount>{{huge, 1'000'000}},
                             4'000'000'000, nullptr);
    EXPECT_GE(worth_of(mix, huge), 0);
    EXPECT_GE(score(Choice::Fgd, mix, huge, share(500)), 0);
  }
}

TEST(Mix, OfAVeryMixedFleetIsMadeFromRoomsInTurn) {
  Prng prng(3);
  std::vector<NodeCount> fleet;
  for (int i = 0; i < 3'000; ++i) {
    const auto free = static_cast<std::int16_t>(prng.below(101) * 10);
    fleet.push_back({node(prng.between(0, 96'000), prng.between(0, 700'000), {free, 1000}), 1});
  }
  const Mix cold = make_mix(usual_demand(), fleet, 6'000'000, nullptr);
  const Mix warm = make_mix(usual_demand(), fleet, 6'000'000, &cold);
  // Searching on from where it ended moves the worth of an idle node by less than 5%.
  const std::int64_t before = worth_of(cold, roomy({1000, 1000}));
  const std::int64_t after = worth_of(warm, roomy({1000, 1000}));
  EXPECT_LT(std::abs(after - before) * 20, before);
}

TEST(Mix, IsStaleWhenAFifthOfTheIdleGpuHasGone) {
  Mix mix;
  mix.capacity_milli = 3'200'000;
  mix.idle_milli = 1'000'000;
  struct Row {
    std::int64_t idle;
    bool stale;
  };
  for (const Row& row : {Row{1'000'000, false}, Row{800'000, false}, Row{799'999, true},
                         Row{1'200'000, false}, Row{1'200'001, true}}) {
    EXPECT_EQ(stale(mix, row.idle), row.stale) << row.idle;
  }
  mix.idle_milli = 0;  // nearly full: a share of the capacity counts
  EXPECT_FALSE(stale(mix, 20'000));
  EXPECT_TRUE(stale(mix, 20'001));
}

// ---- baselines

TEST(Fgd, SigmoidScoreHasSteps) {
  struct Row {
    std::int64_t growth;
    std::int64_t total;
    std::int64_t score;
  };
  for (const Row& row : {Row{0, 1, 50}, Row{40, 1, 50}, Row{41, 1, 51}, Row{1000, 1, 73},
                         Row{4595, 1, 98}, Row{4596, 1, 99}, Row{100'000, 1, 99}, Row{-1, 1, 49},
                         Row{-40, 1, 49}, Row{-41, 1, 48}, Row{-1000, 1, 26}, Row{-100'000, 1, 0},
                         Row{82, 2, 51}, Row{std::int64_t{1} << 50, std::int64_t{1} << 40, 73}}) {
    EXPECT_EQ(sigmoid_score(row.growth, row.total), row.score) << row.growth << "/" << row.total;
  }
}

TEST(Fgd, FragmentationIsWhatTypicalPodsCannotUse) {
  Mix mix;
  add_typical(mix, std::vector<Mix::Typical>{{4'000, 1, 500, any_model, 60},
                                             {8'000, 2, 1000, any_model, 40}});
  ASSERT_EQ(mix.typical_total, 100);
  struct Row {
    const char* name;
    NodeState node;
    std::int64_t sum;
  };
  const Row rows[] = {
      {"no gpu", node(96'000, 0, {}), 0},
      {"full", node(96'000, 0, {0, 0}), 0},
      {"both run", node(96'000, 0, {1000, 1000}), 0},
      {"pairs do not run", node(96'000, 0, {500, 1000}), 40 * 1500},
      {"halves lose the sliver, pairs all", node(96'000, 0, {200, 1000}), 60 * 200 + 40 * 1200},
      {"no cpu: all is lost", node(1'000, 0, {1000, 1000}), 100 * 2000},
  };
  for (const Row& row : rows) EXPECT_EQ(fragmentation(mix, row.node), row.sum) << row.name;
}

TEST(Fgd, TypicalPodsAreTheCommonestNineteenTwentieths) {
  Mix mix;
  add_typical(mix, std::vector<Mix::Typical>{{1'000, 1, 100, any_model, 5},
                                             {2'000, 1, 200, any_model, 45},
                                             {3'000, 1, 300, any_model, 50}});
  ASSERT_EQ(mix.typical.size(), 2u);
  EXPECT_EQ(mix.typical[0].cpu_milli, 3'000);
  EXPECT_EQ(mix.typical_total, 95);
}

TEST(BestFit, LeavesLeast) {
  const Mix mix = usual_mix();
  EXPECT_LT(score(Choice::BestFit, mix, roomy({500}), share(500)),
            score(Choice::BestFit, mix, roomy({500, 1000}), share(500)));
}

}  // namespace
}  // namespace muster::sched::worth
