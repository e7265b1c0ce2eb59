// A job described on the command line, for `run`, `submit` and `whatif`: options become the keys
// of a job document (docs/job-files.md).
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/json.h"

namespace muster::cli {

struct JobOptions {
  std::string name;
  std::string queue;
  std::string priority;
  std::string gpus;
  std::vector<std::string> gpu_types;
  std::string pods;
  std::string cpu;
  std::string memory;
  std::string run_limit;
  std::string pool;
  std::vector<std::string> clusters;
  std::vector<std::string> environment;  // NAME=VALUE
  std::vector<std::string> labels;       // name=value
  std::vector<std::string> after;        // ids
  std::string workdir;
  std::string image;
  std::string kube_namespace;
  std::string service_account;
  std::string max_retries;
  bool hold = false;
  std::vector<std::string> words;  // what to run
};

void add_job_options(CLI::App& command, JobOptions& options);
/// Checked as the server checks it.
Result<json::value> document_of(const JobOptions& options);
/// What is wrong with a document, in one line with the option or key; Ok if nothing is.
Status check_document(const json::value& document);

}  // namespace muster::cli
