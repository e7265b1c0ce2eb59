// The log of the server: one line an entry on standard error, as text or as JSON.
// Thread contract: any thread.
#pragma once

#include <string>
#include <string_view>

#include "config/config.h"

namespace muster::app {

class ServerLog {
 public:
  explicit ServerLog(config::Log options) : options_(options) {}
  void info(std::string_view text) const { write(config::LogLevel::Info, text); }
  void warn(std::string_view text) const { write(config::LogLevel::Warn, text); }
  void error(std::string_view text) const { write(config::LogLevel::Error, text); }

 private:
  void write(config::LogLevel level, std::string_view text) const;
  config::Log options_;
};

}  // namespace muster::app
