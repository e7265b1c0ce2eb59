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

void add_seconds(CLI::App& command, const std::string& name, Duration& length,
                 const std::string& help) {
  command
      .add_option_function<std::int64_t>(
          name, [&length](std::int64_t given) { length = seconds(given); }, help)
      ->check(CLI::Range(1, 3'600))
      ->default_str(std::to_string(length.ms / 1000));
}

}  // namespace muster::app
