// AppWrappers that succeeded are deleted when their time to live is over. Of one thread.
#pragma once

#include <boost/json/object.hpp>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "api/appwrapper/wrapper_watch.h"
#include "base/time.h"
#include "kube/client.h"

namespace muster::api {

/// When an AppWrapper of v1beta2 succeeded, as its status says; never if it did not.
Time succeeded_at(const boost::json::object& status);

class WrapperExpiry {
 public:
  WrapperExpiry(kube::Client& client, std::function<void(const std::string&)> say)
      : client_(client), say_(std::move(say)) {}

  struct Entry {
    WrapperKey key = {};
    std::string uid = {};
    Time at = Time::never();
  };
  void set(const std::string& job, Entry entry);
  void forget(const std::string& job);
  /// One that cannot be deleted now is tried again later.
  void delete_due(Time now);

 private:
  kube::Client& client_;
  const std::function<void(const std::string&)> say_;
  std::map<std::string, Entry> entries_;
  std::set<std::pair<Time, std::string>> due_;
};

}  // namespace muster::api
