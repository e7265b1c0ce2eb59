// What a cluster has to say, until the inbox takes it: in order, nothing lost when it is full.
// Not thread-safe.
#pragma once

#include <deque>
#include <utility>

#include "ports/inbox.h"

namespace muster::clusters {

class Outgoing {
 public:
  explicit Outgoing(ports::Inbox& inbox) : inbox_(inbox) {}

  void say(model::EventBody body) {
    unsent_.push_back(std::move(body));
    flush();
  }
  /// To be called again now and then while something is unsent. The loop gives events their time.
  void flush() {
    while (!unsent_.empty() && inbox_.put({Time{0}, unsent_.front()})) unsent_.pop_front();
  }
  bool empty() const { return unsent_.empty(); }

 private:
  ports::Inbox& inbox_;
  std::deque<model::EventBody> unsent_;
};

}  // namespace muster::clusters
