#include "net/http_load.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "net/testing/server.h"

namespace muster::net {
namespace {

using testing::Server;

TEST(Load, SendsEachRequestOnceAndCountsTheAnswers) {
  std::set<std::string> bodies;  // of the one I/O thread, read when the load is over
  std::string authorization;
  Server server([&](Router& router) {
    router.add("POST", "/jobs", [&](const Request& request) {
      bodies.insert(request.body);
      authorization = request.headers.get("Authorization");
      return Response{request.body == "job 7" ? 429 : 201, {}, std::string(100'000, 'x')};
    });
  });
  std::size_t bytes = 0;
  const auto result = run_load({.port = server->port(),
                                .connections = 8,
                                .length = seconds(30),
                                .requests_max = 100,
                                .method = "POST",
                                .target = "/jobs",
                                .headers = {"Authorization: Bearer x"},
                                .body = [](std::uint64_t n) { return fmt::format("job {}", n); },
                                .on_answer = [&](int, std::string_view b) { bytes += b.size(); }});
  ASSERT_TRUE(result.ok()) << result.error().message;
  server->stop();
  EXPECT_EQ(result->answers, 100U);
  EXPECT_EQ(result->refused, 1U);
  EXPECT_EQ(bodies.size(), 100U);
  EXPECT_EQ(authorization, "Bearer x");
  EXPECT_EQ(bytes, 10'000'000U);
  EXPECT_GT(result->per_second, 0);
  EXPECT_LE(result->p50_ms, result->p99_ms);
  EXPECT_LE(result->p99_ms, result->max_ms);
}

TEST(Load, TheLimitOfAServerOfConstantsIsMeasured) {
  const auto limit = measure_http_limit(4, milliseconds(50));
  ASSERT_TRUE(limit.ok()) << limit.error().message;
  EXPECT_GT(limit->answers, 0U);
  EXPECT_EQ(limit->refused, 0U);
}

TEST(Load, AMissingServerIsAnError) {
  std::uint16_t port = 0;
  {
    Server server([](Router&) {});
    port = server->port();
  }
  EXPECT_FALSE(run_load({.port = port}).ok());
  EXPECT_FALSE(run_load({.host = "here", .port = port}).ok());
}

}  // namespace
}  // namespace muster::net
