// The output of a pod in a file: chunks in the order the supervisor read them, each with stream,
// time and length in front. The supervisor appends, the server reads behind it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "clusters/files.h"
#include "ports/log_sink.h"

namespace muster::clusters {

/// Of one pod, while it runs. What a full disk or the limit does not let in is counted, and a note
/// in the output says so.
class OutputFile {
 public:
  static Result<OutputFile> make(const std::string& path, std::int64_t most);
  void append(ports::Stream stream, Time now, std::string_view bytes);
  /// Says what is missing at the end, if anything is.
  void close(Time now);

 private:
  OutputFile(Fd fd, std::int64_t most) : fd_(std::move(fd)), left_(most) {}
  bool put(ports::Stream stream, Time now, std::string_view bytes);
  void note_missing(Time now);

  Fd fd_;
  std::int64_t left_;
  std::uint64_t size_ = 0;  // whole chunks
  std::uint64_t missing_ = 0;
};

/// Whole chunks from `position` on, about `most` bytes of them; none if nothing was added since.
/// Fault::Invalid when there is something else in the file.
Result<std::vector<ports::OutputChunk>> read_output(const std::string& path, std::uint64_t position,
                                                    std::size_t most);

}  // namespace muster::clusters
