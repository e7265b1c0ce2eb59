// What the pods of a job run: a job's payload is its document, kept in the store by hash. Commands
// of jobs that were submitted lately are at hand, so that their start waits for no read.
//
// Thread contract: as ports::Payloads; keep from any thread.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "api/rest/submitter.h"
#include "config/job_file.h"
#include "ports/payloads.h"
#include "ports/store.h"

namespace muster::app {

class JobPayloads : public ports::Payloads {
 public:
  explicit JobPayloads(const ports::Store& store) : store_(store) {}
  Result<std::shared_ptr<const model::Command>> of(const std::string& job) override;
  /// Of jobs that were accepted now. Those that are too many or too large are read when needed.
  void keep(std::vector<api::AcceptedCommand> commands);

 private:
  using CommandPtr = std::shared_ptr<const model::Command>;

  /// Those used last, few enough and small enough together.
  class Recent {
   public:
    Recent(std::size_t most, std::size_t bytes_most) : most_(most), bytes_most_(bytes_most) {}
    CommandPtr find(const std::string& key);  // null: not among them
    void put(const std::string& key, CommandPtr command, std::size_t bytes);

   private:
    struct Kept {
      std::string key;
      CommandPtr command;
      std::size_t bytes = 0;
    };
    void drop(std::list<Kept>::iterator it);

    const std::size_t most_;
    const std::size_t bytes_most_;
    std::size_t bytes_ = 0;
    std::list<Kept> order_;  // newest first
    std::unordered_map<std::string, std::list<Kept>::iterator> by_key_;
  };

  Result<CommandPtr> read(const std::string& job, const std::string& payload);

  const ports::Store& store_;
  std::mutex mutex_;
  Recent accepted_{4096, std::size_t{16} << 20};  // by job
  Recent documents_{256, std::size_t{16} << 20};  // by hash, without a user
};

}  // namespace muster::app
