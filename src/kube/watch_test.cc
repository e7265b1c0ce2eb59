#include "kube/watch.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <string>
#include <vector>

#include "kube/json.h"

namespace muster::kube {
namespace {

namespace json = boost::json;

std::string added(const std::string& name) {
  const json::value event = {{"type", "ADDED"},
                             {"object", {{"metadata", {{"name", name}, {"uid", "of-" + name}}}}}};
  return json::serialize(event) + "\n";
}

TEST(WatchDecoder, WhatIsKeptOfEventsThatCameTogetherIsOfEachItsOwn) {
  std::vector<json::value> kept;
  WatchDecoder decoder([&kept](const WatchEvent& event) {
    kept.push_back(own_copy(*event.object));
    return true;
  });
  EXPECT_TRUE(decoder.feed(added("a-long-name-for-one") + added("a-long-name-for-two")));
  ASSERT_EQ(kept.size(), 2U);
  EXPECT_EQ(name_of(kept[0]), "a-long-name-for-one");
  EXPECT_EQ(uid_of(kept[0]), "of-a-long-name-for-one");
  EXPECT_EQ(name_of(kept[1]), "a-long-name-for-two");
}

}  // namespace
}  // namespace muster::kube
