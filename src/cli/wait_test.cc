// What `muster wait` shows on a terminal while it waits.
#include <gtest/gtest.h>

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
