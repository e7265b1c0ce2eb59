#include "api/log.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <sstream>

namespace muster::api {
namespace {

namespace json = boost::json;
using config::LogFormat;
using config::LogLevel;

TEST(LogTest, TextHasTimeLevelMessageAndFields) {
  std::ostringstream out;
  const Log log(LogLevel::Info, LogFormat::Text, out);
  log.info("listens",
           {{"address", "127.0.0.1:8080"}, {"threads", std::int64_t{2}}, {"tls", false}});
  const std::string line = out.str();
  ASSERT_GT(line.size(), 25u);
  EXPECT_EQ(line.substr(10, 1), "T");
  EXPECT_EQ(line.substr(23), "Z info listens address=127.0.0.1:8080 threads=2 tls=false\n");
}

TEST(LogTest, JsonLinesAreJson) {
  std::ostringstream out;
  const Log log(LogLevel::Debug, LogFormat::Json, out);
  log.warn("it \"said\"\nthis", {{"path", "a\\b"}, {"n", std::int64_t{-1}}, {"bad", "\xff\x01"}});
  const std::string line = out.str();
  EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1);
  const json::object read = json::parse(line).as_object();
  EXPECT_EQ(read.at("level"), "warning");
  EXPECT_EQ(read.at("message"), "it \"said\"\nthis");
  EXPECT_EQ(read.at("path"), "a\\b");
  EXPECT_EQ(read.at("n"), -1);
}

TEST(LogTest, NobodyWritesLinesOfTheirOwn) {
  std::ostringstream out;
  const Log log(LogLevel::Info, LogFormat::Text, out);
  net::Access access;
  access.method = "GET";
  access.target = "/x\n2026-01-01T00:00:00.000Z info forged user=root";
  access.status = 404;
  access.request_id = "r1";
  log.access(access);
  log.error("a\nb");
  const std::string text = out.str();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2) << text;
  EXPECT_NE(text.find("request_id=r1"), std::string::npos);
}

TEST(LogTest, BracesInAMessageAreNoFormat) {
  std::ostringstream out;
  const Log log(LogLevel::Info, LogFormat::Text, out);
  log.info("{} {0} {x}");
  EXPECT_NE(out.str().find("{} {0} {x}"), std::string::npos);
}

TEST(LogTest, LevelsAreKeptAndCanChange) {
  std::ostringstream out;
  const Log log(LogLevel::Warn, LogFormat::Text, out);
  log.info("quiet");
  log.error("loud");
  EXPECT_EQ(out.str().find("quiet"), std::string::npos);
  EXPECT_NE(out.str().find("loud"), std::string::npos);
  log.set_level(LogLevel::Debug);
  log.debug("all");
  EXPECT_NE(out.str().find("all"), std::string::npos);
}

TEST(LogTest, ProbesAreForDebugAndFaultsOfTheServerAreErrors) {
  std::ostringstream out;
  const Log log(LogLevel::Info, LogFormat::Json, out);
  net::Access access;
  access.route = "/healthz";
  access.status = 200;
  log.access(access);
  EXPECT_EQ(out.str(), "");
  access.status = 503;
  access.stream_end = net::StreamEnd::TooSlow;
  log.access(access);
  const json::object read = json::parse(out.str()).as_object();
  EXPECT_EQ(read.at("level"), "error");
  EXPECT_EQ(read.at("status"), 503);
  EXPECT_FALSE(read.at("stream_end").as_string().empty());
}

}  // namespace
}  // namespace muster::api
