// `muster exec`: a command in a pod of a running job, as if it ran here.
#include <fmt/format.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "cli/cli.h"
#include "cli/jobs.h"
#include "net/channels.h"

namespace muster::cli {
namespace {

using net::Channel;

constexpr std::string_view protocol = "v1.exec.muster.dev";
constexpr std::size_t messages_most = 256;     // that wait to be written here
constexpr std::size_t pending_most = 1 << 20;  // bytes of input on their way
constexpr std::chrono::milliseconds pause{100};

struct Options {
  std::string job;
  int pod = 0;
  bool input = false;
  bool terminal = false;
  std::vector<std::string> words;
};

/// What the I/O thread of the socket hands to the command. Bounded: it waits when what it brings
/// cannot be written here as fast, which slows the sender down.
struct Arrived {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::string> messages;  // guarded by mutex, as all that follows
  std::optional<Error> problem;      // it never was, or broke
  bool has_closed = false;
  bool has_left = false;  // the command takes no more

  void put(std::string_view message) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return has_left || messages.size() < messages_most; });
    messages.emplace_back(message);
    changed.notify_all();
  }
  void close(std::optional<Error> why) {
    const std::lock_guard lock(mutex);
    has_closed = true;
    problem = std::move(why);
    changed.notify_all();
  }
  bool is_over() {
    const std::lock_guard lock(mutex);
    return has_closed || has_left;
  }
  void leave() {
    const std::lock_guard lock(mutex);
    has_left = true;
    changed.notify_all();
  }
};

/// Sends the standard input until it ends, or the command does.
void send_input(const Host& host, Arrived& arrived, const net::WebSocket& socket) {
  while (!arrived.is_over()) {
    const auto bytes = host.read_input(Duration{pause.count()});
    if (!bytes) {
      socket.send(net::close_message(Channel::Stdin));
      return;
    }
    if (!bytes->empty()) socket.send(net::channel_message(Channel::Stdin, *bytes));
    std::unique_lock lock(arrived.mutex);
    while (!arrived.has_closed && !arrived.has_left && socket.pending_bytes() > pending_most)
      arrived.changed.wait_for(lock, pause);  // on_drained notifies
  }
}

/// The command while it runs: writes what comes, tells the window's size, watches for Ctrl-C.
class Running {
 public:
  Running(const Host& host, Arrived& arrived, const net::WebSocket& socket, bool has_terminal)
      : host_(host), arrived_(arrived), socket_(socket), has_terminal_(has_terminal) {}

  Result<int> wait() {
    while (true) {
      tell_size();
      std::deque<std::string> messages;
      bool has_closed = false;
      std::optional<Error> problem;
      {
        std::unique_lock lock(arrived_.mutex);
        arrived_.changed.wait_for(
            lock, pause, [&] { return arrived_.has_closed || !arrived_.messages.empty(); });
        messages.swap(arrived_.messages);
        has_closed = arrived_.has_closed;
        problem = arrived_.problem;
        arrived_.changed.notify_all();
      }
      for (const std::string& message : messages) take(message);
      if (end_) return *end_;
      if (has_closed) {
        return problem ? *problem
                       : Error{Fault::Unavailable,
                               "the server ended the connection before the "
                               "command ended"};
      }
      if (host_.interrupts() > 0) return exit_interrupted;
    }
  }

 private:
  void tell_size() {
    if (!has_terminal_) return;
    const std::pair size{host_.columns(), host_.rows()};
    if (size == told_ || size.first <= 0 || size.second <= 0) return;
    told_ = size;
    socket_.send(net::resize_message(size.first, size.second));
  }

  void take(std::string_view message) {
    if (message.empty()) return;
    const std::string_view bytes = message.substr(1);
    switch (static_cast<Channel>(static_cast<unsigned char>(message[0]))) {
      case Channel::Stdout:
        return host_.out(bytes);
      case Channel::Stderr:
        return host_.err(bytes);
      case Channel::Error: {
        const auto end = parse_json(bytes);
        const auto code = end ? number(*end, "exit_code") : std::nullopt;
        if (code) {
          end_ = static_cast<int>(*code);
        } else {
          const std::string why = end ? text(*end, "error") : std::string(bytes);
          end_ = Error{Fault::Conflict, why.empty() ? "the command has no exit code" : why};
        }
        return;
      }
      case Channel::Stdin:
      case Channel::Resize:
      case Channel::Close:
        return;
    }
  }

  const Host& host_;
  Arrived& arrived_;
  const net::WebSocket& socket_;
  const bool has_terminal_;
  std::pair<int, int> told_{0, 0};
  std::optional<Result<int>> end_;
};

Result<int> exec(Session& session, const Options& options) {
  if (session.is_data()) return invalid("-o: the output is that of the command; drop it");
  const Host& host = session.host();
  const auto api = session.api();
  if (!api) return api.error();
  const auto job = find_job(**api, options.job);
  if (!job) return job.error();
  Ask ask{.path = job_path(*job) + "/exec"};
  ask.query.emplace_back("pod", std::to_string(options.pod));
  if (options.input) ask.query.emplace_back("input", "true");
  if (options.terminal) ask.query.emplace_back("terminal", "true");
  for (const std::string& word : options.words) ask.query.emplace_back("command", word);
  host.interrupts();  // from now on Ctrl-C ends it in order
  Arrived arrived;
  net::WebSocketCallbacks on;
  on.on_message = [&](std::string_view message, bool) { arrived.put(message); };
  on.on_drained = [&] { arrived.changed.notify_all(); };
  on.on_close = [&](const Result<net::WebSocketClose>& how, const net::Response& refusal) {
    arrived.close(how ? std::nullopt
                      : std::optional<Error>((*api)->socket_error(how.error(), refusal)));
  };
  const auto opened =
      (*api)->open_socket(ask, {.protocols = {std::string(protocol)}}, std::move(on));
  if (!opened) return opened.error();
  const bool is_raw = options.terminal && options.input && host.in_is_terminal;
  std::shared_ptr<void> raw = is_raw ? host.raw_terminal() : nullptr;
  std::thread input;
  if (options.input) input = std::thread([&] { send_input(host, arrived, opened->socket); });
  const Result<int> end = Running(host, arrived, opened->socket, options.terminal).wait();
  arrived.leave();
  opened->call.cancel();
  if (input.joinable()) input.join();
  return end;
}

}  // namespace

void add_exec(CLI::App& app, const SharedHost& host) {
  CLI::App* command =
      add_command(app, "exec", "Run a command in a pod of a running job, end with its exit code");
  command->footer(
      "Exit codes: that of the command; 130 when interrupted; 1 refused, 2 wrong use, 3 no "
      "server.\n\n"
      "Examples:\n"
      "  muster exec train -- nvidia-smi\n"
      "  muster exec -it train --pod 3 -- bash");
  const auto options = std::make_shared<Options>();
  add_option(*command, "JOB", options->job, "id, the beginning of one, or a name (the newest)")
      ->required();
  add_option(*command, "--pod", options->pod, "rank of the pod in its gang")
      ->check(CLI::Range(0, 1'000'000));
  add_flag(*command, "-i,--input", options->input, "pass on the standard input");
  add_flag(*command, "-t,--terminal", options->terminal, "give the command a terminal");
  add_words(*command, options->words, "what to run, after --")->required();
  set_body(*command, host, [options](Session& session) { return exec(session, *options); });
}

}  // namespace muster::cli
