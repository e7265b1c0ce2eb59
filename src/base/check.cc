#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace muster {

void check_failed(const char* condition, const char* file, int line, const std::string& context) {
  std::fprintf(stderr, "%s:%d: check failed: %s: %s\n", file, line, condition, context.c_str());
  std::abort();
}

}  // namespace muster
