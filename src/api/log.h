// The server's log: one line an event, as text for people or as JSON for machines, with fields
// beside the message so that nobody has to parse sentences. Lines that are about a request carry
// its id, which the client has as X-Request-Id.
//
//   log.info("listens", {{"address", "127.0.0.1:8080"}});
//   2026-11-16T07:00:00.123Z info listens address=127.0.0.1:8080
//   {"time":"2026-11-16T07:00:00.123Z","level":"info","message":"listens","address":"127..."}
//
// What a line says may come from clients: line breaks and control characters in it are escaped, so
// that nobody can write lines of their own.
//
// Thread contract: any thread; a line is written whole.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "config/config.h"
#include "net/http_server.h"

namespace muster::api {

struct LogField {
  std::string_view name;  // ours: a word
  std::variant<std::string_view, std::int64_t, double, bool> value;
};
using LogFields = std::initializer_list<LogField>;

class Log {
 public:
  /// To stderr.
  Log(config::LogLevel level, config::LogFormat format);
  /// To a stream that outlives it, for tests.
  Log(config::LogLevel level, config::LogFormat format, std::ostream& out);
  ~Log();

  void write(config::LogLevel level, std::string_view message, LogFields fields = {}) const;
  void debug(std::string_view message, LogFields fields = {}) const {
    write(config::LogLevel::Debug, message, fields);
  }
  void info(std::string_view message, LogFields fields = {}) const {
    write(config::LogLevel::Info, message, fields);
  }
  void warn(std::string_view message, LogFields fields = {}) const {
    write(config::LogLevel::Warn, message, fields);
  }
  void error(std::string_view message, LogFields fields = {}) const {
    write(config::LogLevel::Error, message, fields);
  }
  /// Of an answered request: info; debug for probes (/healthz, /readyz, /metrics); error from
  /// status 500 on.
  void access(const net::Access& access) const;

  /// From any thread, e.g. at a reload.
  void set_level(config::LogLevel level) const;

 private:
  struct Sink;
  std::unique_ptr<Sink> sink_;
};

}  // namespace muster::api
