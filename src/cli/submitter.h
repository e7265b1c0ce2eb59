// Sends jobs to the server: with an idempotency key, so that a lost answer never becomes a second
// job, and again while the server is too busy. Used by `submit` and `run`.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/command.h"

namespace muster::cli {

/// A new one for each request: nobody else makes the same.
std::string fresh_key();

/// Whether somebody waits for the output: then it must not go where nothing is printed.
enum class Output { NobodyLooks, Followed };

/// The ids, in order. body is a SubmitBody of docs/openapi.json.
Result<std::vector<std::string>> submit_jobs(Api& api, json::value body,
                                             Output output = Output::NobodyLooks);
/// What would be submitted.
Result<json::value> submit_dry(Api& api, json::value body);

struct FileToSubmit {
  std::string name;  // for messages
  std::string text;
  std::vector<std::string> settings;  // key=value
};
/// Checks the file here, where line and column can be told, and sends it: as it is if the server
/// takes so many jobs at once, else in several requests with progress on a terminal.
Result<std::vector<std::string>> submit_file(Session& session, const FileToSubmit& file);
/// The same without submitting.
Result<json::value> submit_file_dry(Session& session, const FileToSubmit& file);

}  // namespace muster::cli
