// What several commands do with jobs: find the one that is meant, make its row, tell its end.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/command.h"

namespace muster::cli {

/// The job of a whole id, of the beginning of one if it is the only such job among the newest
/// 10,000, or the newest of that name.
Result<json::value> find_job(Api& api, std::string_view reference);
std::string job_path(const json::value& job);

Table job_table(const Session& session, const json::array& jobs);
/// What clusters said last about the pods of a job that was asked for by its id; nothing if that is
/// nothing.
void print_notes(const Session& session, const json::value& job);

/// Prints why it waits, and what would make it start.
Result<int> explain_job(Session& session, const std::string& reference);

/// What became of a finished job, as an exit code: its own, or that there was none.
int exit_code_of_job(const json::value& job);
/// The code from the job itself, or from its last event if the job does not carry it.
Result<int> ask_exit_code(Api& api, const std::string& id);

/// "4 pods x 8 GPUs" and the like are left to the columns; this is how amounts read: "8", "0.5".
std::string amount(const json::value& value);
/// "gpu 8, cpu 64".
std::string amounts(const json::object& by_resource);
/// "a=1, b=2".
std::string labels(const json::object& pairs);

}  // namespace muster::cli
