#include "api/appwrapper/editions.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

namespace muster::api {
namespace {

namespace json = boost::json;

std::uint64_t content(const char* text, std::string_view queues = "team") {
  return content_hash(json::parse(text), queues);
}

TEST(Editions, OnlyWhatAJobIsMadeOfIsItsContent) {
  const std::uint64_t one = content(R"({"spec":{"a":1,"b":[{"c":"x","d":2}]}})");
  EXPECT_EQ(one, content(R"({"spec":{"b":[{"d":2,"c":"x"}],"a":1}})")) << "order";
  EXPECT_EQ(one, content(R"({"spec":{"a":1,"b":[{"c":"x","d":2}],"priority":9,"suspend":true}})"));
  EXPECT_EQ(one, content(R"({"metadata":{"labels":{"l":"m"},"annotations":{
      "kubectl.kubernetes.io/last-applied-configuration":"{}","muster.dev/edition":"3",
      "muster.dev/copies-in":"west"}},"spec":{"a":1,"b":[{"c":"x","d":2}]}})"));
  EXPECT_NE(one, content(R"({"spec":{"a":1,"b":[{"c":"x","d":3}]}})"));
  EXPECT_NE(one, content(R"({"spec":{"a":1,"b":[{"c":"x","d":2}]}})", "other"));
  EXPECT_NE(one, content(R"({"metadata":{"annotations":{
      "workload.codeflare.dev.appwrapper/retryLimit":"5"}},
      "spec":{"a":1,"b":[{"c":"x","d":2}]}})"));
}

TEST(Editions, TheContentComesBackFromTheStatus) {
  const std::uint64_t one = content(R"({"spec":{"a":1}})");
  const json::object status{{"muster", json::object{{"content", content_text(one)}}}};
  EXPECT_EQ(written_content(status), one);
  EXPECT_EQ(written_content({}), 0U);
  EXPECT_EQ(written_content({{"muster", json::object{{"content", "what"}}}}), 0U);
}

TEST(Editions, AnAnnotationTellsWhich) {
  const auto of = [](const char* text) {
    return edition_of(json::parse(
        std::string(R"({"metadata":{"annotations":{"muster.dev/edition":")") + text + "\"}}}"));
  };
  EXPECT_EQ(of("2"), 2);
  EXPECT_EQ(of("-2"), 0);
  EXPECT_EQ(of("many"), 0);
  EXPECT_EQ(edition_of(json::parse("{}")), 0);
  EXPECT_EQ(edition_of(json::parse(R"({"metadata":{"uid":"a-b"},
                                       "status":{"muster":{"job":"aw-1-a-b-4"}}})")),
            4)
      << "also when somebody took it off";
  EXPECT_EQ(edition_of(json::parse(R"({"metadata":{"uid":"a-b"},
                                       "status":{"muster":{"job":"aw-1-a-b"}}})")),
            0);
  EXPECT_EQ(edition_suffix(0), "");
  EXPECT_EQ(edition_suffix(2), "-2");
}

}  // namespace
}  // namespace muster::api
