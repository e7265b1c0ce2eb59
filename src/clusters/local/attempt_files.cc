#include "clusters/local/attempt_files.h"

#include <array>
#include <cstdio>
#include <limits>

#include "base/text.h"
#include "clusters/fields.h"
#include "clusters/files.h"

namespace muster::clusters {
namespace {

constexpr std::array<std::string_view, 2> phases = {"running", "over"};
constexpr std::array<std::string_view, 5> outcomes = {"none", "succeeded", "failed", "start_failed",
                                                      "removed"};

/// Takes the value of a field into `out`; says whether it could.
bool take(const std::string& value, std::string& out) {
  out = value;
  return true;
}
template <typename Number>
bool take_number(const std::string& value, Number& out) {
  const auto number =
      parse_int(value, "", static_cast<std::int64_t>(std::numeric_limits<Number>::min()),
                static_cast<std::int64_t>(std::numeric_limits<Number>::max()));
  if (!number) return false;
  out = static_cast<Number>(*number);
  return true;
}
template <typename Enum, std::size_t N>
bool take_word(const std::string& value, const std::array<std::string_view, N>& words, Enum& out) {
  for (std::size_t i = 0; i < N; ++i) {
    if (words[i] != value) continue;
    out = static_cast<Enum>(i);
    return true;
  }
  return false;
}

bool take_environment(const std::string& value, model::Environment& out) {
  const auto equals = value.find('=');
  if (equals == std::string::npos || equals == 0) return false;
  out[value.substr(0, equals)] = value.substr(equals + 1);
  return true;
}

bool take_pod_field(const Field& field, std::vector<PodSpec>& pods) {
  const auto& [key, value] = field;
  if (key == "pod") {
    pods.emplace_back();
    return take(value, pods.back().set);
  }
  if (pods.empty()) return false;
  PodSpec& pod = pods.back();
  if (key == "index") return take_number(value, pod.index);
  if (key == "arg") {
    pod.argv.push_back(value);
    return true;
  }
  if (key == "env") return take_environment(value, pod.environment);
  if (key == "cpu_milli") return take_number(value, pod.cpu.v);
  if (key == "memory_bytes") return take_number(value, pod.memory.v);
  return false;
}

bool take_file_field(const Field& field, std::vector<model::CommandFile>& files) {
  const auto& [key, value] = field;
  if (key == "file" || key == "executable") {
    files.push_back({value, "", key == "executable"});
    return true;
  }
  return key == "content" && !files.empty() && take(value, files.back().content);
}

bool take_spec_field(const Field& field, AttemptSpec& spec) {
  const auto& [key, value] = field;
  if (key == "job") return take(value, spec.job);
  if (key == "attempt") return take_number(value, spec.attempt);
  if (key == "boot") return take(value, spec.boot);
  if (key == "working_dir") return take(value, spec.working_dir);
  if (key == "cgroup") return take(value, spec.cgroup.unified);
  if (key == "cgroup_cpu") return take(value, spec.cgroup.cpu);
  if (key == "cgroup_memory") return take(value, spec.cgroup.memory);
  if (key == "grace_ms") return take_number(value, spec.grace.ms);
  if (key == "output_most") return take_number(value, spec.output_most);
  if (key == "descriptors") return take_number(value, spec.descriptors);
  return take_file_field(field, spec.files) || take_pod_field(field, spec.pods);
}

bool take_pod_state_field(const Field& field, std::vector<PodState>& pods) {
  const auto& [key, value] = field;
  if (key == "pod") {
    pods.emplace_back();
    return take_number(value, pods.back().pid);
  }
  if (pods.empty()) return false;
  PodState& pod = pods.back();
  if (key == "start_ticks") return take_number(value, pod.start_ticks);
  if (key == "pod_exit_code") return take_number(value, pod.exit_code);
  if (key == "signal") return take_number(value, pod.signal);
  return key == "limits" && take(value, pod.limits);
}

bool take_state_field(const Field& field, AttemptState& state) {
  const auto& [key, value] = field;
  if (key == "phase") return take_word(value, phases, state.phase);
  if (key == "outcome") return take_word(value, outcomes, state.outcome);
  if (key == "exit_code") return take_number(value, state.exit_code);
  if (key == "reason") return take(value, state.reason);
  if (key == "supervisor") return take_number(value, state.supervisor_pid);
  if (key == "started_ms") return take_number(value, state.started.ms);
  if (key == "ended_ms") return take_number(value, state.ended.ms);
  return take_pod_state_field(field, state.pods);
}

template <typename Value, typename Take>
Result<Value> parse(std::string_view text, Take take_field) {
  const auto fields = parse_fields(text);
  if (!fields) return fields.error();
  Value value;
  for (const Field& field : *fields) {
    if (!take_field(field, value))
      return invalid(fmt::format("{} may not be '{}' here", field.key, field.value.substr(0, 40)));
  }
  return value;
}

}  // namespace

std::string to_text(const AttemptSpec& spec) {
  FieldWriter writer;
  writer.add("job", spec.job).add("attempt", spec.attempt).add("boot", spec.boot);
  writer.add("working_dir", spec.working_dir).add("cgroup", spec.cgroup.unified);
  writer.add("cgroup_cpu", spec.cgroup.cpu).add("cgroup_memory", spec.cgroup.memory);
  writer.add("grace_ms", spec.grace.ms).add("output_most", spec.output_most);
  writer.add("descriptors", spec.descriptors);
  for (const model::CommandFile& file : spec.files)
    writer.add(file.executable ? "executable" : "file", file.path).add("content", file.content);
  for (const PodSpec& pod : spec.pods) {
    writer.add("pod", pod.set).add("index", pod.index);
    writer.add("cpu_milli", pod.cpu.v).add("memory_bytes", pod.memory.v);
    for (const std::string& arg : pod.argv) writer.add("arg", arg);
    for (const auto& [name, value] : pod.environment) writer.add("env", name + "=" + value);
  }
  return writer.text();
}

std::string to_text(const AttemptState& state) {
  FieldWriter writer;
  writer.add("phase", phases[static_cast<std::size_t>(state.phase)]);
  writer.add("outcome", outcomes[static_cast<std::size_t>(state.outcome)]);
  writer.add("exit_code", state.exit_code).add("reason", state.reason);
  writer.add("supervisor", state.supervisor_pid);
  writer.add("started_ms", state.started.ms).add("ended_ms", state.ended.ms);
  for (const PodState& pod : state.pods) {
    writer.add("pod", pod.pid).add("start_ticks", pod.start_ticks);
    writer.add("pod_exit_code", pod.exit_code).add("signal", pod.signal);
    writer.add("limits", pod.limits);
  }
  return writer.text();
}

Result<AttemptSpec> parse_spec(std::string_view text) {
  return parse<AttemptSpec>(text, take_spec_field);
}

Result<AttemptState> parse_state(std::string_view text) {
  return parse<AttemptState>(text, take_state_field);
}

Result<AttemptSpec> read_spec(const std::string& dir) {
  const auto text = read_file(dir + "/spec");
  return text ? parse_spec(*text) : text.error();
}

Result<AttemptState> read_state(const std::string& dir) {
  const auto text = read_file(dir + "/state");
  return text ? parse_state(*text) : text.error();
}

Status write_state(const std::string& dir, const AttemptState& state) {
  // Of what ran before a loss of power nothing is left to be known but how it ended.
  const auto replace = state.phase == Phase::Over ? replace_file : replace_file_unsynced;
  return replace(dir + "/state", to_text(state));
}

bool claim(const std::string& dir) {
  return std::rename((dir + "/unclaimed").c_str(), (dir + "/claimed").c_str()) == 0;
}

std::string pod_dir(const std::string& dir, std::size_t rank) {
  return fmt::format("{}/pods/{}", dir, rank);
}

std::string output_path(const std::string& dir, std::size_t rank) {
  return fmt::format("{}/pods/{}.log", dir, rank);
}

std::string pod_name(const PodSpec& pod) { return fmt::format("{}-{}", pod.set, pod.index); }

}  // namespace muster::clusters
