// The states of a job and the only edges between them. docs/states.md is made from this table.
#pragma once

#include <span>
#include <string_view>

namespace muster::model {

enum class JobState { Held, Waiting, Starting, Running, Stopping, Succeeded, Failed, Cancelled };

struct Edge {
  JobState from;
  JobState to;
  std::string_view when;  // the event that takes this edge
  std::string_view why;   // what it means to the job's owner
};

std::span<const Edge> edges();
bool is_legal(JobState from, JobState to);
bool is_final(JobState state);
/// Holds nodes and quota: Starting, Running, Stopping.
bool is_active(JobState state);
std::string_view to_text(JobState state);
std::span<const JobState> all_states();

}  // namespace muster::model
