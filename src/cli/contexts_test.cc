#include "cli/contexts.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <map>

namespace muster::cli {
namespace {

class ContextsTest : public ::testing::Test {
 protected:
  ContextsTest() : folder_(::testing::TempDir() + "muster-contexts-" + std::to_string(getpid())) {
    std::filesystem::create_directories(folder_);
    variables_["MUSTER_CONFIG"] = folder_ + "/deeper/config.yaml";
    host_ = system_host();
    host_.variable = [this](const std::string& name) { return variables_[name]; };
  }
  ~ContextsTest() override { std::filesystem::remove_all(folder_); }

  Context chosen(const Wishes& wishes) { return *choose_server(wishes, host_); }

  std::string folder_;
  std::map<std::string, std::string> variables_;
  Host host_;
};

const Contexts two = {"lab",
                      {{"lab", "https://lab:8443", "s3cret: #1", "/ca.pem"},
                       {"here", "http://127.0.0.1:8080", "", ""}}};

TEST(Contexts, read_back_as_they_were_written) {
  EXPECT_EQ(*read_contexts(to_yaml(two)), two);
  EXPECT_EQ(*read_contexts(to_yaml({})), Contexts{});
  EXPECT_EQ(*read_contexts(""), Contexts{});
}

TEST(Contexts, errors_name_line_and_key) {
  EXPECT_EQ(read_contexts("contexts:\n- {name: a, uri: b}").error().message,
            "line 2: unknown key uri: expected name, url, token or ca");
  EXPECT_FALSE(read_contexts("- a"));
  EXPECT_FALSE(read_contexts("contexts: [{url: b}]"));
  EXPECT_FALSE(read_contexts("contexts: [{name: a}, {name: a}]"));
  EXPECT_FALSE(read_contexts("contexts: [{name: [a]}]"));
  EXPECT_FALSE(read_contexts("context: 1"));
  EXPECT_FALSE(read_contexts("a: ["));
}

TEST_F(ContextsTest, are_kept_where_only_their_owner_can_read) {
  ASSERT_TRUE(save_contexts(host_, two));
  EXPECT_EQ(*load_contexts(host_), two);
  struct stat file = {};
  ASSERT_EQ(stat(contexts_path(host_).c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777, 0600u);
  ASSERT_TRUE(save_contexts(host_, {}));
  EXPECT_EQ(*load_contexts(host_), Contexts{});
}

TEST_F(ContextsTest, the_nearest_wish_wins) {
  EXPECT_EQ(chosen({}).url, default_url);
  ASSERT_TRUE(save_contexts(host_, two));
  EXPECT_EQ(chosen({}).url, "https://lab:8443");
  EXPECT_EQ(chosen({}).token, "s3cret: #1");
  EXPECT_EQ(chosen({.context = "here"}).url, "http://127.0.0.1:8080");
  variables_["MUSTER_URL"] = "http://other:1";
  EXPECT_EQ(chosen({}).url, "http://other:1");
  EXPECT_EQ(chosen({.context = "lab"}).url, "https://lab:8443");
  EXPECT_EQ(chosen({.url = "http://flag:2"}).url, "http://flag:2");
  EXPECT_EQ(choose_server({.context = "nowhere"}, host_).error().fault, Fault::NotFound);
}

TEST_F(ContextsTest, a_token_does_not_go_to_a_server_it_was_not_kept_for) {
  ASSERT_TRUE(save_contexts(host_, two));
  EXPECT_EQ(chosen({.url = "http://flag:2"}).token, "");
  variables_["MUSTER_URL"] = "http://other:1";
  EXPECT_EQ(chosen({}).token, "");
  variables_["MUSTER_TOKEN"] = "of-the-environment";
  EXPECT_EQ(chosen({}).token, "of-the-environment");
  EXPECT_EQ(chosen({.context = "lab"}).token, "s3cret: #1");
  EXPECT_EQ(chosen({.context = "here"}).token, "");
  EXPECT_EQ(chosen({.token = "flag"}).token, "flag");
}

}  // namespace
}  // namespace muster::cli
