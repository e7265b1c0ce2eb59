#include "cli/testing/scripted.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "base/check.h"
#include "cli/report.h"
#include "net/sse.h"

namespace muster::cli::testing {
namespace {

constexpr std::string_view root = "/api/muster/v1";
constexpr Time recorded_at{1'782'907'200'000};  // 2026-07-01T12:00:00Z

bool fits(const std::string& ask, const std::string& method, const net::Request& request) {
  const std::size_t mark = ask.find('?');
  if (ask.substr(0, mark) != method + " " + request.path.substr(root.size())) return false;
  if (mark == std::string::npos) return true;
  const auto wanted = net::parse_query(ask.substr(mark + 1));
  return std::all_of(wanted->begin(), wanted->end(), [&](const auto& pair) {
    return request.query_value(pair.first) == pair.second;
  });
}

std::string stream_of(const json::array& events) {
  std::string out;
  for (const json::value& event : events) {
    net::SseEvent sse;
    sse.id = text(event, "id");
    sse.type = text(event, "event");
    sse.data = json::serialize(field(event, "data"));
    out += net::to_text(sse);
  }
  return out;
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
}

}  // namespace

ScriptedServer::ScriptedServer(json::value script) : script_(std::move(script)) {
  auto started = net::HttpServer::start(
      {}, [this](net::Request request, net::Responder responder) { answer(request, responder); });
  MUSTER_CHECK(started.ok(), "no server: {}", started.error().message);
  server_ = std::move(*started);
}

ScriptedServer::~ScriptedServer() { server_->stop(seconds(0)); }

std::vector<Seen> ScriptedServer::seen() const {
  const std::lock_guard lock(mutex_);
  return seen_;
}

void ScriptedServer::answer(const net::Request& request, const net::Responder& responder) {
  {
    const std::lock_guard lock(mutex_);
    seen_.push_back(
        {request.method + " " + request.target.substr(root.size()), request.body, request.headers});
  }
  for (const json::value& exchange : script_.as_array()) {
    if (!fits(text(exchange, "ask"), request.method, request)) continue;
    if (const json::array* events = field(exchange, "events").if_array()) {
      const net::Stream stream = responder.event_stream();
      stream.send(stream_of(*events));
      stream.finish();
      return;
    }
    const json::value& body = field(exchange, "body");
    net::Response response =
        net::json_response(static_cast<int>(number(exchange, "status").value_or(200)),
                           body.is_null() ? std::string() : json::serialize(body));
    responder.send(std::move(response));
    return;
  }
  responder.send(net::json_response(
      404, json::serialize(json::object{
               {"error",
                json::object{{"code", "not_found"},
                             {"message", "no such thing: " + request.path.substr(root.size() + 1)},
                             {"request_id", "r-1"}}}})));
}

json::value recorded_script() {
  std::ifstream in("tests/cli/server.json");
  std::ostringstream read;
  read << in.rdbuf();
  auto parsed = parse_json(read.str());
  MUSTER_CHECK(parsed.ok(), "tests/cli/server.json: {}", parsed.error().message);
  return std::move(*parsed);
}

Host quiet_host(Outcome& outcome, const std::string& url) {
  Host host;
  host.out = [&outcome](std::string_view text) { outcome.out += text; };
  host.err = [&outcome](std::string_view text) { outcome.err += text; };
  host.variable = [url](const std::string& name) {
    return name == "MUSTER_URL" ? url : std::string();
  };
  host.now = [] { return recorded_at; };
  host.sleep = [](Duration) {};
  host.interrupts = [] { return 0; };
  host.columns = [] { return 100; };
  host.rows = [] { return 30; };
  host.read_file = system_host().read_file;
  host.read_input = [](Duration) -> Result<std::string> {
    return Error{Fault::NotFound, "no input"};
  };
  host.raw_terminal = [] { return nullptr; };
  return host;
}

Outcome run_command(const Host& host, Outcome& caught, std::vector<std::string> words) {
  CLI::App app("One queue in front of all your GPU clusters.", "muster");
  app.require_subcommand(1);
  add_commands(app, host);
  try {
    app.parse(shielded(std::move(words)));
  } catch (const CLI::ParseError& error) {
    caught.code = report(app, error, host);
  }
  return caught;
}

Outcome run_command(const std::string& url, std::vector<std::string> words) {
  Outcome outcome;
  const Host host = quiet_host(outcome, url);
  run_command(host, outcome, std::move(words));
  replace_all(outcome.out, url, "http://SERVER");
  replace_all(outcome.err, url, "http://SERVER");
  return outcome;
}

}  // namespace muster::cli::testing
