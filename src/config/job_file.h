// Job files: YAML (or, for the API, JSON) to submissions, and back. One document is one job, or
// {jobs: [...]}, or a list of jobs; a YAML file may hold several documents. A document with
// `parameters` or `array` is a template: `${name}` in its texts stands for a value (`$${` is a
// plain `${`), an unknown name is an error. In other documents `${` is left alone.
//
// All functions are pure; time is an argument.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "config/problem.h"
#include "model/command.h"
#include "model/job.h"

namespace muster::config {

/// What one job of a file asks for. The server gives ids and the user.
struct Submission {
  model::JobSpec spec;             // id and user empty; depends_on: ids of jobs outside the file
  model::Command command;          // user empty; as many sets as the gang
  model::Labels labels;            // for people and filters
  std::vector<std::size_t> after;  // the jobs of the same file it depends on, by index
  std::uint32_t line = 0;          // of its document
  /// That cannot run it, as the server knows; excluded beside those that the document excludes.
  std::vector<std::string> unfit_clusters = {};
};

struct JobLimits {
  std::size_t bytes = std::size_t{16} << 20;
  std::size_t jobs = 100'000;                           // after expansion
  std::size_t expanded_bytes = std::size_t{256} << 20;  // commands, environments and files
  std::size_t dependencies = 1'000'000;                 // inside the file, after expansion
};

struct JobOptions {
  std::map<std::string, std::string> set;  // --set key=value
  std::string default_queue;
  int default_priority = 50;
  Time now;
  JobLimits limits;
};

struct JobFile {
  std::vector<Submission> jobs;
  Problems problems;  // with errors there are no jobs
  bool ok() const { return !has_errors(problems); }
};

JobFile read_job_file(std::string_view yaml, const JobOptions& options);
JobFile read_job_json(std::string_view json, const JobOptions& options);

/// Gives the jobs of a file their ids, in order, and turns `after` into dependencies.
void give_ids(std::vector<Submission>& jobs, std::span<const std::string> ids);

/// What dispatch wants to know beside the command itself, from the gang: see model/command.h.
void complete_command(Submission& job);

/// The document that reads back to the same submission: for `show` and `retry`.
std::string to_yaml(const Submission& job);
std::string to_json(const Submission& job);
/// The JSON Schema of a document.
std::string job_schema();

/// "key=value" of --set.
Result<std::pair<std::string, std::string>> parse_setting(std::string_view text);

}  // namespace muster::config
