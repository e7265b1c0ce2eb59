// Brings the output of a cluster's pods into the LogSink: follows the logs of running containers,
// takes them up again where they broke off, and reads those that ended to their end.
//
// Bounded: so many logs are followed at once, and the others read now and then in turn; so many
// bytes of one wait for the sink, then its stream is cut and taken up later. A node that has never
// answered is asked for one log at a time, and left alone for a while when it does not answer.
// While other requests stand in the client's line, as in a burst of creates, few logs are begun:
// each takes a connection of its own. There is no thread for any of this: bytes come on the
// client's I/O thread and wait until the owner's thread calls pass(), which looks only at logs that
// brought something or are due.
//
// Thread contract: one thread; `wake` is called on the client's I/O thread when there is something
// to pass. The client's last callback may come after this is destroyed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
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
  // Of running pods, while requests wait in the client's line: so many are begun, so often.
  std::size_t busy_begins = 4;
  Duration busy_pause = milliseconds(500);
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
  /// What is known of nodes that are gone, and have no logs here.
  void forget_nodes(const std::function<bool(const std::string& node)>& is_gone);
  /// Some log is still to be read to its end.
  bool has_endings() const { return endings_ > 0; }

 private:
  struct Stream;
  struct Arrivals;
  struct Follow;
  struct NodeState;
  /// Who waits for a turn. It may have left the line meanwhile: Follow::line says where it is.
  struct Waiting {
    std::uint64_t follow = 0;
    NodeState* node = nullptr;
  };
  enum class Line { None, Ended, Running, Node };
  struct NodeState {
    bool has_answered = false;
    bool is_asked = false;     // never answered, and one log is being read to find out
    Time not_before;           // it failed
    std::size_t follows = 0;   // of its pods
    std::deque<Waiting> line;  // until it answers
  };
  struct Gang {
    std::map<std::string, std::unique_ptr<Follow>> follows;  // by the pod's uid
    std::size_t over = 0;                                    // read, and the pod gone
  };

  void tend(Follow& follow, Time now);
  void plan(Follow& follow, Time now);
  void look_at(Follow& follow, Time at);
  void forget(const ports::Attempt& attempt);
  void take_bytes(Follow& follow);
  void take_end(Follow& follow, Time now);
  void take_failure(Follow& follow, const kube::ApiError& error, Time now);
  void give_up(Follow& follow, const std::string& why, Time now);
  void finish(Follow& follow);
  bool hand_over(Follow& follow);
  static bool is_whole(const Follow& follow);

  // whose turn it is
  void join_line(Follow& follow);
  void begin_waiting(Time now);
  void begin_running(Time now);
  bool may_ask(const NodeState& node, Time now) const;
  Follow* take_first(std::deque<Waiting>& line, Line which);
  void node_answered(NodeState& node);
  void ask_node_at(NodeState& node, Time at);
  void begin(Follow& follow, bool is_question, Time now);
  void begin_stream(Follow& follow);

  kube::Client& client_;
  const PodLogOptions options_;
  ports::LogSink& sink_;
  const std::function<void()> wake_;
  const std::shared_ptr<Arrivals> arrivals_;
  std::map<ports::Attempt, Gang> attempts_;
  std::unordered_map<std::uint64_t, Follow*> follows_;  // by their numbers
  std::map<std::string, NodeState> nodes_;
  std::set<std::pair<Time, std::uint64_t>> due_;
  std::set<std::pair<Time, NodeState*>> nodes_due_;  // to be asked, by one of their line
  std::deque<Waiting> ended_line_;
  std::deque<Waiting> running_line_;
  Time busy_until_;  // so many were begun beside a busy line
  std::uint64_t last_number_ = 0;
  std::size_t following_ = 0;
  std::size_t reading_ = 0;
  std::size_t endings_ = 0;
};

}  // namespace muster::clusters
