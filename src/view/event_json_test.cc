#include "view/event_json.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <set>
#include <string>

namespace muster::view {
namespace {

namespace json = boost::json;

TEST(EventJson, AnEventHasItsNumberItsKindAndASentence) {
  const model::Event event{Time{5}, model::Finished{"a", 2, false, 3, "pod 0 failed"}};
  const json::object out = json::parse(event_json(event, 17, model::JobState::Failed)).as_object();
  EXPECT_EQ(out.at("sequence").to_number<int>(), 17);
  EXPECT_EQ(out.at("at_ms").to_number<int>(), 5);
  EXPECT_EQ(out.at("kind"), "finished");
  EXPECT_EQ(out.at("job"), "a");
  EXPECT_EQ(out.at("attempt").to_number<int>(), 2);
  EXPECT_EQ(out.at("exit_code").to_number<int>(), 3);
  EXPECT_EQ(out.at("state"), "Failed");
  EXPECT_EQ(out.at("text"), "job a failed with exit code 3: pod 0 failed");
}

TEST(EventJson, WhyAnAttemptIsRemovedIsToldWhenItBegins) {
  const model::Ailing ailing{"a", 2, {model::Ailment::SickNode, false, 0, 0, "on node n1"}};
  const json::object out = json::parse(event_json({Time{5}, ailing}, 17, std::nullopt)).as_object();
  EXPECT_EQ(out.at("kind"), "ailing");
  EXPECT_EQ(out.at("attempt").to_number<int>(), 2);
  EXPECT_EQ(out.at("text"), "attempt 2 of job a is being removed: on node n1");
}

TEST(EventJson, WhatPeopleAskAndDecisionsHaveKindsAndSightMostlyNot) {
  EXPECT_EQ(event_kind(model::JobSubmitted{}), "submitted");
  EXPECT_EQ(event_kind(model::ReservationDropped{}), "reservation-dropped");
  EXPECT_EQ(event_kind(model::ClusterHealth{}), "cluster-health");
  EXPECT_EQ(event_kind(model::NodeSeen{}), "");
  EXPECT_EQ(event_kind(model::Ticked{}), "");
  EXPECT_EQ(event_kind(model::FinishedForgotten{}), "forgotten");
}

TEST(EventJson, TheStateIsSaidWhereTheEventAloneDecidesIt) {
  EXPECT_EQ(state_after(model::Placed{}), model::JobState::Starting);
  EXPECT_EQ(state_after(model::Finished{"a", 1, true}), model::JobState::Succeeded);
  EXPECT_EQ(state_after(model::Finished{"a", 1, false}), std::nullopt) << "it may be tried again";
}

TEST(EventJson, ARowSaysNullForWhatNeverWas) {
  model::JobRow row;
  row.id = "a";
  row.gpus = {1500};
  json::object out = json::parse(job_row_json(row)).as_object();
  EXPECT_EQ(out.at("gpus"), "1500m");
  for (const char* field : {"cluster", "started_ms", "finished_ms", "exit_code"})
    EXPECT_TRUE(out.at(field).is_null()) << field;
  EXPECT_TRUE(out.at("labels").as_object().empty());
  row.labels = {{"team", "vision"}};
  row.exit_code = 0;
  row.cluster = "east";
  row.started = Time{9};
  out = json::parse(job_row_json(row)).as_object();
  EXPECT_EQ(out.at("exit_code").to_number<int>(), 0);
  EXPECT_EQ(out.at("cluster"), "east");
  EXPECT_EQ(out.at("started_ms").to_number<int>(), 9);
  EXPECT_EQ(out.at("labels").at("team"), "vision");
}

TEST(EventJson, ANoteReadsLikeAnEvent) {
  const model::PodNote note{.job = "a",
                            .attempt = 2,
                            .at = Time{7},
                            .key = "u",
                            .object = "Pod a-2-0",
                            .reason = "BackOff",
                            .message = "Back-off pulling image",
                            .is_warning = true};
  const json::object out = json::parse(note_json(note, 9)).as_object();
  EXPECT_EQ(out.at("sequence").to_number<int>(), 9);
  EXPECT_EQ(out.at("at_ms").to_number<int>(), 7);
  EXPECT_EQ(out.at("kind"), "note");
  EXPECT_EQ(out.at("text"), "Pod a-2-0: BackOff: Back-off pulling image");
  EXPECT_EQ(out.at("warning"), true);
  EXPECT_EQ(json::parse(notes_json({note, note})).as_array().size(), 2U);
  EXPECT_EQ(notes_json({}), "[]");
  EXPECT_EQ(event_kinds().back(), "note");
}

TEST(EventJson, BytesThatAreNotTextBecomeReplacementCharacters) {
  EXPECT_EQ(valid_utf8("caf\xc3\xa9"), "caf\xc3\xa9");
  EXPECT_EQ(valid_utf8("a\xff"
                       "b"),
            "a\xef\xbf\xbd"
            "b");
  EXPECT_EQ(valid_utf8("\xc3"), "\xef\xbf\xbd") << "cut off";
  EXPECT_EQ(valid_utf8("\xed\xa0\x80").find("\xed"), std::string::npos) << "a surrogate";
}

}  // namespace
}  // namespace muster::view
