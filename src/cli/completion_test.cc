#include "cli/completion.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "cli/cli.h"

namespace muster::cli {
namespace {

/// What bash offers for a line that ends in the word to complete.
std::string offered(const std::string& script, const std::string& words, int last) {
  const std::string path =
      ::testing::TempDir() + "muster-completion-" + std::to_string(getpid()) + ".bash";
  std::ofstream(path) << script << "COMP_WORDS=(" << words << ")\nCOMP_CWORD=" << last
                      << "\n_muster\necho \"${COMPREPLY[*]}\"\n";
  std::string out;
  FILE* bash = popen(("bash " + path + " 2>&1").c_str(), "r");
  char piece[256];
  while (bash != nullptr && std::fgets(piece, sizeof piece, bash) != nullptr) out += piece;
  if (bash != nullptr) pclose(bash);
  std::filesystem::remove(path);
  return out;
}

class Completion : public ::testing::Test {
 protected:
  Completion() { add_commands(app_, system_host()); }
  CLI::App app_{"", "muster"};
};

TEST_F(Completion, bash_offers_the_verbs_and_options_of_the_place) {
  const std::string script = *completion_script(app_, "bash");
  EXPECT_EQ(offered(script, "muster can", 1), "cancel\n");
  EXPECT_EQ(offered(script, "muster queue cr", 2), "create\n");
  EXPECT_EQ(offered(script, "muster queue create --wei", 3), "--weight\n");
  EXPECT_EQ(offered(script, "muster -o json queue de", 4), "delete\n");
  EXPECT_EQ(offered(script, "muster run -- can", 3), "\n");
}

TEST_F(Completion, bash_asks_for_the_names_that_the_place_or_the_option_wants) {
  const std::string script = *completion_script(app_, "bash") +
                             "muster() { case $2 in jobs) echo 7x4k train;; queues) echo vision;; "
                             "clusters) echo east;; contexts) echo home;; "
                             "appwrappers) echo wrapped;; esac; }\n";
  EXPECT_EQ(offered(script, "muster logs 7", 2), "7x4k\n");
  EXPECT_EQ(offered(script, "muster set priority tr", 3), "train\n");
  EXPECT_EQ(offered(script, "muster queue show vi", 3), "vision\n");
  EXPECT_EQ(offered(script, "muster run --queue vi", 3), "vision\n");
  EXPECT_EQ(offered(script, "muster cluster drain ea", 3), "east\n");
  EXPECT_EQ(offered(script, "muster context use ho", 3), "home\n");
  EXPECT_EQ(offered(script, "muster aw show wr", 3), "wrapped\n");
  EXPECT_EQ(offered(script, "muster logs --fo", 2), "--follow\n");
}

TEST_F(Completion, fish_knows_which_options_name_something_and_which_take_a_value) {
  const std::string script = *completion_script(app_, "fish");
  const auto has = [&](const std::string& text) { return script.find(text) != std::string::npos; };
  EXPECT_TRUE(has("-n '__muster_at \"run\"' -l queue "));
  EXPECT_TRUE(has(" -x -a '(muster complete-names queues 2>/dev/null)'"));
  EXPECT_TRUE(has(" -x -a '(muster complete-names clusters 2>/dev/null)'"));
  EXPECT_TRUE(has("    case 'queue'\n      string split ' ' 'list show"));
}

TEST_F(Completion, every_shell_knows_every_command) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const std::string script = *completion_script(app_, shell);
    for (const CLI::App* command : app_.get_subcommands([](const CLI::App*) { return true; })) {
      if (command->get_group().empty()) continue;  // hidden
      EXPECT_NE(script.find(command->get_name()), std::string::npos)
          << shell << " " << command->get_name();
    }
  }
  EXPECT_FALSE(completion_script(app_, "tcsh"));
}

}  // namespace
}  // namespace muster::cli
