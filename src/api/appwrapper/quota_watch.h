// MCAD's QuotaSubtree objects in a cluster, kept up to date: they are few.
//
// Threads: the handlers are called on the client's I/O thread and must only wake somebody; the rest
// from any thread.
#pragma once

#include <atomic>
#include <boost/json/value.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kube/client.h"
#include "kube/informer.h"

namespace muster::api {

class QuotaWatch {
 public:
  struct Handlers {
    std::function<void()> on_change;  // at first when all are known
    /// Why those of a group cannot be read now, as often as it is tried; "" when they can again.
    std::function<void(const std::string& group, const std::string& why)> on_trouble;
  };
  /// The client must outlive it.
  QuotaWatch(kube::Client& client, Handlers handlers);
  ~QuotaWatch();

  /// All of both groups are known, or there is no such kind.
  bool has_answered() const;
  std::vector<boost::json::value> subtrees() const;

 private:
  struct Group {
    std::atomic<bool> has_answered{false};
    std::unique_ptr<kube::Informer<boost::json::value>> informer;
  };
  void watch(Group& group, const kube::Resource& resource);

  kube::Client& client_;
  const Handlers on_;
  Group groups_[2];
};

}  // namespace muster::api
