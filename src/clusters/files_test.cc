#include "clusters/files.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "base/testing/scratch.h"

namespace muster::clusters {
namespace {

namespace fs = std::filesystem;

TEST(Files, DirectoriesAreMadeBelowOneThatIsThereAndNowhereElse) {
  const Scratch scratch;
  const std::string there = scratch.file("there");
  EXPECT_FALSE(make_dirs_below(there, there + "/pods/0"));
  EXPECT_FALSE(fs::exists(there)) << "its disk may only be away";
  fs::create_directory(there);
  for (int again = 0; again < 2; ++again) {
    EXPECT_TRUE(make_dirs_below(there, there + "/pods/0"));
    EXPECT_TRUE(make_dirs_below(there, there));
  }
  EXPECT_TRUE(fs::is_directory(there + "/pods/0"));
}

}  // namespace
}  // namespace muster::clusters
