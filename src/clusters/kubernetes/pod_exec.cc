#include "clusters/kubernetes/pod_exec.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "kube/exec.h"

namespace muster::clusters {
namespace {

constexpr std::string_view end_of_transmission = "\x04";  // what Ctrl-D types

class Session : public ports::PodCommandSession {
 public:
  Session(kube::ExecSession session, bool has_terminal)
      : session_(std::move(session)), has_terminal_(has_terminal) {}
  void write(std::string_view bytes) override { session_.write(bytes); }
  /// The end of a terminal's input is typed; closing its stream takes the output with it.
  void end_input() override {
    if (has_terminal_) return write(end_of_transmission);
    if (!session_.close_stdin()) session_.cancel();  // an old server: the command would wait
  }
  void resize(int columns, int rows) override { session_.resize(columns, rows); }
  void cancel() override { session_.cancel(); }
  std::size_t pending_bytes() const override { return session_.pending_bytes(); }
  void hold_output(bool is_held) override { session_.hold_output(is_held); }

 private:
  kube::ExecSession session_;
  const bool has_terminal_;
};

}  // namespace

Result<PodSight> numbered_pod(const std::vector<PodSight>& pods, std::uint32_t number) {
  const bool is_list =
      std::any_of(pods.begin(), pods.end(), [](const PodSight& pod) { return pod.is_listed; });
  std::vector<PodSight> known = pods;
  if (is_list) std::erase_if(known, [](const PodSight& pod) { return !pod.is_live(); });
  std::sort(known.begin(), known.end(), [&](const PodSight& a, const PodSight& b) {
    if (!is_list) return std::tie(a.output.rank, a.name) < std::tie(b.output.rank, b.name);
    return std::tie(b.leads, a.name) < std::tie(a.leads, b.name);
  });
  for (const PodSight& pod : known) {
    if (pod.output.rank == number) return pod;
  }
  if (is_list && number < known.size()) return known[number];
  std::string others;
  for (std::size_t i = 0; i < known.size(); ++i) {
    others += fmt::format("{}{} ({})", others.empty() ? "" : ", ",
                          is_list ? i : known[i].output.rank, known[i].name);
  }
  return Error{Fault::NotFound,
               others.empty() ? std::string("it has no pod in the cluster yet")
                              : fmt::format("it has no pod {}; there are {}", number, others)};
}

Result<std::shared_ptr<ports::PodCommandSession>> exec_in_pod(
    kube::Client& client, const std::vector<PodSight>& pods, const ports::PodCommand& command,
    ports::PodCommandCallbacks callbacks) {
  const auto pod = numbered_pod(pods, command.pod);
  if (!pod) return pod.error();
  if (!pod->output.has_begun || pod->output.has_ended) {
    return Error{Fault::Conflict, fmt::format("pod {} does not run: {}", pod->name,
                                              pod->why.empty() ? pod->phase : pod->why)};
  }
  kube::ExecCallbacks on;
  on.on_stdout = std::move(callbacks.on_output);
  on.on_stderr = std::move(callbacks.on_errors);
  on.on_drained = std::move(callbacks.on_drained);
  on.on_exit = [on_exit = std::move(callbacks.on_exit)](const kube::Reply<int>& code) {
    if (!on_exit) return;
    if (code) return on_exit(*code);
    on_exit(Error{code.error().fault(), code.error().message});
  };
  return std::shared_ptr<ports::PodCommandSession>(
      std::make_shared<Session>(kube::exec_later(client,
                                                 {.ns = pod->ns,
                                                  .pod = pod->name,
                                                  .container = pod->output.container,
                                                  .command = command.words,
                                                  .has_stdin = command.has_input,
                                                  .has_tty = command.has_terminal},
                                                 std::move(on)),
                                command.has_terminal));
}

}  // namespace muster::clusters
