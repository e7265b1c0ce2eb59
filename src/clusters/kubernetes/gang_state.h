// How an attempt stands, from what the cluster shows of its Jobs and pods. Pure.
#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <string>
#include <vector>

namespace muster::clusters {

/// What is kept of a Job that Muster made.
struct JobSight {
  enum class End { None, Complete, Failed };

  std::string job = {};  // of Muster
  std::uint32_t attempt = 0;
  std::string name = {};
  std::string ns = {};
  std::string uid = {};
  std::int64_t completions = 0;
  std::size_t sets = 1;  // Jobs of the attempt, as this one says
  End end = End::None;
  std::string why = {};  // it failed
  bool is_deleting = false;
};
JobSight job_sight_of(const boost::json::value& job);

/// What is kept of a pod that Muster's Jobs made.
struct PodSight {
  std::string job = {};
  std::uint32_t attempt = 0;
  std::string name = {};
  std::string ns = {};
  std::string uid = {};
  std::string node = {};
  std::string phase = {};
  bool is_ready = false;
  bool is_deleting = false;
  bool is_disrupted = false;  // taken away by others: evicted, preempted, node lost
  int exit_code = 0;          // of the container that failed; 128 + n when signal n ended it
  std::string why = {};       // it failed or does not start

  bool is_live() const { return phase != "Succeeded" && phase != "Failed"; }
};
PodSight pod_sight_of(const boost::json::value& pod);

enum class GangPhase {
  Absent,     // no trace of it
  Starting,   // some pods are not ready yet
  Running,    // all have been made and are ready, or done already
  Succeeded,  // all Jobs are complete
  Failed,     // one has failed by itself
  Disrupted,  // somebody else took a pod or a Job away
};

struct GangState {
  GangPhase phase = GangPhase::Absent;
  int exit_code = 0;
  std::string reason = {};     // for people: which pod and how
  bool has_live_pods = false;  // until this is false its resources are taken
  bool is_ended = false;       // all Jobs have ended, and no pod runs or can come any more
};

GangState gang_state_of(const std::vector<JobSight>& jobs, const std::vector<PodSight>& pods);

}  // namespace muster::clusters
