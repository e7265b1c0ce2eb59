// What the pods of a job run: the payload of a job that is a command. It stays in the store until
// the job is dispatched; the scheduler never sees it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "model/amount.h"

namespace muster::model {

using Environment = std::map<std::string, std::string>;

/// Written into the pod's own directory before it starts.
struct CommandFile {
  std::string path;  // relative, without ".."
  std::string content;
  bool executable = false;
  friend bool operator==(const CommandFile&, const CommandFile&) = default;
};

/// What is particular to the pods of one set.
struct CommandSet {
  std::string name;
  std::vector<std::string> argv;  // empty: that of the command
  Environment environment;        // on top of the command's
  MilliCpu cpu;                   // limits of one pod; 0: none
  Bytes memory;
  friend bool operator==(const CommandSet&, const CommandSet&) = default;
};

struct Command {
  std::string name;  // of the job
  std::string user;
  std::vector<std::string> argv;
  Environment environment;
  std::string working_dir;  // absolute; empty: the pod's own directory
  std::vector<CommandFile> files;
  Duration stop_grace = seconds(30);  // between TERM and KILL
  std::vector<CommandSet> sets;       // as many, and in the same order, as Gang::sets
  friend bool operator==(const Command&, const Command&) = default;

  const std::vector<std::string>& argv_of(const CommandSet& set) const {
    return set.argv.empty() ? argv : set.argv;
  }
};

/// What is wrong with it by itself, with the name of the field.
Status validate(const Command& command);

}  // namespace muster::model
