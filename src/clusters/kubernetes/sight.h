// The sight of a Kubernetes cluster: its nodes, the pods of others on them, and whether it can be
// reached, as events of the model.
//
// Threads: informers fill it on the client's I/O thread; `on_change` is called there and must only
// wake somebody, who calls changes().drain(). Pods that Muster made are not told here: they are in
// the books.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/time.h"
#include "clusters/kubernetes/names.h"
#include "clusters/kubernetes/node_model.h"
#include "clusters/kubernetes/sight_changes.h"
#include "kube/client.h"

namespace muster::clusters {

struct SightOptions {
  std::string cluster = {};
  std::vector<std::string> namespaces = {};  // where Muster's pods are ours; elsewhere they are of
                                             // another server; "": everywhere
  std::string server = {};  // of several in one namespace, this one; "": there is no other
  GpuNaming gpus = {};
  bool is_aggregate = false;  // all nodes are told as one
  /// A cluster is said to be unreachable when it has not been heard of for so long; one that never
  /// was, when it has failed for `first_silence_max`.
  Duration silence_max = seconds(15);
  Duration first_silence_max = seconds(1);
  std::function<void()> on_change = {};
  /// How many watches of others must have contact as well before the cluster is ready.
  std::size_t others = 0;
};

class KubernetesSight {
 public:
  /// The client must outlive it.
  KubernetesSight(kube::Client& client, SightOptions options);
  ~KubernetesSight();

  SightChanges& changes();
  /// All nodes and pods were listed once, and what others watch.
  bool is_complete() const;
  /// Why it cannot be reached; "" while it can.
  std::string problem() const;
  // Of the watch `index` of others, from any thread.
  void lost_other(std::size_t index, const std::string& why);
  void found_other(std::size_t index, bool has_synced);
  /// Whether a node is gone, or marked out of service: what ran there runs no more.
  bool is_node_lost(const std::string& node) const;
  /// Names of the nodes with this label.
  std::optional<std::string> gpu_type_of(const std::string& node) const;  // none: it is not seen
  std::set<std::string> nodes_with(const std::string& label, const std::string& value) const;
  /// Puts everything into changes() again: kinds, health, nodes, pods.
  void say_everything();

 private:
  class Core;
  std::shared_ptr<Core> core_;
};

}  // namespace muster::clusters
