// Commands run in pods for people, beside the pod's own program: a kind of cluster that can do it
// implements this beside ports::Cluster.
//
// Thread contract: any thread. Callbacks come on a thread of the cluster, must not wait, and end
// with on_exit, which comes exactly once, also when the cluster goes away. A session outlives both,
// and ends with on_exit or cancel(), not when handles go away.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ports/cluster.h"

namespace muster::ports {

struct PodCommand {
  Attempt attempt;
  std::uint32_t pod = 0;  // its rank in the gang
  std::vector<std::string> words = {};
  bool has_input = false;
  bool has_terminal = false;  // then errors come mixed into the output
};

struct PodCommandCallbacks {
  std::function<void(std::string_view)> on_output = {};
  std::function<void(std::string_view)> on_errors = {};
  std::function<void(Result<int> exit_code)> on_exit = {};
  /// Everything written so far is on its way. May be empty.
  std::function<void()> on_drained = {};
};

class PodCommandSession {
 public:
  virtual ~PodCommandSession() = default;
  virtual void write(std::string_view bytes) = 0;
  virtual void end_input() = 0;
  virtual void resize(int columns, int rows) = 0;
  virtual void cancel() = 0;
  /// Written and not on its way yet.
  virtual std::size_t pending_bytes() const = 0;
  /// While it is held no output is given out, which slows the command down.
  virtual void hold_output(bool is_held) = 0;
};

class PodCommands {
 public:
  virtual ~PodCommands() = default;
  virtual Result<std::shared_ptr<PodCommandSession>> run(const PodCommand& command,
                                                         PodCommandCallbacks callbacks) = 0;
};

}  // namespace muster::ports
