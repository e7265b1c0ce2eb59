// The quota of MCAD's users: QuotaSubtrees of the hub are kept as queues, and AppWrappers are told
// which of them they belong to.
//
// Threads: one, the hub's; what is watched comes back to it through `later`.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api/appwrapper/quota_watch.h"
#include "base/result.h"
#include "control/requests.h"
#include "kube/client.h"
#include "model/event.h"
#include "sched/world.h"
#include "work/wrapped/quota_forest.h"

namespace muster::api {

/// Queues of the forest's trees in the books that are no nodes of it, those below others first.
std::vector<std::string> queues_left(const sched::World& world, const work::QuotaForest& forest);

/// What makes the queues of one forest those of another: only what differs.
std::vector<model::EventBody> queue_changes(const work::QuotaForest& from,
                                            const work::QuotaForest& to);

class QuotaDesk {
 public:
  struct Parts {
    control::Requests& requests;
    std::function<void(std::function<void()>)> later;  // on the hub's thread
    std::function<void(Duration, std::function<void()>)> later_after;
    std::function<void(const std::string&)> say;
    std::function<void()> on_change;  // there are other queues than before; at first always
  };
  QuotaDesk(kube::Client& client, Parts parts);

  /// The queues of an AppWrapper with these labels. NotFound: one of them is not there.
  Result<work::Designation> designation_of(const model::Labels& labels) const;
  /// Of the tree that orders jobs; "": there is no tree.
  std::string first_tree() const { return forest_.trees.empty() ? "" : forest_.trees.front(); }
  /// Why the trees are not known, or not as they are now; "": they are.
  std::string trouble() const;

 private:
  void set_trouble(const std::string& group, const std::string& why);
  std::string words_of(const std::string& group, const std::string& why) const;
  void follow();
  void follow_later();
  void put_queues(const work::QuotaForest& wanted);
  void answered(const work::QuotaForest& wanted, const Status& is_written);
  void are_there(const work::QuotaForest& wanted);

  const Parts parts_;
  work::QuotaForest forest_;  // whose queues are in the books
  bool has_followed_ = false;
  bool is_putting_ = false;     // until it is known what is in the books nothing else is asked for
  bool follows_again_ = false;  // then
  std::vector<std::string> told_;  // problems
  /// By group: why it cannot be read; of the books: why they cannot be written.
  std::map<std::string, std::string> troubles_;
  std::unique_ptr<QuotaWatch> watch_;
};

}  // namespace muster::api
