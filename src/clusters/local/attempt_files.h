// The directory of an attempt, where the server and the attempt's supervisor meet:
//
//   spec        what to run; written by the server before the directory gets its name
//   unclaimed   renamed to `claimed` by whoever decides about the attempt: a supervisor that runs
//               it, or the server, which then ends it unrun. A rename succeeds once, so nothing
//               runs twice
//   lock        locked by the supervisor as long as it lives
//   control     a FIFO: a byte asks the supervisor to stop the gang
//   state       how it stands; replaced by the supervisor, and by the server if that died
//   pods/N/     the own directory of the pod of rank N; pods/N.log its output (pod_output.h)
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "clusters/local/cgroup_base.h"
#include "model/command.h"

namespace muster::clusters {

struct PodSpec {
  std::string set;
  std::uint32_t index = 0;  // in its set
  std::vector<std::string> argv;
  model::Environment environment;
  model::MilliCpu cpu;  // limits; 0: none
  model::Bytes memory;
  friend bool operator==(const PodSpec&, const PodSpec&) = default;
};

struct AttemptSpec {
  std::string job;
  std::uint32_t attempt = 0;
  std::string boot;         // of the machine: processes of another boot are no more
  std::string working_dir;  // empty: the pod's own
  CgroupDirs cgroup;        // where the pods' cgroups are made
  Duration grace;
  std::int64_t output_most = 0;  // bytes kept of one pod's output
  std::int64_t descriptors = 0;  // soft limit of open files in pods; 0: that of the supervisor
  std::vector<model::CommandFile> files;
  std::vector<PodSpec> pods;  // by rank
  friend bool operator==(const AttemptSpec&, const AttemptSpec&) = default;
};

enum class Phase { Running, Over };
enum class Outcome { None, Succeeded, Failed, StartFailed, Removed };

struct PodState {
  std::int64_t pid = 0;
  std::int64_t start_ticks = 0;  // since boot; with the pid it names one process only
  int exit_code = -1;            // -1: it has not ended by itself
  int signal = 0;                // that ended it
  std::string limits;            // how cpu and memory are held
  friend bool operator==(const PodState&, const PodState&) = default;
};

struct AttemptState {
  Phase phase = Phase::Running;
  Outcome outcome = Outcome::None;  // when Over
  int exit_code = 0;
  std::string reason;
  std::int64_t supervisor_pid = 0;
  Time started;
  Time ended;
  std::vector<PodState> pods;  // by rank
  friend bool operator==(const AttemptState&, const AttemptState&) = default;
};

std::string to_text(const AttemptSpec& spec);
std::string to_text(const AttemptState& state);
Result<AttemptSpec> parse_spec(std::string_view text);
Result<AttemptState> parse_state(std::string_view text);

/// Fault::NotFound if the attempt has none yet.
Result<AttemptSpec> read_spec(const std::string& dir);
Result<AttemptState> read_state(const std::string& dir);
/// How it ended is durable when this returns; that it runs outlives a kill, not a loss of power.
Status write_state(const std::string& dir, const AttemptState& state);

/// Once and for all: true for the first who asks, whatever process that is.
bool claim(const std::string& dir);

std::string pod_dir(const std::string& dir, std::size_t rank);
std::string output_path(const std::string& dir, std::size_t rank);
/// The name of a pod for people: "workers-3".
std::string pod_name(const PodSpec& pod);

}  // namespace muster::clusters
