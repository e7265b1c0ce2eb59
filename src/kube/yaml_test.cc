#include "kube/yaml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>
#include <string>

namespace muster::kube {
namespace {

using ::testing::HasSubstr;

std::string as_json(std::string_view text, Scalars scalars = Scalars::Typed) {
  const auto documents = parse_yaml(text, scalars);
  if (!documents) return documents.error().message;
  std::string all;
  for (const auto& document : *documents) {
    all += (all.empty() ? "" : " ") + boost::json::serialize(document);
  }
  return all;
}

TEST(Yaml, ScalarsHaveTheTypesOfManifests) {
  EXPECT_EQ(as_json("[1, -2, 1.5, true, no, ~, '1', \"true\", 1.2.3, 0x1f, 10Gi, 100m, .5]"),
            R"([1,-2,1.5E0,true,false,null,"1","true","1.2.3","0x1f","10Gi","100m",5E-1])");
}

TEST(Yaml, AsTextNothingIsConverted) {
  EXPECT_EQ(as_json("{a: 1, b: true, c: }", Scalars::Text), R"({"a":"1","b":"true","c":null})");
}

TEST(Yaml, KeysAreTextsEvenWhenTheyLookLikeNumbers) {
  EXPECT_EQ(as_json("{1: a, true: b}"), R"({"1":"a","true":"b"})");
}

TEST(Yaml, DocumentsComeOneByOneAndEmptyOnesAreLeftOut) {
  EXPECT_EQ(as_json("a: 1\n---\n---\nb: 2\n"), R"({"a":1} {"b":2})");
}

TEST(Yaml, AliasesAndMergeKeysAreFilledIn) {
  EXPECT_EQ(as_json("base: &b {x: 1, y: 2}\nmore: {<<: *b, y: 3}\n"),
            R"({"base":{"x":1,"y":2},"more":{"y":3,"x":1}})");
}

TEST(Yaml, HostileTextsAreRefused) {
  EXPECT_THAT(as_json(std::string(100, '[') + std::string(100, ']')),
              HasSubstr("deeper than 64 levels"));
  EXPECT_THAT(as_json("a: 1\na: 2"), HasSubstr("line 2, column 4: key 'a' is there twice"));
  EXPECT_THAT(as_json("a: \xff"), HasSubstr("not text in UTF-8"));
  EXPECT_THAT(as_json("!!binary x"), HasSubstr("tag"));
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 9; ++i) {
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int k = 0; k < 10; ++k) bomb += (k ? ", *a" : "*a") + std::to_string(i - 1);
    bomb += "]\n";
  }
  EXPECT_THAT(as_json(bomb), HasSubstr("more than 2000000 values"));
}

}  // namespace
}  // namespace muster::kube
