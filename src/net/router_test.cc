#include "net/router.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::net {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

Router filled(std::initializer_list<std::pair<std::string_view, std::string_view>> routes) {
  Router router;
  for (const auto& [method, pattern] : routes) {
    router.add(method, pattern, [](const Request&) { return Response{}; });
  }
  return router;
}

TEST(Router, PrefersWhatIsWrittenThenNamesThenTheRest) {
  const Router router = filled({{"GET", "/"},
                                {"GET", "/jobs"},
                                {"GET", "/jobs/{id}"},
                                {"GET", "/jobs/mine"},
                                {"GET", "/jobs/{id}/logs"},
                                {"GET", "/{path...}"}});
  const auto pattern = [&](const std::vector<std::string>& segments) {
    return router.match("GET", segments).pattern;
  };
  EXPECT_EQ(pattern({}), "/");
  EXPECT_EQ(pattern({"jobs"}), "/jobs");
  EXPECT_EQ(pattern({"jobs", "7"}), "/jobs/{id}");
  EXPECT_EQ(pattern({"jobs", "mine"}), "/jobs/mine");
  EXPECT_EQ(pattern({"jobs", "mine", "logs"}), "/jobs/{id}/logs") << "comes back from a dead end";
  EXPECT_EQ(pattern({"jobs", "7", "other"}), "/{path...}");
  EXPECT_EQ(pattern({"x"}), "/{path...}");
}

TEST(Router, NamesStandForTheirSegments) {
  const Router router = filled({{"GET", "/a/{x}/{y}"}, {"GET", "/web/{path...}"}});
  EXPECT_THAT(router.match("GET", {"a", "1", "2/3"}).params,
              ElementsAre(Pair("x", "1"), Pair("y", "2/3")));
  EXPECT_THAT(router.match("GET", {"web", "js", "app.js"}).params,
              ElementsAre(Pair("path", "js/app.js")));
  EXPECT_THAT(router.match("GET", {"web"}).params, ElementsAre(Pair("path", "")));
  EXPECT_THAT(router.match("GET", {"web"}).allowed, IsEmpty());
}

TEST(Router, TwoMethodsMayNameTheSameSegmentDifferently) {
  const Router router = filled({{"GET", "/jobs/{id}"}, {"DELETE", "/jobs/{job}"}});
  EXPECT_THAT(router.match("DELETE", {"jobs", "7"}).params, ElementsAre(Pair("job", "7")));
}

TEST(Router, KnowsWhichMethodsAPathTakes) {
  const Router router = filled({{"GET", "/jobs"}, {"POST", "/jobs"}, {"PUT", "/x"}});
  EXPECT_EQ(router.match("DELETE", {"jobs"}).allowed, "GET, POST, HEAD, OPTIONS");
  EXPECT_EQ(router.match("DELETE", {"jobs"}).handler, nullptr);
  EXPECT_EQ(router.match("HEAD", {"jobs"}).pattern, "/jobs");
  EXPECT_EQ(router.match("GET", {"x"}).allowed, "PUT, OPTIONS");
  EXPECT_EQ(router.match("GET", {"y"}).allowed, "");
}

TEST(Router, RefusesMalformedAndRepeatedPatterns) {
  Router router = filled({{"GET", "/jobs/{id}"}});
  const auto answer = [](const Request&, const Responder&) {};
  for (const std::string_view pattern :
       {"", "jobs", "/a{b}", "/{}", "/{A}", "/{x", "/{x...}/y", "/{a}/{a}", "/jobs/{other}"}) {
    EXPECT_FALSE(router.try_add("GET", pattern, answer).ok()) << pattern;
  }
  EXPECT_TRUE(router.try_add("PUT", "/jobs/{other}", answer).ok());
}

}  // namespace
}  // namespace muster::net
