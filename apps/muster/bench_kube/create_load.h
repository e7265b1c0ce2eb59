// Creates many objects with so many requests under way at once: what an API server and the client
// reach at best.
//
// Thread contract: one thread; the requests are made on the client's I/O thread.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "base/result.h"
#include "kube/client.h"
#include "kube/requests.h"

namespace muster::app {

class CreateLoad {
 public:
  struct Options {
    std::size_t count = 0;
    std::size_t in_flight = 32;
    std::function<kube::ApiRequest(std::size_t)> request;  // of each, from 0
  };
  /// Begins at once. The client must live until wait() returned.
  CreateLoad(kube::Client& client, Options options);
  /// Seconds from the beginning to the last answer.
  Result<double> wait();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace muster::app
