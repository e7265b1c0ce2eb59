// What `muster wait` shows on a terminal while it waits, and how long it bears a server's absence.
#include <gtest/gtest.h>

#include <optional>

#include "cli/progress_line.h"
#include "cli/testing/scripted.h"

namespace muster::cli::testing {
namespace {

/// A wait of five seconds for a job that runs on; the clock is that of its sleeps.
Outcome waited(bool on_a_terminal) {
  const ScriptedServer server(recorded_script());
  Outcome outcome;
  Host host = quiet_host(outcome, server.url());
  Time now = host.now();
  host.now = [&now] { return now; };
  host.sleep = [&now](Duration d) { now = now + d; };
  host.err_is_terminal = on_a_terminal;
  run_command(host, outcome, {"wait", "train", "--timeout", "5s"});
  return outcome;
}

TEST(Wait, a_terminal_shows_what_is_waited_for_and_nothing_of_it_stays) {
  const Outcome outcome = waited(true);
  EXPECT_EQ(outcome.code, 124);
  EXPECT_NE(outcome.err.find("\r01j9zq4k7m train: running for 50m"), std::string::npos)
      << outcome.err;
  const std::string last = " \rmuster: job 01j9zq4k7m is still running\n";
  EXPECT_TRUE(outcome.err.ends_with(last)) << outcome.err;
}

TEST(Wait, no_terminal_sees_no_progress) {
  EXPECT_EQ(waited(false).err, "muster: job 01j9zq4k7m is still running\n");
}

TEST(Wait, a_server_that_goes_away_is_borne_for_a_minute) {
  std::optional<ScriptedServer> server(recorded_script());
  Outcome outcome;
  Host host = quiet_host(outcome, server->url());
  const Time start = host.now();
  Time now = start;
  host.now = [&now] { return now; };
  host.sleep = [&](Duration d) {
    server.reset();
    now = now + d;
  };
  run_command(host, outcome, {"wait", "train"});
  EXPECT_NE(outcome.code, 0);
  EXPECT_GE(now - start, seconds(60));
  EXPECT_LT(now - start, seconds(65));
  EXPECT_NE(outcome.err.find("muster: "), std::string::npos) << outcome.err;
}

TEST(ProgressLine, is_cut_to_the_terminal_between_characters) {
  Outcome outcome;
  Host host = quiet_host(outcome, "");
  host.err_is_terminal = true;
  host.columns = [] { return 6; };
  {
    ProgressLine line(host);
    line.show("abcdé and more");
    line.show("xy");
  }
  EXPECT_EQ(outcome.err, "\r\rabcd\r    \rxy\r  \r");
}

}  // namespace
}  // namespace muster::cli::testing
