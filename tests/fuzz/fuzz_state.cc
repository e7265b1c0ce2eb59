// Walks of a job over the table of states: each byte is an event, taken if the table has an edge
// for it. Whatever the order, only legal edges are taken, nodes are taken once and given back, an
// attempt begins with a placement, and nothing leaves a final state.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "model/state.h"
#include "tests/fuzz/input.h"

namespace {

using muster::model::Edge;
using muster::model::JobState;

/// The edges that `event` can take from `state`.
std::vector<Edge> ways(JobState state, std::string_view event) {
  std::vector<Edge> found;
  for (const Edge& edge : muster::model::edges()) {
    if (edge.from == state && edge.when == event) found.push_back(edge);
  }
  return found;
}

std::vector<std::string_view> event_names() {
  std::vector<std::string_view> names;
  for (const Edge& edge : muster::model::edges()) names.push_back(edge.when);
  return names;
}

struct Walk {
  JobState state = JobState::Waiting;
  bool has_nodes = false;

  void take(const Edge& edge) {
    MUSTER_CHECK(edge.from == state && muster::model::is_legal(state, edge.to), "{} to {}",
                 to_text(state), to_text(edge.to));
    MUSTER_CHECK(!muster::model::is_final(state), "{} left {}", edge.when, to_text(state));
    if (edge.when == "Placed") {
      MUSTER_CHECK(!has_nodes, "placed twice");
      has_nodes = true;
    }
    if (!muster::model::is_active(edge.to)) has_nodes = false;
    state = edge.to;
    MUSTER_CHECK(has_nodes == muster::model::is_active(state), "{} by {}", to_text(state),
                 edge.when);
  }
};

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::vector<std::string_view> names = event_names();
  muster::fuzz::Bytes bytes(data, size);
  Walk walk;
  if (muster::fuzz::take(bytes) % 2 == 1) walk.state = JobState::Held;
  for (const std::size_t byte : bytes) {
    const std::vector<Edge> open = ways(walk.state, names[byte % names.size()]);
    MUSTER_CHECK(open.empty() || !muster::model::is_final(walk.state), "{} is not final",
                 to_text(walk.state));
    if (!open.empty()) walk.take(open[byte / names.size() % open.size()]);
  }
  return 0;
}
