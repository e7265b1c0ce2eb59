// The screen of `muster top`, as text. Pure: what the server said, the size of the terminal and the
// time go in, lines come out.
#pragma once

#include <string>

#include "base/time.h"
#include "cli/json.h"

namespace muster::cli {

struct TopView {
  std::string url = {};
  json::array clusters = {};
  json::array queues = {};
  json::array jobs = {};     // active and waiting, newest first
  bool more = false;         // there are more active jobs than these
  std::string trouble = {};  // why this is not fresh; "" when it is
};

struct Screen {
  int columns = 80;
  int rows = 24;
  bool color = false;
};

/// At most `rows` lines of at most `columns` characters, each ending with a line break.
std::string top_screen(const TopView& view, const Screen& screen, Time now);

}  // namespace muster::cli
