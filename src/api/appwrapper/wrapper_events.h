// Events of Kubernetes about AppWrappers and labelled objects, as `kubectl describe` shows them:
// what became of it, and why. Each once, also over a restart: their names are made of what they
// tell. They help people and no more: nothing waits for them, what cannot be written now is never
// written, and so many a second are written at most, and of one AppWrapper.
//
// Threads: the hub's.
#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "api/appwrapper/facts.h"
#include "api/appwrapper/wrapper_watch.h"
#include "base/time.h"
#include "kube/requests.h"

namespace muster::api {

/// Which are written. Problems: why it waits, was requeued or failed, and why it does not go.
enum class EventTelling { None, Problems, All };

/// One thing that is known to have happened.
struct WrapperStep {
  std::string reason = {};  // a word
  std::string message = {};
  bool is_problem = false;
  bool is_warning = false;
  std::string key = {};  // tells the steps of an AppWrapper apart
};
/// What its facts tell now, in order.
std::vector<WrapperStep> steps_of(const WrapperFacts& facts);

/// The object that an Event is about.
struct EventSubject {
  std::string api_version = {};
  std::string kind = {};
  std::string ns = {};
  std::string name = {};
  std::string uid = {};
};
EventSubject subject_of(const WrapperKey& key, const std::string& uid);

boost::json::value event_of(const EventSubject& about, const WrapperStep& step, Time now);

class WrapperEvents {
 public:
  /// To be sent; what comes of it is nobody's business.
  using Send = std::function<void(const kube::ApiRequest&)>;
  WrapperEvents(EventTelling telling, Send send) : telling_(telling), send_(std::move(send)) {}

  void tell(const std::string& job, const EventSubject& about, const WrapperFacts& facts, Time now);
  void forget(const std::string& job) { told_.erase(job); }

 private:
  bool may_write(Time now);

  const EventTelling telling_;
  const Send send_;
  std::map<std::string, std::set<std::string>> told_;  // by job: keys of steps
  double tokens_ = 0;
  Time counted_at_{0};
};

}  // namespace muster::api
