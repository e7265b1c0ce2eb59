#include "model/state.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace muster::model {
namespace {

using enum JobState;

constexpr std::array<JobState, 8> states = {Held,     Waiting,   Starting, Running,
                                            Stopping, Succeeded, Failed,   Cancelled};

// One row for each event that can take an edge, in the order of a job's life.
constexpr std::array edge_table = {
    Edge{Held, Waiting, "JobReleased", "released: it may be placed"},
    Edge{Held, Cancelled, "JobCancelled", "cancelled while it was held"},
    Edge{Held, Failed, "GivenUp", "its deadline passed or a job it depends on failed"},

    Edge{Waiting, Held, "JobHeld", "held: it is not placed until it is released"},
    Edge{Waiting, Starting, "Placed", "a cluster and nodes were chosen for the whole gang"},
    Edge{Waiting, Cancelled, "JobCancelled", "cancelled while it waited"},
    Edge{Waiting, Failed, "GivenUp", "its deadline passed or a job it depends on failed"},

    Edge{Starting, Running, "Started", "every pod of the gang runs"},
    Edge{Starting, Waiting, "StartFailed",
         "the gang was not ready in time: it returns whole, after a pause"},
    Edge{Starting, Waiting, "Stopped",
         "its cluster is lost and it asked to be run again elsewhere"},
    Edge{Starting, Stopping, "Stopped", "preempted or drained before it ran"},
    Edge{Starting, Stopping, "JobCancelled", "cancelled: its pods are being removed"},
    Edge{Starting, Stopping, "JobHeld", "held and told to stop: its pods are being removed"},
    Edge{Starting, Succeeded, "Finished", "so short that its end was seen before its start"},
    Edge{Starting, Failed, "Finished", "it failed at once and has no retry left"},
    Edge{Starting, Waiting, "Finished", "it failed at once and is tried again"},

    Edge{Running, Succeeded, "Finished", "it ended well"},
    Edge{Running, Failed, "Finished", "it failed and has no retry left"},
    Edge{Running, Waiting, "Finished", "it failed and is tried again"},
    Edge{Running, Waiting, "StartFailed",
         "pods or nodes were lost: the gang returns whole, after a pause"},
    Edge{Running, Waiting, "Stopped", "its cluster is lost and it asked to be run again elsewhere"},
    Edge{Running, Stopping, "Stopped",
         "preempted, drained or over its run limit: its pods are being removed"},
    Edge{Running, Stopping, "JobCancelled", "cancelled: its pods are being removed"},
    Edge{Running, Stopping, "JobHeld", "held and told to stop: its pods are being removed"},

    Edge{Stopping, Waiting, "Gone", "preempted, drained, or held and released: it queues again"},
    Edge{Stopping, Waiting, "Stopped",
         "its cluster is lost and it asked to be run again elsewhere"},
    Edge{Stopping, Held, "Gone", "held, and its pods are removed: no failure, no retry"},
    Edge{Stopping, Held, "Stopped", "held, and its cluster is lost; it asked to be run elsewhere"},
    Edge{Stopping, Cancelled, "Gone", "cancelled, and its pods are removed"},
    Edge{Stopping, Failed, "Gone", "stopped at its run limit, and its pods are removed"},
    Edge{Stopping, Succeeded, "Finished", "it ended well by itself before it was stopped"},
};

constexpr std::size_t index(JobState state) { return static_cast<std::size_t>(state); }

/// Bit t of word f: the edge f -> t exists.
constexpr auto reach = [] {
  std::array<std::uint8_t, states.size()> bits{};
  for (const Edge& edge : edge_table) {
    bits[index(edge.from)] =
        static_cast<std::uint8_t>(bits[index(edge.from)] | 1u << index(edge.to));
  }
  return bits;
}();

}  // namespace

std::span<const Edge> edges() { return edge_table; }

bool is_legal(JobState from, JobState to) { return ((reach[index(from)] >> index(to)) & 1u) != 0; }

bool is_final(JobState state) { return reach[index(state)] == 0; }

bool is_active(JobState state) {
  return state == Starting || state == Running || state == Stopping;
}

std::string_view to_text(JobState state) {
  constexpr std::array<std::string_view, states.size()> names = {
      "Held", "Waiting", "Starting", "Running", "Stopping", "Succeeded", "Failed", "Cancelled"};
  return names[index(state)];
}

std::span<const JobState> all_states() { return states; }

}  // namespace muster::model
