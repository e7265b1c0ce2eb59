#include "api/appwrapper/label_desk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "kube/testing/scripted_server.h"
#include "net/testing/mailbox.h"

namespace muster::api {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* conflict =
    R"({"kind":"Status","status":"Failure","reason":"Conflict","code":409,"message":"busy"})";
constexpr const char* missing =
    R"({"kind":"Status","status":"Failure","reason":"NotFound","code":404,"message":"none"})";

class Labels : public ::testing::Test {
 protected:
  /// What is due, so many times.
  void run(int times) {
    for (int i = 0; i < times; ++i) tasks.take()();
  }
  boost::json::value written(std::size_t index) {
    return boost::json::parse(server.request(index).body);
  }

  kube::testing::ScriptedServer server;
  net::testing::Mailbox<std::function<void()>> tasks;
  bool is_open = true;
  std::unique_ptr<kube::Client> client = kube::testing::make_client(server.access());
  LabelDesk desk{
      {.client = *client,
       .is_open = [this](const std::string&) { return is_open; },
       .later = [this](std::function<void()> then) { tasks.put(std::move(then)); },
       .later_after = [this](Duration,
                             std::function<void()> then) { tasks.put(std::move(then)); }}};
  const LabelDesk::Wanted wanted{"aw-1",
                                 {WrapperGroup::Workload, "team", "train"},
                                 "u",
                                 "7",
                                 {{"area", "default"}, {"team", "default"}}};
};

TEST_F(Labels, AreWrittenOntoTheAppWrapperThatLackedThemAndNoLaterOne) {
  server.then(200, "{}").then(200, "{}");
  desk.put(wanted);
  desk.put(wanted);
  run(1);
  EXPECT_EQ(written(0), boost::json::parse(R"({"metadata":{"uid":"u","resourceVersion":"7",)"
                                           R"("labels":{"area":"default","team":"default"}}})"));
  EXPECT_EQ(server.asked().size(), 1U) << "once at a time";
  desk.put(wanted);
  run(1);
  EXPECT_EQ(server.asked().size(), 2U);
}

TEST_F(Labels, WhatItsAuthorChoseMeanwhileStays) {
  server.then(409, conflict)
      .then(200, R"({"metadata":{"uid":"u","resourceVersion":"9","labels":{"team":"research"}}})")
      .then(200, "{}");
  desk.put(wanted);
  run(3);
  EXPECT_THAT(server.asked(),
              ElementsAre(HasSubstr("PATCH "), HasSubstr("GET "), HasSubstr("PATCH ")));
  EXPECT_EQ(written(2), boost::json::parse(R"({"metadata":{"uid":"u","resourceVersion":"9",)"
                                           R"("labels":{"area":"default"}}})"));
}

TEST_F(Labels, NothingIsWrittenOntoAnotherOneOfTheNameOrOneThatIsOver) {
  server.then(409, conflict).then(200, R"({"metadata":{"uid":"other","resourceVersion":"9"}})");
  desk.put(wanted);
  run(2);
  server.then(409, conflict);
  desk.put(wanted);
  is_open = false;
  run(1);
  server.then(404, missing);
  desk.put(wanted);
  run(1);
  EXPECT_EQ(server.asked().size(), 4U);
}

}  // namespace
}  // namespace muster::api
