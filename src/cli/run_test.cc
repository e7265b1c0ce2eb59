// `muster run`, `wait` and `submit` where output alone does not tell whether they are right.
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "cli/testing/scripted.h"

namespace muster::cli::testing {
namespace {

json::value with(const json::array& first) {
  json::array script = first;
  const json::value rest = recorded_script();
  script.insert(script.end(), rest.as_array().begin(), rest.as_array().end());
  return script;
}

/// The one that is submitted by the script.
json::value recorded_job() {
  const json::value script = recorded_script();
  for (const json::value& exchange : script.as_array()) {
    if (text(exchange, "ask") == "GET /jobs/01j9zp11aa") return field(exchange, "body");
  }
  return {};
}

TEST(Run, passes_on_output_to_the_byte_and_ends_with_the_code_of_the_job) {
  const ScriptedServer server(recorded_script());
  const Outcome outcome =
      run_command(server.url(), {"run", "--", "sh", "-c", "echo hello; exit 3"});
  EXPECT_EQ(outcome.out, "hello\nbye");
  EXPECT_EQ(outcome.err, "no data\n");
  EXPECT_EQ(outcome.code, 3);
  const auto seen = server.seen();
  ASSERT_FALSE(seen.empty());
  EXPECT_EQ(seen[0].body, R"({"command":["sh","-c","echo hello; exit 3"]})");
  EXPECT_NE(seen[0].headers.get("Idempotency-Key"), "");
}

TEST(Run, says_why_a_job_failed_when_its_code_does_not) {
  json::value job = recorded_job();
  job.as_object()["reason"] = "main-0: there is no program /no/such";
  const ScriptedServer server(with({json::object{{"ask", "GET /jobs/01j9zp11aa"}, {"body", job}}}));
  EXPECT_EQ(run_command(server.url(), {"run", "--", "/no/such"}).err,
            "no data\nmuster: job 01j9zp11aa failed: main-0: there is no program /no/such\n");
}

TEST(Run, words_are_passed_on_as_they_are) {
  const ScriptedServer server(recorded_script());
  run_command(server.url(), {"run", "--", "list", "--help", "[a,b]", "", "--", "x y"});
  EXPECT_EQ(server.seen()[0].body, R"({"command":["list","--help","[a,b]","","--","x y"]})");
}

TEST(Run, the_code_comes_from_the_events_if_the_job_does_not_carry_it) {
  json::value job = recorded_job();
  job.as_object()["exit_code"] = nullptr;
  const ScriptedServer server(with({json::object{{"ask", "GET /jobs/01j9zp11aa"}, {"body", job}}}));
  EXPECT_EQ(run_command(server.url(), {"run", "--", "false"}).code, 3);
}

TEST(Run, a_job_that_was_cancelled_has_no_code_of_its_own) {
  json::value job = recorded_job();
  job.as_object()["state"] = "Cancelled";
  job.as_object()["exit_code"] = nullptr;
  const ScriptedServer server(with({json::object{{"ask", "GET /jobs/01j9zp11aa"}, {"body", job}}}));
  EXPECT_EQ(run_command(server.url(), {"run", "--", "false"}).code, exit_no_code);
}

TEST(Run, an_interrupt_without_a_terminal_cancels) {
  const ScriptedServer server(with(
      {json::object{{"ask", "GET /jobs/01j9zp11aa/logs?follow=true"}, {"events", json::array()}}}));
  Outcome outcome;
  Host host = quiet_host(outcome, server.url());
  host.interrupts = [count = 0]() mutable { return count++ > 0 ? 1 : 0; };
  run_command(host, outcome, {"run", "--", "sleep", "100"});
  EXPECT_EQ(outcome.code, exit_interrupted);
  bool cancelled = false;
  for (const Seen& seen : server.seen()) cancelled |= seen.target == "POST /jobs/01j9zp11aa/cancel";
  EXPECT_TRUE(cancelled);
}

TEST(Run, an_interrupt_on_a_terminal_asks_first) {
  const ScriptedServer server(with(
      {json::object{{"ask", "GET /jobs/01j9zp11aa/logs?follow=true"}, {"events", json::array()}}}));
  Outcome outcome;
  Host host = quiet_host(outcome, server.url());
  host.in_is_terminal = true;
  host.interrupts = [count = 0]() mutable { return count++ > 0 ? 1 : 0; };
  run_command(host, outcome, {"run", "--", "sleep", "100"});
  EXPECT_NE(outcome.err.find("press Ctrl-C again to cancel job 01j9zp11aa"), std::string::npos);
  for (const Seen& seen : server.seen()) EXPECT_NE(seen.target, "POST /jobs/01j9zp11aa/cancel");
}

TEST(Submit, a_server_that_is_busy_is_asked_again_under_the_same_key) {
  const ScriptedServer server(with({json::object{
      {"ask", "POST /jobs"},
      {"status", 429},
      {"body", json::object{{"error", json::object{{"code", "too_busy"},
                                                   {"message", "too much waits already"},
                                                   {"request_id", "r-1"}}}}}}}));
  const Outcome outcome = run_command(server.url(), {"submit", "--", "true"});
  EXPECT_EQ(outcome.code, exit_unavailable);
  EXPECT_EQ(outcome.err, "muster: too much waits already\n");
  const auto seen = server.seen();
  ASSERT_EQ(seen.size(), 10u);
  for (const Seen& again : seen)
    EXPECT_EQ(again.headers.get("Idempotency-Key"), seen[0].headers.get("Idempotency-Key"));
}

TEST(Submit, a_large_file_goes_in_parts_and_dependencies_become_ids) {
  const ScriptedServer server(
      with({json::object{{"ask", "POST /jobs"},
                         {"status", 201},
                         {"body", json::object{{"ids", json::array{"id-1", "id-2"}}}}}}));
  const std::string path = ::testing::TempDir() + "muster-large.yaml";
  std::ofstream(path) << "jobs:\n"
                         "- {name: a, command: 'true'}\n"
                         "- {name: b, command: 'true'}\n"
                         "- {name: c, command: 'true', depends_on: a}\n"
                         "- {name: d, command: 'true', depends_on: [a, b]}\n";
  const Outcome outcome = run_command(server.url(), {"submit", "-f", path});
  std::filesystem::remove(path);
  EXPECT_EQ(outcome.err, "4 jobs submitted\n");
  const auto seen = server.seen();
  ASSERT_EQ(seen.size(), 3u);  // /info and two parts
  const auto second = parse_json(seen[2].body);
  const json::array& jobs = list(*second, "jobs");
  ASSERT_EQ(jobs.size(), 2u);
  EXPECT_EQ(text(jobs[0], "name"), "c");
  EXPECT_NE(json::serialize(field(jobs[1], "depends_on")).find("id-2"), std::string::npos);
  EXPECT_NE(seen[1].headers.get("Idempotency-Key"), seen[2].headers.get("Idempotency-Key"));
}

TEST(NoServer, is_one_line_with_the_fix) {
  std::string url;
  {
    const ScriptedServer gone(json::array{});
    url = gone.url();
  }
  const Outcome outcome = run_command(url, {"list"});
  EXPECT_EQ(outcome.code, exit_unavailable);
  EXPECT_EQ(outcome.err,
            "muster: cannot reach http://SERVER; is the server running? start it with `muster "
            "serve`, or name another with --url\n");
}

TEST(NoServer, something_else_that_answers_is_told_apart) {
  const ScriptedServer server(
      json::array{json::object{{"ask", "GET /jobs"}, {"status", 502}, {"body", "bad gateway"}}});
  const Outcome outcome = run_command(server.url(), {"list"});
  EXPECT_EQ(outcome.code, exit_unavailable);
  EXPECT_EQ(outcome.err,
            "muster: http://SERVER answered 502 Bad Gateway; is that a Muster server?\n");
}

TEST(Color, is_for_terminals_and_honours_no_color) {
  const ScriptedServer server(recorded_script());
  for (const bool no_color : {false, true}) {
    Outcome outcome;
    Host host = quiet_host(outcome, server.url());
    host.out_is_terminal = true;
    host.variable = [&](const std::string& name) -> std::string {
      if (name == "MUSTER_URL") return server.url();
      return name == "NO_COLOR" && no_color ? "1" : "";
    };
    run_command(host, outcome, {"list"});
    EXPECT_EQ(outcome.out.find('\x1b') == std::string::npos, no_color) << outcome.out;
  }
}

}  // namespace
}  // namespace muster::cli::testing
