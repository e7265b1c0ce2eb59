// Whole commands against recorded answers: tests/cli/*.golden hold command lines and what they
// write. MUSTER_REWRITE=1 writes the files again from what the commands do now.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "base/text.h"
#include "cli/testing/openapi.h"
#include "cli/testing/scripted.h"

namespace muster::cli::testing {
namespace {

std::string read(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

/// "$ muster list", what it writes, what it writes on the standard error behind "! ", and how it
/// ends if not with 0.
std::string replay(const std::string& url, const std::string& line) {
  std::vector<std::string> words;
  for (const std::string_view word : split_words(std::string_view(line).substr(8)))
    words.emplace_back(word);
  const Outcome outcome = run_command(url, words);
  std::string out = line + "\n" + outcome.out;
  if (!out.ends_with('\n')) out += "\\\n";  // the output does not end its last line
  for (const std::string_view said : split(outcome.err, '\n')) {
    if (!said.empty()) out.append("! ").append(said).append("\n");
  }
  if (outcome.code != 0) out += "exit " + std::to_string(outcome.code) + "\n";
  return out;
}

class Golden : public ::testing::TestWithParam<std::string> {};

TEST_P(Golden, what_commands_write_is_as_recorded) {
  const std::filesystem::path path = "tests/cli/" + GetParam() + ".golden";
  const std::string recorded = read(path);
  const ScriptedServer server(recorded_script());
  std::string now;
  int commands = 0;
  for (const std::string_view line : split(recorded, '\n')) {
    if (!line.starts_with("$ muster")) continue;
    now += replay(server.url(), std::string(line) + (line == "$ muster" ? " " : ""));
    ++commands;
  }
  ASSERT_GT(commands, 0);
  if (std::getenv("MUSTER_REWRITE") != nullptr) std::ofstream(path) << now;
  EXPECT_EQ(recorded, now);
}

INSTANTIATE_TEST_SUITE_P(Commands, Golden,
                         ::testing::Values("jobs", "logs_and_events", "explain", "queues", "fleet",
                                           "submit", "config", "help", "completion"),
                         [](const auto& info) { return info.param; });

TEST(RecordedAnswers, are_as_the_contract_promises) {
  const OpenApi contract;
  const json::value script = recorded_script();
  for (const json::value& exchange : script.as_array()) {
    const std::string ask = text(exchange, "ask");
    for (const json::value& event : list(exchange, "events")) {
      for (const std::string& problem :
           contract.check_event(ask, text(event, "event"), field(event, "data")))
        ADD_FAILURE() << ask << ": " << problem;
    }
    if (!field(exchange, "events").is_null()) continue;
    const int status = static_cast<int>(number(exchange, "status").value_or(200));
    for (const std::string& problem : contract.check_answer(ask, status, field(exchange, "body")))
      ADD_FAILURE() << ask << ": " << problem;
  }
}

TEST(Requests, are_as_the_contract_wants_them) {
  const OpenApi contract;
  const ScriptedServer server(recorded_script());
  for (const auto& entry : std::filesystem::directory_iterator("tests/cli")) {
    if (entry.path().extension() != ".golden") continue;
    const std::string recorded = read(entry.path());
    for (const std::string_view line : split(recorded, '\n')) {
      if (line.starts_with("$ muster")) replay(server.url(), std::string(line) + " ");
    }
  }
  int with_body = 0;
  for (const Seen& seen : server.seen()) {
    json::value body;
    if (!seen.body.empty()) {
      body = *parse_json(seen.body);
      ++with_body;
    }
    for (const std::string& problem : contract.check_request(seen.target, body))
      ADD_FAILURE() << seen.target << " " << seen.body << ": " << problem;
  }
  EXPECT_GT(with_body, 5);
}

TEST(Contract, finds_what_is_not_as_promised) {
  const OpenApi contract;
  EXPECT_FALSE(contract.check_answer("GET /nowhere", 200, {}).empty());
  EXPECT_FALSE(contract.check_answer("GET /queues", 200, json::object{}).empty());
  EXPECT_FALSE(contract.check_answer("GET /queues", 200, json::object{{"queues", "none"}}).empty());
  EXPECT_FALSE(contract.check_request("PATCH /jobs/7", json::object{{"priorty", 3}}).empty());
  EXPECT_FALSE(contract.check_event("GET /events", "placed", json::object{}).empty());
  EXPECT_TRUE(contract.check_request("PATCH /jobs/7", json::object{{"priority", 3}}).empty());
}

}  // namespace
}  // namespace muster::cli::testing
