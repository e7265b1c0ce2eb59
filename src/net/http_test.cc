// The small parts: headers, JSON quoting, base64, proxies, lines.
#include "net/http.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "net/base64.h"
#include "net/lines.h"
#include "net/proxy.h"
#include "net/wire.h"

namespace muster::net {
namespace {

using ::testing::ElementsAre;

TEST(Headers, CompareNamesWithoutCase) {
  Headers headers = {{"Content-Type", "a"}, {"X", "1"}, {"x", "2"}};
  EXPECT_EQ(headers.get("content-type"), "a");
  EXPECT_EQ(headers.get("X"), "1");
  EXPECT_EQ(headers.get("none"), "");
  headers.set("X", "3");
  EXPECT_EQ(headers.size(), 2U);
  EXPECT_EQ(headers.get("x"), "3");
  headers.erase("x");
  EXPECT_FALSE(headers.has("X"));
  EXPECT_TRUE(has_token("keep-alive, Upgrade", "upgrade"));
  EXPECT_FALSE(has_token("keep-alive-not", "keep-alive"));
}

TEST(ErrorResponse, QuotesAnything) {
  EXPECT_EQ(error_response(400, "a \"b\" \\ \n \x01 \xff").body.view(),
            R"({"error":{"code":"invalid","message":"a \"b\" \\ \n \u0001 \u00ff"}})"
            "\n");
}

TEST(ResponseHead, CannotBeSplitByAValue) {
  std::string out;
  append_response_head(out, 200, {{"X", "a\r\nSet-Cookie: b"}, {"bad name", "c"}, {"Y", "d"}},
                       {.length = 3, .keep_alive = false});
  EXPECT_EQ(out,
            "HTTP/1.1 200 OK\r\nX: a  Set-Cookie: b\r\nY: d\r\nContent-Length: 3\r\n"
            "Connection: close\r\n\r\n");
}

TEST(ResponseHead, TakesTheFramingFromItsOptions) {
  std::string out;
  append_response_head(out, 200, {{"content-length", "9"}, {"Transfer-Encoding", "x"}},
                       {.framing = Framing::Chunked});
  EXPECT_EQ(out, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
}

TEST(RequestId, IsSaneOrReplaced) {
  EXPECT_TRUE(is_sane_request_id("0af7:b-9_x.Y"));
  for (const std::string& id : {std::string(), std::string(129, 'a'), std::string("a b"),
                                std::string("a\"b"), std::string("\xff")}) {
    EXPECT_FALSE(is_sane_request_id(id)) << id;
  }
}

TEST(RequestParser, StopsAtTheEndOfEachRequest) {
  const std::string first = "POST /a?k=v HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nok";
  RequestParser parser({});
  EXPECT_EQ(parser.feed(first + "GET / HTTP/1.1\r\n"), first.size());
  ASSERT_TRUE(parser.is_done());
  const Request request = parser.take();
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.path, "/a");
  EXPECT_THAT(request.segments, ElementsAre("a"));
  EXPECT_EQ(request.query_value("k"), "v");
  EXPECT_EQ(request.body, "ok");
}

TEST(RequestParser, ReadsTheAbsoluteForm) {
  RequestParser parser({});
  parser.feed("GET http://proxied.example/a/b?c=d HTTP/1.1\r\nHost: h\r\n\r\n");
  ASSERT_TRUE(parser.is_done());
  const Request request = parser.take();
  EXPECT_THAT(request.segments, ElementsAre("a", "b"));
  EXPECT_EQ(request.query_value("c"), "d");
}

TEST(Base64, EncodesAndDecodesStrictly) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"}, {"\xff\xfe\xfd", "//79"}};
  for (const auto& [bytes, text] : cases) {
    EXPECT_EQ(base64_encode(bytes), text);
    EXPECT_EQ(base64_decode(text).value(), bytes);
  }
  for (const std::string_view text :
       {"Z", "Zg", "Zg=", "Zh==", "Zm9=", "Z===", "====", "Zg==Zg==", "Zm 9", "Zm9-"}) {
    EXPECT_FALSE(base64_decode(text).ok()) << text;
  }
}

TEST(Proxy, IsUsedUnlessTheHostIsExempt) {
  const ProxyOptions options = {.http = "p:1",
                                .https = "http://u:p@p:2",
                                .no_proxy =
                                    "a.example, .b.example,10.0.0.0/8,"
                                    "fd00::/8,h:81,[::5],192.168.0.1"};
  const auto proxied = [&](std::string_view url) {
    return proxy_for(parse_url(url).value(), options).value().has_value();
  };
  EXPECT_TRUE(proxied("http://far.example"));
  EXPECT_EQ(proxy_for(parse_url("https://far.example").value(), options).value()->port, 2);
  EXPECT_FALSE(proxied("http://a.example"));
  EXPECT_FALSE(proxied("http://x.a.example"));
  EXPECT_TRUE(proxied("http://xa.example"));
  EXPECT_TRUE(proxied("http://b.example"));
  EXPECT_FALSE(proxied("http://x.b.example"));
  EXPECT_FALSE(proxied("http://10.200.0.1"));
  EXPECT_TRUE(proxied("http://11.0.0.1"));
  EXPECT_FALSE(proxied("http://[fd12::1]"));
  EXPECT_FALSE(proxied("http://h:81"));
  EXPECT_TRUE(proxied("http://h:82"));
  EXPECT_FALSE(proxied("http://[::5]"));
  EXPECT_FALSE(proxied("http://192.168.0.1"));
  for (const std::string_view url :
       {"http://localhost", "https://127.8.8.8", "http://[::1]:9", "http://x.localhost"}) {
    EXPECT_FALSE(proxied(url)) << url;
  }
  EXPECT_FALSE(proxy_for(parse_url("http://far").value(), {"p:1", "", "*"}).value().has_value());
  EXPECT_FALSE(proxy_for(parse_url("http://far").value(), {"ftp://p", "", ""}).ok());
  EXPECT_TRUE(proxy_for(parse_url("http://far").value(), {"https://p", "", ""}).ok());
  EXPECT_TRUE(proxy_for(parse_url("http://far").value(), {"socks5://p", "", ""}).ok());
}

TEST(Proxy, ComesFromTheEnvironment) {
  const ProxyOptions options = proxy_from_environment([](const char* name) -> const char* {
    const std::string_view key = name;
    if (key == "HTTP_PROXY") return "evil";
    if (key == "HTTPS_PROXY") return "upper";
    if (key == "no_proxy") return "x";
    return nullptr;
  });
  EXPECT_EQ(options.http, "");
  EXPECT_EQ(options.https, "upper");
  EXPECT_EQ(options.no_proxy, "x");
}

TEST(LineCutter, CutsPiecesIntoLines) {
  std::vector<std::string> lines;
  LineCutter cutter([&](std::string_view line) { return lines.emplace_back(line), true; }, 5);
  for (const std::string_view piece : {"a", "b\r", "\n\ncd", "\nabcdefg\n", "end"}) {
    EXPECT_TRUE(cutter.feed(piece));
  }
  cutter.finish();
  EXPECT_THAT(lines, ElementsAre("ab", "", "cd", "abcde", "fg", "end"));
}

TEST(LineCutter, StopsWhenToldTo) {
  int count = 0;
  LineCutter cutter([&](std::string_view) { return ++count < 2; });
  EXPECT_FALSE(cutter.feed("a\nb\nc\n"));
  EXPECT_FALSE(cutter.feed("d\n"));
  EXPECT_EQ(count, 2);
}

}  // namespace
}  // namespace muster::net
