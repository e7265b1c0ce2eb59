// A server that gives the answers of a script, in order, whatever is asked, and remembers what was
// asked: for faults on the wire. What an API server means is tested on the real one (tests/e2e).
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "kube/client.h"
#include "net/testing/server.h"

namespace muster::kube::testing {

class ScriptedServer {
 public:
  using Step = std::function<void(const net::Request&, const net::Responder&)>;

  ScriptedServer() : server_([this](net::Router& router) { fill(router); }) {}

  ScriptedServer& then(int status, std::string body, net::Headers headers = {}) {
    return then([=](const net::Request&, const net::Responder& answer) {
      answer.send({status, headers, body});
    });
  }
  ScriptedServer& then(Step step) {
    const std::lock_guard lock(mutex_);
    steps_.push_back(std::move(step));
    return *this;
  }
  /// A stream of these bytes that ends in good order.
  ScriptedServer& then_stream(std::string bytes) {
    return then([=](const net::Request&, const net::Responder& answer) {
      const net::Stream stream = answer.stream({});
      stream.send(bytes);
      stream.finish();
    });
  }

  /// "GET /api/v1/pods?limit=2" of each request so far.
  std::vector<std::string> asked() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> lines;
    for (const net::Request& request : requests_) {
      lines.push_back(request.method + " " + request.target);
    }
    return lines;
  }
  net::Request request(std::size_t index) const {
    const std::lock_guard lock(mutex_);
    return requests_.at(index);
  }
  net::testing::Server& server() { return server_; }
  Access access() {
    Access access;
    access.cluster.server = server_.url();
    return access;
  }

 private:
  void fill(net::Router& router) {
    for (const char* method : {"GET", "POST", "PUT", "PATCH", "DELETE"}) {
      router.add(method, "/{path...}", [this](net::Request request, net::Responder answer) {
        Step step;
        {
          const std::lock_guard lock(mutex_);
          requests_.push_back(request);
          if (!steps_.empty()) {
            step = std::move(steps_.front());
            steps_.pop_front();
          }
        }
        if (step) return step(request, answer);
        answer.send({500, {}, "the script is over"});
      });
    }
  }

  mutable std::mutex mutex_;
  std::deque<Step> steps_;              // guarded by mutex_
  std::vector<net::Request> requests_;  // guarded by mutex_
  net::testing::Server server_;
};

inline std::unique_ptr<Client> make_client(const Access& access, ClientOptions options = {}) {
  auto client = Client::make(access, std::move(options));
  MUSTER_CHECK(client.ok(), "{}", client.error().message);
  return std::move(*client);
}

}  // namespace muster::kube::testing
