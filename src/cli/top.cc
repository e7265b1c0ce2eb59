// `muster top`: the fleet on one screen, looked at again every few seconds.
#include <fmt/format.h>
#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>

#include "cli/cli.h"
#include "cli/top_screen.h"

namespace muster::cli {
namespace {

/// The terminal's other screen without echo, for as long as this lives.
class FullScreen {
 public:
  explicit FullScreen(const Host& host) : host_(host) {
    tcgetattr(STDIN_FILENO, &before_);
    termios raw = before_;
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    host_.out("\x1b[?1049h\x1b[?25l");
  }
  ~FullScreen() {
    host_.out("\x1b[?25h\x1b[?1049l");
    tcsetattr(STDIN_FILENO, TCSANOW, &before_);
  }
  FullScreen(const FullScreen&) = delete;
  FullScreen& operator=(const FullScreen&) = delete;

  /// The key pressed within that time; 0: none, also when the window changed its size.
  static char key(Duration wait) {
    pollfd in{STDIN_FILENO, POLLIN, 0};
    char c = 0;
    if (poll(&in, 1, static_cast<int>(wait.ms)) > 0 && read(STDIN_FILENO, &c, 1) != 1) c = 'q';
    return c;
  }

 private:
  const Host& host_;
  termios before_ = {};
};

Result<TopView> look(Api& api) {
  TopView view;
  view.url = api.url();
  const auto clusters = api.get("/clusters");
  if (!clusters) return clusters.error();
  const auto queues = api.get("/queues");
  if (!queues) return queues.error();
  const auto active = api.get("/jobs", {{"state", "Starting,Running,Stopping"}, {"limit", "200"}});
  if (!active) return active.error();
  const auto waiting = api.get("/jobs", {{"state", "Waiting,Held"}, {"limit", "100"}});
  if (!waiting) return waiting.error();
  view.clusters = list(*clusters, "clusters");
  view.queues = list(*queues, "queues");
  view.jobs = list(*active, "jobs");
  const json::array& more = list(*waiting, "jobs");
  view.jobs.insert(view.jobs.end(), more.begin(), more.end());
  view.more = !text(*active, "next").empty();
  return view;
}

struct Options {
  bool once = false;
  std::string interval = "2s";
};

Result<int> live(Session& session, Api& api, TopView view, Duration interval) {
  const Host& host = session.host();
  host.interrupts();  // Ctrl-C puts the terminal back before it ends
  const FullScreen full(host);
  Time looked = host.now();
  while (host.interrupts() == 0) {
    const Screen screen{std::max(20, host.columns()), std::max(5, host.rows() - 1),
                        session.color()};
    // From the top, each line cleared to its end, and what is below: no flicker.
    std::string drawn = "\x1b[H";
    for (const char c : top_screen(view, screen, host.now()))
      drawn += c == '\n' ? "\x1b[K\r\n" : std::string(1, c);
    host.out(drawn + "\x1b[J");
    const char key = FullScreen::key(std::min(interval, milliseconds(500)));
    if (key == 'q' || key == 'Q') break;
    if (host.now() < looked + interval && key == 0) continue;
    looked = host.now();
    auto fresh = look(api);
    if (fresh) {
      view = std::move(*fresh);
    } else {
      view.trouble = fresh.error().message;
    }
  }
  return exit_done;
}

Result<int> top(Session& session, const Options& options) {
  const auto interval = parse_duration(options.interval, "--interval");
  if (!interval) return interval.error();
  if (interval->ms < 100) return invalid("--interval: at least 100ms");
  const auto api = session.api();
  if (!api) return api.error();
  auto view = look(**api);
  if (!view) return view.error();
  if (session.is_data()) {
    session.print_data(
        json::object{{"clusters", view->clusters}, {"queues", view->queues}, {"jobs", view->jobs}});
    return exit_done;
  }
  const Host& host = session.host();
  if (!options.once && host.out_is_terminal && host.in_is_terminal)
    return live(session, **api, std::move(*view), *interval);
  const int columns = host.out_is_terminal ? host.columns() : 0;
  session.out(top_screen(*view, {columns, 1'000'000, session.color()}, host.now()));
  return exit_done;
}

}  // namespace

void add_top(CLI::App& app, const SharedHost& host) {
  CLI::App* command = add_command(app, "top", "Watch clusters, queues and jobs; q quits");
  const auto options = std::make_shared<Options>();
  add_flag(*command, "--once", options->once, "print the screen once and end");
  add_option(*command, "--interval", options->interval, "look again after so long")
      ->capture_default_str();
  set_body(*command, host, [options](Session& session) { return top(session, *options); });
}

}  // namespace muster::cli
