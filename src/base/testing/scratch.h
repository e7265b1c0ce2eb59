// A folder for one test, gone with it.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/check.h"

namespace muster {

class Scratch {
 public:
  Scratch() : path_((std::filesystem::temp_directory_path() / "muster-test-XXXXXX").string()) {
    MUSTER_CHECK(mkdtemp(path_.data()) != nullptr, "no folder {}", path_);
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  const std::string& path() const { return path_; }
  /// Of a file in it, which need not be there.
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace muster
