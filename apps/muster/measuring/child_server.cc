#include "apps/muster/measuring/child_server.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "clusters/files.h"
#include "net/url.h"

namespace muster::app {
namespace {

std::string last_lines(const std::string& file) {
  const auto text = clusters::read_file(file);
  if (!text) return "";
  return text->substr(text->size() - std::min<std::size_t>(text->size(), 500));
}

}  // namespace

Result<std::unique_ptr<BenchFolder>> BenchFolder::make() {
  std::string name = (std::filesystem::temp_directory_path() / "muster-bench-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr)
    return invalid(fmt::format("cannot make a folder {}", name));
  return std::unique_ptr<BenchFolder>(new BenchFolder(std::move(name)));
}

BenchFolder::~BenchFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

Result<std::unique_ptr<ChildServer>> ChildServer::start(const std::string& folder,
                                                        const std::string& yaml) {
  {
    std::ofstream out(folder + "/muster.yaml");
    out << fmt::format("data_dir: {}/data\nlisten: 127.0.0.1:0\n{}", folder, yaml);
  }
  auto client = net::HttpClient::make({.total_timeout = seconds(120)});
  if (!client) return client.error();
  std::unique_ptr<ChildServer> server(new ChildServer(folder, std::move(*client)));
  if (Status spawned = server->spawn(); !spawned) return spawned.error();
  return server;
}

ChildServer::~ChildServer() { kill(); }

Status ChildServer::spawn() {
  const std::string log = folder_ + "/server.log";
  const auto url =
      process_.start({.words = {"/proc/self/exe", "serve", "--config", folder_ + "/muster.yaml"},
                      .hello = "muster serves at ",
                      .error_file = log});
  const auto parsed = url ? net::parse_url(*url, "url") : Result<net::Url>(url.error());
  if (!parsed) {
    kill();
    return Error{Fault::Unavailable, fmt::format("the server did not start: {}", last_lines(log))};
  }
  port_ = parsed->port;
  return Ok{};
}

Result<double> ChildServer::restart() {
  kill();
  const auto begin = std::chrono::steady_clock::now();
  if (Status spawned = spawn(); !spawned) return spawned.error();
  if (const auto ready = get("/readyz"); !ready) return ready.error();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

Result<double> ChildServer::cpu_seconds() const {
  const auto stat = clusters::read_file(fmt::format("/proc/{}/stat", process_.pid()));
  if (!stat) return stat.error();
  // After the name in parentheses, which may hold anything: state is the first field, utime and
  // stime the 12th and 13th.
  const std::vector<std::string_view> fields =
      split(std::string_view(*stat).substr(stat->rfind(')') + 2), ' ');
  if (fields.size() < 13) return invalid("/proc/PID/stat is not as it should be");
  const double ticks = std::strtod(std::string(fields[11]).c_str(), nullptr) +
                       std::strtod(std::string(fields[12]).c_str(), nullptr);
  return ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

Result<double> ChildServer::resident_bytes() const {
  const auto statm = clusters::read_file(fmt::format("/proc/{}/statm", process_.pid()));
  if (!statm) return statm.error();
  const std::vector<std::string_view> fields = split(*statm, ' ');
  if (fields.size() < 2) return invalid("/proc/PID/statm is not as it should be");
  return std::strtod(std::string(fields[1]).c_str(), nullptr) *
         static_cast<double>(::sysconf(_SC_PAGESIZE));
}

Result<std::string> ChildServer::send(net::ClientRequest request) {
  request.url = fmt::format("http://127.0.0.1:{}{}", port_, request.url);
  auto answer = client_->send(std::move(request));
  if (!answer) return answer.error();
  if (answer->status / 100 != 2)
    return Error{Fault::Unavailable, fmt::format("{}: {}", answer->status, answer->body)};
  return std::move(answer->body);
}

Result<std::string> ChildServer::get(const std::string& target) { return send({.url = target}); }

Result<std::string> ChildServer::post(const std::string& target, std::string body) {
  return send({.method = "POST",
               .url = target,
               .headers = {{"Content-Type", "application/json"}},
               .body = std::move(body)});
}

Result<std::map<std::string, double>> ChildServer::metrics() {
  const auto text = get("/metrics");
  if (!text) return text.error();
  std::map<std::string, double> samples;
  for (const std::string_view line : split(*text, '\n')) {
    const std::size_t blank = line.rfind(' ');
    if (line.empty() || line[0] == '#' || blank == std::string_view::npos) continue;
    samples[std::string(line.substr(0, blank))] =
        std::strtod(std::string(line.substr(blank + 1)).c_str(), nullptr);
  }
  return samples;
}

}  // namespace muster::app
