#include "clusters/kubernetes/pod_asks.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "kube/json.h"

namespace muster::clusters {
namespace {

constexpr std::string_view required = "requiredDuringSchedulingIgnoredDuringExecution";
constexpr std::string_view preferred = "preferredDuringSchedulingIgnoredDuringExecution";

std::set<std::string> nodes(int count) {
  std::set<std::string> names;
  for (int i = 0; i < count; ++i) names.insert(fmt::format("n{:03}", i));
  return names;
}
boost::json::array terms_of(const boost::json::value& spec) {
  return kube::items_at(spec, {"affinity", "nodeAffinity", required, "nodeSelectorTerms"});
}
boost::json::value with_terms(int count) {
  boost::json::value spec = boost::json::object();
  boost::json::array terms;
  for (int i = 0; i < count; ++i) {
    terms.push_back(boost::json::parse(
        fmt::format(R"({{"matchExpressions":[{{"key":"k{}","operator":"Exists"}}]}})", i)));
  }
  kube::set_at(spec, {"affinity", "nodeAffinity", required, "nodeSelectorTerms"}, terms);
  return spec;
}

TEST(PodAsks, EachNodeOfAGangIsATermByItsNameWhateverItsLabelsSay) {
  boost::json::value spec = boost::json::object();
  bind_to_nodes(spec, nodes(2), NodeBinding::Require);
  EXPECT_EQ(boost::json::serialize(terms_of(spec)),
            R"([{"matchFields":[{"key":"metadata.name","operator":"In","values":["n000"]}]},)"
            R"({"matchFields":[{"key":"metadata.name","operator":"In","values":["n001"]}]}])");
}

TEST(PodAsks, WhatAPodAsksItselfHoldsOnEachOfItsNodes) {
  boost::json::value spec = with_terms(2);
  bind_to_nodes(spec, nodes(2), NodeBinding::Require);
  const boost::json::array terms = terms_of(spec);
  ASSERT_EQ(terms.size(), 4U);
  EXPECT_EQ(boost::json::serialize(terms[1]),
            R"({"matchExpressions":[{"key":"k1","operator":"Exists"}],)"
            R"("matchFields":[{"key":"metadata.name","operator":"In","values":["n000"]}]})");
  EXPECT_EQ(boost::json::serialize(terms[2]),
            R"({"matchExpressions":[{"key":"k0","operator":"Exists"}],)"
            R"("matchFields":[{"key":"metadata.name","operator":"In","values":["n001"]}]})");
}

TEST(PodAsks, ATemplateOfVeryManyNodesStaysSmall) {
  boost::json::value most = with_terms(2);
  bind_to_nodes(most, nodes(250), NodeBinding::Require);
  EXPECT_EQ(terms_of(most).size(), 500U);
  boost::json::value more = with_terms(2);
  bind_to_nodes(more, nodes(251), NodeBinding::Require);
  const boost::json::array terms = terms_of(more);
  ASSERT_EQ(terms.size(), 2U);
  const boost::json::array both = kube::items_at(terms[0], {"matchExpressions"});
  ASSERT_EQ(both.size(), 2U);
  EXPECT_EQ(kube::text_at(both[1], {"key"}), "kubernetes.io/hostname");
  EXPECT_EQ(kube::items_at(both[1], {"values"}).size(), 251U);
}

TEST(PodAsks, NodesThatArePreferredAreOneWishEach) {
  boost::json::value spec = boost::json::object();
  bind_to_nodes(spec, nodes(2), NodeBinding::Prefer);
  EXPECT_EQ(boost::json::serialize(kube::items_at(spec, {"affinity", "nodeAffinity", preferred})),
            R"([{"weight":100,"preference":{"matchFields":[{"key":"metadata.name","operator":"In",)"
            R"("values":["n000"]}]}},{"weight":100,"preference":{"matchFields":)"
            R"([{"key":"metadata.name","operator":"In","values":["n001"]}]}}])");
}

}  // namespace
}  // namespace muster::clusters
