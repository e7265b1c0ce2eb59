// The process that stands between the server and the pods of one attempt. It outlives the server
// and writes down how the gang stands, so that the next server finds it running or learns how it
// ended. When it is killed its pods die with it, and the server clears up.
#pragma once

#include <string>

namespace muster::clusters {

/// Runs the attempt of this directory (an absolute path; see attempt_files.h) unless another
/// process was there first. Returns when nothing of it runs and that is written down. For a process
/// of its own, with one thread; leaves it as the reaper of its descendants.
int supervise(const std::string& dir);

/// The command `muster pod-supervisor DIR`, started once by each server: makes a supervisor for
/// every attempt named on its standard input, a packet each, until that ends. DIR is the directory
/// of the local cluster. One supervisor is always made ahead and waits for the next name: a start
/// costs no fork, neither of the server nor of this small process.
int run_supervisors(const std::string& directory);

}  // namespace muster::clusters
