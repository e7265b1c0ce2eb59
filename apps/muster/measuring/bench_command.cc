#include "apps/muster/measuring/bench_command.h"

#include <cstdint>
#include <string>

namespace muster::app {

void add_seconds(CLI::App& command, const std::string& name, Duration& length,
                 const std::string& help) {
  command
      .add_option_function<std::int64_t>(
          name, [&length](std::int64_t given) { length = seconds(given); }, help)
      ->check(CLI::Range(1, 3'600))
      ->default_str(std::to_string(length.ms / 1000));
}

}  // namespace muster::app
