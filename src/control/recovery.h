// The world as the journal tells it: the newest snapshot and the entries behind it, or the whole
// journal where there is no snapshot or it turns out to be wrong. Books only; sight comes with the
// relist that Loop asks for at start.
//
// Thread contract: any thread; the watch is called on the same one.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "ports/store.h"
#include "sched/policy.h"
#include "sched/world.h"

namespace muster::control {

struct Recovered {
  sched::World world;
  Time last;                   // of the newest event
  std::uint64_t sequence = 0;  // of the newest entry in it
  std::uint64_t snapshot = 0;  // of the snapshot it began with; 0: none
};

/// Jobs of the snapshot and entries of the journal behind it, together.
struct RecoveryProgress {
  std::uint64_t done = 0;
  std::uint64_t total = 0;
};

struct RecoveryWatch {
  std::function<void(RecoveryProgress)> progress = {};
  std::function<void(const std::string&)> say = {};  // what an administrator must know
  std::function<bool()> goes_on = {};  // once false, it is given up: Fault::Unavailable
};

/// An error if the snapshot cannot be used and the journal does not go back to its beginning.
Result<Recovered> recover(const ports::Store& store, const sched::Policy& policy,
                          const RecoveryWatch& watch = {});

/// The newest snapshot alone, checked against its hash; a sequence of 0 if there is none.
Result<Recovered> read_snapshot(const ports::Store& store, const RecoveryWatch& watch = {});

}  // namespace muster::control
