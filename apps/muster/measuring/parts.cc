#include "apps/muster/measuring/parts.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

namespace muster::app {

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

void bench_progress(std::string_view what) {
  if (isatty(STDERR_FILENO) != 0) fmt::print(stderr, "\r\033[K{} ", what);
}

}  // namespace muster::app
