// How a command is made: every one has the same options for the server and for the output, gets a
// Session that was set up from them, and says how it ended. Errors become one line on the standard
// error.
//
// Exit codes: 0 done; 1 the server refused (no such job, not possible now, not allowed); 2 what was
// given is wrong (options, file, a field); 3 no server, or it cannot now: try again. `run` and
// `wait` end with the code of the job; 124: wait's --timeout passed; 125: the job ended without a
// code of its own; 130: interrupted.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "cli/api.h"
#include "cli/host.h"
#include "cli/json.h"
#include "cli/options.h"
#include "cli/table.h"

namespace muster::cli {

constexpr int exit_done = 0;
constexpr int exit_refused = 1;
constexpr int exit_wrong = 2;
constexpr int exit_unavailable = 3;
constexpr int exit_timeout = 124;
constexpr int exit_no_code = 125;
constexpr int exit_interrupted = 130;

enum class Format { Table, Wide, Json, Yaml };

/// What a command works with. Lives for one command.
class Session {
 public:
  Session(const Host& host, Format format, Wishes wishes)
      : host_(&host), format_(format), wishes_(std::move(wishes)) {}

  const Host& host() const { return *host_; }
  const Wishes& wishes() const { return wishes_; }
  /// Connects at the first call.
  Result<Api*> api();

  Format format() const { return format_; }
  bool is_wide() const { return format_ == Format::Wide; }
  /// The output is for programs.
  bool is_data() const { return format_ == Format::Json || format_ == Format::Yaml; }
  bool color() const { return wants_color(*host_); }
  Layout layout() const;

  void out(std::string_view text) const { host_->out(text); }
  /// A line for people beside the output: "3 jobs cancelled".
  void note(std::string_view line) const { host_->err(std::string(line) + "\n"); }
  /// What a list says it misses, on the standard error.
  void warn(const json::value& answer) const;
  /// As JSON or YAML, by the format.
  void print_data(const json::value& value) const;
  /// One of several that come one after the other: a line of JSON, or a document of YAML.
  void print_next(const json::value& value) const;
  /// A table, or what it was made of; without rows `nothing` is said.
  void print(const Table& table, const json::value& data, std::string_view nothing) const;
  /// A moment as "3m ago" or, in a wide table, exactly.
  std::string when(const json::value& object, std::string_view name) const;

 private:
  const Host* host_;
  Format format_;
  Wishes wishes_;
  std::unique_ptr<Api> api_;
};

/// Returns the exit code.
using Body = std::function<Result<int>(Session&)>;
using SharedHost = std::shared_ptr<const Host>;

/// Makes a leaf of the tree of commands do something. Ends other than 0 leave as CLI::RuntimeError.
void set_body(CLI::App& command, const SharedHost& host, Body body);
/// The same with another name for --context, which says which server: for the one command that has
/// that word for something else.
void set_body(CLI::App& command, const SharedHost& host, Body body, const std::string& context);

/// A noun with verbs; its plural is `NOUN list`.
CLI::App* add_noun(CLI::App& app, const std::string& noun, const std::string& help);

/// A positional that takes the words of a command as they are.
CLI::Option* add_words(CLI::App& command, std::vector<std::string>& words, const std::string& help);

int exit_code_of(const Error& error);

}  // namespace muster::cli
