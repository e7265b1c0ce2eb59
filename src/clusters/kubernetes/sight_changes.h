// What was seen and not yet said: of each node and pod only the newest, in the order in which they
// first changed. However long the inbox is full, this holds at most one entry a thing.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "model/event.h"
#include "ports/inbox.h"

namespace muster::clusters {

/// Thread-safe; drain() by one thread at a time.
class SightChanges {
 public:
  /// `key` names the thing: a later change of it replaces this one.
  void put(const std::string& key, model::EventBody body) {
    const std::lock_guard lock(mutex_);
    const auto [at, is_new] = newest_.insert_or_assign(key, std::move(body));
    if (is_new) order_.push_back(key);
  }

  /// Says what the inbox takes. True when nothing is left.
  bool drain(ports::Inbox& inbox) {
    while (true) {
      std::string key;
      model::EventBody body;
      {
        const std::lock_guard lock(mutex_);
        if (order_.empty()) return true;
        key = order_.front();
        const auto found = newest_.find(key);
        body = found->second;
        newest_.erase(found);
        order_.pop_front();
      }
      if (inbox.put({Time{0}, body})) continue;  // the loop gives events their time
      const std::lock_guard lock(mutex_);
      // Something newer may have come in between: that one stays.
      if (newest_.emplace(key, std::move(body)).second) order_.push_front(key);
      return false;
    }
  }

  std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return newest_.size();
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, model::EventBody> newest_;  // guarded by mutex_, as the next
  std::deque<std::string> order_;                   // keys of newest_, each once
};

}  // namespace muster::clusters
