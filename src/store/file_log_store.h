// Logs in files: <folder>/<job>/<attempt>/<offset>.log, each begun when the one before was full.
// Append-only, so readers need no lock. Serves both databases.
//
// Thread contract: as ports::LogStore.
#pragma once

#include <cstdint>
#include <filesystem>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "ports/log_store.h"
#include "store/log_segment.h"

namespace muster::store {

class FileLogStore : public ports::LogStore {
 public:
  struct Options {
    std::uint64_t segment_bytes = std::uint64_t{4} << 20;
    std::uint64_t look_bytes = std::uint64_t{64} << 20;  // read for an answer
    std::size_t open_files = 256;
  };
  FileLogStore(std::filesystem::path folder, Options options);
  ~FileLogStore() override;

  Status append(const ports::Attempt& attempt, std::span<const ports::LogLine> lines) override;
  Result<ports::LogPage> read(const ports::Attempt& attempt,
                              const ports::LogQuery& query) const override;
  Result<std::uint64_t> appended(const ports::Attempt& attempt, std::string_view pod,
                                 ports::Stream stream) const override;
  Result<std::vector<std::uint32_t>> attempts(std::string_view job) const override;
  Result<std::uint64_t> retain(Time now, const ports::LogLimits& limits) override;

 private:
  struct Segment {
    std::uint64_t first = 0;  // offset of its first byte
    std::uint64_t bytes = 0;
    std::filesystem::path file;
  };
  class Writer;
  struct Kept;

  std::filesystem::path folder_of(std::string_view job) const;
  std::filesystem::path folder_of(const ports::Attempt& attempt) const;
  static std::vector<Segment> segments(const std::filesystem::path& folder);
  Result<Writer*> writer(const std::filesystem::path& folder) const;
  Result<ports::LogPage> read_on(const std::vector<Segment>& all,
                                 const ports::LogQuery& query) const;
  /// Where the last `tail` of the lines that a query chooses begin.
  Result<std::uint64_t> tail_begin(const std::vector<Segment>& all,
                                   const ports::LogQuery& query) const;
  std::uint64_t remove_old(const std::filesystem::path& folder, Time now,
                           const ports::LogLimits& limits, std::vector<Kept>& kept);

  std::filesystem::path folder_;
  Options options_;
  mutable std::mutex mutex_;                            // of the writers, and of what removes files
  mutable std::list<std::unique_ptr<Writer>> writers_;  // last used first
  mutable std::map<std::filesystem::path, std::list<std::unique_ptr<Writer>>::iterator> by_folder_;
};

}  // namespace muster::store
