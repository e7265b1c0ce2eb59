#include "api/log.h"

#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <utility>

namespace muster::api {
namespace {

spdlog::level::level_enum level_of(config::LogLevel level) {
  switch (level) {
    case config::LogLevel::Debug:
      return spdlog::level::debug;
    case config::LogLevel::Info:
      return spdlog::level::info;
    case config::LogLevel::Warn:
      return spdlog::level::warn;
    case config::LogLevel::Error:
      return spdlog::level::err;
  }
  return spdlog::level::info;
}

/// In text, what has blanks, quotes, control characters or bytes beyond ASCII is quoted.
std::string text_of(std::string_view text) {
  bool plain = !text.empty();
  for (const char c : text) plain = plain && c > ' ' && c < 0x7f && c != '"' && c != '=';
  return plain ? std::string(text) : net::json_quoted(text);
}

/// A message of ours is a sentence: its blanks are no reason to quote it.
std::string message_of(std::string_view text) {
  bool plain = true;
  for (const char c : text) plain = plain && c >= ' ' && c < 0x7f;
  return plain ? std::string(text) : net::json_quoted(text);
}

std::string value_of(const LogField& field, bool json) {
  struct Write {
    bool json;
    std::string operator()(std::string_view text) const {
      return json ? net::json_quoted(text) : text_of(text);
    }
    std::string operator()(std::int64_t number) const { return fmt::format("{}", number); }
    std::string operator()(double number) const { return fmt::format("{:.6f}", number); }
    std::string operator()(bool yes) const { return yes ? "true" : "false"; }
  };
  return std::visit(Write{json}, field.value);
}

bool is_probe(std::string_view route) {
  return route == "/healthz" || route == "/readyz" || route == "/metrics";
}

}  // namespace

struct Log::Sink {
  Sink(spdlog::sink_ptr sink, config::LogLevel level, config::LogFormat format)
      : logger("muster", std::move(sink)), json(format == config::LogFormat::Json) {
    logger.set_level(level_of(level));
    logger.flush_on(spdlog::level::debug);
    constexpr auto utc = spdlog::pattern_time_type::utc;
    const char* pattern = json ? R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l",%v})"
                               : "%Y-%m-%dT%H:%M:%S.%eZ %l %v";
    logger.set_formatter(std::make_unique<spdlog::pattern_formatter>(pattern, utc));
    logger.set_error_handler([](const std::string&) {});  // a full disk must not stop the server
  }
  spdlog::logger logger;
  const bool json;
};

Log::Log(config::LogLevel level, config::LogFormat format)
    : sink_(std::make_unique<Sink>(std::make_shared<spdlog::sinks::stderr_sink_mt>(), level,
                                   format)) {}
Log::Log(config::LogLevel level, config::LogFormat format, std::ostream& out)
    : sink_(std::make_unique<Sink>(std::make_shared<spdlog::sinks::ostream_sink_mt>(out), level,
                                   format)) {}
Log::~Log() = default;

void Log::write(config::LogLevel level, std::string_view message, LogFields fields) const {
  const spdlog::level::level_enum at = level_of(level);
  if (!sink_->logger.should_log(at)) return;
  const bool json = sink_->json;
  std::string line =
      json ? fmt::format(R"("message":{})", net::json_quoted(message)) : message_of(message);
  for (const LogField& field : fields) {
    const std::string value = value_of(field, json);
    line += json ? fmt::format(R"(,"{}":{})", field.name, value)
                 : fmt::format(" {}={}", field.name, value);
  }
  sink_->logger.log(at, spdlog::string_view_t(line));
}

void Log::access(const net::Access& access) const {
  const config::LogLevel level = access.status >= 500     ? config::LogLevel::Error
                                 : is_probe(access.route) ? config::LogLevel::Debug
                                                          : config::LogLevel::Info;
  const std::string_view end = access.stream_end ? net::to_text(*access.stream_end) : "";
  write(level, "request",
        {{"request_id", std::string_view(access.request_id)},
         {"method", std::string_view(access.method)},
         {"target", std::string_view(access.target)},
         {"status", std::int64_t{access.status}},
         {"seconds", access.seconds},
         {"user", std::string_view(access.user)},
         {"remote", std::string_view(access.remote_address)},
         {"bytes_in", static_cast<std::int64_t>(access.bytes_in)},
         {"bytes_out", static_cast<std::int64_t>(access.bytes_out)},
         {"stream_end", end},
         {"client_gone", access.client_gone}});
}

void Log::set_level(config::LogLevel level) const { sink_->logger.set_level(level_of(level)); }

}  // namespace muster::api
