// A real server for benchmarks: this same binary as a child process, with a configuration and a
// data folder of its own, on a free port of the loopback. It is killed when the object goes away.
//
// Thread contract: one thread; port() and client calls from any.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "apps/muster/measuring/child_process.h"
#include "base/result.h"
#include "net/http_client.h"

namespace muster::app {

/// A folder that goes away with everything in it.
class BenchFolder {
 public:
  static Result<std::unique_ptr<BenchFolder>> make();
  ~BenchFolder();
  BenchFolder(const BenchFolder&) = delete;
  BenchFolder& operator=(const BenchFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  explicit BenchFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

class ChildServer {
 public:
  /// `yaml`: the configuration but for data_dir and listen. Serving when it returns.
  static Result<std::unique_ptr<ChildServer>> start(const std::string& folder,
                                                    const std::string& yaml);
  ~ChildServer();
  ChildServer(const ChildServer&) = delete;
  ChildServer& operator=(const ChildServer&) = delete;

  std::uint16_t port() const { return port_; }
  /// kill -9, and gone when it returns.
  void kill() { process_.kill(); }
  /// The same data again; how long it took until it served is in seconds.
  Result<double> restart();

  /// Processor time that it took so far, all threads together.
  Result<double> cpu_seconds() const;
  /// Memory that is resident now; what its allocator keeps for later counts too.
  Result<double> resident_bytes() const;

  /// The body of a 2xx answer; anything else is an error with the server's words.
  Result<std::string> get(const std::string& target);
  Result<std::string> post(const std::string& target, std::string body);
  /// All samples of /metrics by name and labels: `muster_step_seconds_sum`.
  Result<std::map<std::string, double>> metrics();

 private:
  ChildServer(std::string folder, std::unique_ptr<net::HttpClient> client)
      : folder_(std::move(folder)), client_(std::move(client)) {}
  Status spawn();
  Result<std::string> send(net::ClientRequest request);

  const std::string folder_;
  const std::unique_ptr<net::HttpClient> client_;
  ChildProcess process_;
  std::uint16_t port_ = 0;
};

}  // namespace muster::app
