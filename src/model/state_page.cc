#include "model/state_page.h"

#include <fmt/format.h>

#include "model/state.h"

namespace muster::model {
namespace {

/// The events that lead from one state to the other, in the order of the table.
std::string events_between(JobState from, JobState to) {
  std::string events;
  for (const Edge& edge : edges()) {
    if (edge.from != from || edge.to != to) continue;
    events += fmt::format("{}{}", events.empty() ? "" : " / ", edge.when);
  }
  return events;
}

std::string diagram() {
  std::string out = "```mermaid\nstateDiagram-v2\n";
  out += "  [*] --> Waiting: JobSubmitted\n  [*] --> Held: JobSubmitted, held\n";
  for (const JobState from : all_states()) {
    for (const JobState to : all_states()) {
      if (!is_legal(from, to)) continue;
      out += fmt::format("  {} --> {}: {}\n", to_text(from), to_text(to), events_between(from, to));
    }
    if (is_final(from)) out += fmt::format("  {} --> [*]\n", to_text(from));
  }
  return out + "```\n";
}

}  // namespace

std::string states_page() {
  std::string out =
      "# The states of a job\n\n"
      "<!-- Made by tools/states_page.cc from the table in src/model/state.cc: change it there. "
      "-->\n\n"
      "A job is in exactly one state and takes only these edges. A submitted job begins in\n"
      "Waiting, or in Held if it was submitted so.\n\n";
  out += diagram();
  out += "\n| state | holds nodes and quota | final |\n|---|---|---|\n";
  for (const JobState state : all_states()) {
    out += fmt::format("| {} | {} | {} |\n", to_text(state), is_active(state) ? "yes" : "no",
                       is_final(state) ? "yes" : "no");
  }
  out += "\n| from | to | event | what it means |\n|---|---|---|---|\n";
  for (const Edge& edge : edges()) {
    out += fmt::format("| {} | {} | {} | {} |\n", to_text(edge.from), to_text(edge.to), edge.when,
                       edge.why);
  }
  return out;
}

}  // namespace muster::model
