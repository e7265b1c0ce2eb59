// The lines of a container's log as they come over the API, with timestamps, over any number of
// streams: each is given out once, however often a stream breaks off and is begun again. Pure.
//
// The position of a line is its time in nanoseconds, or one more than that of the line before if
// that is later (lines of the same time; those that two writers wrote out of order). A new stream
// begins a little before the last line (since()), and what was given out before is skipped.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "ports/log_sink.h"

namespace muster::clusters {

class PodLogReader {
 public:
  /// Goes on after what is kept already.
  explicit PodLogReader(ports::LastKept kept) : kept_(kept), last_at_(kept.at) {}

  /// From when on the next stream is to be, as sinceTime takes it; "": from the beginning.
  std::string since() const;
  /// Bytes of a new stream follow. Half a line of the one before comes again, whole.
  void begin_stream();
  void feed(std::string_view bytes, std::vector<ports::OutputChunk>& out);
  /// The container has ended and so has its log: what is left has no newline.
  void end_log(std::vector<ports::OutputChunk>& out);
  /// Something to tell beside the log.
  ports::OutputChunk note(std::string text, Time now);

 private:
  void take(std::string_view line, bool is_whole, std::vector<ports::OutputChunk>& out);

  ports::LastKept kept_;        // of another reader, before this one; bytes go down to 0
  Time last_at_;                // of the last line given out
  std::uint64_t position_ = 0;  // of the last line given out or skipped
  // Of the stream.
  std::string rest_;
  bool is_inside_ = false;  // of a line whose beginning was given out
  std::uint64_t stream_position_ = 0;
  Time stream_at_;
};

}  // namespace muster::clusters
