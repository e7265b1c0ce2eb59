// Adoption in two steps, because pods that are marked as an attempt's before the books know the
// attempt would be taken for strays and removed. First, before the job is submitted, its pods are
// marked as wanted by it (adopting_label): they count as foreign no more, so that the job finds
// their room free. Then, when its attempt is made, ObjectWriter meets the objects and marks both
// as the attempt's own. What an earlier server made for the same job, of which nothing is in the
// books any more, is taken over alike.
//
// One is taken over after the other; what they have in common is read once: see left_pods.h.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "base/time.h"
#include "clusters/kubernetes/left_pods.h"
#include "kube/client.h"
#include "ports/adopter.h"

namespace muster::clusters {

class KubernetesAdopter : public ports::Adopter {
 public:
  /// Without a clock: the machine's.
  explicit KubernetesAdopter(std::unique_ptr<kube::Client> client,
                             std::function<Time()> clock = {});
  /// Waits for the question that is under way: the client should have a short timeout.
  ~KubernetesAdopter() override;
  void adopt(ports::LeftWork work,
             std::function<void(const Result<ports::AdoptedPods>&)> done) override;
  void release(ports::LeftWork work, std::function<void(const Status&)> done) override;

 private:
  using Task = std::function<void(LeftPods&)>;
  void work();
  void put(Task task);

  const std::unique_ptr<kube::Client> client_;
  const std::function<Time()> clock_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> asked_;  // guarded by mutex_
  bool is_stopping_ = false;
  std::thread thread_;
};

}  // namespace muster::clusters
