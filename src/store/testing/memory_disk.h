// A disk in memory under SQLite, whose power can fail. Written bytes are seen at once but survive a
// failure only if they were synced: the rest is gone, or worse, some sectors of it are not. It can
// also be full.
//
// Thread contract: any thread, as SQLite's own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/prng.h"

namespace muster::store {

class MemoryDisk {
 public:
  MemoryDisk();
  ~MemoryDisk();
  MemoryDisk(const MemoryDisk&) = delete;
  MemoryDisk& operator=(const MemoryDisk&) = delete;

  /// Of the sqlite3_vfs.
  const std::string& vfs() const;
  /// The power fails at the n-th write, sync or deletion from now on: it and all after it fail.
  void fail_at(std::uint64_t n);
  bool failed() const;
  /// How many of those there were.
  std::uint64_t operations() const;
  /// Power is back: what was not synced is gone. Files that were open stay dead.
  void restart();
  /// As restart, but each sector that was written and not synced is there or not, by chance.
  void restart_torn(Prng& prng);
  /// Bytes of all files together; a write beyond it fails.
  void set_capacity(std::size_t bytes);
  std::size_t used() const;

  struct State;

 private:
  std::unique_ptr<State> state_;
};

}  // namespace muster::store
