// From a decision and a command to the directory that a supervisor takes up.
#pragma once

#include <string>

#include "base/result.h"
#include "clusters/local/attempt_files.h"
#include "model/command.h"
#include "ports/cluster.h"

namespace muster::clusters {

/// What pods get from the machine besides what the job gives them.
model::Environment machine_environment();

/// The pods by rank: those of the first set first. Fault::Invalid if command and placement do not
/// belong together. `base` is the environment under that of the job.
Result<AttemptSpec> make_spec(const ports::Action& action, const model::Command& command,
                              const model::Environment& base);

/// The name of the attempt's directory; another for each attempt.
std::string dir_name(const ports::Attempt& attempt);

/// Makes a directory without spec and name for the next make_attempt_dir, which then has little to
/// do: to be called while nothing waits. Nobody sees it until then.
Status make_blank_dir(const std::string& parent);
/// Writes what an attempt will run into the blank directory; still nobody sees it.
Status fill_blank_dir(const std::string& parent, const AttemptSpec& spec);
/// It is the directory of that attempt from now on.
Status name_blank_dir(const std::string& parent, const ports::Attempt& attempt);
/// It is for any attempt again. If that cannot be, there is none any more.
void clear_blank_dir(const std::string& parent);
/// Makes the directory, whole or not at all; never changes one that is there. A kill of the server
/// does not undo it; a loss of power may (see LocalCluster::say_everything).
Status make_attempt_dir(const std::string& parent, const AttemptSpec& spec);
/// The same of an attempt that never ran and never will.
Status make_tombstone(const std::string& parent, const ports::Attempt& attempt,
                      const AttemptState& state);
/// Removes what a server that died left half made, or made ahead.
void remove_half_made(const std::string& parent);

}  // namespace muster::clusters
