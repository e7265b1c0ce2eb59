#include "apps/muster/read_text.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

namespace muster::app {

Result<std::string> read_text(const std::string& path) {
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  if (in) in.peek();  // a folder can be opened, but not read
  if (!in.is_open() || in.bad())
    return invalid(fmt::format("cannot read {}: {}", path, std::strerror(errno)));
  std::ostringstream text;
  in.clear();
  text << in.rdbuf();
  return text.str();
}

}  // namespace muster::app
