#include "model/state.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <tuple>

#include "model/event.h"

namespace muster::model {
namespace {

using enum JobState;

TEST(States, AreListedOnceAndInTheOrderOfTheEnum) {
  std::size_t next = 0;
  std::set<std::string_view> names;
  for (const JobState state : all_states()) {
    EXPECT_EQ(static_cast<std::size_t>(state), next++);
    EXPECT_TRUE(names.insert(to_text(state)).second);
  }
  EXPECT_EQ(next, 8u);
  EXPECT_EQ(to_text(Held), "Held");
  EXPECT_EQ(to_text(Cancelled), "Cancelled");
}

TEST(States, AreFinalOnlyAtTheEndOfAJob) {
  for (const JobState state : all_states()) {
    EXPECT_EQ(is_final(state), state == Succeeded || state == Failed || state == Cancelled)
        << to_text(state);
  }
}

TEST(States, HoldNodesFromThePlacementUntilThePodsAreGone) {
  for (const JobState state : all_states()) {
    EXPECT_EQ(is_active(state), state == Starting || state == Running || state == Stopping)
        << to_text(state);
  }
}

TEST(Edges, AreExactlyThose) {
  const std::set<std::pair<JobState, JobState>> expected = {
      {Held, Waiting},      {Held, Cancelled},    {Held, Failed},     {Waiting, Held},
      {Waiting, Starting},  {Waiting, Cancelled}, {Waiting, Failed},  {Starting, Running},
      {Starting, Waiting},  {Starting, Stopping}, {Starting, Failed}, {Starting, Succeeded},
      {Running, Succeeded}, {Running, Failed},    {Running, Waiting}, {Running, Stopping},
      {Stopping, Waiting},  {Stopping, Held},     {Stopping, Failed}, {Stopping, Succeeded},
      {Stopping, Cancelled}};
  for (const JobState from : all_states()) {
    for (const JobState to : all_states()) {
      EXPECT_EQ(is_legal(from, to), expected.contains({from, to}))
          << to_text(from) << " -> " << to_text(to);
    }
  }
}

TEST(Edges, HaveOneRowForEachEventThatTakesThem) {
  std::set<std::tuple<JobState, JobState, std::string_view>> seen;
  for (const Edge& edge : edges()) {
    EXPECT_TRUE(is_legal(edge.from, edge.to));
    EXPECT_NE(edge.from, edge.to);
    EXPECT_FALSE(edge.why.empty());
    EXPECT_TRUE(seen.insert({edge.from, edge.to, edge.when}).second)
        << to_text(edge.from) << " -> " << to_text(edge.to) << " " << edge.when;
  }
}

TEST(Edges, LeadIntoNodesOnlyByAPlacement) {
  for (const Edge& edge : edges()) {
    if (!is_active(edge.from) && is_active(edge.to)) {
      EXPECT_EQ(edge.when, "Placed");
      EXPECT_EQ(edge.to, Starting);
    }
  }
}

TEST(Edges, LeadFromEveryStateToAnEnd) {
  for (const JobState start : all_states()) {
    std::set<JobState> reached = {start};
    for (std::size_t before = 0; before != reached.size();) {
      before = reached.size();
      for (const Edge& edge : edges()) {
        if (reached.contains(edge.from)) reached.insert(edge.to);
      }
    }
    EXPECT_TRUE(std::any_of(reached.begin(), reached.end(), is_final)) << to_text(start);
  }
}

TEST(Decisions, BecomeTheEventsTheyName) {
  Placed decision;
  decision.job = "j";
  decision.attempt = 2;
  decision.pods.resize(1);
  decision.pods[0].node = "n1";
  const EventBody placed = to_event(decision);
  ASSERT_TRUE(std::holds_alternative<Placed>(placed));
  EXPECT_EQ(std::get<Placed>(placed).attempt, 2u);
  EXPECT_EQ(std::get<Placed>(placed).pods.at(0).node, "n1");
  EXPECT_TRUE(std::holds_alternative<Stopped>(to_event(Stopped{})));
  EXPECT_TRUE(std::holds_alternative<Reserved>(to_event(Reserved{})));
  EXPECT_TRUE(std::holds_alternative<ReservationDropped>(to_event(ReservationDropped{})));
  EXPECT_TRUE(std::holds_alternative<GivenUp>(to_event(GivenUp{})));
}

}  // namespace
}  // namespace muster::model
