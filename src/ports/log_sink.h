// Where the output of pods goes. Whoever reads a pod's output numbers it by position and asks at
// start how far it was taken, so that nothing is lost or doubled over a restart of either side.
//
// Thread contract: called from the clusters' own threads, several at once; may block shortly.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "ports/stream.h"

namespace muster::ports {

struct PodOutput {
  std::string job;
  std::uint32_t attempt = 0;
  std::uint32_t pod = 0;  // its rank in the gang
  friend auto operator<=>(const PodOutput&, const PodOutput&) = default;
};

struct OutputChunk {
  Stream stream = Stream::Out;
  Time at;  // when the pod wrote it
  std::string bytes;
  std::uint64_t position = 0;  // where the output goes on after it; grows
};

/// How far the output of a pod is kept, said by time.
struct LastKept {
  Time at;                  // of the last bytes that are kept; 0: nothing is
  std::uint64_t bytes = 0;  // kept of this very time
};

class LogSink {
 public:
  virtual ~LogSink() = default;
  /// The position of the last chunk taken of this pod; 0 if there was none.
  virtual Result<std::uint64_t> taken(const PodOutput& pod) = 0;
  /// For output that cannot be read again from its beginning: whoever asks this instead of taken()
  /// hands over only what comes after it.
  virtual Result<LastKept> last_kept(const PodOutput& pod) = 0;
  /// All of the chunks, and their position with them, or none. A chunk at or before taken() is one
  /// that was handed over before: it is skipped. After a refusal the same is tried again later.
  /// Chunks end anywhere: a line that has no end yet may be held back until its rest comes.
  virtual Status append(const PodOutput& pod, std::span<const OutputChunk> chunks) = 0;
  /// Called now and then while a pod may write: what is held back of a line and was held back at
  /// the last call already, as a prompt that waits for its answer, is kept as far as it came. True
  /// if there was such a line.
  virtual Result<bool> release(const PodOutput& pod) = 0;
  /// Nothing more comes of this pod: what is held back is kept, and the pod may be forgotten.
  virtual Status finish(const PodOutput& pod) = 0;
};

}  // namespace muster::ports
