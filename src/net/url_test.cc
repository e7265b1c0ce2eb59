#include "net/url.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::net {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::StartsWith;

TEST(Url, HasItsParts) {
  const auto url = parse_url("HTTPS://us%40er:pw@Host.Example:8443/a%2Fb/c?x=1&y=%20#top");
  ASSERT_TRUE(url.ok()) << url.error().message;
  EXPECT_EQ(url->scheme, "https");
  EXPECT_EQ(url->userinfo, "us@er:pw");
  EXPECT_EQ(url->host, "host.example");
  EXPECT_EQ(url->port, 8443);
  EXPECT_EQ(url->path, "/a%2Fb/c");
  EXPECT_EQ(url->query, "x=1&y=%20");
  EXPECT_EQ(url->fragment, "top");
  EXPECT_EQ(url->origin(), "https://host.example:8443");
  EXPECT_EQ(url->target(), "/a%2Fb/c?x=1&y=%20");
}

TEST(Url, DefaultsArePathAndPortOfTheScheme) {
  EXPECT_EQ(parse_url("http://x")->target(), "/");
  EXPECT_EQ(parse_url("http://x")->effective_port(), 80);
  EXPECT_EQ(parse_url("https://x")->effective_port(), 443);
  EXPECT_EQ(parse_url("wss://x")->effective_port(), 443);
  EXPECT_EQ(parse_url("socks5://x")->effective_port(), 1080);
  EXPECT_EQ(parse_url("http://x?a=1")->target(), "/?a=1");
  EXPECT_EQ(parse_url("http://x")->authority(), "x");
  EXPECT_EQ(parse_url("http://[::1]:80/")->host, "::1");
  EXPECT_EQ(parse_url("http://[::1]:80/")->authority(), "[::1]:80");
}

TEST(Url, WhatIsWrongIsNamed) {
  for (const std::string_view text :
       {"", "localhost", "localhost:80", "http://", "http:///path", "http://h:99999/", "http://h:0",
        "http://h:x", "http://h:1x/", "http://a@b@c/", "http://[::1]x/", "http://a b/",
        "http://[::1", "/path", "http://h/%zz"}) {
    const auto url = parse_url(text, "MUSTER_URL");
    ASSERT_FALSE(url.ok()) << text;
    EXPECT_THAT(url.error().message, StartsWith("MUSTER_URL: ")) << text;
  }
}

TEST(Url, IsWrittenAsItIsRead) {
  for (const std::string_view text : {"http://x/", "https://u:p@x:8/a?b#c", "http://[::1]:8080/",
                                      "http://x/a%20b?c=%26", "http://a%3Ab:p%40@x/"}) {
    const auto url = parse_url(text);
    ASSERT_TRUE(url.ok()) << text;
    EXPECT_EQ(parse_url(to_text(*url)).value(), *url) << to_text(*url);
  }
  EXPECT_EQ(to_text(parse_url("https://u:p@x:8/a?b#c").value()), "https://u:p@x:8/a?b#c");
}

TEST(Url, ReferencesAreResolved) {
  const Url base = parse_url("http://u@h:1/a/b?q").value();
  EXPECT_EQ(to_text(resolve_url(base, "/c").value()), "http://u@h:1/c");
  EXPECT_EQ(to_text(resolve_url(base, "c?d").value()), "http://u@h:1/a/c?d");
  EXPECT_EQ(to_text(resolve_url(base, "//other/x").value()), "http://other/x");
  EXPECT_EQ(to_text(resolve_url(base, "https://z/?a=b://c").value()), "https://z/?a=b://c");
  EXPECT_EQ(to_text(resolve_url(base, "/x?to=http://y").value()), "http://u@h:1/x?to=http://y");
}

TEST(Percent, EscapesAllButTheUnreserved) {
  EXPECT_EQ(percent_encode("aZ0-._~"), "aZ0-._~");
  EXPECT_EQ(percent_encode("a b/c?&=%+\n\xff"), "a%20b%2Fc%3F%26%3D%25%2B%0A%FF");
  EXPECT_EQ(percent_decode("a%20b%2fC%FF").value(), "a b/C\xff");
  for (const std::string_view text : {"%", "%4", "a%zz", "%%41", "%4%", "x%"}) {
    EXPECT_FALSE(percent_decode(text).ok()) << text;
  }
}

TEST(PathSegments, AreDecodedAndCannotClimb) {
  EXPECT_THAT(path_segments("/").value(), IsEmpty());
  EXPECT_THAT(path_segments("/a/b%2Fc/d%20e").value(), ElementsAre("a", "b/c", "d e"));
  EXPECT_THAT(path_segments("/a//b/").value(), ElementsAre("a", "", "b", ""));
  for (const std::string_view path : {"/..", "/a/../b", "/%2e%2E", "/.", "/a%00", "/%"}) {
    EXPECT_FALSE(path_segments(path).ok()) << path;
  }
}

TEST(Query, KeepsOrderAndRepeatedKeys) {
  EXPECT_THAT(parse_query("a=1&b=x+y%26&a=2&flag&=v&&c=a=b").value(),
              ElementsAre(Pair("a", "1"), Pair("b", "x y&"), Pair("a", "2"), Pair("flag", ""),
                          Pair("", "v"), Pair("c", "a=b")));
  EXPECT_THAT(parse_query("").value(), IsEmpty());
  EXPECT_FALSE(parse_query("a=%x").ok());
  EXPECT_EQ(format_query({{"a b", "c&d"}, {"e", ""}}), "a%20b=c%26d&e=");
}

TEST(Address, IsReadInEachForm) {
  const auto read = [](std::string_view text) { return parse_address(text, "listen").value(); };
  EXPECT_EQ(read("127.0.0.1:8080"), (Address{"127.0.0.1", 8080, ""}));
  EXPECT_EQ(read(":0"), (Address{"", 0, ""}));
  EXPECT_EQ(read("[::1]:80"), (Address{"::1", 80, ""}));
  EXPECT_EQ(read("unix:/run/x.sock"), (Address{"", 0, "/run/x.sock"}));
  EXPECT_EQ(to_text(read("[::1]:80")), "[::1]:80");
  EXPECT_EQ(to_text(read("unix:/run/x.sock")), "unix:/run/x.sock");
  for (const std::string_view text :
       {"", "8080", "host", "::1:80", "[::1]", "h:70000", "h:-1", "h:", "unix:", "a b:1", "[x:1"}) {
    const auto address = parse_address(text, "listen");
    ASSERT_FALSE(address.ok()) << text;
    EXPECT_THAT(address.error().message, StartsWith("listen: ")) << text;
  }
}

}  // namespace
}  // namespace muster::net
