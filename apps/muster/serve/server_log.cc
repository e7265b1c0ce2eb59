#include "apps/muster/serve/server_log.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cstdio>

#include "net/http.h"

namespace muster::app {

void ServerLog::write(config::LogLevel level, std::string_view text) const {
  if (level < options_.level) return;
  constexpr std::array<std::string_view, 4> names = {"debug", "info", "warn", "error"};
  const std::string_view name = names[static_cast<std::size_t>(level)];
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  const std::string at = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(now));
  const std::string line = options_.format == config::LogFormat::Json
                               ? fmt::format("{{\"at\":\"{}\",\"level\":\"{}\",\"message\":{}}}\n",
                                             at, name, net::json_quoted(text))
                               : fmt::format("{} {} {}\n", at, name, text);
  std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace muster::app
