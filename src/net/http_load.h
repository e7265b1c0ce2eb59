// Load on an HTTP server, for benchmarks: many keep-alive connections, each with one request under
// way, from one thread that does as little as possible itself. And the limit that a server of
// constants reaches here and now, to compare with.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace muster::net {

struct LoadOptions {
  std::string host = "127.0.0.1";  // an IPv4 address
  std::uint16_t port = 0;
  int connections = 64;
  Duration length = seconds(5);    // until then requests are begun
  std::uint64_t requests_max = 0;  // or until so many were begun; 0: no limit
  std::string method = "GET";
  std::string target = "/";
  /// The target of the n-th request, instead of `target`.
  std::function<std::string(std::uint64_t)> target_of = {};
  std::vector<std::string> headers = {};  // whole lines: "Authorization: Bearer x"
  /// The body of the n-th request, from 0; empty: none.
  std::function<std::string(std::uint64_t)> body = {};
  /// Sees each answer's body, if set.
  std::function<void(int status, std::string_view body)> on_answer = {};
};

struct LoadResult {
  std::uint64_t answers = 0;
  std::uint64_t refused = 0;  // answers that are not 2xx
  double seconds = 0;
  double per_second = 0;  // of the 2xx
  double p50_ms = 0;
  double p99_ms = 0;
  double max_ms = 0;
};

/// A broken connection or an answer that cannot be read ends it with an error.
Result<LoadResult> run_load(const LoadOptions& options);

/// run_load against a server in this process with one I/O thread that answers six bytes.
Result<LoadResult> measure_http_limit(int connections, Duration length);

}  // namespace muster::net
