// MUSTER_CHECK states what must be true if the program is right. It stays on in release builds: a
// scheduler that goes on with broken books does more harm than one that stops.
#pragma once

#include <fmt/format.h>

#include <string>

namespace muster {

[[noreturn]] void check_failed(const char* condition, const char* file, int line,
                               const std::string& context);

}  // namespace muster

#define MUSTER_CHECK(condition, ...)                                                    \
  do {                                                                                  \
    if (!(condition)) [[unlikely]] {                                                    \
      ::muster::check_failed(#condition, __FILE__, __LINE__, fmt::format(__VA_ARGS__)); \
    }                                                                                   \
  } while (false)
