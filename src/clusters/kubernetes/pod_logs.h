// Brings the output of a cluster's pods into the LogSink: follows the logs of running containers,
// takes them up again where they broke off, and reads those that ended to their end.
//
// Bounded: so many logs are followed at once, and the others read now and then in turn; so many
// bytes of one wait for the sink, then its stream is cut and taken up later. A node that does not
// answer is left alone for a while. There is no thread for any of this: bytes come on the client's
// I/O thread and wait until the owner's thread calls pass().
//
// Thread contract: one thread; `wake` is called on the client's I/O thread when there is something
// to pass. The client's last callback may come after this is destroyed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/time.h"
#include "clusters/kubernetes/gang_state.h"
#include "clusters/kubernetes/pod_log_reader.h"
#include "kube/client.h"
#include "ports/cluster.h"
#include "ports/log_sink.h"

namespace muster::clusters {

struct PodLogOptions {
  std::size_t follows_most = 256;
  std::size_t reads_most = 16;        // at once, of logs that are not followed
  Duration read_again = seconds(10);  // of a running pod that is not followed
  Duration node_pause = seconds(30);  // for a node that does not answer
  Duration end_within = seconds(10);  // from the end of a container to that of its log
};

class PodLogs {
 public:
  PodLogs(kube::Client& client, PodLogOptions options, ports::LogSink& sink,
          std::function<void()> wake);
  ~PodLogs();

  /// The pods of an attempt as they are now; those that are missing are gone.
  void look(const ports::Attempt& attempt, const std::vector<PodSight>& pods, Time now);
  /// Hands over what came, and begins what is due.
  void pass(Time now);
  /// All output of its pods that ended is handed over, or cannot be had.
  bool is_complete(const ports::Attempt& attempt) const;
  /// Some log is still to be read to its end.
  bool has_endings() const { return endings_ > 0; }

 private:
  struct Stream;
  struct Follow;
  struct NodeState {
    bool has_answered = false;
    Time not_before;  // it failed
  };
  using Follows = std::map<std::string, std::unique_ptr<Follow>>;  // by the pod's uid

  void take_bytes(Follow& follow);
  void take_end(Follow& follow, Time now);
  void take_failure(Follow& follow, const kube::ApiError& error, Time now);
  void give_up(Follow& follow, const std::string& why, Time now);
  void finish(Follow& follow);
  bool hand_over(Follow& follow);
  static bool is_whole(const Follow& follow);
  bool may_begin(const Follow& follow, Time now) const;
  void begin(Follow& follow, Time now);

  kube::Client& client_;
  const PodLogOptions options_;
  ports::LogSink& sink_;
  const std::function<void()> wake_;
  std::map<ports::Attempt, Follows> attempts_;
  std::map<std::string, NodeState> nodes_;
  std::size_t following_ = 0;
  std::size_t reading_ = 0;
  std::size_t endings_ = 0;
};

}  // namespace muster::clusters
