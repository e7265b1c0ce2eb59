// MCAD's QuotaSubtree objects in a cluster, kept up to date: they are few.
//
// Threads: on_change is called on the client's I/O thread, at first when all are known, and must
// only wake somebody; the rest from any thread.
#pragma once

#include <atomic>
#include <boost/json/value.hpp>
#include <functional>
#include <memory>
#include <vector>

#include "kube/client.h"
#include "kube/informer.h"

namespace muster::api {

class QuotaWatch {
 public:
  /// The client must outlive it.
  QuotaWatch(kube::Client& client, std::function<void()> on_change);
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
  const std::function<void()> on_change_;
  Group groups_[2];
};

}  // namespace muster::api
