// Which pods descend, over any number of controllers, from objects that somebody else made. Many
// ask for the pods of the same namespace one after the other, so its list is read once for all who
// had asked before it was read, as long as it is young; and who owns what, which does not change,
// is remembered.
//
// A pod that came after the list was read is not in it. FosterPods finds it later.
//
// Of one thread, which waits for the API server. Times are arguments.
#pragma once

#include <boost/json/value.hpp>
#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "kube/api_error.h"
#include "kube/client.h"
#include "kube/discovery.h"

namespace muster::clusters {

class LeftPods {
 public:
  /// The client must outlive it.
  LeftPods(kube::Client& client, std::function<Time()> clock)
      : client_(client), clock_(std::move(clock)), kinds_(client, Duration{0}) {}

  struct Pod {
    std::string name = {};
    std::string uid = {};
  };
  struct Wanted {
    std::string ns = {};
    std::set<std::string> roots = {};  // uids of objects
    std::string job = {};              // pods with the mark of others are not looked at
    Time asked{0};                     // the list is not older
  };
  /// Those that have not ended.
  kube::Reply<std::vector<Pod>> of(const Wanted& wanted);
  /// The list of that namespace is read again next time. False: it was read since then.
  bool distrust(const std::string& ns, Time since);
  kube::RestMapper& kinds() { return kinds_; }

 private:
  struct Owner {
    std::string api_version = {};
    std::string kind = {};
    std::string name = {};
    std::string uid = {};
  };
  using Owners = std::vector<Owner>;
  using Uids = std::set<std::string>;
  /// The pods without a mark of Muster.
  struct Listed {
    Time begun{0};
    Time read{0};
    std::vector<Pod> pods = {};
    std::unordered_map<std::string, std::vector<std::size_t>> by_ancestor = {};
  };

  kube::Reply<const Listed*> list(const std::string& ns, Time asked);
  kube::Reply<std::vector<Pod>> marked(const Wanted& wanted);
  /// Of all that it descends from.
  kube::Reply<Uids> ancestors(const boost::json::value& object, const std::string& ns);
  kube::Reply<Ok> climb(const Owners& owners, const std::string& ns, int depth, Uids& found);
  kube::Reply<Owners> look_up(const Owner& owner, const std::string& ns);
  static Owners owners_of(const boost::json::value& object);

  kube::Client& client_;
  const std::function<Time()> clock_;
  kube::RestMapper kinds_;                          // looks again at once for what it does not know
  std::map<std::string, Listed> lists_;             // by namespace
  std::unordered_map<std::string, Owners> owners_;  // by uid: of objects, not of pods
  Uids hidden_;  // objects that are not there, or may not be seen, when the last list was read
};

}  // namespace muster::clusters
